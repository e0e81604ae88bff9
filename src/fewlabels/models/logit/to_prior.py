"""What a model of all cells comes to, as a prior is asked for it: something to start from in each cell, and all together."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import Cells
from fewlabels.distributions.belief import Beta
from fewlabels.distributions.finite_pool import Luck
from fewlabels.metrics.metric import Reads
from fewlabels.models.logit.confusion import Shares
from fewlabels.models.logit.joint import Chances, JointChances, JointShares
from fewlabels.models.priors import Lesson

WEAKEST = 0.1  # labels that a belief is worth at the least,
RAREST = 0.04  # and of what is rare: a Beta that is worth less is narrower again, being sure of the rest
LEVEL, REACH = 0.95, 3.92  # of the intervals that are matched, and how wide they are in standard deviations
ROUNDS, EDGE = 2, 1e-9
NARROWEST = 1e-6  # width of an interval that is matched
LEAST = 0.05  # share of an outcome's variance that is left open


def teach(cells: Cells, reads: Reads, everything: Chances, rest: Chances | None) -> Lesson:
    """Put what is believed of all items, and of those without a label where these are asked about, as a lesson."""
    after = _match(cells, everything, sampled=True)
    shares = Shares(cells) if reads == "label" else None
    before = _subtract(after, cells) if shares is None else shares.start(after)
    if rest is None:
        return Lesson(before, _join(cells, everything, shares))
    unlabelled, luck = _match(cells, rest, sampled=False), _measure_luck(rest)
    joint = _join(cells, rest, shares, cells.n_items - cells.n_labels, luck)
    return Lesson(before, joint, unlabelled if shares is None else shares.spread(unlabelled), luck)


def count_unlabelled(cells: Cells) -> Float[np.ndarray, " stratum"]:
    """Count the items of every stratum without a label; a cell that has none is taken whole."""
    strata = cells.layers
    rest = strata.n_items - strata.n_labels
    left = np.bincount(strata.cell, weights=rest, minlength=cells.n)[strata.cell]
    return np.where(left > 0, rest, strata.n_items).astype(np.float64)


def _measure_luck(chances: Chances) -> Float[np.ndarray, " cell"]:
    """How much of the variance of an outcome is left once one knows the item's chance, and not only its cell's."""
    whole = np.maximum(chances.mean * (1 - chances.mean), EDGE)
    return np.clip(1 - chances.within / whole, LEAST, 1.0)


def _match(cells: Cells, chances: Chances, *, sampled: bool) -> Beta:
    """Put what is believed of each cell as a Beta of the same mean and as wide an interval.

    Of a population, the items are a sample: their own mean chance is off by as much as chances vary among them.
    """
    low, high = chances.interval(LEVEL)
    extra = REACH**2 * chances.within / cells.n_items if sampled else 0.0
    return match_width(cells.names, chances.mean, np.sqrt((high - low) ** 2 + extra))


def match_width(names: tuple[str, ...], mean: Float[np.ndarray, " cell"], width: Float[np.ndarray, " cell"]) -> Beta:
    """Return the Beta of this mean whose central 95 % are this wide.

    >>> low, high = match_width(("a",), np.array([0.8]), np.array([0.3])).interval()
    >>> round(float(high[0] - low[0]), 2)
    0.3
    """
    mean, width = np.clip(mean, EDGE, 1 - EDGE), np.maximum(width, NARROWEST)
    least = np.maximum(WEAKEST, RAREST / np.minimum(mean, 1 - mean) - 1)
    strength = np.maximum(mean * (1 - mean) * (REACH / width) ** 2 - 1, least)
    for _ in range(ROUNDS):  # the variance goes with one over the strength and one
        low, high = Beta(names, strength * mean, strength * (1 - mean)).interval(LEVEL)
        strength = np.maximum((strength + 1) * ((high - low) / width) ** 2 - 1, least)
    return Beta(names, strength * mean, strength * (1 - mean))


def _subtract(after: Beta, cells: Cells) -> Beta:
    """Take a cell's own labels out again: where it would start without them."""
    return replace(after, alpha=after.alpha - cells.right, beta=after.beta - (cells.n_labels - cells.right))


def _join(
    cells: Cells,
    chances: Chances,
    shares: Shares | None,
    rest: Int[np.ndarray, " cell"] | None = None,
    luck: Luck = None,
) -> JointChances | JointShares:
    """Keep all cells together."""
    if shares is None:
        return JointChances(cells.names, chances, cells.outcomes, rest, luck)
    return JointShares(cells.names, chances, shares.others, cells.predicted, cells.labels, rest, luck)
