"""Log posterior of the terms and hyper-parameters, with the random effects of groups integrated out on grids.

Derivatives follow from the complete-data log likelihood: the gradient is its mean gradient over the grid, the Hessian its
mean Hessian plus the variance of its gradient.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logit

from fewlabels.models.logit.model import AT_NEVER, N_HYPER, Model, Observations, Params
from fewlabels.models.logit.random_effects import (
    LOOSE,
    MAX_LOGIT,
    N_SHIFTS,
    OutlierGrid,
    RandomEffectGrid,
    Spread,
    clip_magnitude,
    expit,
)

MAX_SHIFT = 1.0  # standard deviations
BLOCK = 1024  # rows of one product of matrices
MODE_STEPS, MAX_STEP = 4, 2.0  # Newton steps for a single random effect, and the largest
Square = Float[np.ndarray, "parameter parameter"]
PerStratum = Float[np.ndarray, " stratum"]


@dataclass(frozen=True)
class MarginalLikelihood:
    """Marginal log likelihood of each group, and the posterior probabilities of its random effect's nodes."""

    grid: RandomEffectGrid
    right: Float[np.ndarray, "stratum shift"]
    log_likelihood: Float[np.ndarray, " labelled"]
    probability: Float[np.ndarray, "labelled node"]


@dataclass(frozen=True)
class PosteriorPoint:
    """The log posterior at a point, with lazy derivatives."""

    log_posterior: "LogPosterior"
    at: Params
    grid: RandomEffectGrid
    right: Float[np.ndarray, "stratum shift"]
    value: float
    probability: Float[np.ndarray, "labelled node"]

    @cached_property
    def score_by_node(self) -> Float[np.ndarray, "labelled node term"]:
        """Score: gradient of each group's log likelihood by the terms, at each node of its random effect."""
        seen = self.log_posterior.evidence
        miss = seen.right[:, None] - seen.total[:, None] * self.right
        found = self.grid.gradient[:, :, 1:2] * self.log_posterior.traits[:, None, :]
        found[:, :N_SHIFTS] += self.log_posterior.sum_by_group(miss[:, :, None] * seen.design[:, None, :])
        return found

    @cached_property
    def gradient(self) -> Params:
        """Gradient of the log posterior."""
        return self._mean.sum(axis=0) + self.log_posterior.model.gradient(self.at)

    @cached_property
    def hessian(self) -> Square:
        """Hessian of the log posterior."""
        seen = self.log_posterior.evidence
        probability = self.probability[self.log_posterior.group_index, :N_SHIFTS]
        doubt = seen.total * np.einsum("sn,sn->s", probability, self.right * (1 - self.right))
        scores = self._scores_by_node
        hessian = _sum_squares(self.probability, scores) - self._mean.T @ self._mean
        hessian[:-N_HYPER, :-N_HYPER] -= (seen.design.T * doubt) @ seen.design
        expected = np.matmul(self.probability[:, None, :], self.grid.hessian)[:, 0]
        hessian[-N_HYPER:, -N_HYPER:] += np.diag(expected.sum(axis=0))
        by_trait = self.log_posterior.traits.T * expected[:, 1]
        hessian[:-N_HYPER, :-N_HYPER] += by_trait @ self.log_posterior.traits
        hessian[:-N_HYPER, AT_NEVER] += by_trait.sum(axis=1)
        hessian[AT_NEVER, :-N_HYPER] += by_trait.sum(axis=1)
        return hessian + self.log_posterior.model.hessian

    @cached_property
    def _scores_by_node(self) -> Float[np.ndarray, "labelled node parameter"]:
        """Gradient of the log posterior of each group by all parameters, at each node of its random effect."""
        return np.concatenate([self.score_by_node, self.grid.gradient], axis=2)

    @cached_property
    def _mean(self) -> Float[np.ndarray, "labelled parameter"]:
        """Mean over nodes of the gradient of each group's log posterior."""
        return np.matmul(self.probability[:, None, :], self._scores_by_node)[:, 0]


@dataclass(frozen=True)
class LogPosterior:
    """The log posterior of the parameters."""

    evidence: Observations
    model: Model

    @cached_property
    def start(self) -> Int[np.ndarray, " labelled"]:
        """Index of the first stratum of each group."""
        return np.unique(self.evidence.group, return_index=True)[1]

    @cached_property
    def traits(self) -> Float[np.ndarray, "labelled term"]:
        """Traits of each group with labels."""
        return self.evidence.traits[self.start]

    @cached_property
    def group_index(self) -> Int[np.ndarray, " stratum"]:
        """Index, among groups with labels, of each stratum's group."""
        return np.repeat(np.arange(len(self.start)), np.diff(np.append(self.start, len(self.evidence.group))))

    @cached_property
    def ranks(self) -> tuple[Int[np.ndarray, " having"], ...]:
        """Groups with at least one stratum, at least two, and so on."""
        n_strata = np.bincount(self.group_index, minlength=len(self.start))
        return tuple(np.nonzero(n_strata > rank)[0] for rank in range(int(n_strata.max(initial=0))))

    @cached_property
    def _outcomes(self) -> tuple[Float[np.ndarray, " labelled"], Float[np.ndarray, " labelled"]]:
        """Right labels and all labels of each group."""
        return self._count_by_group(self.evidence.right), self._count_by_group(self.evidence.total)

    @cached_property
    def _outliers(self) -> OutlierGrid:
        """Grids of groups that are outliers, for the log posterior."""
        return OutlierGrid.build(*self._outcomes)

    def evaluate(self, at: Params) -> PosteriorPoint:
        """Log posterior, with the random effects integrated out."""
        summed = self.marginalize(self.evidence.design @ at[:-N_HYPER], self.model.read_spread(at, self.traits))
        value = float(summed.log_likelihood.sum()) + self.model.log_prior(at)
        return PosteriorPoint(self, at, summed.grid, summed.right, value, summed.probability)

    def marginalize(self, base: PerStratum, spread: Spread) -> MarginalLikelihood:
        """Integrate the random effects out of each group's likelihood, given the strata's logits without them."""
        seen = self.evidence
        grid = self.model.random_effects.build_grid(spread, *self._find_modes(base), self._outliers)
        height = clip_magnitude(base[:, None] + grid.nodes[self.group_index, :N_SHIFTS], MAX_LOGIT)
        right = expit(height)
        n_wrong = seen.total - seen.right
        shifted = self.sum_by_group(seen.total[:, None] * np.log(right) - n_wrong[:, None] * height)
        likely = np.concatenate([shifted, self._outliers.log_likelihood], axis=1)
        highest = likely.max(axis=1, keepdims=True)
        probability = np.exp(likely - highest) * grid.weight
        total = probability.sum(axis=1, keepdims=True)
        return MarginalLikelihood(grid, right, (highest + np.log(total))[:, 0], probability / total)

    def repeat(self, n: int) -> "LogPosterior":
        """Return n copies of the data as one problem, to evaluate n points in one pass."""
        seen, n_groups = self.evidence, len(self.start)
        group = self.group_index + n_groups * np.arange(n)[:, None]
        right, total = (np.tile(values, n) for values in (seen.right, seen.total))
        design, traits = (np.tile(values, (n, 1)) for values in (seen.design, seen.traits))
        return LogPosterior(Observations(design, group.reshape(-1), right, total, traits), self.model)

    def _find_modes(self, base: PerStratum) -> tuple[Float[np.ndarray, " labelled"], Float[np.ndarray, " labelled"]]:
        """Mode and standard deviation of each group's random effect under a wide normal prior, by Newton's method."""
        seen, loose = self.evidence, LOOSE**-2
        n_right, n = self._outcomes
        expected = self._count_by_group(seen.total * expit(base)) / n
        at = logit((n_right + 0.5) / (n + 1)) - logit(expected)
        for _ in range(MODE_STEPS):
            expected = expit(base + at[self.group_index])
            stiff = self._count_by_group(seen.total * expected * (1 - expected)) + loose
            step = (self._count_by_group(seen.right - seen.total * expected) - loose * at) / stiff
            at += clip_magnitude(step, MAX_STEP)
        return at, 1 / np.sqrt(stiff)

    def _count_by_group(self, values: PerStratum) -> Float[np.ndarray, " labelled"]:
        """Count by group with labels, for the log posterior."""
        return np.bincount(self.group_index, weights=values, minlength=len(self.start)).astype(np.float64)

    def sum_by_group(self, values: Float[np.ndarray, "stratum *rest"]) -> Float[np.ndarray, "labelled *rest"]:
        """Sum the strata of each group: all first strata, then all second ones, and so on (few groups have many)."""
        out = values[self.start]
        for rank, having in enumerate(self.ranks[1:], start=1):
            out[having] += values[self.start[having] + rank]
        return out


def _sum_squares(
    weight: Float[np.ndarray, "labelled node"], scores: Float[np.ndarray, "labelled node parameter"]
) -> Square:
    """Sum outer products for the log posterior's Hessian, in blocks: one long product would start BLAS threads."""
    rows, scaled = scores.reshape(-1, scores.shape[2]), (weight[:, :, None] * scores).reshape(-1, scores.shape[2])
    blocks = range(0, len(rows), BLOCK)
    found: Square = sum((scaled[i : i + BLOCK].T @ rows[i : i + BLOCK] for i in blocks), np.zeros((rows.shape[1],) * 2))
    return found


def find_mean_shift(view: PosteriorPoint, covariance: Square) -> Float[np.ndarray, " term"]:
    """Return the shift from mode to mean of the log posterior, given hyper-parameters; at most a standard deviation.

    Where few labels are wrong the log likelihood is skewed, and its mode underestimates accuracies near 1. The shift is half
    the covariance times the gradient of the trace of covariance times Hessian (Tierney and Kadane, 1986).
    """
    gradient = trace_gradient(view, covariance) / 2
    shift = covariance @ gradient
    size = np.sqrt(max(float(gradient @ shift), 0.0))
    return shift / max(1.0, size / MAX_SHIFT)


def trace_gradient(view: PosteriorPoint, covariance: Square) -> Float[np.ndarray, " term"]:
    """Gradient, by the terms, of the trace of covariance times Hessian of the log posterior.

    The log likelihood of a group is a logarithm of a sum over nodes, so its third derivatives are third cumulants of the
    scores, covariances of score and Hessian, and mean third derivatives.
    """
    problem, design = view.log_posterior, view.log_posterior.evidence.design
    weight = view.probability
    by_stratum = weight[problem.group_index, :N_SHIFTS]
    centred = view.score_by_node - np.matmul(weight[:, None, :], view.score_by_node)
    moved = centred @ covariance
    variance = np.einsum("st,tu,su->s", design, covariance, design)
    curvature = problem.evidence.total[:, None] * view.right * (1 - view.right)
    square = np.einsum("gnt,gnt->gn", moved, centred)
    square[:, :N_SHIFTS] -= problem.sum_by_group(curvature * variance[:, None])
    along = np.einsum("st,snt->sn", design, moved[problem.group_index, :N_SHIFTS])
    mixed = (by_stratum * curvature * (2 * along + variance[:, None] * (1 - 2 * view.right))).sum(axis=1)
    cumulant = np.matmul((weight * square)[:, None, :], centred)[:, 0].sum(axis=0)
    return cumulant - mixed @ design - _third_of_traits(view, covariance)


def _third_of_traits(view: PosteriorPoint, covariance: Square) -> Float[np.ndarray, " term"]:
    """Third derivatives of the log posterior by the probability to be never right, logistic in the traits."""
    traits, never = view.log_posterior.traits, view.grid.never[:, 0]
    variance = np.einsum("gt,tu,gu->g", traits, covariance, traits)
    found: Float[np.ndarray, " term"] = (variance * never * (1 - never) * (1 - 2 * never)) @ traits
    return found
