"""Joint beliefs about all cells: draws of accuracies or class shares that keep the correlation between cells."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from fewlabels.distributions.belief import Rng
from fewlabels.distributions.budgets import MIN_DRAWS, limit_stored_draws
from fewlabels.distributions.finite_pool import ResidualVariance, scale_deviations
from fewlabels.distributions.quantiles import Array
from fewlabels.distributions.sparse import SparseDraws, draw_gammas, fill_empty


@runtime_checkable
class CellAccuracies(Protocol):
    """A model's joint posterior of the accuracy of every cell."""

    @property
    def mean(self) -> Float[np.ndarray, " cell"]:
        """Expected accuracy."""
        ...

    @property
    def within_variance(self) -> Float[np.ndarray, " cell"]:
        """Variance of the probability of being right over a cell's items."""
        ...

    def interval(self, level: float) -> tuple[Float[np.ndarray, " cell"], Float[np.ndarray, " cell"]]:
        """Central interval of the accuracy."""
        ...

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell"]:
        """Joint draws."""
        ...


class DrawnBelief(ABC):
    """A belief whose mean and interval come from draws."""

    @abstractmethod
    def draw(self, rng: Rng, n: int) -> Array:
        """Joint draws, (draw, cell, ...)."""

    def mean(self) -> Array:
        """Expected value."""
        return self._sample.mean(axis=0)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Quantiles of draws."""
        low, high = np.quantile(self._sample, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    @cached_property
    def _sample(self) -> Array:
        size = self.draw(np.random.default_rng(0), 1).size
        return self.draw(np.random.default_rng(0), limit_stored_draws(MIN_DRAWS, size))


@dataclass(frozen=True)
class JointAccuracies(DrawnBelief):
    """Joint accuracies of all cells; with `rest`, of the finite pool."""

    groups: tuple[str, ...]
    accuracies: CellAccuracies
    known: Float[np.ndarray, "cell 2"]
    rest: Int[np.ndarray, " cell"] | None
    residual_variance: ResidualVariance

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell"]:
        """Joint draws."""
        theta = self.accuracies.draw(rng, n)
        if self.rest is None:
            return theta
        drawn = scale_deviations(rng.binomial(self.rest, theta), self.rest * theta, self.residual_variance)
        return (self.known[:, 0] + drawn) / (self.known.sum(axis=1) + self.rest)


@dataclass(frozen=True)
class JointShares(DrawnBelief):
    """Joint shares of true classes in all cells: the accuracy from the curve, and the classes of errors."""

    groups: tuple[str, ...]
    accuracies: CellAccuracies
    error_counts: Float[np.ndarray, "cell class"]
    predicted: Int[np.ndarray, " cell"]
    known: Float[np.ndarray, "cell class"]
    rest: Int[np.ndarray, " cell"] | None
    residual_variance: ResidualVariance

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell class"]:
        """Joint draws."""
        right = self.accuracies.draw(rng, n)
        gammas = rng.standard_gamma(self.error_counts, size=(n, *self.error_counts.shape))
        theta = gammas * ((1 - right) / np.maximum(gammas.sum(axis=2), 1e-300))[:, :, None]
        cell = np.arange(len(self.predicted))
        theta[:, cell, self.predicted] = right
        theta /= theta.sum(axis=2, keepdims=True)
        if self.rest is None:
            return theta
        size = self.known.sum(axis=1) + self.rest
        residual_variance = None if self.residual_variance is None else self.residual_variance[:, None]
        drawn = scale_deviations(rng.multinomial(self.rest, theta), self.rest[:, None] * theta, residual_variance)
        return (self.known + drawn) / size[:, None]

    @property
    def sparse_shapes(self) -> Float[np.ndarray, "cell class"] | None:
        """Shapes of the classes of errors; None for a finite pool."""
        return self.error_counts if self.rest is None else None

    def draw_sparse(self, rng: Rng, n: int) -> SparseDraws:
        """Joint draws for the population, of the entries above zero."""
        right = self.accuracies.draw(rng, n)
        wrong = fill_empty(rng, draw_gammas(rng, self.error_counts, n), self.error_counts)
        wrong = wrong.multiply((1 - right) / wrong.sum_cells())
        return wrong.add_outcome(self.predicted, right)
