"""How far a group may depart from the curve that all share: mostly a little, some a lot, a few completely.

A departure is the scale σ times a Student t, so that a few labels can overrule the crowd, or, once in fifty groups,
something else altogether (a class that is predicted and never occurs, a group whose scores lie). Departures are one
number per group, so they are integrated on a grid instead of being approximated.
"""

from dataclasses import dataclass
from functools import cached_property
from math import gamma, pi, sqrt

import numpy as np
from jaxtyping import Float

STEPS = np.linspace(-1.0, 1.0, 11) * np.arcsinh(12.0)  # of the first grid: arcsinh(u/σ)
OWN, STRETCH = np.sinh(STEPS), np.cosh(STEPS) * (STEPS[1] - STEPS[0])  # its nodes and their distances, in scales
NEAR = np.arange(-4.0, 5.0)  # the second grid, about where a group's labels point, in their standard deviations
REACH = 8.0, 3.0  # how far either grid serves, in the same
NODES = len(OWN) + len(NEAR)
FURTHEST = 30.0  # logits beyond which nothing is told apart
PerGroup = Float[np.ndarray, " group"]
PerNode = Float[np.ndarray, "group node"]
Scale = float | Float[np.ndarray, "group 1"]  # σ: of all groups, or of each


@dataclass(frozen=True)
class Grid:
    """Departures to sum over, for each group its own; what each stands for; and how that changes with log σ."""

    place: PerNode
    weight: PerNode  # density times the stretch of the line that a node stands for
    slope: PerNode  # of the log density
    bend: PerNode


@dataclass(frozen=True)
class Departures:
    """A Student t, scaled by σ, or rarely a wide normal."""

    freedom: float = 4.0  # of the Student t
    strange: float = 0.02  # chance of a group that follows no pattern
    stray: float = 4.0  # how far such a group is off, in logits

    def place(self, scale: Scale, centre: PerGroup, width: PerGroup) -> Grid:
        """Lay one grid where the t is dense and another where a group's labels point, and sum over both as one.

        Every place is left to the grid that is denser there, with a smooth change where they are alike: the sum over
        either is as exact then as if it were alone.
        """
        centre, width = centre[:, None], width[:, None]
        own, near = np.broadcast_to(scale * OWN, (len(centre), len(OWN))), centre + width * NEAR
        gap, even = scale * STRETCH, width * (NEAR[1] - NEAR[0])  # from node to node
        far = scale * (STEPS[1] - STEPS[0]) * np.sqrt(1 + (near / scale) ** 2)
        spans = (
            gap * _yield(gap / even, OWN / REACH[0], (own - centre) / (REACH[1] * width)),
            even * _yield(even / far, NEAR / REACH[1], near / (REACH[0] * scale)),
        )
        parts = [
            (place, density * span, np.broadcast_to(slope, place.shape), np.broadcast_to(bend, place.shape))
            for place, span, (density, slope, bend) in zip(
                (own, near), spans, (self._weigh(scale * OWN, scale), self._weigh(near, scale)), strict=True
            )
        ]
        loose = 1 / (1 + _square(scale / width, 2))
        return _normalise(loose, *(np.concatenate(both, axis=1) for both in zip(*parts, strict=True)))

    @cached_property
    def _top(self) -> float:
        """Density of the t at its centre."""
        return gamma((self.freedom + 1) / 2) / gamma(self.freedom / 2) / sqrt(self.freedom * pi)

    def _weigh(self, at: Float[np.ndarray, "... node"], scale: Scale) -> tuple[Float[np.ndarray, "... node"], ...]:
        """Density of the mixture, and slope and bend of its logarithm by log σ."""
        nu, square = self.freedom, (at / scale) ** 2
        own = (1 - self.strange) * self._top / scale * np.exp(-(nu + 1) / 2 * np.log1p(square / nu))
        strange = self.strange / (self.stray * sqrt(2 * pi)) * np.exp(-0.5 * (at / self.stray) ** 2)
        density = own + strange
        share = own / density
        slope = (nu + 1) * square / (nu + square) - 1
        bend = -2 * nu * (nu + 1) * square / (nu + square) ** 2
        return density, share * slope, share * (bend + (1 - share) * slope**2)


def _normalise(
    loose: Float[np.ndarray, "group 1"], place: PerNode, weight: PerNode, slope: PerNode, bend: PerNode
) -> Grid:
    """Make weights add up to one, whatever σ is, where labels tell little: small errors would add up over many groups.

    Where they tell much, what counts is the density about where they point, and not how much is elsewhere.
    """
    total = weight.sum(axis=1, keepdims=True)
    mean = (weight * slope).sum(axis=1, keepdims=True) / total
    square = (weight * (bend + slope**2)).sum(axis=1, keepdims=True) / total - mean**2
    return Grid(place, weight / total**loose, slope - loose * mean, bend - loose * square)


def _yield(
    coarse: Float[np.ndarray, "..."], out: Float[np.ndarray, "..."], other: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """How much of a place a grid keeps, given how coarse it is against the other, and how far out in each."""
    fourth, eighth, other_eighth = _square(coarse, 2), _square(out, 3), _square(other, 3)
    return 1 / (1 + fourth * (1 + eighth) / (1 + other_eighth))


def _square(x: Float[np.ndarray, "..."], times: int) -> Float[np.ndarray, "..."]:
    """Square again and again, which is much faster than a power."""
    for _ in range(times):
        x = x * x
    return x


def squash(logit: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """From logits to chances; NumPy's exponential is several times faster than SciPy's expit."""
    out = np.negative(bound(logit, FURTHEST))
    np.exp(out, out=out)
    out += 1
    return np.reciprocal(out, out=out)


def bound(values: Float[np.ndarray, "..."], furthest: float) -> Float[np.ndarray, "..."]:
    """Keep values within a distance of zero; np.clip takes five times as long for few of them."""
    return np.minimum(np.maximum(values, -furthest), furthest)
