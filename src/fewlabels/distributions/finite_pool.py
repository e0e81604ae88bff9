"""Beliefs about exactly these items: what is labelled is known, only the rest is uncertain.

The rest comes out as its chances have it. Were all items alike, that is a binomial; where scores tell them apart, some
nearly certain to be right and others hardly, less is left to chance than their mean chance would say.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.distributions.belief import Array, Beta, Conjugate, Dirichlet, Rng, contain
from fewlabels.distributions.beta_binomial import count_interval

Luck = Float[np.ndarray, " group"] | None
"""How much of the variance of an outcome its chance leaves open, 0 to 1; None: all of it, items being alike."""


@dataclass(frozen=True)
class Finite:
    """The share of right outcomes among exactly these items: what is labelled is known, the rest is predicted.

    With every item labelled it is a point.
    """

    belief: Beta
    known: Float[np.ndarray, "group 2"]
    rest: Int[np.ndarray, " group"]
    luck: Luck = None

    @property
    def groups(self) -> tuple[str, ...]:
        """Names, along the group axis."""
        return self.belief.groups

    def mean(self) -> Float[np.ndarray, " group"]:
        """(known + rest · E θ) / size."""
        return (self.known[:, 0] + self.rest * self.belief.mean()) / self._size()

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """What is known, and the interval of the count of the rest; it contains the mean."""
        low, high = count_interval(self.rest, self.belief.alpha, self.belief.beta, level, self.luck)
        ends = (self.known[:, 0] + low) / self._size(), (self.known[:, 0] + high) / self._size()
        return contain(self.mean(), ends)

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        """Draw θ, then the outcomes of the rest."""
        theta = self.belief.draw(rng, n)
        return (self.known[:, 0] + calm(rng.binomial(self.rest, theta), self.rest * theta, self.luck)) / self._size()

    def _size(self) -> Float[np.ndarray, " group"]:
        return self.known.sum(axis=1) + self.rest


@dataclass(frozen=True)
class FiniteShares:
    """The shares of each outcome among exactly these items."""

    belief: Dirichlet
    known: Float[np.ndarray, "group outcome"]
    rest: Int[np.ndarray, " group"]
    luck: Luck = None

    @property
    def groups(self) -> tuple[str, ...]:
        """Names, along the group axis."""
        return self.belief.groups

    def mean(self) -> Float[np.ndarray, "group outcome"]:
        """(known + rest · E θ) / size."""
        return (self.known + self.rest[:, None] * self.belief.mean()) / self._size()

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Of each share: what is known, and the interval of the count of the rest."""
        alpha = self.belief.alpha
        beta = alpha.sum(axis=1, keepdims=True) - alpha
        rest = np.broadcast_to(self.rest[:, None], alpha.shape)
        left = None if self.luck is None else np.broadcast_to(self.luck[:, None], alpha.shape)
        low, high = count_interval(rest, alpha, beta, level, left)
        return contain(self.mean(), ((self.known + low) / self._size(), (self.known + high) / self._size()))

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group outcome"]:
        """Draw θ, then the outcomes of the rest."""
        theta = self.belief.draw(rng, n)
        drawn = rng.multinomial(self.rest, theta)
        return (self.known + calm(drawn, self.rest[:, None] * theta, _turn(self.luck))) / self._size()

    def marginal(self, outcome: Int[np.ndarray, " group"]) -> Finite:
        """Belief about the share of one outcome per group."""
        known = np.take_along_axis(self.known, outcome[:, None], axis=1)[:, 0]
        return Finite(
            self.belief.marginal(outcome),
            np.stack([known, self.known.sum(axis=1) - known], axis=1),
            self.rest,
            self.luck,
        )

    def _size(self) -> Float[np.ndarray, "group 1"]:
        return (self.known.sum(axis=1) + self.rest)[:, None]


def restrict(
    belief: Conjugate, counts: Float[np.ndarray, "group outcome"], rest: Int[np.ndarray, " group"], luck: Luck = None
) -> Finite | FiniteShares:
    """Narrow a belief down to exactly these items: the counted ones are known, the rest follows the belief."""
    if isinstance(belief, Beta):
        return Finite(belief, counts, rest, luck)
    assert isinstance(belief, Dirichlet)
    return FiniteShares(belief, counts, rest, luck)


def calm(drawn: Int[np.ndarray, "*shape"], expected: Float[np.ndarray, "*shape"], luck: Array | None) -> Array:
    """Bring binomial counts nearer to what was expected, so that they vary by as much as is open."""
    return drawn.astype(np.float64) if luck is None else expected + np.sqrt(luck) * (drawn - expected)


def _turn(luck: Luck) -> Float[np.ndarray, "group 1"] | None:
    return None if luck is None else luck[:, None]
