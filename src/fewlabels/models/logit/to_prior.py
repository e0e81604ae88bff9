"""From a joint model of all cells to a prior fit: a moment-matched Beta or Dirichlet per cell, and the joint belief."""

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

WEAKEST = 0.1  # least strength of a matched Beta, in labels,
RAREST = 0.04  # and its least pseudo-count of the rarer outcome: below it, intervals get narrower again
LEVEL, REACH = 0.95, 3.92  # level of the matched intervals, and their width in standard deviations
ROUNDS, EDGE = 2, 1e-9
NARROWEST = 1e-6  # least width of a matched interval
LEAST = 0.05  # least residual variance, as a share of an outcome's variance


def teach(cells: Cells, reads: Reads, everything: Chances, rest: Chances | None) -> Lesson:
    """Build the prior fit from the posterior of all items and, for a finite pool, that of the unlabelled items."""
    after = _match(cells, everything, sampled=True)
    shares = Shares(cells) if reads == "label" else None
    before = _subtract(after, cells) if shares is None else shares.start(after)
    if rest is None:
        return Lesson(before, _join(cells, everything, shares))
    unlabelled, luck = _match(cells, rest, sampled=False), _measure_luck(rest)
    joint = _join(cells, rest, shares, cells.n_items - cells.n_labels, luck)
    return Lesson(before, joint, unlabelled if shares is None else shares.spread(unlabelled), luck)


def count_unlabelled(cells: Cells) -> Float[np.ndarray, " stratum"]:
    """Count the unlabelled items of every stratum; where a cell has none, count all its items."""
    strata = cells.layers
    rest = strata.n_items - strata.n_labels
    left = np.bincount(strata.cell, weights=rest, minlength=cells.n)[strata.cell]
    return np.where(left > 0, rest, strata.n_items).astype(np.float64)


def _measure_luck(chances: Chances) -> Float[np.ndarray, " cell"]:
    """Share of an outcome's variance that remains given the item's own probability instead of its cell's mean."""
    whole = np.maximum(chances.mean * (1 - chances.mean), EDGE)
    return np.clip(1 - chances.within / whole, LEAST, 1.0)


def _match(cells: Cells, chances: Chances, *, sampled: bool) -> Beta:
    """Match a Beta to each cell's mean and interval width.

    For a population the items are a sample, so the variance of their mean probability is added.
    """
    low, high = chances.interval(LEVEL)
    extra = REACH**2 * chances.within / cells.n_items if sampled else 0.0
    return match_width(cells.names, chances.mean, np.sqrt((high - low) ** 2 + extra))


def match_width(names: tuple[str, ...], mean: Float[np.ndarray, " cell"], width: Float[np.ndarray, " cell"]) -> Beta:
    """Return the Beta with this mean whose central 95 % interval has this width.

    >>> low, high = match_width(("a",), np.array([0.8]), np.array([0.3])).interval()
    >>> round(float(high[0] - low[0]), 2)
    0.3
    """
    mean, width = np.clip(mean, EDGE, 1 - EDGE), np.maximum(width, NARROWEST)
    least = np.maximum(WEAKEST, RAREST / np.minimum(mean, 1 - mean) - 1)
    strength = np.maximum(mean * (1 - mean) * (REACH / width) ** 2 - 1, least)
    for _ in range(ROUNDS):  # the variance is proportional to 1 / (strength + 1)
        low, high = Beta(names, strength * mean, strength * (1 - mean)).interval(LEVEL)
        strength = np.maximum((strength + 1) * ((high - low) / width) ** 2 - 1, least)
    return Beta(names, strength * mean, strength * (1 - mean))


def _subtract(after: Beta, cells: Cells) -> Beta:
    """Subtract a cell's own labels: the prior without them."""
    return replace(after, alpha=after.alpha - cells.right, beta=after.beta - (cells.n_labels - cells.right))


def _join(
    cells: Cells,
    chances: Chances,
    shares: Shares | None,
    rest: Int[np.ndarray, " cell"] | None = None,
    luck: Luck = None,
) -> JointChances | JointShares:
    """Build the joint belief of all cells."""
    if shares is None:
        return JointChances(cells.names, chances, cells.outcomes, rest, luck)
    return JointShares(cells.names, chances, shares.others, cells.predicted, cells.labels, rest, luck)
