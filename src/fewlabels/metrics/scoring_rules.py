"""Losses of a score as the probability that a prediction is right: the Brier score and the log-loss.

With two classes the prediction is right or wrong as the label is one class or the other, so these are the usual binary
scores of the probability of a class. With more they are those of the confidence in the predicted class: the mean over all
classes (multi-class Brier score and cross-entropy) would need the probabilities of every item beside its label.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

SMALLEST = 1e-6  # scores are cut to [SMALLEST, 1 − SMALLEST] in the log-loss, or one wrong item could be infinite
PerCell = Float[np.ndarray, " cell"]
Losses = Callable[[PerCell], tuple[PerCell, PerCell]]  # score to the losses if right and if wrong


def brier_losses(score: PerCell) -> tuple[PerCell, PerCell]:
    """Losses of the Brier score: squared distances of the score from 1 and from 0.

    >>> [loss.round(2).tolist() for loss in brier_losses(np.array([0.9]))]
    [[0.01], [0.81]]
    """
    return (1 - score) ** 2, score**2


def log_losses(score: PerCell) -> tuple[PerCell, PerCell]:
    """Losses of the log score: minus the log of the probability of what happened, in nats.

    >>> [loss.round(2).tolist() for loss in log_losses(np.array([0.9, 1.0]))]
    [[0.11, 0.0], [2.3, 13.82]]
    """
    kept = np.clip(score, SMALLEST, 1 - SMALLEST)
    return -np.log(kept), -np.log1p(-kept)
