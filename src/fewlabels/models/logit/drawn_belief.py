"""A belief that is known by its joint draws."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from fewlabels.distributions.budgets import MIN_DRAWS, limit_stored_draws
from fewlabels.distributions.quantiles import Array
from fewlabels.distributions.randomness import Rng
from fewlabels.distributions.trimming import trim_interval


@runtime_checkable
class AccuracyDraws(Protocol):
    """Joint draws of the accuracy of every cell."""

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell"]:
        """Joint draws of the accuracies, of which the belief is drawn."""
        ...


class DrawnBelief(ABC):
    """A belief whose mean and interval come from draws."""

    @abstractmethod
    def draw(self, rng: Rng, n: int) -> Array:
        """Joint draws, (draw, cell, ...)."""

    @property
    def is_discrete(self) -> bool:
        """Does the drawn belief take few values, as in a finite pool?"""
        return False

    def mean(self) -> Array:
        """Expected value of the drawn belief."""
        mean = self._sample.mean(axis=0)
        return np.clip(
            mean, self._sample.min(axis=0), self._sample.max(axis=0)
        )  # rounding moves the mean of equal draws

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Quantiles of the drawn belief; trimmed where there are few values."""
        if self.is_discrete:
            return trim_interval(self._sample, level)
        low, high = np.quantile(self._sample, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    @cached_property
    def _sample(self) -> Array:
        """The draws by which mean and interval of the belief are known."""
        size = self.draw(np.random.default_rng(0), 1).size
        return self.draw(np.random.default_rng(0), limit_stored_draws(MIN_DRAWS, size))
