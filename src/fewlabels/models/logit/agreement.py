"""Does a normal approximation agree with the labels it was made from?

Two standard deviations from its centre, the log likelihood of labels should not fall by much more than the log density of
a normal, which falls by 2. It does where the likelihood is flat around the mode and steep further off: scores of 1 and
labels that are all right. A normal around the mode then holds accuracies possible that the labels rule out.
"""

import numpy as np
from jaxtyping import Bool, Float

from fewlabels.models.logit.random_effects import squash

STEEPEST = 5.0  # fall of a log likelihood at two standard deviations, up to which the normal is accepted


def find_contradicted(
    centre: Float[np.ndarray, "*shape"],
    sd: Float[np.ndarray, "*shape"],
    right: Float[np.ndarray, "..."],
    total: Float[np.ndarray, "..."],
) -> Bool[np.ndarray, "*shape"]:
    """Find the normal approximations of logits that the labels themselves rule out in part.

    >>> find_contradicted(np.array([11.5, 2.0]), np.array([6.0, 0.5]), np.array([13.0, 13.0]), np.array([13.0, 13.0])).tolist()
    [True, False]
    """
    middle, below, above = (log_likelihood(centre + x * sd, right, total) for x in (0, -2, 2))
    return np.maximum(middle - below, middle - above) > STEEPEST


def log_likelihood(
    at: Float[np.ndarray, "*shape"], right: Float[np.ndarray, "..."], total: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "*shape"]:
    """Log likelihood of right ones among labels, at these logits."""
    return right * np.log(squash(at)) + (total - right) * np.log(squash(-at))
