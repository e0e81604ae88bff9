"""Labelling in a terminal, one item at a time, with single keys or line by line."""
