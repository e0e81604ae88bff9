"""From accuracy to classes: the distribution of the true class of wrong predictions, from the other classes' scores.

The strength of the scores as a Dirichlet prior is learned from the labels of wrong predictions.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, softmax

from fewlabels.data.counts import NONE, Cells
from fewlabels.distributions.belief import Beta, Dirichlet

STRENGTHS = 2.0 ** np.arange(-2, 11)  # grid of prior strengths of the scores, in labels
TINY = 1e-300
FLOOR = 1e-3  # probability spread over all classes, so that a score of 0 does not exclude a class


@dataclass(frozen=True)
class ClassShares:
    """Dirichlet distributions of the true class per cell, given the accuracy of each cell."""

    cells: Cells

    @cached_property
    def error_counts(self) -> Float[np.ndarray, "cell class"]:
        """Posterior pseudo-counts of the true class of wrong predictions."""
        return fit_error_counts(self.cells)

    def to_dirichlet(self, right: Beta) -> Dirichlet:
        """Spread the error probability over the other classes; the accuracy keeps its mean and strength."""
        mean, strength = right.mean()[:, None], right.strength()[:, None]
        wrong = self.error_counts / np.maximum(self.error_counts.sum(axis=1, keepdims=True), TINY)
        return Dirichlet(right.groups, strength * (mean * one_hot_predicted(self.cells) + (1 - mean) * wrong))

    def start(self, right: Beta) -> Dirichlet:
        """Subtract a cell's own labels: the prior without them."""
        after = self.to_dirichlet(right)
        return Dirichlet(after.groups, after.alpha - self.cells.labels)


def one_hot_predicted(cells: Cells) -> Float[np.ndarray, "cell class"]:
    """One-hot encoding of each cell's predicted class."""
    out = np.zeros_like(cells.labels)
    said = cells.predicted != NONE
    out[np.nonzero(said)[0], cells.predicted[said]] = 1.0
    return out


def fit_error_counts(cells: Cells) -> Float[np.ndarray, "cell class"]:
    """Posterior pseudo-counts of the true class of wrong predictions: scores times a learned strength, plus labels."""
    aside = 1 - one_hot_predicted(cells)
    wrong = cells.labels * aside
    base = np.ones_like(wrong) if cells.probability is None else cells.probability + FLOOR / wrong.shape[1]
    if cells.probability is None:
        base = base + wrong.sum(axis=0)  # without scores, the error distribution of all cells
    base = base * aside
    base = base / np.maximum(base.sum(axis=1, keepdims=True), TINY)
    prior = STRENGTHS[:, None, None] * base
    evidence = (gammaln(prior + wrong) - gammaln(np.where(prior > 0, prior, 1.0)))[:, aside > 0].sum(axis=1)
    evidence += (gammaln(STRENGTHS)[:, None] - gammaln(STRENGTHS[:, None] + wrong.sum(axis=1))).sum(axis=1)
    strength = float(np.exp(softmax(evidence) @ np.log(STRENGTHS)))
    return strength * base + wrong
