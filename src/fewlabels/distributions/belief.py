"""What a belief is: a distribution of one quantity per group, exact for Beta and Dirichlet, draws otherwise.

Every model returns a Belief and every result is computed from one. Beliefs are immutable: observing returns a new
belief. Axes are (draw, group, outcome).
"""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from fewlabels.distributions.quantiles import Array
from fewlabels.distributions.randomness import Rng


@runtime_checkable
class Belief(Protocol):
    """The distribution of one quantity per group."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Group names, in the order of the group axis."""
        ...

    def mean(self) -> Array:
        """Expected value of the belief, (group, ...)."""
        ...

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Equal-tailed credible interval of the belief: low and high, each (group, ...)."""
        ...

    def draw(self, rng: Rng, n: int) -> Array:
        """Joint samples of the belief, (draw, group, ...)."""
        ...


@runtime_checkable
class Conjugate(Belief, Protocol):
    """A conjugate belief: counts update it in closed form."""

    def variance(self) -> Array:
        """Variance of the belief, (group, ...)."""
        ...

    def observe(self, counts: Float[np.ndarray, "group outcome"]) -> "Conjugate":
        """Return the belief updated with these counts of outcomes."""
        ...

    def observe_hypothetical(self, outcome: int) -> "Conjugate":
        """Return the belief updated with one more outcome of this kind in every group."""
        ...

    def strength(self) -> Float[np.ndarray, " group"]:
        """Total pseudo-count of the conjugate belief per group."""
        ...


def include_mean(mean: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
    """Widen the intervals of a belief that do not contain their mean.

    This happens where most of the mass is at one end: a single item that is right with probability 0.96 has the 95 %
    interval [1, 1].
    """
    return np.minimum(ends[0], mean), np.maximum(ends[1], mean)
