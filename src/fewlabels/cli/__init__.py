"""The command line: parse arguments, make one call, print. Strings are parsed here; packages below take objects."""
