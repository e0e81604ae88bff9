"""The Dirichlet distribution: the probabilities of outcomes (true classes) per group, updated by counts."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from fewlabels.distributions.beta import Beta
from fewlabels.distributions.quantiles import Array, beta_interval
from fewlabels.distributions.randomness import Rng
from fewlabels.distributions.sparse_draws import SparseDraws, draw_dirichlet


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
