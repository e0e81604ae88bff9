"""What a wrong prediction truly is: as the scores of the other classes say, trusted as far as labels show."""

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, softmax

from fewlabels.labels import NONE, Cells

STRENGTHS = 2.0 ** np.arange(-2, 11)  # what the scores may be worth, in labels
FLOOR = 1e-3  # of probability, spread over all classes: scores of nothing are not taken at their word


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
    base = base / np.maximum(base.sum(axis=1, keepdims=True), 1e-300)
    prior = STRENGTHS[:, None, None] * base
    evidence = (gammaln(prior + wrong) - gammaln(np.where(prior > 0, prior, 1.0)))[:, aside > 0].sum(axis=1)
    evidence += (gammaln(STRENGTHS)[:, None] - gammaln(STRENGTHS[:, None] + wrong.sum(axis=1))).sum(axis=1)
    strength = float(np.exp(softmax(evidence) @ np.log(STRENGTHS)))
    return strength * base + wrong
