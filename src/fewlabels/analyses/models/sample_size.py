"""About how many more labels settle a difference: labels of items on which the two models disagree.

The standard deviation of a difference falls with the square root of these labels. For each of several values that the true
difference may have, the number is found at which the probability of the right region reaches the confidence; the median
over these values is returned.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

from fewlabels.text import round_up_count

PRIOR_LABELS = 3.0  # labels that the prior is about worth
QUANTILES = np.arange(0.05, 1.0, 0.1)  # of the true difference


def count_more_labels(
    drawn: Float[np.ndarray, " draw"], *, rope: float, confidence: float, n_labels: int, n_open: int
) -> int | None:
    """Return about the sample size that settles a difference of models; None where all left are unlikely to.

    Parameters
    ----------
    drawn: array
        Draws of the difference.
    n_labels, n_open: int
        Labelled and unlabelled items on which the two models disagree.

    >>> drawn = np.random.default_rng(0).normal(0.03, 0.02, 4000)
    >>> count_more_labels(drawn, rope=0.0, confidence=0.95, n_labels=50, n_open=1000)
    28
    """
    deviation = float(drawn.std())
    needed = [_count_for(float(at), deviation, rope, confidence, n_labels) for at in np.quantile(drawn, QUANTILES)]
    middle = sorted(needed)[len(needed) // 2]
    return None if middle > n_open else min(max(1, round_up_count(middle)), n_open)


def _count_for(true: float, deviation: float, rope: float, confidence: float, n_labels: int) -> float:
    """Return the sample size needed if this were the true difference of models."""
    target = _find_deviation(abs(true), rope, confidence)
    if target <= 0 or deviation <= 0:
        return float("inf") if target <= 0 else 0.0
    return max(0.0, (n_labels + PRIOR_LABELS) * ((deviation / target) ** 2 - 1))


def _find_deviation(away: float, rope: float, confidence: float) -> float:
    """Return the standard deviation at which the region of a difference of this size has the required probability."""
    if away > rope:  # half of a normal lies beyond its own mean, however wide it is
        return float((away - rope) / ndtri(confidence)) if confidence > 0.5 else float("inf")
    low, high = 0.0, max(rope, 1e-12)
    for _ in range(50):
        middle = (low + high) / 2
        inside = ndtr((rope - away) / middle) - ndtr((-rope - away) / middle)
        low, high = (middle, high) if inside >= confidence else (low, middle)
    return low
