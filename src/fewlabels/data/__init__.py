"""Predictions and their counts: a table in some engine, the roles of its columns, groups, and one aggregate query.

The only package that imports Ibis and DuckDB. The packages above query `Predictions` and receive counts, sums and a few
rows.
"""
