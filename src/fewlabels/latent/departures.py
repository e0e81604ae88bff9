"""How far a group may depart from the curve that all share: mostly a little, some a lot, a few completely.

A departure is the scale σ times a Student t, so that a few labels can overrule the crowd, or, once in fifty groups,
something else altogether (a class that is predicted and never occurs, a group whose scores lie). Departures are one
number per group, so they are integrated on a grid instead of being approximated.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

NODES, REACH = 25, 12.0  # of the t, in scales
STRANGERS = np.linspace(-7.0, 7.0, 15)  # logits that a group which follows no pattern may be off by
FURTHEST = 30.0  # logits beyond which nothing is told apart
PerNode = Float[np.ndarray, " node"]


@dataclass(frozen=True)
class Departures:
    """A grid over departures: `own` nodes scale with σ, the others stand where they are."""

    freedom: float = 4.0  # of the Student t
    strange: float = 0.02  # chance of a group that follows no pattern
    stray: float = 3.0  # how far such a group is off, in logits

    @cached_property
    def own(self) -> PerNode:
        """Nodes of the t, denser where it is dense."""
        return np.sinh(np.linspace(-np.arcsinh(REACH), np.arcsinh(REACH), NODES))

    @cached_property
    def log_weight(self) -> PerNode:
        """Chance of each node, in logs."""
        spacing = np.sqrt(1 + self.own**2)
        own = spacing * (1 + self.own**2 / self.freedom) ** (-(self.freedom + 1) / 2)
        strange = np.exp(-0.5 * (STRANGERS / self.stray) ** 2)
        parts = ((1 - self.strange) * own / own.sum(), self.strange * strange / strange.sum())
        return np.log(np.concatenate(parts))

    def place(self, scale: float) -> PerNode:
        """Where the nodes are, in logits."""
        return np.concatenate([scale * self.own, STRANGERS])

    def stretch(self, scale: float) -> PerNode:
        """How the nodes move with the logarithm of the scale."""
        return np.concatenate([scale * self.own, np.zeros(len(STRANGERS))])


def squash(logit: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """From logits to chances; NumPy's exponential is several times faster than SciPy's expit."""
    out = np.clip(logit, -FURTHEST, FURTHEST)
    np.exp(np.negative(out, out=out), out=out)
    out += 1
    return np.reciprocal(out, out=out)
