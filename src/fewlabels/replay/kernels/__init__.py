"""Compiled replays of active assessment: which items a rule would have had labelled, and how good that was.

Choosing and measuring are separate: `choose` turns a problem (arrays) and a rule into an order of items, measures turn
an order into numbers at checkpoints. One run takes a few hundredths of a second where drawing every group at every
step takes seconds; in distribution the orders are the same.
"""

from fewlabels.replay.kernels.choosers import choose
from fewlabels.replay.kernels.measures import (
    Calibrated,
    Estimated,
    Found,
    measure_calibration,
    measure_comparison,
    measure_confusion,
    measure_estimate,
    measure_finding,
    true_gains,
)
from fewlabels.replay.kernels.pool import Pool, arrange
from fewlabels.replay.kernels.problems import Cost, Gap, Problem, Rate, Rope, Spread, Variance
from fewlabels.replay.kernels.rules import (
    EPSILON_GREEDY,
    EQUAL,
    NEYMAN,
    PROPORTIONAL,
    RANDOM,
    THOMPSON,
    TOP_TWO,
    UPPER_BOUND,
    Kind,
    Rule,
    multi_play,
)

__all__ = [
    "EPSILON_GREEDY",
    "EQUAL",
    "NEYMAN",
    "PROPORTIONAL",
    "RANDOM",
    "THOMPSON",
    "TOP_TWO",
    "UPPER_BOUND",
    "Calibrated",
    "Cost",
    "Estimated",
    "Found",
    "Gap",
    "Kind",
    "Pool",
    "Problem",
    "Rate",
    "Rope",
    "Rule",
    "Spread",
    "Variance",
    "arrange",
    "choose",
    "measure_calibration",
    "measure_comparison",
    "measure_confusion",
    "measure_estimate",
    "measure_finding",
    "multi_play",
    "true_gains",
]
