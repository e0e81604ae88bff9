"""Variance of the metric in each group, and its expected reduction by one more label."""

import numpy as np
from jaxtyping import Float

from fewlabels.distributions.beta_dirichlet import Beta, Dirichlet
from fewlabels.metrics.evaluate import Theta
from fewlabels.metrics.metric import Cost, ScoringRule
from fewlabels.models.posterior import Posterior


def gain_by_variance(belief: Posterior, truth: Theta) -> Float[np.ndarray, "draw group"]:
    """Return the expected reduction of a goal's variance in each group; a label falls in cells by their size."""
    reduction = expect_cell_variance_reduction(belief, truth) * belief.weight**3
    starts = np.searchsorted(belief.evaluation.cells.group, np.arange(len(belief.groups)))  # cells are sorted by group
    return np.add.reduceat(reduction, starts, axis=1)


def expect_variance_reduction(
    belief: Posterior, group_weight: Float[np.ndarray, " group"]
) -> Float[np.ndarray, " group"]:
    """Return the expected reduction of the weighted variances of all groups by one more label in each group.

    A label informs its own group and the groups correlated with it. In a finite pool it also makes its item known,
    which reduces the variance of a small group a lot, and of a large group hardly more than that of its population.
    """
    share, item = _find_unlabelled_shares(belief)
    per_group = belief.metric.is_cell_accuracy  # else every cell is a target of its own
    aim = belief.evaluation.cells.group if per_group else np.arange(belief.evaluation.cells.n)
    reduction = belief.covariance_with_pending.expect_variance_reduction(
        aim,
        belief.weight * share,
        belief.weight * item,
        group_weight if per_group else group_weight[belief.evaluation.cells.group] * square_slope(belief),
    )
    return belief.sum_by_group(belief.weight * reduction)


def expect_variance_of_sum(belief: Posterior, slope: Float[np.ndarray, " group"]) -> Float[np.ndarray, " group"]:
    """Return the expected reduction of the variance of Σ slope × metric by one more label in each group.

    Groups must be single cells. The slopes linearize a function of all groups, such as a difference of rates.
    """
    share, item = _find_unlabelled_shares(belief)
    one = np.zeros(len(slope), dtype=np.int64)
    return belief.covariance_with_pending.expect_variance_reduction(one, slope * share, slope * item, np.ones(1))


def measure_variance(belief: Posterior) -> Float[np.ndarray, " group"]:
    """Return the metric's variance in each group, with pending items answered as expected; summed over classes."""
    share, item = _find_unlabelled_shares(belief)
    covariance = belief.covariance_with_pending
    return belief.sum_by_group(
        belief.weight**2 * square_slope(belief) * (share**2 * covariance.variance + share * item * covariance.noise)
    )


def _find_unlabelled_shares(belief: Posterior) -> tuple[Float[np.ndarray, " cell"], Float[np.ndarray, " cell"]]:
    """Return the unlabelled share of each cell and the share of one unlabelled item; 1 and 0 for a population."""
    size = belief.evaluation.cells.n_items
    if not belief.finite_pool:
        return np.ones(len(size)), np.zeros(len(size))
    rest = np.maximum(size - belief.n_labelled - belief.pending, 0.0)
    return rest / size, (rest > 0) / size


def expect_cell_variance_reduction(belief: Posterior, truth: Theta) -> Float[np.ndarray, "draw cell"]:
    """Return the expected reduction of the variance of each cell by one more label in it, if a draw were true."""
    now = belief.with_pending
    if isinstance(now, Beta):
        after = truth * now.observe_hypothetical(0).variance() + (1 - truth) * now.observe_hypothetical(1).variance()
        return (now.variance() - after) * square_slope(belief)
    assert isinstance(now, Dirichlet)
    if isinstance(belief.metric, Cost):
        assert belief.metric.matrix is not None
        return _cost_variance_reduction(now, truth, belief.metric.matrix[:, belief.evaluation.cells.predicted].T)
    return _share_variance_reduction(now, truth)


def square_slope(belief: Posterior) -> Float[np.ndarray, " cell"]:
    """Return the factor of a cell's variance in the metric's: the squared change of a loss; 1 for other metrics."""
    metric, cells = belief.metric, belief.cells
    return metric.slope(cells) ** 2 if isinstance(metric, ScoringRule) else np.ones(cells.n)


def _share_variance_reduction(now: Dirichlet, truth: Theta) -> Float[np.ndarray, "draw cell"]:
    """Reduction of the summed variance of shares, V(α) = (1 − Σ m²) / (A + 1); a label j adds 2 α_j + 1 to Σ α²."""
    total, squares = now.strength(), (now.alpha**2).sum(axis=1)
    before = (1 - squares / total**2) / (total + 1)
    seen = np.einsum("dcj,cj->dc", truth, now.alpha)
    return before - (1 - (squares + 1 + 2 * seen) / (total + 1) ** 2) / (total + 2)


def _cost_variance_reduction(
    now: Dirichlet, truth: Theta, price: Float[np.ndarray, "cell class"]
) -> Float[np.ndarray, "draw cell"]:
    """Reduction of the variance of Σ c_j θ_j, which is (E c² − (E c)²) / (A + 1)."""
    total = now.strength()
    first, second = (price * now.alpha).sum(axis=1), (price**2 * now.alpha).sum(axis=1)
    before = (second / total - (first / total) ** 2) / (total + 1)
    mean, square = (np.einsum("dcj,cj->dc", truth, p) for p in (price, price**2))
    after = (second + square) / (total + 1) - (first**2 + 2 * first * mean + square) / (total + 1) ** 2
    return before - after / (total + 2)
