"""The Beta distribution: the probability of a right outcome per group, updated by counts."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from fewlabels.distributions.quantiles import TINY, Array, beta_interval
from fewlabels.distributions.randomness import Rng


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
