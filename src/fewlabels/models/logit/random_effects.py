"""Random effects: how far groups deviate from the shared curve, in logits.

A random effect is σ times a Student t, whose heavy tails limit shrinkage. One group in fifty has a wide normal instead (a
group with misleading scores), and some groups are never right (a class that is predicted and never occurs): a share that
is learned, in proportion to how unsure the scores of the group are. There is one effect per group, so it is integrated
numerically on a grid instead of being approximated.
"""

from dataclasses import dataclass
from functools import cached_property
from math import gamma, pi, sqrt

import numpy as np
from jaxtyping import Float

STEPS = np.linspace(-1.0, 1.0, 11) * np.arcsinh(12.0)  # first grid: arcsinh(u/σ)
PRIOR_NODES, PRIOR_SPACING = (
    np.sinh(STEPS),
    np.cosh(STEPS) * (STEPS[1] - STEPS[0]),
)  # its nodes and their spacing, in units of σ
LIKELIHOOD_NODES = np.arange(
    -4.0, 5.0
)  # second grid, around the mode of a group's labels, in their standard deviations
REACH = 8.0, 3.0  # range of either grid, in the same units
NODES = len(PRIOR_NODES) + len(LIKELIHOOD_NODES) + 1
MAX_LOGIT = 30.0  # logits are clipped to this magnitude
NEVER = -20.0  # random effect of groups whose predictions are never right, in logits
PerGroup = Float[np.ndarray, " group"]
PerNode = Float[np.ndarray, "group node"]
Value = float | Float[np.ndarray, "group 1"]  # of all groups, or of each


@dataclass(frozen=True)
class Spread:
    """How far random effects spread: the scale σ of most groups, and the share of groups that are never right."""

    scale: Value
    never_share: Value  # of groups with a doubt of 1


@dataclass(frozen=True)
class Grid:
    """Quadrature grid of each group's random effect, with derivatives of the log density.

    The derivatives are by log σ and by the logit of the share of groups that are never right.
    """

    nodes: PerNode  # nodes
    weight: PerNode  # density times the spacing of the node
    gradient: Float[np.ndarray, "group node 2"]  # first derivatives of the log density
    hessian: Float[np.ndarray, "group node 2 2"]  # second derivatives


@dataclass(frozen=True)
class RandomEffects:
    """A Student t scaled by σ, mixed with a wide normal for outliers, and a point for groups that are never right."""

    degrees_of_freedom: float = 4.0  # of the Student t
    outlier_weight: float = 0.02  # probability that a group is an outlier
    outlier_scale: float = 4.0  # standard deviation of outliers, in logits

    def build_grid(self, spread: Spread, doubt: PerGroup, centre: PerGroup, width: PerGroup) -> Grid:
        """Build the union of a grid around the t's centre and a grid around the mode of each group's labels.

        Smooth blending weights give each region to the grid that is denser there, so that each sum is as accurate as
        with a single grid. One more node stands for groups that are never right.
        """
        scale, centre, width = spread.scale, centre[:, None], width[:, None]
        own, near = (
            np.broadcast_to(scale * PRIOR_NODES, (len(centre), len(PRIOR_NODES))),
            centre + width * LIKELIHOOD_NODES,
        )
        gap, even = scale * PRIOR_SPACING, width * (LIKELIHOOD_NODES[1] - LIKELIHOOD_NODES[0])  # node spacing
        far = scale * (STEPS[1] - STEPS[0]) * np.sqrt(1 + (near / scale) ** 2)
        spans = (
            gap * _blend_weight(gap / even, PRIOR_NODES / REACH[0], (own - centre) / (REACH[1] * width)),
            even * _blend_weight(even / far, LIKELIHOOD_NODES / REACH[1], near / (REACH[0] * scale)),
        )
        at = np.concatenate([own, near], axis=1)
        density, gradient, hessian = self._density_and_derivatives(at, scale)
        loose = 1 / (1 + _square(scale / width, 2))
        weight, gradient, hessian = _normalise(loose, density * np.concatenate(spans, axis=1), gradient, hessian)
        return _add_never_right(at, weight, gradient, hessian, spread.never_share, doubt[:, None])

    @cached_property
    def _peak_density(self) -> float:
        """Density of the standard t at 0."""
        return (
            gamma((self.degrees_of_freedom + 1) / 2)
            / gamma(self.degrees_of_freedom / 2)
            / sqrt(self.degrees_of_freedom * pi)
        )

    def _density_and_derivatives(self, at: PerNode, scale: Value) -> tuple[PerNode, PerNode, PerNode]:
        """Density of the mixture of t and normal, and first and second derivatives of its logarithm by log σ."""
        nu, square = self.degrees_of_freedom, (at / scale) ** 2
        own = (1 - self.outlier_weight) * self._peak_density / scale * np.exp(-(nu + 1) / 2 * np.log1p(square / nu))
        outlier_weight = (
            self.outlier_weight / (self.outlier_scale * sqrt(2 * pi)) * np.exp(-0.5 * (at / self.outlier_scale) ** 2)
        )
        density = own + outlier_weight
        share = own / density
        gradient = (nu + 1) * square / (nu + square) - 1
        hessian = -2 * nu * (nu + 1) * square / (nu + square) ** 2
        return density, share * gradient, share * (hessian + (1 - share) * gradient**2)


def _add_never_right(
    nodes: PerNode,
    weight: PerNode,
    gradient: PerNode,
    hessian: PerNode,
    share: Value,
    doubt: Float[np.ndarray, "group 1"],
) -> Grid:
    """Add a node for groups that are never right, with derivatives by the logit of their share."""
    never = share * doubt
    first, second = never * (1 - share), never * (1 - share) * (1 - 2 * share)
    rest = -first / (1 - never), -second / (1 - never) - (first / (1 - never)) ** 2
    by_scale = [_append(values, np.zeros_like(doubt)) for values in (gradient, hessian)]
    by_share = [
        _append(np.broadcast_to(others, nodes.shape), np.broadcast_to(own, doubt.shape))
        for others, own in zip(rest, (1 - share, -share * (1 - share)), strict=True)
    ]
    zero = np.zeros_like(by_share[0])
    squares = np.stack([by_scale[1], zero, zero, by_share[1]], axis=2)
    return Grid(
        _append(nodes, np.full_like(doubt, NEVER)),
        _append((1 - never) * weight, never),
        np.stack([by_scale[0], by_share[0]], axis=2),
        squares.reshape(*zero.shape, 2, 2),
    )


def _append(values: PerNode, last: Float[np.ndarray, "group 1"]) -> Float[np.ndarray, "group one_more"]:
    return np.concatenate([values, last], axis=1)


def _normalise(
    loose: Float[np.ndarray, "group 1"], weight: PerNode, gradient: PerNode, hessian: PerNode
) -> tuple[PerNode, PerNode, PerNode]:
    """Normalise the weights to sum to one for any σ where labels are weak; small errors would add up over many groups.

    Where labels are strong, the density around their mode matters and the total weight does not, so the exponent is near 0.
    """
    total = weight.sum(axis=1, keepdims=True)
    mean = (weight * gradient).sum(axis=1, keepdims=True) / total
    square = (weight * (hessian + gradient**2)).sum(axis=1, keepdims=True) / total - mean**2
    return weight / total**loose, gradient - loose * mean, hessian - loose * square


def _blend_weight(
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


def expit(logit: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Logistic function of clipped logits; NumPy's exponential is several times faster than SciPy's expit."""
    out = np.negative(clip_magnitude(logit, MAX_LOGIT))
    np.exp(out, out=out)
    out += 1
    return np.reciprocal(out, out=out)


def clip_magnitude(values: Float[np.ndarray, "..."], furthest: float) -> Float[np.ndarray, "..."]:
    """Clip values to a magnitude; np.clip takes five times as long for small arrays."""
    return np.minimum(np.maximum(values, -furthest), furthest)
