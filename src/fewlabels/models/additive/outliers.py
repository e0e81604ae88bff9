"""What if a cell is unlike anything that others suggest?

Labels that go where the model is not sure never go where it is sure and wrong. So a cell is allowed to be a stranger,
rarely: its accuracy could then be anything. The fewer labels a cell has of its own, and the worse they agree with what is
believed of it, the more that counts. It is a reason to look, not part of what is believed.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import betaln, expit, logit, xlog1py, xlogy

from fewlabels.distributions.belief import Beta

RARE = 0.05  # chance of a stranger: more than is believed, for not to have looked is dearer than to have looked in vain
EDGE = 1e-6
PerCell = Float[np.ndarray, " cell"]


def doubt_cells(mean: PerCell, right: PerCell, n_labels: PerCell) -> PerCell:
    """Return the variance of each cell's accuracy about its mean that strangers add, given the cell's own labels.

    >>> doubt_cells(np.full(3, 0.98), np.array([0.0, 2.0, 0.0]), np.array([0.0, 2.0, 2.0])).round(4).tolist()
    [0.0157, 0.0016, 0.5577]
    """
    mean, wrong = np.clip(mean, EDGE, 1 - EDGE), n_labels - right
    known = xlogy(right, mean) + xlog1py(wrong, -mean)
    chance = expit(logit(RARE) + betaln(right + 1, wrong + 1) - known)
    anything = Beta(("",) * len(mean), right + 1, wrong + 1)
    return chance * (anything.variance() + (anything.mean() - mean) ** 2)
