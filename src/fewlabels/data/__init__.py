"""Predictions and their counts: a table in some engine, the roles of its columns, groups, and one aggregate query.

The only package that imports Ibis and DuckDB. The packages above query `Predictions` and receive counts, sums and a few
rows.
"""

import fewlabels.data.engine_imports  # noqa: F401 (before anything imports Ibis)
