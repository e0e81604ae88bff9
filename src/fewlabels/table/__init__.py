"""The room of tables: the only one that knows Ibis. Everything above asks `Predictions` and gets numbers."""

from fewlabels.table.fingerprints import fingerprint
from fewlabels.table.names import MISSING, natural_order, spell
from fewlabels.table.posing import assume_score, judge_right, set_against_rest
from fewlabels.table.predictions import Columns, Predictions, Value, count_rows, read_columns
from fewlabels.table.sources import Frame

__all__ = [
    "MISSING", "Columns", "Frame", "Predictions", "Value", "assume_score", "count_rows", "fingerprint", "judge_right", "natural_order", "read_columns",
    "set_against_rest", "spell",
]  # fmt: skip
