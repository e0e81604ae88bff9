"""Joint beliefs about all cells: draws of accuracies or class shares that keep the correlation between cells."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from fewlabels.distributions.belief import Array, Rng
from fewlabels.distributions.finite_pool import Luck, calm

N_DRAWS, FEWEST = 4000, 200
BUDGET = 20_000_000  # array elements drawn for means and quantiles


@runtime_checkable
class Chances(Protocol):
    """A model's joint posterior of the accuracy of every cell."""

    @property
    def mean(self) -> Float[np.ndarray, " cell"]:
        """Expected accuracy."""
        ...

    @property
    def within(self) -> Float[np.ndarray, " cell"]:
        """Variance of the probability of being right over a cell's items."""
        ...

    def interval(self, level: float) -> tuple[Float[np.ndarray, " cell"], Float[np.ndarray, " cell"]]:
        """Central interval of the accuracy."""
        ...

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell"]:
        """Joint draws."""
        ...


class Drawn(ABC):
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
        return self.draw(np.random.default_rng(0), int(np.clip(BUDGET // size, FEWEST, N_DRAWS)))


@dataclass(frozen=True)
class JointChances(Drawn):
    """Joint accuracies of all cells; with `rest`, of the finite pool."""

    groups: tuple[str, ...]
    chances: Chances
    known: Float[np.ndarray, "cell 2"]
    rest: Int[np.ndarray, " cell"] | None
    luck: Luck

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell"]:
        """Joint draws."""
        theta = self.chances.draw(rng, n)
        if self.rest is None:
            return theta
        drawn = calm(rng.binomial(self.rest, theta), self.rest * theta, self.luck)
        return (self.known[:, 0] + drawn) / (self.known.sum(axis=1) + self.rest)


@dataclass(frozen=True)
class JointShares(Drawn):
    """Joint shares of true classes in all cells: the accuracy from the curve, and the classes of errors."""

    groups: tuple[str, ...]
    chances: Chances
    others: Float[np.ndarray, "cell class"]
    predicted: Int[np.ndarray, " cell"]
    known: Float[np.ndarray, "cell class"]
    rest: Int[np.ndarray, " cell"] | None
    luck: Luck

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell class"]:
        """Joint draws."""
        right = self.chances.draw(rng, n)
        gammas = rng.standard_gamma(self.others, size=(n, *self.others.shape))
        theta = gammas * ((1 - right) / np.maximum(gammas.sum(axis=2), 1e-300))[:, :, None]
        cell = np.arange(len(self.predicted))
        theta[:, cell, self.predicted] = right
        theta /= theta.sum(axis=2, keepdims=True)
        if self.rest is None:
            return theta
        size = self.known.sum(axis=1) + self.rest
        luck = None if self.luck is None else self.luck[:, None]
        drawn = calm(rng.multinomial(self.rest, theta), self.rest[:, None] * theta, luck)
        return (self.known + drawn) / size[:, None]
