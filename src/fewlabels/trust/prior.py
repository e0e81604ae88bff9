"""The prior itself: fit the curve to all labels, and put what it implies for every cell as something to start from."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from fewlabels.beliefs import Beta, Conjugate
from fewlabels.labels import Cells
from fewlabels.latent import Logits, fit, project
from fewlabels.priors import Lesson, Reads
from fewlabels.trust.explanation import Trust
from fewlabels.trust.joint import JointChances, JointShares
from fewlabels.trust.layout import lay_out
from fewlabels.trust.shares import Shares

WEAKEST = 0.1  # labels that a belief is worth at the least,
RAREST = 0.04  # and of what is rare: a Beta that is worth less is narrower again, being sure of the rest
LEVEL, REACH = 0.95, 3.92  # of the intervals that are matched, and how wide they are in standard deviations
ROUNDS, EDGE = 2, 1e-9


@dataclass(frozen=True)
class Calibrated:
    """Recalibrate the scores with the labels so far, and trust them as far as these show."""

    name: str = "calibrated"
    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ("score", "probabilities", "strata")
    guesses_level: bool = False

    def before(self, cells: Cells, reads: Reads) -> Conjugate:
        """Where each cell would start without its own labels."""
        return self.learn(cells, reads, finite=False).before

    def learn(self, cells: Cells, reads: Reads, *, finite: bool) -> Lesson:
        """Fit the curve to all labels, and say what it implies for every cell."""
        layout = lay_out(cells)
        found = fit(layout.gather(cells), layout.model)
        weights = [cells.layers.n_items.astype(np.float64), *([_count_unlabelled(cells)] if finite else [])]
        everything, *rest = project(found, layout.design, weights, cells.layers.cell, layout.group)
        after = _match(cells, everything, sampled=True)
        trust = Trust(found, layout, after.strength() - cells.n_labels, _span(cells))
        shares = Shares(cells) if reads == "label" else None
        before = _subtract(after, cells) if shares is None else shares.start(after)
        if not finite:
            return Lesson(before, _join(cells, everything, shares, None), None, trust)
        unlabelled = _match(cells, rest[0], sampled=False)
        joint = _join(cells, rest[0], shares, cells.n_items - cells.n_labels)
        return Lesson(before, joint, unlabelled if shares is None else shares.spread(unlabelled), trust)


def calibrated() -> Calibrated:
    """Start from the scores, recalibrated by the labels so far."""
    return Calibrated()


def _span(cells: Cells) -> tuple[float, float] | None:
    score = cells.layers.score
    return None if np.isnan(score).any() else (float(score.min()), float(score.max()))


def _count_unlabelled(cells: Cells) -> Float[np.ndarray, " stratum"]:
    """Count the items of every stratum without a label; a cell that has none is taken whole."""
    strata = cells.layers
    rest = strata.n_items - strata.n_labels
    left = np.bincount(strata.cell, weights=rest, minlength=cells.n)[strata.cell]
    return np.where(left > 0, rest, strata.n_items).astype(np.float64)


def _match(cells: Cells, logits: Logits, *, sampled: bool) -> Beta:
    """Put what is believed of each cell as a Beta of the same mean and as wide an interval.

    Of a population, the items are a sample: their own mean chance is off by as much as chances vary among them.
    """
    low, high = logits.interval(LEVEL)
    extra = REACH**2 * logits.within / cells.n_items if sampled else 0.0
    return match_width(cells.names, logits.mean, np.sqrt((high - low) ** 2 + extra))


def match_width(names: tuple[str, ...], mean: Float[np.ndarray, " cell"], width: Float[np.ndarray, " cell"]) -> Beta:
    """Return the Beta of this mean whose central 95 % are this wide.

    >>> low, high = match_width(("a",), np.array([0.8]), np.array([0.3])).interval()
    >>> round(float(high[0] - low[0]), 2)
    0.3
    """
    mean = np.clip(mean, EDGE, 1 - EDGE)
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
    cells: Cells, logits: Logits, shares: Shares | None, rest: Int[np.ndarray, " cell"] | None
) -> JointChances | JointShares:
    """Keep all cells together."""
    if shares is None:
        return JointChances(cells.names, logits, cells.outcomes, rest)
    return JointShares(cells.names, logits, shares.others, cells.predicted, cells.labels, rest)
