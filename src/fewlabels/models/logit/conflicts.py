"""Conflicts: groups whose own labels contradict what curve and other groups lead to expect of them.

The fit pulls every group to the pattern of all groups, even one that left it. So the fit without a group's own labels is
compared with these labels alone, as a prior with its data (Box 1980; Evans and Moshonov 2006). Where they differ by more
than chance explains, the accuracy is, with a weight that grows with the conflict, what the labels alone say: the interval
spans both. Groups that agree, and those without labels, stay as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.special import betainc, betaincinv, digamma, expit, ndtri

from fewlabels.distributions.randomness import Rng
from fewlabels.models.logit.joint import CellAccuracies

# Probability that an ordinary group is in conflict, in either direction. At 0.2 the error of groups grew by up to a third.
CHANCE = 0.05
FEWEST = 3  # labels that a group needs to contradict anything
JEFFREYS = 0.5
LEAST = 0.5  # pseudo-count of either outcome that is left of a fit without a group's own labels
LEVEL = 0.95
EDGE = 1e-6
QUANTILES = expit(np.linspace(-9.0, 9.0, 61))  # of both distributions, at which their mixture is evaluated
PerCell = Float[np.ndarray, " cell"]


@dataclass(frozen=True, eq=False)
class ConflictingAccuracies:
    """Accuracies of cells by a model; with a weight, at least as far off as a cell's own labels say that contradict it.

    A negative weight is that of labels that are less often right than expected.
    """

    model: CellAccuracies
    ends: tuple[PerCell, PerCell]  # of the model's intervals at LEVEL, which take long
    right: PerCell
    wrong: PerCell
    weight: PerCell

    @cached_property
    def mean(self) -> PerCell:
        """Expected accuracy of cells whose labels conflict with the model."""
        mean = self.model.mean.copy()
        mean[self._there] = self._mixture.mean
        return mean

    @property
    def within_variance(self) -> PerCell:
        """Variance of the probability of being right over a cell's items; scores explain none of it where they mislead."""
        return (1 - np.abs(self.weight)) * self.model.within_variance

    def interval(self, level: float) -> tuple[PerCell, PerCell]:
        """Central interval of the accuracy of cells with conflicts."""
        low, high = (end.copy() for end in (self.ends if level == LEVEL else self.model.interval(level)))
        if len(self._there):
            low[self._there], high[self._there] = (self._mixture.quantile((1 + side * level) / 2) for side in (-1, 1))
        return low, high

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell"]:
        """Joint draws of cells with conflicts."""
        drawn, there = self.model.draw(rng, n), self._there
        model, weight = drawn[:, there], self.weight[there]
        own = rng.beta(self.right[there] + JEFFREYS, self.wrong[there] + JEFFREYS, size=model.shape)
        own = _order_like(own, model)
        further = np.where(weight < 0, np.minimum(model, own), np.maximum(model, own))
        drawn[:, there] = np.where(rng.random(own.shape) < np.abs(weight), further, model)
        return drawn

    @cached_property
    def _there(self) -> Int[np.ndarray, " conflict"]:
        """Return the cells that have conflicts."""
        return np.nonzero(self.weight)[0]

    @cached_property
    def _mixture(self) -> "_Mixture":
        """The distributions of the cells with conflicts, the model's as a Beta."""
        there = self._there
        mean = np.clip(self.model.mean[there], EDGE, 1 - EDGE)
        low, high = (end[there] for end in self.ends)
        strength = _find_strength(mean, high - low)
        of_labels = (self.right[there] + JEFFREYS)[:, None], (self.wrong[there] + JEFFREYS)[:, None]
        of_model = (strength * mean)[:, None], (strength * (1 - mean))[:, None]
        ends = np.zeros((len(there), 1)), np.ones((len(there), 1))
        at = np.sort(np.hstack([*ends, *(betaincinv(*shape, QUANTILES) for shape in (of_labels, of_model))]), axis=1)
        own, model = betainc(*of_labels, at), betainc(*of_model, at)
        weight = self.weight[there][:, None]
        further = np.where(weight < 0, np.maximum(model, own), np.minimum(model, own))
        return _Mixture(at, model + np.abs(weight) * (further - model))


@dataclass(frozen=True)
class _Mixture:
    """Distribution functions of cells with conflicts, each at accuracies of its own."""

    at: Float[np.ndarray, "conflict point"]
    below: Float[np.ndarray, "conflict point"]

    @property
    def mean(self) -> Float[np.ndarray, " conflict"]:
        """Mean of the distributions of cells with conflicts."""
        return np.trapezoid(1 - self.below, self.at, axis=1)

    def quantile(self, q: float) -> Float[np.ndarray, " conflict"]:
        """Quantile of the distributions of cells with conflicts."""
        return np.array([np.interp(q, below, at) for below, at in zip(self.below, self.at, strict=True)])


def _order_like(
    own: Float[np.ndarray, "draw conflict"], model: Float[np.ndarray, "draw conflict"]
) -> Float[np.ndarray, "draw conflict"]:
    """Order draws from a cell's own labels as the model's are: the model has seen the same labels.

    So where both say the same, the lower (or higher) of the two is no further off than either.
    """
    rank = np.argsort(np.argsort(model, axis=0), axis=0)
    return np.take_along_axis(np.sort(own, axis=0), rank, axis=0)


def include_conflicts(projected: Sequence[CellAccuracies], right: PerCell, wrong: PerCell) -> list[CellAccuracies]:
    """Include what a cell's own labels say where they contradict a model's accuracies; the first ones are of all items."""
    ends = [accuracies.interval(LEVEL) for accuracies in projected]
    weight = weigh_conflicts(projected[0].mean, ends[0], right, wrong)
    pairs = zip(projected, ends, strict=True)
    return [ConflictingAccuracies(accuracies, own, right, wrong, weight) for accuracies, own in pairs]


def weigh_conflicts(mean: PerCell, ends: tuple[PerCell, PerCell], right: PerCell, wrong: PerCell) -> PerCell:
    """Return the weight of each cell's own labels against a model with such means and intervals; 0 where chance explains it.

    The weight is the share of the squared difference that chance does not explain (James and Stein 1961), with the sign of
    the difference.
    """
    weight = np.zeros(len(right))
    (there,) = np.nonzero(right + wrong >= FEWEST)
    mean = np.clip(mean[there], EDGE, 1 - EDGE)
    low, high = (end[there] for end in ends)
    strength, right, wrong = _find_strength(mean, high - low), right[there], wrong[there]
    expected, doubt = _to_logit(strength * mean - right, strength * (1 - mean) - wrong)
    own, noise = _to_logit(right + JEFFREYS, wrong + JEFFREYS)
    square = (own - expected) ** 2 / (doubt + noise)
    size = np.maximum(1 - ndtri(1 - CHANCE / 2) ** 2 / np.maximum(square, EDGE), 0.0)
    weight[there] = np.copysign(size, own - expected)
    return weight


def _find_strength(mean: PerCell, width: PerCell) -> PerCell:
    """Pseudo-counts of a Beta with these means and widths of intervals, to find conflicts with labels."""
    deviation = np.maximum(width, EDGE) / (2 * ndtri((1 + LEVEL) / 2))
    return np.maximum(mean * (1 - mean) / deviation**2 - 1, 2 * LEAST)


def _to_logit(alpha: PerCell, beta: PerCell) -> tuple[PerCell, PerCell]:
    """Mean and variance of the logit of a Beta, to measure a conflict; what is left without own labels has some of either."""
    alpha, beta = np.maximum(alpha, LEAST), np.maximum(beta, LEAST)
    return digamma(alpha) - digamma(beta), _approximate_trigamma(alpha) + _approximate_trigamma(beta)


def _approximate_trigamma(x: PerCell) -> PerCell:
    """Approximate the trigamma function, to measure conflicts, to 1 %; SciPy's takes ten times as long."""
    y = x + 1
    return 1 / x**2 + 1 / y + 1 / (2 * y**2) + 1 / (6 * y**3)
