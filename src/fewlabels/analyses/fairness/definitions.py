"""Names and definitions of the fairness metrics, and sentences that describe gaps."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fewlabels.analyses.fairness.gaps import LARGEST, ODDS, Gap
from fewlabels.metrics.metric import METRICS
from fewlabels.text import format_probability

SELECTION = "selection-rate"


class Definition(NamedTuple):
    """Name and definition of a metric; {yes} is the positive class."""

    name: str
    definition: str


DEFINITIONS: Mapping[str, Definition] = {
    "accuracy": Definition("accuracy", "the share of correct predictions"),
    "tpr": Definition("true positive rate", "the share predicted {yes} among those who are {yes}"),
    "fpr": Definition("false positive rate", "the share predicted {yes} among those who are not {yes}"),
    "tnr": Definition("true negative rate", "the share not predicted {yes} among those who are not {yes}"),
    "fnr": Definition("false negative rate", "the share not predicted {yes} among those who are {yes}"),
    "ppv": Definition("positive predictive value", "the share who are {yes} among those predicted {yes}"),
    "npv": Definition("negative predictive value", "the share who are not {yes} among those not predicted {yes}"),
    "fdr": Definition("false discovery rate", "the share who are not {yes} among those predicted {yes}"),
    "for": Definition("false omission rate", "the share who are {yes} among those not predicted {yes}"),
    SELECTION: Definition("selection rate", "the share predicted {yes}; needs no labels"),
    ODDS: Definition(
        "equalised odds", "the larger of the gaps in true and in false positive rate; 0 where odds are equal"
    ),
    "calibration": Definition(
        "calibration error", "the mean distance between the score and the share who are {yes}, over ten score bins"
    ),
    "balance-positive": Definition("mean score of the positive", "the mean score of those who are {yes}"),
    "balance-negative": Definition("mean score of the negative", "the mean score of those who are not {yes}"),
}


def display_name(metric: str) -> str:
    """Return the display name of a fairness metric, as its definition has it."""
    return DEFINITIONS[metric].name if metric in DEFINITIONS else metric


def define(metric: str, positive: str) -> str:
    """Return the definition of a fairness metric."""
    if metric not in DEFINITIONS:
        return "as in fewlabels assess" if metric in METRICS else "as defined by its author"
    return DEFINITIONS[metric].definition.format(yes=repr(positive))


def describe_gap(gap: Gap, whom: str, *, rope: float, level: float, finite_pool: bool = False) -> str:
    """Describe a gap in a sentence, by the definition of its fairness metric."""
    if np.isnan(gap.mean):
        return f"the gap in {display_name(gap.metric)} of {gap.group} is undefined (0/0)"
    shown = f"{100 * level:g}% interval {_signed(gap.low)} to {_signed(gap.high)}"
    fair = f"within ±{rope:g} with probability {format_probability(gap.p_practically_fair)}"
    if gap.metric == ODDS or gap.group == LARGEST:
        what = "the larger of the gaps in true and false positive rate" if gap.metric == ODDS else f"the gap in {display_name(gap.metric)}"  # fmt: skip
        pair = "the two groups furthest apart" if gap.group == LARGEST else f"{gap.group} and {whom}"
        return f"{what} between {pair} is {gap.median:.3f} ({shown}); {fair}"
    if gap.low == gap.high == 0:
        same = f"the {display_name(gap.metric)} of {gap.group} equals that of {whom}"
        return f"{same} exactly" if finite_pool else f"{same} in these items; how far they differ in the population, this method cannot tell"  # fmt: skip
    more, sure = ("higher", gap.p_greater) if gap.mean > 0 else ("lower", 1 - gap.p_greater)
    return (
        f"the {display_name(gap.metric)} of {gap.group} is {abs(gap.mean):.3f} {more} than that of {whom} ({shown}); {more} with "
        f"probability {format_probability(sure)}, {fair}"
    )


def say_four_fifths(gap: Gap, whom: str, *, level: float) -> str | None:
    """Describe a ratio of selection rates by the definition of the four-fifths rule; None for other metrics."""
    if gap.metric != SELECTION or gap.ratio is None:
        return None
    ratio, below = gap.ratio, gap.ratio.p_below_four_fifths
    side, sure = ("below", below) if below > 0.5 else ("at least", 1 - below)
    of, times = (f"the selection rate of {gap.group}", f"that of {whom}")
    if gap.group == LARGEST:
        of, times = "the lowest selection rate of all groups", "the highest"
    verdict = f"{side} four fifths with probability {format_probability(sure)}"
    return (
        f"{of} is {ratio.median:.2f} times {times} ({100 * level:g}% interval {ratio.low:.2f} to {ratio.high:.2f}): "
        f"{verdict if sure >= level else f'not settled, {verdict}'}"
    )


def _signed(value: float) -> str:
    """Format a gap with its sign, for definitions in words."""
    return f"{value:+.3f}".replace("-", "−")
