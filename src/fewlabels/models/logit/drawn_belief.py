"""A belief that is known by its joint draws."""

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from fewlabels.distributions.budgets import MIN_DRAWS, limit_stored_draws
from fewlabels.distributions.quantiles import Array
from fewlabels.distributions.randomness import Rng


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
