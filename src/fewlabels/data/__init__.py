"""Predictions and their counts: a relation in some engine, the roles of its columns, groups, and one aggregate query.

The only package that knows Ibis and DuckDB. Everything above asks `Predictions` and gets counts, sums and a few rows.
"""
