"""The room of tables: the only one that knows Ibis. Everything above asks `Predictions` and gets numbers."""

from fewlabels.table.candidates import draw_least, share_out
from fewlabels.table.fingerprints import fingerprint, fingerprint_sample
from fewlabels.table.names import MISSING, natural_order, spell
from fewlabels.table.posing import assume_score, judge_right, set_against_rest
from fewlabels.table.predictions import Columns, Predictions, Value, count_rows, read_columns
from fewlabels.table.roles import is_recognised
from fewlabels.table.samples import Picking, Sample
from fewlabels.table.sources import Frame

__all__ = [
    "MISSING", "Columns", "Frame", "Picking", "Predictions", "Sample", "Value", "assume_score", "count_rows", "draw_least", "fingerprint",
    "fingerprint_sample", "is_recognised", "judge_right", "natural_order", "read_columns", "set_against_rest", "share_out", "spell",
]  # fmt: skip
