"""What is asked of groups, and what came out, in words that can be quoted."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fewlabels.analyses.fairness.gaps import LARGEST, ODDS, Gap

SELECTION = "selection-rate"


class Meaning(NamedTuple):
    """What a quantity is called, and what it is; {yes} is the positive class."""

    name: str
    definition: str


MEANINGS: Mapping[str, Meaning] = {
    "accuracy": Meaning("accuracy", "of all, the share whose prediction is right"),
    "tpr": Meaning("true positive rate", "of those who truly are {yes}, the share predicted to be"),
    "fpr": Meaning("false positive rate", "of those who truly are not {yes}, the share predicted to be"),
    "tnr": Meaning("true negative rate", "of those who truly are not {yes}, the share predicted not to be"),
    "fnr": Meaning("false negative rate", "of those who truly are {yes}, the share predicted not to be"),
    "ppv": Meaning("positive predictive value", "of those predicted to be {yes}, the share who are"),
    "npv": Meaning("negative predictive value", "of those predicted not to be {yes}, the share who are not"),
    "fdr": Meaning("false discovery rate", "of those predicted to be {yes}, the share who are not"),
    "for": Meaning("false omission rate", "of those predicted not to be {yes}, the share who are"),
    SELECTION: Meaning("selection rate", "of all, the share predicted to be {yes}; no label is needed for it"),
    ODDS: Meaning(
        "equalised odds", "the larger of the gaps in true and in false positive rate; 0 where odds are equal"
    ),
    "calibration": Meaning(
        "calibration error", "how far the share who truly are {yes} is from the score, over ten ranges of the score"
    ),
    "balance-positive": Meaning("mean score of the positive", "the mean score of those who truly are {yes}"),
    "balance-negative": Meaning("mean score of the negative", "the mean score of those who truly are not {yes}"),
}


def call(metric: str) -> str:
    """Say what a quantity is called."""
    return MEANINGS[metric].name


def define(metric: str, positive: str) -> str:
    """Say what a quantity is."""
    return MEANINGS[metric].definition.format(yes=repr(positive))


def say_gap(gap: Gap, whom: str, *, rope: float, level: float) -> str:
    """Put a gap in a sentence that can be quoted."""
    if np.isnan(gap.mean):
        return f"the {call(gap.metric)} of {gap.group}: undefined, there is nobody it could be about"
    shown = f"{100 * level:g}% interval {_signed(gap.low)} to {_signed(gap.high)}"
    fair = f"within ±{rope:g} with probability {say_chance(gap.p_practically_fair)}"
    if gap.metric == ODDS or gap.group == LARGEST:
        what = "the larger of the gaps in true and false positive rate" if gap.metric == ODDS else f"the gap in {call(gap.metric)}"  # fmt: skip
        pair = "the two groups furthest apart" if gap.group == LARGEST else f"{gap.group} and {whom}"
        return f"{what} between {pair} is {gap.mean:.3f} ({shown}); {fair}"
    if gap.low == gap.high == 0:
        return f"the {call(gap.metric)} of {gap.group} is that of {whom}, exactly"
    more, sure = ("higher", gap.p_greater) if gap.mean > 0 else ("lower", 1 - gap.p_greater)
    return (
        f"the {call(gap.metric)} of {gap.group} is {abs(gap.mean):.3f} {more} than that of {whom} ({shown}); {more} with "
        f"probability {say_chance(sure)}, {fair}"
    )


def say_four_fifths(gap: Gap, whom: str, *, level: float) -> str | None:
    """Read a ratio of selection rates by the four-fifths rule; None for anything else."""
    if gap.metric != SELECTION or gap.ratio is None:
        return None
    ratio, below = gap.ratio, gap.ratio.p_below_four_fifths
    side, sure = ("below", below) if below > 0.5 else ("at least", 1 - below)
    of, times = (f"the selection rate of {gap.group}", f"that of {whom}")
    if gap.group == LARGEST:
        of, times = "the lowest selection rate of all groups", "the highest"
    verdict = f"{side} four fifths with probability {say_chance(sure)}"
    return (
        f"{of} is {ratio.median:.2f} times {times} ({100 * level:g}% interval {ratio.low:.2f} to {ratio.high:.2f}): "
        f"{verdict if sure >= level else f'not settled, {verdict}'}"
    )


def say_chance(p: float) -> str:
    """Say a probability, and nothing that draws cannot tell.

    >>> say_chance(0.999), say_chance(0.25)
    ('more than 0.99', '0.25')
    """
    return "more than 0.99" if p > 0.99 else "less than 0.01" if p < 0.01 else f"{p:.2f}"


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
