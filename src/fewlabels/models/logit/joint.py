"""Joint beliefs about all cells: draws of accuracies that keep the correlation between cells."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from fewlabels.distributions.belief import Rng
from fewlabels.distributions.budgets import MIN_DRAWS, limit_stored_draws
from fewlabels.distributions.finite_pool import ResidualVariance, draw_right
from fewlabels.distributions.quantiles import Array


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
        mean = self._sample.mean(axis=0)
        return np.clip(
            mean, self._sample.min(axis=0), self._sample.max(axis=0)
        )  # rounding moves the mean of equal draws

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
        drawn = draw_right(rng, self.rest, theta, self.residual_variance)
        return (self.known[:, 0] + drawn) / (self.known.sum(axis=1) + self.rest)
