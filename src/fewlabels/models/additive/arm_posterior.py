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
from scipy.special import logit, ndtr, ndtri

from fewlabels.models.additive.fit import Fit, Sheet
from fewlabels.models.logit.random_effects import squash

EDGE = 1e-9
POINTS, MASSES = hermegauss(9)
MASSES = MASSES / MASSES.sum()
NEWTON_STEPS = 8  # for a quantile
PerArm = Float[np.ndarray, " arm"]


@dataclass(frozen=True)
class Slice:
    """Normal distribution of the logits of all arms given one set of scales: mean, shared and arm-specific part."""

    weight: float
    centre: PerArm
    lean: Float[np.ndarray, "arm term"]  # derivatives of the logits with respect to the shared terms
    root: Float[np.ndarray, "term term"]  # Cholesky factor of the covariance of the shared terms
    own: PerArm  # standard deviation of the arm-specific part

    @cached_property
    def spread(self) -> PerArm:
        """Standard deviation of every logit; single precision is enough for the shared part."""
        shared = self.lean.astype(np.float32) @ self.root.astype(np.float32)
        return np.sqrt(np.einsum("at,at->a", shared, shared).astype(np.float64) + self.own**2)

    def join(self, other: "Slice") -> "Slice":
        """Concatenate the arms of both."""
        centre, lean, own = (
            np.concatenate(parts)
            for parts in ((self.centre, other.centre), (self.lean, other.lean), (self.own, other.own))
        )
        return replace(self, centre=centre, lean=lean, own=own)

    def draw(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "draw arm"]:
        """Joint draws of logits."""
        shared = rng.standard_normal((n, len(self.root))) @ self.root.T
        return self.centre + shared @ self.lean.T + self.own * rng.standard_normal((n, len(self.own)))


@dataclass(frozen=True)
class Relief:
    """Joint posterior of the accuracies of all arms."""

    slices: tuple[Slice, ...]
    within: PerArm  # variance of P(right) over the items of an arm

    @cached_property
    def mean(self) -> PerArm:
        """Posterior mean of the accuracy."""
        return self._moments[0]

    @cached_property
    def variance(self) -> PerArm:
        """Posterior variance of the accuracy."""
        mean, square = self._moments
        return np.maximum(square - mean**2, 0.0)

    @cached_property
    def _moments(self) -> tuple[PerArm, PerArm]:
        """First and second moment of the accuracy, by Gauss-Hermite quadrature."""
        mean, square = np.zeros(len(self.within)), np.zeros(len(self.within))
        for part in self.slices:
            drawn = squash(part.centre[:, None] + part.spread[:, None] * POINTS)
            mean += part.weight * (drawn @ MASSES)
            square += part.weight * (drawn**2 @ MASSES)
        return mean, square

    def interval(self, level: float) -> tuple[PerArm, PerArm]:
        """Central credible interval of the accuracy."""
        return self._quantile((1 - level) / 2), self._quantile((1 + level) / 2)

    def draw(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "draw arm"]:
        """Joint draws of accuracies; the number from each component is multinomial."""
        counts = rng.multinomial(n, [part.weight for part in self.slices]).tolist()
        logits = np.concatenate([part.draw(rng, count) for part, count in zip(self.slices, counts, strict=True)])
        return squash(rng.permutation(logits))

    def take(self, arms: Int[np.ndarray, " taken"] | Bool[np.ndarray, " arm"]) -> "Relief":
        """Return the joint posterior of some of the arms."""
        slices = [
            replace(part, centre=part.centre[arms], lean=part.lean[arms], own=part.own[arms]) for part in self.slices
        ]
        return Relief(tuple(slices), self.within[arms])

    def join(self, other: "Relief") -> "Relief":
        """Concatenate the arms of two posteriors from the same fit."""
        pairs = zip(self.slices, other.slices, strict=True)
        return Relief(tuple(one.join(two) for one, two in pairs), np.concatenate([self.within, other.within]))

    def _quantile(self, q: float) -> PerArm:
        """Quantile of the mixture, by Newton's method safeguarded by bisection."""
        weight = np.array([part.weight for part in self.slices])[:, None]
        centre, spread = (np.stack([getattr(part, name) for part in self.slices]) for name in ("centre", "spread"))
        ends = centre + ndtri(q) * spread  # quantiles of the components: they bracket that of the mixture
        low, high, at = ends.min(axis=0), ends.max(axis=0), (weight * ends).sum(axis=0)
        for _ in range(NEWTON_STEPS):
            away = (at - centre) / spread
            excess = (weight * ndtr(away)).sum(axis=0) - q
            low, high = np.where(excess < 0, at, low), np.where(excess < 0, high, at)
            density = (weight * np.exp(-0.5 * away**2) / spread).sum(axis=0) / np.sqrt(2 * np.pi)
            ahead = at - excess / np.maximum(density, EDGE)
            at = np.where((ahead > low) & (ahead < high), ahead, (low + high) / 2)
        return squash(at)


def survey(
    fit: Fit,
    curve: Float[np.ndarray, "stratum curve_term"],
    effects: Float[np.ndarray, "arm effect_term"],
    arm: Int[np.ndarray, " stratum"],
    weights: Sequence[Float[np.ndarray, " stratum"]],
) -> tuple[Relief, ...]:
    """Return the posterior of the arms' accuracies, once per weighting of their strata.

    Strata are sorted by arm. The first fitted terms belong to the curve, the others to the effects.
    """
    start = np.searchsorted(arm, np.arange(len(effects)))
    shares = [weight / np.add.reduceat(weight, start)[arm] for weight in weights]
    out = []
    for share in shares:
        slices, within = zip(
            *(_cut(sheet, fit, curve, effects, arm, start, share) for sheet in fit.sheets), strict=True
        )
        out.append(Relief(slices, sum(part.weight * w for part, w in zip(slices, within, strict=True))))
    return tuple(out)


def _cut(
    sheet: Sheet,
    fit: Fit,
    curve: Float[np.ndarray, "stratum curve_term"],
    effects: Float[np.ndarray, "arm effect_term"],
    arm: Int[np.ndarray, " stratum"],
    start: Int[np.ndarray, " arm"],
    share: Float[np.ndarray, " stratum"],
) -> tuple[Slice, PerArm]:
    """Linearize the logits of arms at one set of scales; also return the variance of P(right) within arms."""
    n, n_curve = len(effects), curve.shape[1]
    effects = effects[:, : len(sheet.terms) - n_curve]  # terms of pairs may be absent
    own, stiff = _recall(sheet, fit, n)
    height = effects @ sheet.terms[n_curve:] + own
    right = squash(curve @ sheet.terms[:n_curve] + height[arm])
    accuracy = np.clip(np.add.reduceat(share * right, start), EDGE, 1 - EDGE)
    steep = share * right * (1 - right) / (accuracy * (1 - accuracy))[arm]
    slope = np.add.reduceat(steep, start)
    along = np.concatenate([np.add.reduceat(steep[:, None] * curve, start), slope[:, None] * effects], axis=1)
    along[fit.heard] -= slope[fit.heard, None] * sheet.lean
    root = np.linalg.cholesky(sheet.covariance)
    within = np.maximum(np.add.reduceat(share * right**2, start) - accuracy**2, 0.0)
    return Slice(sheet.weight, logit(accuracy), along, root, slope / np.sqrt(stiff)), within


def _recall(sheet: Sheet, fit: Fit, n: int) -> tuple[PerArm, PerArm]:
    """Mean and precision of each arm's random effect; those of the prior for arms without labels."""
    own, stiff = np.zeros(n), np.full(n, np.exp(-2 * sheet.scales[fit.plan.n]))
    own[fit.heard], stiff[fit.heard] = sheet.own, sheet.stiff
    return own, stiff
