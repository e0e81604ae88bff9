"""Hierarchical calibration curves of groups: the probability of the positive class as a function of the score.

logit P(y = 1) = c + a log s − b log(1 − s) in each group (beta calibration). The default shape is centred at the decision
threshold t, logit P(y = 1) = logit t + c + a log(s / t) − b log((1 − s) / (1 − t)), so that slopes do not move the curve
there. It adds a step k at the threshold, so that labels of predicted positives and negatives can override the curve. Group
curves have a common mean, and their standard deviation is learned from the labels; so are two factors that all levels and
all standard deviations share.

Every parameter has a standard normal prior and is transformed to its scale (non-centred). A standard deviation may have
either sign: the model is the same, without the funnel towards zero that is hard to sample. It changes sign together with
the contrasts that it multiplies (`Curves.reflections`).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array

from fewlabels.analyses.fairness.strata import Strata, find_threshold
from fewlabels.distributions.randomness import Rng
from fewlabels.models.hmc import PerChain, Points, Reflections

MAX_LOGIT = 40.0  # logits are clipped to this magnitude
MAX_LOG_SLOPE = 5.0  # largest log a and log b
MAX_CURVED = 3.0  # standard normals up to this magnitude are transformed by sinh, larger ones linearly
MIN_TAIL = 1e-4  # tail parameter at which the transform is linear up to rounding
FEW_GROUPS = 50  # up to which the contrast matrix is stored
MAX_LOG_FACTOR = 20.0  # largest log of a common factor
JITTER = 0.3  # standard deviation of starting points
BLOCK = 200_000  # probabilities computed at a time
MOST_DENSE = 5_000  # entries up to which the design matrix is dense
PerTerm = Float[np.ndarray, "chain term"]
Shifts = Float[np.ndarray, "chain term group"]
Coefficients = Float[np.ndarray, "chain part group"]
Matrix = Float[np.ndarray, "_ _"] | csr_array


class PriorScale(NamedTuple):
    """Scale of a prior: normal, or heavier-tailed (the hyperbolic sine of a normal)."""

    scale: float
    tail: float = MIN_TAIL

    def times(self, factor: float) -> "PriorScale":
        """Return the prior of a fairness calibration curve's term with its scale multiplied."""
        return self._replace(scale=factor * self.scale)


@dataclass(frozen=True)
class CurveTerm:
    """A direction in which curves vary: priors of the common level and of the spread between groups."""

    weights: tuple[float, float, float, float]  # on log a, log b, c and k
    level: PriorScale
    spread: PriorScale


BETA = (
    CurveTerm((1.0, 0.0, 0.0, 0.0), PriorScale(0.4), PriorScale(0.15)),
    CurveTerm((0.0, 1.0, 0.0, 0.0), PriorScale(0.4), PriorScale(0.15)),
    CurveTerm((0.0, 0.0, 1.0, 0.0), PriorScale(2.0), PriorScale(0.75)),
)
COMMON_SLOPE = CurveTerm((1.0, 1.0, 0.0, 0.0), PriorScale(0.4), PriorScale(0.15))
SHAPES = {"beta": BETA, "llo": (COMMON_SLOPE, BETA[2]), "temperature": (COMMON_SLOPE,)}
STEP_TERMS = (
    CurveTerm(
        (1.0, 1.0, 0.0, 0.0), PriorScale(0.3, 1.3), PriorScale(0.05, 1.5)
    ),  # overconfident scores are so at both ends
    CurveTerm((1.0, -1.0, 0.0, 0.0), PriorScale(0.15, 1.0), PriorScale(0.05, 1.5)),
    CurveTerm((0.0, 0.0, 1.0, 0.0), PriorScale(0.5, 1.0), PriorScale(0.2, 1.5)),
    CurveTerm((0.0, 0.0, 0.0, 1.0), PriorScale(0.2, 1.5), PriorScale(0.08, 1.5)),
)
FACTORS = (0.5, 0.7)  # of levels, and of spreads


@dataclass(frozen=True)
class CurveShape:
    """The terms of the curves, whether groups are partially pooled, and what else is learned."""

    terms: tuple[CurveTerm, ...] = STEP_TERMS
    pooled: bool = True
    centred: bool = True  # at the decision threshold
    factors: tuple[float, ...] = FACTORS  # standard deviations of the logs of the common factors; empty: factors are 1

    @cached_property
    def weights(self) -> Float[np.ndarray, "part term"]:
        """Loadings of the terms on log a, log b, c and k of the calibration curves."""
        return np.array([term.weights for term in self.terms]).T

    @cached_property
    def transform(self) -> "SinhTransform":
        """Transform of the levels and spreads of the curves' terms."""
        return SinhTransform(*np.array([[term.level, term.spread] for term in self.terms]).transpose(2, 0, 1))

    @property
    def n_factors(self) -> int:
        """Number of parameters that all terms of the curves share."""
        return len(self.factors) if self.pooled else 0


class SinhTransform(NamedTuple):
    """Transforms standard normals to these prior scales and tails.

    >>> SinhTransform(np.array([2.0]), np.array([1.0]))(np.array([[3.0]]))[0].round(3).tolist()
    [[20.036]]
    """

    scale: Float[np.ndarray, "*size"]
    tail: Float[np.ndarray, "*size"]

    def __call__(self, z: Float[np.ndarray, "chain *size"]) -> tuple[np.ndarray, np.ndarray]:
        """Values and their derivatives."""
        curved = np.minimum(np.maximum(z, -MAX_CURVED), MAX_CURVED)
        up = np.exp(self.tail * curved)
        down, half = 1 / up, 0.5 * self.scale
        slope = half * (up + down)
        return half / self.tail * (up - down) + slope * (z - curved), slope


class _Shifted(NamedTuple):
    """Shifts of the groups, with the intermediate values that the gradient needs."""

    shifts: Shifts
    level: PerTerm
    level_gradient: PerTerm  # derivative of the level
    spread: PerTerm
    spread_gradient: PerTerm  # derivative of the spread
    level_variance: PerTerm  # square of the level's scale


@dataclass(frozen=True)
class CalibrationCurves:
    """The posterior of the curves of all groups."""

    shape: CurveShape
    strata: Strata

    @property
    def n_groups(self) -> int:
        """Number of groups, each with a calibration curve."""
        return len(self.strata.groups)

    @property
    def n_parameters(self) -> int:
        """Number of parameters: for each term a level, a spread and contrasts between groups."""
        return len(self.shape.terms) * (self.n_groups + self.shape.pooled) + self.shape.n_factors

    def start(self, rng: Rng, n_chains: int) -> Points:
        """Starting points: a different one near the prior mean for every chain."""
        return JITTER * rng.standard_normal((n_chains, self.n_parameters))

    def coefficients(self, at: Points) -> Coefficients:
        """Coefficients a, b, c and k of each group."""
        return self._link(self._shift(at).shifts)

    def probability(self, at: Points) -> Float[np.ndarray, "chain stratum"]:
        """Probability of the positive class in every stratum, labelled or not."""
        group, bases, linked = self.strata.group, self.basis, self.coefficients(at)
        out = np.empty((len(at), len(group)))
        step = max(1, BLOCK // max(1, len(group)))
        for first in range(0, len(at), step):  # small blocks fit the CPU cache
            some = linked[first : first + step]
            logit = sum((some[:, i, group] * basis for i, basis in enumerate(bases)), start=self.offset)
            out[first : first + step] = 1 / (1 + np.exp(-np.clip(logit, -MAX_LOGIT, MAX_LOGIT)))
        return out

    def __call__(self, at: Points) -> tuple[PerChain, Points]:
        """Log posterior and its gradient."""
        shifted = self._shift(at)
        linked = self._link(shifted.shifts)
        design, transposed = self._design
        logit = design @ linked.reshape(len(at), -1).T + self.offset
        logit = np.minimum(np.maximum(logit, -MAX_LOGIT), MAX_LOGIT)
        against = np.exp(-logit)
        n, n_negative = self._counts
        value = -(n @ np.log1p(against)) - n_negative @ logit - 0.5 * (at * at).sum(axis=1)
        miss = n[:, None] * (against / (1 + against)) - n_negative[:, None]
        gradient = (transposed @ miss).T.reshape(linked.shape)
        gradient[:, :2] *= linked[:, :2]  # a and b are exponentials
        return value, self._backpropagate(at, shifted, self.shape.weights.T @ gradient) - at

    # -- from parameters to coefficients, and gradients back to parameters -----------------------------------

    def _shift(self, at: Points) -> _Shifted:
        """Shift of each group in each term: a common level plus the group's deviation."""
        own, transform = self._split(at), self.shape.transform
        if not self.shape.pooled:
            sizes = SinhTransform(*(np.repeat(size[:, :1], self.n_groups, axis=1) for size in transform))
            values, derivatives = sizes(own)
            return _Shifted(values, values, derivatives, values, derivatives, values)
        values, derivatives = transform(own[:, :, :2])
        factors = self._factors(at)
        values, derivatives = values * factors, derivatives * factors
        spread, variance = values[:, :, 1], (transform.scale[:, 0] * factors[:, :, 0]) ** 2
        # the mean of the groups varies with the level and with the sampling of groups
        wider = np.sqrt(1 + spread * spread / (variance * self.n_groups))
        level = wider * values[:, :, 0]
        shifts = level[:, :, None] + spread[:, :, None] * self._expand_contrasts(own[:, :, 2:])
        return _Shifted(shifts, level, wider * derivatives[:, :, 0], spread, derivatives[:, :, 1], variance)

    def _split(self, at: Points) -> Float[np.ndarray, "chain term own"]:
        """Parameters of every term of the curves."""
        return at[:, : at.shape[1] - self.shape.n_factors].reshape(len(at), len(self.shape.terms), -1)

    def _factors(self, at: Points) -> Float[np.ndarray, "_ 1 _"]:
        """Factors of levels and spreads that all terms share."""
        if not self.shape.n_factors:
            return np.ones((1, 1, 1))
        logs = at[:, -self.shape.n_factors :] * np.array(self.shape.factors)
        return np.exp(np.minimum(np.maximum(logs, -MAX_LOG_FACTOR), MAX_LOG_FACTOR))[:, None, :]

    def _link(self, shifts: Shifts) -> Coefficients:
        """Return the curves' coefficients for these shifts, slopes positive and bounded."""
        parts = self.shape.weights @ shifts
        parts[:, :2] = np.exp(np.minimum(parts[:, :2], MAX_LOG_SLOPE))
        return parts

    def _backpropagate(self, at: Points, shifted: _Shifted, gradient: Shifts) -> Points:
        """Chain rule: gradient by the parameters from the gradient by the shifts."""
        if not self.shape.pooled:
            return (gradient * shifted.level_gradient).reshape(at.shape)
        out = np.empty_like(at)
        own, into = self._split(at), self._split(out)
        spread, together, differing = shifted.spread, gradient.sum(axis=2), self._project_contrasts(gradient)
        by_level = together * shifted.level
        wider = by_level * spread / (self.n_groups * shifted.level_variance + spread * spread)
        by_spread = wider + (differing * own[:, :, 2:]).sum(axis=2)
        into[:, :, 0] = together * shifted.level_gradient
        into[:, :, 1] = by_spread * shifted.spread_gradient
        into[:, :, 2:] = spread[:, :, None] * differing
        if self.shape.n_factors:
            both = np.stack([by_level - wider * spread, by_spread * spread], axis=2).sum(axis=1)
            out[:, -self.shape.n_factors :] = both * np.array(self.shape.factors)
        return out

    def _expand_contrasts(self, z: Float[np.ndarray, "chain term contrast"]) -> Shifts:
        """Map contrasts of the curves to deviations of groups."""
        return helmert_expand(z) if self._contrasts is None else z @ self._contrasts

    def _project_contrasts(self, gradient: Shifts) -> Float[np.ndarray, "chain term contrast"]:
        """Map a gradient by the deviations of groups to one by the curves' contrasts."""
        return helmert_project(gradient) if self._contrasts is None else gradient @ self._contrasts.T

    # -- computed once ---------------------------------------------------------------------------------------

    @cached_property
    def reflections(self) -> Reflections | None:
        """The spread and the contrasts of a term can change sign together; None where groups have no spread."""
        if not self.shape.pooled:
            return None
        block = np.zeros((1, self.n_parameters))
        self._split(block)[:, :, 1:] = 1 + np.arange(len(self.shape.terms))[:, None]
        return Reflections(block[0].astype(np.int64))

    @cached_property
    def _contrasts(self) -> Float[np.ndarray, "contrast group"] | None:
        """Helmert contrast matrix; None for many groups, where cumulative sums replace it."""
        return helmert_expand(np.eye(self.n_groups - 1)[None])[0] if self.n_groups <= FEW_GROUPS else None

    @cached_property
    def _threshold(self) -> float:
        """The score around which curves turn."""
        return find_threshold(self.strata) if self.shape.centred else 0.5

    @cached_property
    def offset(self) -> float:
        """The logit of a calibrated score at which all basis functions of a and b are zero."""
        return float(np.log(self._threshold / (1 - self._threshold))) if self.shape.centred else 0.0

    @cached_property
    def basis(self) -> Float[np.ndarray, "part stratum"]:
        """Basis functions of the coefficients a, b, c and k in every stratum."""
        score, t = self.strata.score, self._threshold
        up, down = (np.log(t), np.log1p(-t)) if self.shape.centred else (0.0, 0.0)
        return np.stack([np.log(score) - up, down - np.log1p(-score), np.ones_like(score), self.strata.predicted - 0.5])

    @cached_property
    def _design(self) -> tuple[Matrix, Matrix]:
        """Design matrix of labelled strata, basis functions by coefficient and group; and its transpose."""
        labelled = self.strata.n_labels > 0
        basis, group = self.basis[:, labelled], self.strata.group[labelled]
        part, stratum = np.indices(basis.shape)
        shape = (basis.shape[1], len(basis) * self.n_groups)
        found = csr_array((basis.ravel(), (stratum.ravel(), (part * self.n_groups + group).ravel())), shape=shape)
        return (found.toarray(), found.toarray().T) if np.prod(shape) <= MOST_DENSE else (found, found.T.tocsr())

    @cached_property
    def _counts(self) -> tuple[Float[np.ndarray, " labelled"], Float[np.ndarray, " labelled"]]:
        """Labels and negative labels of the strata that curves are fitted to."""
        strata, labelled = self.strata, self.strata.n_labels > 0
        n = strata.n_labels[labelled].astype(np.float64)
        return n, n - strata.n_positive[labelled]


def helmert_expand(z: Float[np.ndarray, "chain term contrast"]) -> Shifts:
    """Map Helmert contrasts of calibration curves to deviations of groups that sum to zero.

    >>> helmert_expand(np.ones((1, 1, 1))).round(3).tolist()
    [[[0.707, -0.707]]]
    """
    n = np.arange(1, z.shape[2] + 1)
    z = z / np.sqrt(n * (n + 1))
    out = np.zeros((*z.shape[:2], z.shape[2] + 1))
    out[:, :, :-1] = np.cumsum(z[:, :, ::-1], axis=2)[:, :, ::-1]
    out[:, :, 1:] -= n * z
    return out


def helmert_project(gradient: Shifts) -> Float[np.ndarray, "chain term contrast"]:
    """Map a gradient by the calibration curves of groups to one by Helmert contrasts (the transpose)."""
    n = np.arange(1, gradient.shape[2])
    return (np.cumsum(gradient, axis=2)[:, :, :-1] - n * gradient[:, :, 1:]) / np.sqrt(n * (n + 1))
