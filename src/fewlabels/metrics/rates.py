"""Rates of classes, from the masses of true positives, predicted positives and actual positives."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

TINY = 1e-300


class ClassMasses(NamedTuple):
    """Probability masses of each class in each scope: true positive, predicted positive, and actual positive."""

    true_positive: Float[np.ndarray, "draw scope class"]
    predicted_positive: Float[np.ndarray, "draw scope class"]
    actual_positive: Float[np.ndarray, "draw scope class"]


def divide(a: np.ndarray, b: np.ndarray) -> Float[np.ndarray, "draw scope class"]:
    """Divide masses to a rate; 0/0 is NaN."""
    return np.divide(a, b, out=np.full_like(a, np.nan), where=b > TINY)


def recall(s: ClassMasses) -> Float[np.ndarray, "draw scope class"]:
    """Rate of true positives of actual positives (TPR)."""
    return divide(s.true_positive, s.actual_positive)


def precision(s: ClassMasses) -> Float[np.ndarray, "draw scope class"]:
    """Rate of true positives of predicted positives (PPV)."""
    return divide(s.true_positive, s.predicted_positive)


def false_positive(s: ClassMasses) -> Float[np.ndarray, "draw scope class"]:
    """Rate of false positives of actual negatives (FPR)."""
    return divide(s.predicted_positive - s.true_positive, 1 - s.actual_positive)


def false_omission(s: ClassMasses) -> Float[np.ndarray, "draw scope class"]:
    """Rate of false negatives of predicted negatives (FOR)."""
    return divide(s.actual_positive - s.true_positive, 1 - s.predicted_positive)


def false_negative(s: ClassMasses) -> Float[np.ndarray, "draw scope class"]:
    """Rate of false negatives of actual positives (FNR)."""
    return divide(s.actual_positive - s.true_positive, s.actual_positive)


def true_negative(s: ClassMasses) -> Float[np.ndarray, "draw scope class"]:
    """Rate of true negatives of actual negatives (TNR)."""
    return divide(1 - s.actual_positive - s.predicted_positive + s.true_positive, 1 - s.actual_positive)


def false_discovery(s: ClassMasses) -> Float[np.ndarray, "draw scope class"]:
    """Rate of false positives of predicted positives (FDR)."""
    return divide(s.predicted_positive - s.true_positive, s.predicted_positive)


def negative_predictive(s: ClassMasses) -> Float[np.ndarray, "draw scope class"]:
    """Rate of true negatives of predicted negatives (NPV)."""
    return divide(1 - s.actual_positive - s.predicted_positive + s.true_positive, 1 - s.predicted_positive)


def f1(s: ClassMasses) -> Float[np.ndarray, "draw scope class"]:
    """Harmonic mean of the rates precision and recall."""
    return divide(2 * s.true_positive, s.predicted_positive + s.actual_positive)


def matthews(s: ClassMasses) -> Float[np.ndarray, "draw scope"]:
    """Matthews correlation of predictions and truth over all classes, from the masses that rates are made of."""
    right = s.true_positive.sum(axis=2)
    chance = (s.predicted_positive * s.actual_positive).sum(axis=2)
    spread = (1 - (s.predicted_positive**2).sum(axis=2)) * (1 - (s.actual_positive**2).sum(axis=2))
    return np.divide(right - chance, np.sqrt(spread), out=np.zeros_like(right), where=spread > 1e-15)
