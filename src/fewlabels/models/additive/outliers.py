"""Extra variance for cells that may be outliers, used by acquisition only, not by reported estimates.

An acquisition that follows posterior uncertainty alone never labels cells where the model is confident and wrong. So
each cell is an outlier with a small prior probability, with a uniform accuracy. Few labels, or labels that disagree
with the posterior mean, raise the extra variance.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import betaln, expit, logit, xlog1py, xlogy

from fewlabels.distributions.belief import Beta

RARE = 0.05  # prior probability of an outlier; deliberately high, as a missed outlier costs more than a wasted label
EDGE = 1e-6
PerCell = Float[np.ndarray, " cell"]


def doubt_cells(mean: PerCell, right: PerCell, n_labels: PerCell) -> PerCell:
    """Return the variance around each cell's mean that outliers add, given the cell's own labels.

    >>> doubt_cells(np.full(3, 0.98), np.array([0.0, 2.0, 0.0]), np.array([0.0, 2.0, 2.0])).round(4).tolist()
    [0.0157, 0.0016, 0.5577]
    """
    mean, wrong = np.clip(mean, EDGE, 1 - EDGE), n_labels - right
    known = xlogy(right, mean) + xlog1py(wrong, -mean)
    chance = expit(logit(RARE) + betaln(right + 1, wrong + 1) - known)
    anything = Beta(("",) * len(mean), right + 1, wrong + 1)
    return chance * (anything.variance() + (anything.mean() - mean) ** 2)
