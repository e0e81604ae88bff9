"""Measurements: each script prints a table that is kept beside it."""
