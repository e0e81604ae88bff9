"""The prior itself: fit the curve to all labels, and put what it implies for every cell as something to start from."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from fewlabels.beliefs import Beta, Conjugate
from fewlabels.labels import Cells
from fewlabels.latent import Fit, Logits, fit, project
from fewlabels.priors import Lesson, Reads
from fewlabels.trust.explanation import Trust
from fewlabels.trust.joint import JointChances, JointShares
from fewlabels.trust.layout import Layout, lay_out
from fewlabels.trust.shares import Shares

WEAKEST = 0.1  # labels that a belief is worth at the least


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
        everything = _project(cells, layout, found, cells.strata.n_items.astype(np.float64))
        after = _match(cells, everything, sampled=True)
        trust = Trust(found, layout, after.strength() - cells.n_labels, _span(cells))
        shares = Shares(cells) if reads == "label" else None
        before = _subtract(after, cells) if shares is None else shares.start(after)
        if not finite:
            return Lesson(before, _join(cells, everything, shares, None), None, trust)
        rest = _project(cells, layout, found, _count_unlabelled(cells))
        unlabelled = _match(cells, rest, sampled=False)
        joint = _join(cells, rest, shares, cells.n_items - cells.n_labels)
        return Lesson(before, joint, unlabelled if shares is None else shares.spread(unlabelled), trust)


def calibrated() -> Calibrated:
    """Start from the scores, recalibrated by the labels so far."""
    return Calibrated()


def _span(cells: Cells) -> tuple[float, float] | None:
    score = cells.strata.score
    return None if np.isnan(score).any() else (float(score.min()), float(score.max()))


def _project(cells: Cells, layout: Layout, found: Fit, weight: Float[np.ndarray, " stratum"]) -> Logits:
    return project(found, layout.design, weight, cells.strata.cell, layout.group)


def _count_unlabelled(cells: Cells) -> Float[np.ndarray, " stratum"]:
    """Count the items of every stratum without a label; a cell that has none is taken whole."""
    strata = cells.strata
    rest = strata.n_items - strata.n_labels
    left = np.bincount(strata.cell, weights=rest, minlength=cells.n)[strata.cell]
    return np.where(left > 0, rest, strata.n_items).astype(np.float64)


def _match(cells: Cells, logits: Logits, *, sampled: bool) -> Beta:
    """Put what is believed of each cell as a Beta of the same mean and spread.

    Of a population, the items are a sample: their own mean chance is off by as much as chances vary among them.
    """
    mean, variance = logits.mean, logits.variance + (logits.within / cells.n_items if sampled else 0.0)
    strength = np.maximum(mean * (1 - mean) / variance - 1, WEAKEST)
    return Beta(cells.names, strength * mean, strength * (1 - mean))


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
