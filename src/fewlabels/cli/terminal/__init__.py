"""Labelling at a terminal: one item at a time, by keys or by lines."""
