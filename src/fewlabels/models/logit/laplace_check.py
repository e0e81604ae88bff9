"""Check of a normal (Laplace) approximation against the labels it was fitted to.

Two standard deviations from the centre, the log likelihood should not fall by much more than a normal log density, which
falls by 2. It does where the likelihood is flat around the mode and steep further out: scores of 1 with labels that are
all right. The normal then puts mass on accuracies that the labels rule out.
"""

import numpy as np
from jaxtyping import Bool, Float

from fewlabels.models.logit.random_effects import expit

MAX_FALL = 5.0  # largest fall of the log likelihood at two standard deviations at which the normal is accepted


def find_contradicted(
    centre: Float[np.ndarray, "*shape"],
    sd: Float[np.ndarray, "*shape"],
    right: Float[np.ndarray, "..."],
    total: Float[np.ndarray, "..."],
) -> Bool[np.ndarray, "*shape"]:
    """Check Laplace (normal) approximations of logits: find those with mass where the labels rule it out.

    >>> find_contradicted(np.array([11.5, 2.0]), np.array([6.0, 0.5]), np.array([13.0, 13.0]), np.array([13.0, 13.0])).tolist()
    [True, False]
    """
    middle, below, above = (log_likelihood(centre + x * sd, right, total) for x in (0, -2, 2))
    return np.maximum(middle - below, middle - above) > MAX_FALL


def log_likelihood(
    at: Float[np.ndarray, "*shape"], right: Float[np.ndarray, "..."], total: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "*shape"]:
    """Binomial log likelihood of the right labels at these logits, to check Laplace approximations."""
    return right * np.log(expit(at)) + (total - right) * np.log(expit(-at))
