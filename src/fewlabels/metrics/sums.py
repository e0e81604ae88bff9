"""Sums and averages of draws over the cells of a scope, which every metric is made of."""

import numpy as np
from jaxtyping import Float, Int


def sum_by(
    values: Float[np.ndarray, "draw cell *class"], index: Int[np.ndarray, " cell"], n: int
) -> Float[np.ndarray, "draw scope *class"]:
    """Sum draws over the cells with the same index; unused indices are zero."""
    if n == 1:
        return values.sum(axis=1, keepdims=True)
    if _is_identity(index, n):
        return values
    order = np.argsort(index, kind="stable")
    places, starts = np.unique(index[order], return_index=True)
    out = np.zeros((len(values), n, *values.shape[2:]))
    out[:, places] = np.add.reduceat(values[:, order], starts, axis=1)
    return out


def _is_identity(index: Int[np.ndarray, " cell"], n: int) -> bool:
    """Has every cell a sum of its own, in order?"""
    return len(index) == n and bool((index == np.arange(n)).all())


def average(
    values: Float[np.ndarray, "draw cell"],
    weight: Float[np.ndarray, "#draw cell"],
    scope: Int[np.ndarray, " cell"],
    n: int,
) -> Float[np.ndarray, "draw scope"]:
    """Average draws over the cells of each scope: sums weighted by items."""
    if _is_identity(scope, n):
        return values.copy()
    return sum_by(weight * values, scope, n) / sum_by(weight, scope, n)
