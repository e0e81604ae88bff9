"""Random effects: how far groups deviate from the shared curve, in logits.

A random effect is σ times a Student t, whose heavy tails limit shrinkage. One group in fifty is an outlier with a wide
normal instead (a class that is predicted and never occurs, a group with misleading scores). There is one effect per
group, so it is integrated numerically on a grid instead of being approximated.
"""

from dataclasses import dataclass
from functools import cached_property
from math import gamma, pi, sqrt

import numpy as np
from jaxtyping import Float

STEPS = np.linspace(-1.0, 1.0, 11) * np.arcsinh(12.0)  # first grid: arcsinh(u/σ)
OWN, STRETCH = np.sinh(STEPS), np.cosh(STEPS) * (STEPS[1] - STEPS[0])  # its nodes and their spacing, in units of σ
NEAR = np.arange(-4.0, 5.0)  # second grid, around the mode of a group's labels, in their standard deviations
REACH = 8.0, 3.0  # range of either grid, in the same units
NODES = len(OWN) + len(NEAR)
FURTHEST = 30.0  # logits are clipped to this magnitude
PerGroup = Float[np.ndarray, " group"]
PerNode = Float[np.ndarray, "group node"]
Scale = float | Float[np.ndarray, "group 1"]  # σ: of all groups, or of each


@dataclass(frozen=True)
class Grid:
    """Quadrature grid of each group's random effect, with derivatives of the log density by log σ."""

    place: PerNode  # nodes
    weight: PerNode  # density times the spacing of the node
    slope: PerNode  # first derivative of the log density
    bend: PerNode  # second derivative


@dataclass(frozen=True)
class Departures:
    """A Student t scaled by σ, mixed with a wide normal for outliers."""

    freedom: float = 4.0  # of the Student t
    strange: float = 0.02  # probability that a group is an outlier
    stray: float = 4.0  # standard deviation of outliers, in logits

    def place(self, scale: Scale, centre: PerGroup, width: PerGroup) -> Grid:
        """Build the union of a grid around the t's centre and a grid around the mode of each group's labels.

        Smooth blending weights give each region to the grid that is denser there, so that each sum is as accurate as
        with a single grid.
        """
        centre, width = centre[:, None], width[:, None]
        own, near = np.broadcast_to(scale * OWN, (len(centre), len(OWN))), centre + width * NEAR
        gap, even = scale * STRETCH, width * (NEAR[1] - NEAR[0])  # node spacing
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
        """Density of the standard t at 0."""
        return gamma((self.freedom + 1) / 2) / gamma(self.freedom / 2) / sqrt(self.freedom * pi)

    def _weigh(self, at: Float[np.ndarray, "... node"], scale: Scale) -> tuple[Float[np.ndarray, "... node"], ...]:
        """Density of the mixture, and first and second derivatives of its logarithm by log σ."""
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
    """Normalise the weights to sum to one for any σ where labels are weak; small errors would add up over many groups.

    Where labels are strong, the density around their mode matters and the total weight does not, so the exponent is near 0.
    """
    total = weight.sum(axis=1, keepdims=True)
    mean = (weight * slope).sum(axis=1, keepdims=True) / total
    square = (weight * (bend + slope**2)).sum(axis=1, keepdims=True) / total - mean**2
    return Grid(place, weight / total**loose, slope - loose * mean, bend - loose * square)


def _yield(
    coarse: Float[np.ndarray, "..."], out: Float[np.ndarray, "..."], other: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """Blending weight of a grid, given its relative spacing and the distance from either grid's centre."""
    fourth, eighth, other_eighth = _square(coarse, 2), _square(out, 3), _square(other, 3)
    return 1 / (1 + fourth * (1 + eighth) / (1 + other_eighth))


def _square(x: Float[np.ndarray, "..."], times: int) -> Float[np.ndarray, "..."]:
    """Square repeatedly, which is much faster than a power."""
    for _ in range(times):
        x = x * x
    return x


def squash(logit: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Logistic function of clipped logits; NumPy's exponential is several times faster than SciPy's expit."""
    out = np.negative(bound(logit, FURTHEST))
    np.exp(out, out=out)
    out += 1
    return np.reciprocal(out, out=out)


def bound(values: Float[np.ndarray, "..."], furthest: float) -> Float[np.ndarray, "..."]:
    """Clip values to a magnitude; np.clip takes five times as long for small arrays."""
    return np.minimum(np.maximum(values, -furthest), furthest)
