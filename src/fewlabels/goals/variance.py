"""How uncertain groups are, and how far one more label is expected to bring that down."""

import numpy as np
from jaxtyping import Float

from fewlabels.beliefs import Beta, Dirichlet
from fewlabels.knowledge import Knowledge
from fewlabels.metrics import Cost
from fewlabels.scheme import Theta


def gain_by_variance(belief: Knowledge, truth: Theta) -> Float[np.ndarray, "draw group"]:
    """Expected fall of the variance in each group; a label in a group of several cells lands in each by its size."""
    fall = reduce_variance(belief, truth) * belief.weight**3
    starts = np.searchsorted(belief.scheme.cells.group, np.arange(len(belief.groups)))  # cells come group by group
    return np.add.reduceat(fall, starts, axis=1)


def measure_variance(belief: Knowledge) -> Float[np.ndarray, " group"]:
    """Variance in each group, once pending items were answered as expected; of classes, summed over their shares.

    About exactly these items, only those without a label vary: all of them with the chance of being right, and each by
    itself. A small group is then soon known, and a large one hardly better than its population.
    """
    mean, variance = belief.foreseen.mean(), belief.foreseen.variance()
    if belief.doubt is not None:
        doubt = np.where(belief.pending > 0, 0.0, belief.doubt)
        variance = variance + (doubt if variance.ndim == 1 else doubt[:, None] / variance.shape[1])
    if belief.finite:
        size = belief.scheme.cells.n_items
        rest = np.maximum(size - belief.counts.sum(axis=1) - belief.pending, 0.0)
        both, each = (rest / size) ** 2, rest / size**2
        if variance.ndim == 2:
            both, each = both[:, None], each[:, None]
        variance = both * variance + each * (mean * (1 - mean) - variance)
    cells = variance if variance.ndim == 1 else variance.sum(axis=1)
    return belief.sum_by_group(cells * belief.weight**2)


def reduce_variance(belief: Knowledge, truth: Theta) -> Float[np.ndarray, "draw cell"]:
    """Expected fall of the variance of each cell with one more label in it, were the cells truly like this."""
    now = belief.foreseen
    if isinstance(now, Beta):
        after = truth * now.imagine(0).variance() + (1 - truth) * now.imagine(1).variance()
        return now.variance() - after
    assert isinstance(now, Dirichlet)
    if isinstance(belief.metric, Cost):
        assert belief.metric.matrix is not None
        return _reduce_of_cost(now, truth, belief.metric.matrix[:, belief.scheme.cells.predicted].T)
    return _reduce_of_shares(now, truth)


def _reduce_of_shares(now: Dirichlet, truth: Theta) -> Float[np.ndarray, "draw cell"]:
    """Of the summed variance of all shares, V(α) = (1 − Σ m²) / (A + 1): after a label j only Σ α² + 2 α_j + 1 matters."""
    total, squares = now.strength(), (now.alpha**2).sum(axis=1)
    before = (1 - squares / total**2) / (total + 1)
    seen = np.einsum("dcj,cj->dc", truth, now.alpha)
    return before - (1 - (squares + 1 + 2 * seen) / (total + 1) ** 2) / (total + 2)


def _reduce_of_cost(
    now: Dirichlet, truth: Theta, price: Float[np.ndarray, "cell class"]
) -> Float[np.ndarray, "draw cell"]:
    """Of the variance of Σ c_j θ_j, (E c² − (E c)²) / (A + 1)."""
    total = now.strength()
    first, second = (price * now.alpha).sum(axis=1), (price**2 * now.alpha).sum(axis=1)
    before = (second / total - (first / total) ** 2) / (total + 1)
    mean, square = (np.einsum("dcj,cj->dc", truth, p) for p in (price, price**2))
    after = (second + square) / (total + 1) - (first**2 + 2 * first * mean + square) / (total + 1) ** 2
    return before - after / (total + 2)
