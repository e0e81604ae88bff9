"""Distributions of one quantity per group: exact for Beta and Dirichlet, samples (Draws) otherwise.

Every model returns a Belief and every result is computed from one. Beliefs are immutable: observing returns a new
belief. Axes are (draw, group, outcome).
"""

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from fewlabels.distributions.quantiles import TINY, Array, beta_interval
from fewlabels.distributions.randomness import Rng
from fewlabels.distributions.sparse import SparseDraws, draw_dirichlet
from fewlabels.distributions.trimming import trim_interval


@runtime_checkable
class Belief(Protocol):
    """The distribution of one quantity per group."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Group names, in the order of the group axis."""
        ...

    def mean(self) -> Array:
        """Expected value, (group, ...)."""
        ...

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Equal-tailed credible interval: low and high, each (group, ...)."""
        ...

    def draw(self, rng: Rng, n: int) -> Array:
        """Joint samples, (draw, group, ...)."""
        ...


@runtime_checkable
class Conjugate(Belief, Protocol):
    """A conjugate belief: counts update it in closed form."""

    def variance(self) -> Array:
        """Variance, (group, ...)."""
        ...

    def observe(self, counts: Float[np.ndarray, "group outcome"]) -> "Conjugate":
        """Return the belief updated with these counts of outcomes."""
        ...

    def observe_hypothetical(self, outcome: int) -> "Conjugate":
        """Return the belief updated with one more outcome of this kind in every group."""
        ...

    def strength(self) -> Float[np.ndarray, " group"]:
        """Total pseudo-count per group."""
        ...


@dataclass(frozen=True)
class Beta:
    """The probability of a right outcome per group; outcome 0 is right, outcome 1 is wrong.

    >>> Beta(("a",), np.array([1.0]), np.array([1.0])).observe(np.array([[3.0, 1.0]])).mean()
    array([0.66666667])
    """

    groups: tuple[str, ...]
    alpha: Float[np.ndarray, " group"]
    beta: Float[np.ndarray, " group"]

    def mean(self) -> Float[np.ndarray, " group"]:
        """α / (α + β)."""
        return self.alpha / (self.alpha + self.beta)

    def variance(self) -> Float[np.ndarray, " group"]:
        """αβ / ((α + β)² (α + β + 1))."""
        total = self.alpha + self.beta
        return self.alpha * self.beta / (total**2 * (total + 1))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Exact quantiles."""
        return beta_interval(self.alpha, self.beta, level)

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        """Independent draws per group; 0 or 1 where a parameter is zero."""
        drawn = rng.beta(np.maximum(self.alpha, TINY), np.maximum(self.beta, TINY), size=(n, len(self.groups)))
        return np.where(self.alpha <= 0, 0.0, np.where(self.beta <= 0, 1.0, drawn))

    def observe(self, counts: Float[np.ndarray, "group 2"]) -> "Beta":
        """Add counts of right and wrong outcomes."""
        return replace(self, alpha=self.alpha + counts[:, 0], beta=self.beta + counts[:, 1])

    def observe_hypothetical(self, outcome: int) -> "Beta":
        """Add one right (0) or wrong (1) outcome in every group."""
        return self.observe(np.tile(np.eye(2)[outcome], (len(self.groups), 1)))

    def strength(self) -> Float[np.ndarray, " group"]:
        """α + β."""
        return self.alpha + self.beta


@dataclass(frozen=True)
class Dirichlet:
    """A distribution over outcomes (true classes) per group."""

    groups: tuple[str, ...]
    alpha: Float[np.ndarray, "group outcome"]

    def mean(self) -> Float[np.ndarray, "group outcome"]:
        """α_j / Σ α."""
        return self.alpha / self.alpha.sum(axis=1, keepdims=True)

    def variance(self) -> Float[np.ndarray, "group outcome"]:
        """Variance of each share."""
        total = self.alpha.sum(axis=1, keepdims=True)
        mean = self.alpha / total
        return mean * (1 - mean) / (total + 1)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Interval of each share, from its Beta marginal."""
        return beta_interval(self.alpha, self.alpha.sum(axis=1, keepdims=True) - self.alpha, level)

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group outcome"]:
        """Normalise Gamma draws; where all of them underflow, put the whole mass on one outcome (the limit)."""
        gammas = rng.standard_gamma(self.alpha, size=(n, *self.alpha.shape))
        total = gammas.sum(axis=2, keepdims=True)
        for i, g in zip(*np.nonzero(total[:, :, 0] < 1e-290), strict=True):
            gammas[i, g] = rng.multinomial(1, self.alpha[g] / self.alpha[g].sum())
            total[i, g] = 1.0
        return gammas / total

    @property
    def sparse_shapes(self) -> Float[np.ndarray, "group outcome"]:
        """Shapes of the Gamma variables behind its draws."""
        return self.alpha

    def draw_sparse(self, rng: Rng, n: int) -> SparseDraws:
        """Joint draws of the shares above zero."""
        return draw_dirichlet(rng, self.alpha, n)

    def observe(self, counts: Float[np.ndarray, "group outcome"]) -> "Dirichlet":
        """Add counts of outcomes."""
        return replace(self, alpha=self.alpha + counts)

    def observe_hypothetical(self, outcome: int) -> "Dirichlet":
        """Add one outcome of this class in every group."""
        return self.observe(np.tile(np.eye(self.alpha.shape[1])[outcome], (len(self.groups), 1)))

    def strength(self) -> Float[np.ndarray, " group"]:
        """Σ α."""
        return self.alpha.sum(axis=1)

    def marginal(self, outcome: Int[np.ndarray, " group"]) -> Beta:
        """Return the Beta marginal of one outcome per group."""
        alpha = np.take_along_axis(self.alpha, outcome[:, None], axis=1)[:, 0]
        return Beta(self.groups, alpha, self.alpha.sum(axis=1) - alpha)


@dataclass(frozen=True)
class Draws:
    """Samples of a quantity per group."""

    groups: tuple[str, ...]
    samples: Float[np.ndarray, "draw group"]
    is_skewed: bool = False  # is its figure the median? of a distance the mean is mostly noise where it is near 0
    is_discrete: bool = False  # does it take few values, as in a finite pool?

    def mean(self) -> Float[np.ndarray, " group"]:
        """Average over draws; their median where the quantity is skewed."""
        return np.median(self.samples, axis=0) if self.is_skewed else self.samples.mean(axis=0)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Quantiles of the draws; trimmed where there are few values."""
        if self.is_discrete:
            return trim_interval(self.samples, level)
        low, high = np.quantile(self.samples, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        """Resample joint draws with replacement."""
        return self.samples[rng.integers(len(self.samples), size=n)]


def include_mean(mean: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
    """Widen the intervals of a belief that do not contain their mean.

    This happens where most of the mass is at one end: a single item that is right with probability 0.96 has the 95 %
    interval [1, 1].
    """
    return np.minimum(ends[0], mean), np.maximum(ends[1], mean)
