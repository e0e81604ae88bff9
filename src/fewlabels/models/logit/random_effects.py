"""Random effects: how far groups deviate from the shared curve, in logits.

A random effect is σ times a Student t, whose heavy tails limit shrinkage. Some groups are never right (a class that is
predicted and never occurs), with a probability that depends on traits of the group and is learned. Others are outliers:
their scores mean nothing, all their items have the same accuracy, and nothing is known of it before their labels (a class
that is silently broken); their share is learned too. There is one effect per group, so it is integrated numerically on a
grid instead of being approximated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import gamma, pi, sqrt

import numpy as np
from jaxtyping import Float
from scipy.special import psi

STEPS = np.linspace(-1.0, 1.0, 11) * np.arcsinh(12.0)  # first grid: arcsinh(u/σ)
PRIOR_NODES, PRIOR_SPACING = (
    np.sinh(STEPS),
    np.cosh(STEPS) * (STEPS[1] - STEPS[0]),
)  # its nodes and their spacing, in units of σ
LIKELIHOOD_NODES = np.arange(
    -4.0, 5.0
)  # second grid, around the mode of a group's labels, in their standard deviations
REACH = 8.0, 3.0  # range of either grid, in the same units
LOOSE = 4.0  # standard deviation, in logits, of the normal prior with which the mode of a group's labels is found
OUTLIER_NODES = 0.9 * np.arange(
    -5.0, 6.0
)  # grid of an outlier's logit, around its posterior mean, in its standard deviations
N_T = len(PRIOR_NODES) + len(LIKELIHOOD_NODES)  # nodes of the Student t, which come first
N_SHIFTS = N_T + 1  # nodes that shift the curve: the t's, and the one of groups that are never right
NODES = N_SHIFTS + len(OUTLIER_NODES)  # the last are an outlier's, which have no curve
MAX_LOGIT = 30.0  # logits are clipped to this magnitude
NEVER = -20.0  # random effect of groups whose predictions are never right, in logits
PerGroup = Float[np.ndarray, " group"]
PerNode = Float[np.ndarray, "group node"]
Value = float | Float[np.ndarray, "group 1"]  # of all groups, or of each


@dataclass(frozen=True)
class Spread:
    """How far random effects spread: the scale σ of most groups, and probabilities to be never right or an outlier."""

    scale: Value
    never: Float[np.ndarray, "group 1"]
    outlier: Value  # of groups that are not never right


@dataclass(frozen=True)
class OutlierGrid:
    """Grid of the logit of each group's accuracy, were the group an outlier; it depends on the group's labels alone."""

    nodes: Float[np.ndarray, "group outlier"]
    weight: Float[np.ndarray, "group outlier"]  # uniform density of the accuracy times the spacing of the node
    log_likelihood: Float[np.ndarray, "group outlier"]  # of the group's labels

    @classmethod
    def build(cls, right: PerGroup, total: PerGroup) -> "OutlierGrid":
        """Place nodes for an outlier's random effect around the posterior mean of the logit.

        >>> round(float(OutlierGrid.build(np.zeros(1), np.zeros(1)).weight.sum()), 2)
        1.0
        """
        alpha, beta = (right + 1)[:, None], (total - right + 1)[:, None]
        width = np.sqrt(_approximate_trigamma(alpha) + _approximate_trigamma(beta))
        at = psi(alpha) - psi(beta) + width * OUTLIER_NODES
        accuracy = expit(at)
        weight = accuracy * (1 - accuracy) * width * (OUTLIER_NODES[1] - OUTLIER_NODES[0])
        return cls(at, weight, right[:, None] * at + total[:, None] * np.log(expit(-at)))


@dataclass(frozen=True)
class RandomEffectGrid:
    """Quadrature grid of each group's random effect, with derivatives of the log density.

    The derivatives are by log σ and by the logits of the probabilities to be never right and to be an outlier; mixed ones
    are zero. Nodes are random effects; those of outliers are logits of the accuracy itself.
    """

    nodes: PerNode  # nodes
    weight: PerNode  # density times the spacing of the node
    never: Float[np.ndarray, "group 1"]  # probability to be never right
    outlier: Float[np.ndarray, "group 1"]  # probability to be an outlier, of groups that are not never right
    _derive: Callable[[], tuple[PerNode, PerNode]]  # first and second derivatives by log σ, of the t's nodes

    @cached_property
    def gradient(self) -> Float[np.ndarray, "group node 3"]:
        """First derivatives of the log density of random effects on the grid."""
        found = np.zeros((*self.nodes.shape, 3))
        found[:, :N_T, 0] = self._by_scale[0]
        found[:, :, 1] = -self.never
        found[:, N_T, 1] += 1
        found[:, :, 2] = -self.outlier
        found[:, N_T, 2] = 0
        found[:, N_SHIFTS:, 2] += 1
        return found

    @cached_property
    def hessian(self) -> Float[np.ndarray, "group node 3"]:
        """Second derivatives of the log density of random effects on the grid."""
        found = np.zeros((*self.nodes.shape, 3))
        found[:, :N_T, 0] = self._by_scale[1]
        found[:, :, 1] = -self.never * (1 - self.never)
        found[:, :, 2] = -self.outlier * (1 - self.outlier)
        found[:, N_T, 2] = 0
        return found

    @cached_property
    def _by_scale(self) -> tuple[PerNode, PerNode]:
        """First and second derivatives of the random effects' log density by log σ."""
        return self._derive()


@dataclass(frozen=True)
class RandomEffects:
    """A Student t scaled by σ, a point for groups that are never right, and a uniform accuracy for outliers."""

    degrees_of_freedom: float = 4.0  # of the Student t

    def build_grid(self, spread: Spread, centre: PerGroup, width: PerGroup, outliers: OutlierGrid) -> RandomEffectGrid:
        """Build the grid of the t, one more node for groups that are never right, and add a grid for outliers.

        Centre and width are the mode and the standard deviation of each group's random effect by its labels.
        """
        at, weight, loose, derive = self._build_t(spread.scale, centre[:, None], width[:, None])
        never, outlier = spread.never, np.broadcast_to(spread.outlier, spread.never.shape)
        zero = np.zeros_like(loose)
        some = 1 - never
        nodes = np.concatenate([at, zero + NEVER, outliers.nodes], axis=1)
        kept = np.concatenate([some * (1 - outlier) * weight, never + zero, some * outlier * outliers.weight], axis=1)
        return RandomEffectGrid(nodes, kept, never + zero, outlier + zero, derive)

    def _build_t(
        self, scale: Value, centre: Float[np.ndarray, "group 1"], width: Float[np.ndarray, "group 1"]
    ) -> tuple[PerNode, PerNode, Float[np.ndarray, "group 1"], Callable[[], tuple[PerNode, PerNode]]]:
        """Build the union of a grid around the t's centre and a grid around the mode of each group's labels.

        Smooth blending weights give each region to the grid that is denser there, so that each sum is as accurate as
        with a single grid. Returns nodes, weights, how loose the labels are, and the derivatives by log σ.
        """
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
        loose = 1 / (1 + _square(scale / width, 2))
        weight = self._density(at, scale) * np.concatenate(spans, axis=1)
        total = weight.sum(axis=1, keepdims=True)

        def derive() -> tuple[PerNode, PerNode]:
            return _derive_normalised(loose, weight / total, *self._derivatives(at, scale))

        return at, weight / total**loose, loose, derive

    @cached_property
    def _peak_density(self) -> float:
        """Density of the standard t at 0."""
        return (
            gamma((self.degrees_of_freedom + 1) / 2)
            / gamma(self.degrees_of_freedom / 2)
            / sqrt(self.degrees_of_freedom * pi)
        )

    def _density(self, at: PerNode, scale: Value) -> PerNode:
        """Density of the random effects' t."""
        nu, square = self.degrees_of_freedom, (at / scale) ** 2
        return self._peak_density / scale * np.exp(-(nu + 1) / 2 * np.log1p(square / nu))

    def _derivatives(self, at: PerNode, scale: Value) -> tuple[PerNode, PerNode]:
        """First and second derivatives of the log density by log σ."""
        nu, square = self.degrees_of_freedom, (at / scale) ** 2
        return (nu + 1) * square / (nu + square) - 1, -2 * nu * (nu + 1) * square / (nu + square) ** 2


def _approximate_trigamma(x: Float[np.ndarray, "group 1"]) -> Float[np.ndarray, "group 1"]:
    """Approximate the trigamma function, for grids of random effects, to 2 %; SciPy's takes ten times as long."""
    return 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3)


def _derive_normalised(
    loose: Float[np.ndarray, "group 1"], share: PerNode, gradient: PerNode, hessian: PerNode
) -> tuple[PerNode, PerNode]:
    """Return derivatives of the random effects' log weights, normalised to sum to one for any σ where labels are weak.

    Small errors would add up over many groups. Where labels are strong, the density around their mode matters and the total
    weight does not, so the exponent is near 0.
    """
    mean = (share * gradient).sum(axis=1, keepdims=True)
    square = (share * (hessian + gradient**2)).sum(axis=1, keepdims=True) - mean**2
    return gradient - loose * mean, hessian - loose * square


def _blend_weight(
    coarse: Float[np.ndarray, "..."], out: Float[np.ndarray, "..."], other: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """Weight by which two grids of random effects are blended, given the spacing and distance from either's centre."""
    fourth, eighth, other_eighth = _square(coarse, 2), _square(out, 3), _square(other, 3)
    return 1 / (1 + fourth * (1 + eighth) / (1 + other_eighth))


def _square(x: Float[np.ndarray, "..."], times: int) -> Float[np.ndarray, "..."]:
    """Square repeatedly for the random effects' t, which is much faster than a power."""
    for _ in range(times):
        x = x * x
    return x


def expit(logit: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Logistic function of random effects' clipped logits; NumPy's exponential is faster than SciPy's expit."""
    out = np.negative(clip_magnitude(logit, MAX_LOGIT))
    np.exp(out, out=out)
    out += 1
    return np.reciprocal(out, out=out)


def clip_magnitude(values: Float[np.ndarray, "..."], furthest: float) -> Float[np.ndarray, "..."]:
    """Clip random effects to a magnitude; np.clip takes five times as long for small arrays."""
    return np.minimum(np.maximum(values, -furthest), furthest)
