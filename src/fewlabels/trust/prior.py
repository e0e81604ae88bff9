"""The prior itself: fit the curve to all labels, and put what it implies for every cell as something to start from."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from fewlabels.beliefs import Beta, Conjugate, Dirichlet
from fewlabels.labels import Cells
from fewlabels.latent import Logits, fit, project
from fewlabels.priors import Lesson, Reads
from fewlabels.trust.explanation import Trust
from fewlabels.trust.joint import JointChances, JointShares
from fewlabels.trust.layout import lay_out
from fewlabels.trust.others import indicate, learn_others

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
        logits = project(found, layout.design, _weigh(cells, finite), cells.strata.cell, layout.group)
        after = _match(cells, logits, finite)
        rest = cells.n_items - cells.n_labels if finite else None
        trust = Trust(found, layout, after.strength() - cells.n_labels, _span(cells))
        if reads == "right":
            before = replace(after, alpha=after.alpha - cells.right, beta=after.beta - (cells.n_labels - cells.right))
            return Lesson(before, JointChances(cells.names, logits, cells.outcomes, rest), trust)
        others = learn_others(cells)
        mean = after.mean()[:, None]
        alpha = after.strength()[:, None] * (mean * indicate(cells) + (1 - mean) * others / others.sum(axis=1)[:, None])
        joint = JointShares(cells.names, logits, others, cells.predicted, cells.labels, rest)
        return Lesson(Dirichlet(cells.names, alpha - cells.labels), joint, trust)


def calibrated() -> Calibrated:
    """Start from the scores, recalibrated by the labels so far."""
    return Calibrated()


def _span(cells: Cells) -> tuple[float, float] | None:
    score = cells.strata.score
    return None if np.isnan(score).any() else (float(score.min()), float(score.max()))


def _weigh(cells: Cells, finite: bool) -> Float[np.ndarray, " stratum"]:
    """Items that the answer is about: all of them, or those whose label is not known."""
    strata = cells.strata
    if not finite:
        return strata.n_items.astype(np.float64)
    rest = strata.n_items - strata.n_labels
    left = np.bincount(strata.cell, weights=rest, minlength=cells.n)[strata.cell]
    return np.where(left > 0, rest, strata.n_items).astype(np.float64)


def _match(cells: Cells, logits: Logits, finite: bool) -> Beta:
    """Put what is believed of each cell as a Beta of the same mean and spread.

    Of a population, the items are a sample: their own mean chance is off by as much as chances vary among them.
    """
    mean, variance = logits.mean, logits.variance
    if not finite:
        variance = variance + logits.within / cells.n_items
    strength = np.maximum(mean * (1 - mean) / variance - 1, WEAKEST)
    return Beta(cells.names, strength * mean, strength * (1 - mean))
