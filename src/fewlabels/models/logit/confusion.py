"""From right and wrong to classes: what a wrong prediction truly is, as the scores of the other classes say.

How far they are trusted about that is learned from the labels of wrong predictions.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, softmax

from fewlabels.data.counts import NONE, Cells
from fewlabels.distributions.belief import Beta, Dirichlet

STRENGTHS = 2.0 ** np.arange(-2, 11)  # what the scores may be worth, in labels
TINY = 1e-300
FLOOR = 1e-3  # of probability, spread over all classes: scores of nothing are not taken at their word


@dataclass(frozen=True)
class Shares:
    """Shares of true classes in cells, given how often each cell is right."""

    cells: Cells

    @cached_property
    def others(self) -> Float[np.ndarray, "cell class"]:
        """Pseudo-counts of what a wrong prediction truly is, labels included."""
        return learn_others(self.cells)

    def spread(self, right: Beta) -> Dirichlet:
        """Spread what is not right over the other classes; how often it is right stays exactly as believed."""
        mean, strength = right.mean()[:, None], right.strength()[:, None]
        wrong = self.others / np.maximum(self.others.sum(axis=1, keepdims=True), TINY)
        return Dirichlet(right.groups, strength * (mean * indicate(self.cells) + (1 - mean) * wrong))

    def start(self, right: Beta) -> Dirichlet:
        """Take a cell's own labels out again: where it would start without them."""
        after = self.spread(right)
        return Dirichlet(after.groups, after.alpha - self.cells.labels)


def indicate(cells: Cells) -> Float[np.ndarray, "cell class"]:
    """One for the predicted class of each cell, and nothing for the others."""
    out = np.zeros_like(cells.labels)
    said = cells.predicted != NONE
    out[np.nonzero(said)[0], cells.predicted[said]] = 1.0
    return out


def learn_others(cells: Cells) -> Float[np.ndarray, "cell class"]:
    """Pseudo-counts of what a wrong prediction truly is, labels included: as the scores say, trusted as labels show."""
    aside = 1 - indicate(cells)
    wrong = cells.labels * aside
    base = np.ones_like(wrong) if cells.probability is None else cells.probability + FLOOR / wrong.shape[1]
    if cells.probability is None:
        base = base + wrong.sum(axis=0)  # classes that are missed elsewhere are missed here too
    base = base * aside
    base = base / np.maximum(base.sum(axis=1, keepdims=True), TINY)
    prior = STRENGTHS[:, None, None] * base
    evidence = (gammaln(prior + wrong) - gammaln(np.where(prior > 0, prior, 1.0)))[:, aside > 0].sum(axis=1)
    evidence += (gammaln(STRENGTHS)[:, None] - gammaln(STRENGTHS[:, None] + wrong.sum(axis=1))).sum(axis=1)
    strength = float(np.exp(softmax(evidence) @ np.log(STRENGTHS)))
    return strength * base + wrong
