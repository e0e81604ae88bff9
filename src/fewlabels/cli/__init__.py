"""The command line: parse words, make one call, print. Words stop here; everything below takes objects."""
