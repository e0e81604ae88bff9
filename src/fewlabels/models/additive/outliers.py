"""Extra variance for cells that may be outliers, used by acquisition only, not by reported estimates.

An acquisition that follows posterior uncertainty alone never labels cells where the model is confident and wrong. So
each cell is an outlier with a small prior probability, with a uniform accuracy. Few labels, or labels that disagree
with the posterior mean, raise the extra variance.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import betaln, expit, logit, xlog1py, xlogy

from fewlabels.distributions.beta_dirichlet import Beta

P_OUTLIER = (
    0.05  # prior probability of an outlier; deliberately high, as a missed outlier costs more than a wasted label
)
EDGE = 1e-6
PerCell = Float[np.ndarray, " cell"]


def compute_outlier_variance(mean: PerCell, right: PerCell, n_labels: PerCell) -> PerCell:
    """Return the variance around each cell's mean that outliers add, given the cell's own labels.

    >>> compute_outlier_variance(np.full(3, 0.98), np.array([0.0, 2.0, 0.0]), np.array([0.0, 2.0, 2.0])).round(4).tolist()
    [0.0157, 0.0016, 0.5577]
    """
    mean, wrong = np.clip(mean, EDGE, 1 - EDGE), n_labels - right
    log_likelihood = xlogy(right, mean) + xlog1py(wrong, -mean)
    p_outlier = expit(logit(P_OUTLIER) + betaln(right + 1, wrong + 1) - log_likelihood)
    outlier = Beta(("",) * len(mean), right + 1, wrong + 1)
    return p_outlier * (outlier.variance() + (outlier.mean() - mean) ** 2)
