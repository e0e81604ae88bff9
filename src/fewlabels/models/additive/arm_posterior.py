"""The joint posterior of the accuracies of all arms: a mixture of normals on the logit scale, one per set of scales.

The accuracy of an arm is a weighted mean over its strata. Its logit is nearly linear in the fitted terms, so it is
computed exactly at the fitted values and linearized around them (delta method).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.polynomial.hermite_e import hermegauss
from scipy.linalg import block_diag
from scipy.special import logit, ndtr, ndtri

from fewlabels.models.additive.fit_result import AdditiveFit, ConditionalFit
from fewlabels.models.logit.random_effects import expit

EDGE = 1e-9
POINTS, MASSES = hermegauss(9)
MASSES = MASSES / MASSES.sum()
NEWTON_STEPS = 8  # for a quantile
HALF_ITEM = 0.5  # keeps the variance of logits bounded where an arm is nearly always right
PerArm = Float[np.ndarray, " arm"]


@dataclass(frozen=True)
class ArmPosteriorComponent:
    """Normal distribution of the logits of all arms given one set of scales: mean, shared and arm-specific part."""

    weight: float
    centre: PerArm
    loadings: Float[np.ndarray, "arm term"]  # derivatives of the logits with respect to the shared terms
    cholesky_factor: Float[np.ndarray, "term term"]  # Cholesky factor of the covariance of the shared terms
    own: PerArm  # standard deviation of the arm-specific part

    @cached_property
    def spread(self) -> PerArm:
        """Standard deviation of every logit; single precision is enough for the shared part."""
        shared = self.loadings.astype(np.float32) @ self.cholesky_factor.astype(np.float32)
        return np.sqrt(np.einsum("at,at->a", shared, shared).astype(np.float64) + self.own**2)

    def join(self, other: "ArmPosteriorComponent") -> "ArmPosteriorComponent":
        """Concatenate the arms of both components."""
        n = self.loadings.shape[1]
        more = np.pad(
            other.loadings, ((0, 0), (0, n - other.loadings.shape[1]))
        )  # factors that the other does not have
        centre, own = (np.concatenate(parts) for parts in ((self.centre, other.centre), (self.own, other.own)))
        return replace(self, centre=centre, loadings=np.concatenate([self.loadings, more]), own=own)

    def draw(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "draw arm"]:
        """Joint draws of the logits of arms."""
        shared = rng.standard_normal((n, len(self.cholesky_factor))) @ self.cholesky_factor.T
        return self.centre + shared @ self.loadings.T + self.own * rng.standard_normal((n, len(self.own)))


@dataclass(frozen=True)
class ArmPosterior:
    """Joint posterior of the accuracies of all arms."""

    components: tuple[ArmPosteriorComponent, ...]
    within_variance: PerArm  # variance of P(right) over the items of an arm

    @cached_property
    def mean(self) -> PerArm:
        """Posterior mean of the accuracy of every arm."""
        return self._moments[0]

    @cached_property
    def variance(self) -> PerArm:
        """Posterior variance of the accuracy of every arm."""
        mean, square = self._moments
        return np.maximum(square - mean**2, 0.0)

    @cached_property
    def _moments(self) -> tuple[PerArm, PerArm]:
        """First and second moment of the accuracy of every arm, by Gauss-Hermite quadrature."""
        mean, square = np.zeros(len(self.within_variance)), np.zeros(len(self.within_variance))
        for part in self.components:
            drawn = expit(part.centre[:, None] + part.spread[:, None] * POINTS)
            mean += part.weight * (drawn @ MASSES)
            square += part.weight * (drawn**2 @ MASSES)
        return mean, square

    def interval(self, level: float) -> tuple[PerArm, PerArm]:
        """Central credible interval of the accuracy of every arm."""
        return self._quantile((1 - level) / 2), self._quantile((1 + level) / 2)

    def draw(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "draw arm"]:
        """Joint draws of the accuracies of arms; the number from each component is multinomial."""
        counts = rng.multinomial(n, [part.weight for part in self.components]).tolist()
        logits = np.concatenate([part.draw(rng, count) for part, count in zip(self.components, counts, strict=True)])
        return expit(rng.permutation(logits))

    def sample_items(self, n_items: PerArm) -> "ArmPosterior":
        """Return the posterior for the population, of whose items the pool's are a sample.

        The items of an arm differ in their score and predicted class, so the mean of a few of them varies. How much they
        differ is taken from the arm, with one more item that differs as in the whole pool.
        """
        outcome = np.maximum(self.mean * (1 - self.mean), EDGE)
        ratio = self.within_variance / outcome
        ratio = (n_items * ratio + np.average(ratio, weights=n_items)) / (n_items + 1)
        extra = ratio / (n_items * outcome + HALF_ITEM)  # of the logit
        components = tuple(replace(part, own=np.sqrt(part.own**2 + extra)) for part in self.components)
        return ArmPosterior(components, np.zeros(len(extra)))

    def add_factors(self, loadings: Float[np.ndarray, "arm factor"]) -> "ArmPosterior":
        """Add independent standard normal factors to the logits of arms."""
        components = tuple(
            replace(
                part,
                loadings=np.concatenate([part.loadings, loadings], axis=1),
                cholesky_factor=block_diag(part.cholesky_factor, np.eye(loadings.shape[1])),
            )
            for part in self.components
        )
        return replace(self, components=components)

    def take(self, arms: Int[np.ndarray, " taken"] | Bool[np.ndarray, " arm"]) -> "ArmPosterior":
        """Return the joint posterior of some of the arms."""
        components = [
            replace(part, centre=part.centre[arms], loadings=part.loadings[arms], own=part.own[arms])
            for part in self.components
        ]
        return ArmPosterior(tuple(components), self.within_variance[arms])

    def join(self, other: "ArmPosterior") -> "ArmPosterior":
        """Concatenate the arms of two posteriors from the same fit."""
        pairs = zip(self.components, other.components, strict=True)
        return ArmPosterior(
            tuple(one.join(two) for one, two in pairs), np.concatenate([self.within_variance, other.within_variance])
        )

    def _quantile(self, q: float) -> PerArm:
        """Quantile of every arm's mixture, by Newton's method safeguarded by bisection."""
        weight = np.array([part.weight for part in self.components])[:, None]
        centre, spread = (np.stack([getattr(part, name) for part in self.components]) for name in ("centre", "spread"))
        ends = centre + ndtri(q) * spread  # quantiles of the components: they bracket that of the mixture
        low, high, at = ends.min(axis=0), ends.max(axis=0), (weight * ends).sum(axis=0)
        for _ in range(NEWTON_STEPS):
            z = (at - centre) / spread
            excess = (weight * ndtr(z)).sum(axis=0) - q
            low, high = np.where(excess < 0, at, low), np.where(excess < 0, high, at)
            density = (weight * np.exp(-0.5 * z**2) / spread).sum(axis=0) / np.sqrt(2 * np.pi)
            ahead = at - excess / np.maximum(density, EDGE)
            at = np.where((ahead > low) & (ahead < high), ahead, (low + high) / 2)
        return expit(at)


def predict_arms(
    fit: AdditiveFit,
    curve: Float[np.ndarray, "stratum curve_term"],
    effects: Float[np.ndarray, "arm effect_term"],
    arm: Int[np.ndarray, " stratum"],
    weights: Sequence[Float[np.ndarray, " stratum"]],
) -> tuple[ArmPosterior, ...]:
    """Return the joint posterior of the arms' accuracies, once per weighting of their strata.

    Strata are sorted by arm. The first fitted terms belong to the curve, the others to the effects.
    """
    start = np.searchsorted(arm, np.arange(len(effects)))
    shares = [weight / np.add.reduceat(weight, start)[arm] for weight in weights]
    out = []
    for share in shares:
        components, within_variance = zip(
            *(_linearize_arms(conditional, fit, curve, effects, arm, start, share) for conditional in fit.conditionals),
            strict=True,
        )
        out.append(
            ArmPosterior(components, sum(part.weight * w for part, w in zip(components, within_variance, strict=True)))
        )
    return tuple(out)


def _linearize_arms(
    conditional: ConditionalFit,
    fit: AdditiveFit,
    curve: Float[np.ndarray, "stratum curve_term"],
    effects: Float[np.ndarray, "arm effect_term"],
    arm: Int[np.ndarray, " stratum"],
    start: Int[np.ndarray, " arm"],
    share: Float[np.ndarray, " stratum"],
) -> tuple[ArmPosteriorComponent, PerArm]:
    """Linearize the logits of arms at one set of scales; also return the variance of P(right) within arms."""
    n, n_curve = len(effects), curve.shape[1]
    effects = effects[:, : len(conditional.terms) - n_curve]  # terms of pairs may be absent
    own, arm_precision = _arm_effects(conditional, fit, n)
    arm_logits = effects @ conditional.terms[n_curve:] + own
    right = expit(curve @ conditional.terms[:n_curve] + arm_logits[arm])
    accuracy = np.clip(np.add.reduceat(share * right, start), EDGE, 1 - EDGE)
    derivatives = share * right * (1 - right) / (accuracy * (1 - accuracy))[arm]
    derivative = np.add.reduceat(derivatives, start)
    jacobian = np.concatenate(
        [np.add.reduceat(derivatives[:, None] * curve, start), derivative[:, None] * effects], axis=1
    )
    jacobian[fit.labelled] -= derivative[fit.labelled, None] * conditional.loadings
    cholesky_factor = np.linalg.cholesky(conditional.covariance)
    within_variance = np.maximum(np.add.reduceat(share * right**2, start) - accuracy**2, 0.0)
    return ArmPosteriorComponent(
        conditional.weight, logit(accuracy), jacobian, cholesky_factor, derivative / np.sqrt(arm_precision)
    ), within_variance


def _arm_effects(conditional: ConditionalFit, fit: AdditiveFit, n: int) -> tuple[PerArm, PerArm]:
    """Mean and precision of each arm's random effect in the posterior; those of the prior for arms without labels."""
    own, arm_precision = np.zeros(n), np.full(n, np.exp(-2 * conditional.scales[fit.priors.n]))
    own[fit.labelled], arm_precision[fit.labelled] = conditional.own, conditional.arm_precision
    return own, arm_precision
