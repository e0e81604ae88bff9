"""The labelling page and its HTTP API: a Session served to people and programs, on the loopback address by default."""
