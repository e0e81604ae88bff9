"""The labelling page, and its HTTP API: a Session for people and for other programs, over loopback by default."""
