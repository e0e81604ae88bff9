"""How uncertain groups are, and how far one more label is expected to bring that down."""

import numpy as np
from jaxtyping import Float

from fewlabels.distributions.belief import Beta, Dirichlet
from fewlabels.metrics.evaluate import Theta
from fewlabels.metrics.metric import Cost
from fewlabels.models.posterior import Posterior


def gain_by_variance(belief: Posterior, truth: Theta) -> Float[np.ndarray, "draw group"]:
    """Expected fall of the variance in each group; a label in a group of several cells lands in each by its size."""
    fall = reduce_variance(belief, truth) * belief.weight**3
    starts = np.searchsorted(belief.scheme.cells.group, np.arange(len(belief.groups)))  # cells come group by group
    return np.add.reduceat(fall, starts, axis=1)


def expect_fall(belief: Posterior, worth: Float[np.ndarray, " group"]) -> Float[np.ndarray, " group"]:
    """Expected fall of the variances of all groups, by their worth, with one more label in each group.

    A label tells of its own group, and of those that hang together with it. About exactly these items it also makes its item
    known: a small group is then soon known, and a large one hardly better than its population.
    """
    share, item = _find_rest(belief)
    whole = belief.metric.own_cell  # else every cell counts for itself
    aim = belief.scheme.cells.group if whole else np.arange(belief.scheme.cells.n)
    fall = belief.ties_ahead.expect_fall(
        aim, belief.weight * share, belief.weight * item, worth if whole else worth[belief.scheme.cells.group]
    )
    return belief.sum_by_group(belief.weight * fall)


def measure_variance(belief: Posterior) -> Float[np.ndarray, " group"]:
    """Variance in each group, once pending items were answered as expected; of classes, summed over their shares."""
    share, item = _find_rest(belief)
    ties = belief.ties_ahead
    return belief.sum_by_group(belief.weight**2 * (share**2 * ties.variance + share * item * ties.noise))


def _find_rest(belief: Posterior) -> tuple[Float[np.ndarray, " cell"], Float[np.ndarray, " cell"]]:
    """How much of a cell is open: all of a population, where a single item is nothing; of exactly these items, the unlabelled."""
    size = belief.scheme.cells.n_items
    if not belief.finite_pool:
        return np.ones(len(size)), np.zeros(len(size))
    rest = np.maximum(size - belief.n_labelled - belief.pending, 0.0)
    return rest / size, (rest > 0) / size


def reduce_variance(belief: Posterior, truth: Theta) -> Float[np.ndarray, "draw cell"]:
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
