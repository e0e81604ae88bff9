"""What an attribute classifier says of items, as terms of the model: items may be right because of it.

A classifier sees more of an item than the true value of one attribute, and whether the prediction is right may depend on
the same. Without such terms all that depends on the classifier's output would be ascribed to the attribute itself, so
that errors grow with labels.
"""

import numpy as np
from jaxtyping import Float

from fewlabels.models.logit.curve import place_knots, spline_basis, to_logit

MOST_LOGIT = 5.0  # logits are clipped here: probabilities nearer to 0 or 1 say little more
MIN_SD = 1e-6


def describe_classifier(score: Float[np.ndarray, "item value"]) -> Float[np.ndarray, "item term"]:
    """Return the terms of an attribute classifier: splines of the logits of all values but the first, standardized.

    >>> describe_classifier(np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1], [0.3, 0.7]])).shape
    (4, 3)
    """
    n, columns = np.ones(len(score), dtype=np.int64), list[Float[np.ndarray, "item part"]]()
    for chance in score.T[1:]:
        x = np.clip(to_logit(chance), -MOST_LOGIT, MOST_LOGIT)
        part = spline_basis(x, place_knots(x, n))[:, 1:]
        spread = part.std(axis=0)
        kept = spread > MIN_SD
        columns.append(((part - part.mean(axis=0)) / np.maximum(spread, MIN_SD))[:, kept])
    return np.concatenate(columns, axis=1)
