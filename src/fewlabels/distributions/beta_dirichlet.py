"""Beta and Dirichlet distributions: the probabilities of outcomes per group, updated by counts."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from fewlabels.distributions.quantiles import TINY, Array, beta_interval
from fewlabels.distributions.randomness import Rng
from fewlabels.distributions.sparse_draws import SparseDraws, draw_dirichlet


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
        """Mean of the Beta: α / (α + β)."""
        return self.alpha / (self.alpha + self.beta)

    def variance(self) -> Float[np.ndarray, " group"]:
        """Variance of the Beta: αβ / ((α + β)² (α + β + 1))."""
        total = self.alpha + self.beta
        return self.alpha * self.beta / (total**2 * (total + 1))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Exact quantiles of the Beta."""
        return beta_interval(self.alpha, self.beta, level)

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        """Independent draws per group; 0 or 1 where a parameter is zero."""
        drawn = rng.beta(np.maximum(self.alpha, TINY), np.maximum(self.beta, TINY), size=(n, len(self.groups)))
        return np.where(self.alpha <= 0, 0.0, np.where(self.beta <= 0, 1.0, drawn))

    def observe(self, counts: Float[np.ndarray, "group 2"]) -> "Beta":
        """Return the Beta with counts of right and wrong outcomes added."""
        return replace(self, alpha=self.alpha + counts[:, 0], beta=self.beta + counts[:, 1])

    def observe_hypothetical(self, outcome: int) -> "Beta":
        """Return the Beta with one right (0) or wrong (1) outcome added in every group."""
        return self.observe(np.tile(np.eye(2)[outcome], (len(self.groups), 1)))

    def strength(self) -> Float[np.ndarray, " group"]:
        """Pseudo-count of the Beta: α + β."""
        return self.alpha + self.beta


@dataclass(frozen=True)
class Dirichlet:
    """A distribution over outcomes (true classes) per group."""

    groups: tuple[str, ...]
    alpha: Float[np.ndarray, "group outcome"]

    def mean(self) -> Float[np.ndarray, "group outcome"]:
        """Mean of the Dirichlet: α_j / Σ α."""
        return self.alpha / self.alpha.sum(axis=1, keepdims=True)

    def variance(self) -> Float[np.ndarray, "group outcome"]:
        """Variance of each share of the Dirichlet."""
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
        """Return the Dirichlet with counts of outcomes added."""
        return replace(self, alpha=self.alpha + counts)

    def observe_hypothetical(self, outcome: int) -> "Dirichlet":
        """Return the Dirichlet with one outcome of this class added in every group."""
        return self.observe(np.tile(np.eye(self.alpha.shape[1])[outcome], (len(self.groups), 1)))

    def strength(self) -> Float[np.ndarray, " group"]:
        """Pseudo-count of the Dirichlet: Σ α."""
        return self.alpha.sum(axis=1)

    def marginal(self, outcome: Int[np.ndarray, " group"]) -> Beta:
        """Return the Beta marginal of one outcome per group."""
        alpha = np.take_along_axis(self.alpha, outcome[:, None], axis=1)[:, 0]
        return Beta(self.groups, alpha, self.alpha.sum(axis=1) - alpha)
