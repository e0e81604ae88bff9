"""Metrics and their one registry: rates, calibration error, cost and confusion, evaluated over the cells of a pool."""
