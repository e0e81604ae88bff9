"""Metrics and their one registry: rates, calibration error, scoring rules, cost and confusion, evaluated over the cells of a pool."""
