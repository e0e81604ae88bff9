"""The posterior of all effects: a Laplace approximation, with scales estimated by the evidence (marginal likelihood).

logit P(right) is a curve of the score, plus effects of attributes, plus a random effect of the arm. Effects are
normal, with estimated scales. Each arm's random effect depends on its own labels only, so arms are eliminated first
(Schur complement) and the remaining system has the size of the number of terms, not of arms.

Models without interactions, and with one scale for all interactions, are fitted as well: one scale for each of 66
pairs overfits a little, and a Laplace approximation of its evidence in 66 dimensions is poor. All models are averaged
by their evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from fewlabels.models.additive.effect_priors import FIXED, Plan, Scales, Terms, Variant
from fewlabels.models.additive.expectation_propagation import Sites
from fewlabels.models.additive.strata import Strata
from fewlabels.models.logit.agreement import find_contradicted
from fewlabels.models.logit.random_effects import squash
from fewlabels.models.optimize import climb

MOST_STEPS, MOST_HALVINGS = 40, 12
CLOSE = 1e-3  # gain in log posterior below which Newton stops
LEAST = 1e-10  # smallest weight of a stratum
MOST_ROUNDS, SETTLED = 60, 0.02  # of EP; change of logits at convergence, in standard deviations
N_SHEETS = 8  # sets of scales to average over, in antithetic pairs around the mode
UP = 0.7  # from the mode, where the information on log scales is measured: it grows with the scales
FAINT = 0.01  # probability below which a model is dropped from the average
BRIEF = np.float32  # precision of Hessians and covariances, for speed; gradients are in double precision


@dataclass(frozen=True)
class Sheet:
    """Normal approximation of terms and arm effects given one set of scales, centred at the mode or at the mean.

    Models without interactions have no terms of pairs; the scales of pairs are 0.
    """

    weight: float
    scales: Scales
    terms: Terms
    covariance: Float[np.ndarray, "term term"]
    own: Float[np.ndarray, " labelled"]  # random effect of every labelled arm
    stiff: Float[np.ndarray, " labelled"]  # its conditional precision, given the terms
    lean: Float[np.ndarray, "labelled term"]  # minus its derivative with respect to the terms


@dataclass(frozen=True)
class Fit:
    """Fits at several sets of scales, which represent the posterior of the scales."""

    plan: Plan
    heard: Int[np.ndarray, " labelled"]  # indices of the labelled arms
    sheets: tuple[Sheet, ...]  # centred at the mean
    summit: Sheet  # at the scales of largest evidence, centred at the mode
    n_evaluations: int  # of the evidence
    gradient_norm: float  # largest absolute component of the gradient of the log evidence at the mode
    together: float = 0.0  # posterior probability of interactions

    def forget_arms(self) -> "Fit":
        """Return the same fit for arms without labels."""
        nothing = np.zeros(0)
        sheets = [replace(one, own=nothing, stiff=nothing, lean=one.lean[:0]) for one in self.sheets]
        return replace(self, heard=self.heard[:0], sheets=tuple(sheets))


@dataclass(frozen=True)
class _View:
    """Log evidence of scales and its gradient, the mode of terms and arm effects, and the shift from mode to mean."""

    value: float
    slope: Scales
    sheet: Sheet
    drift: tuple[Terms, Float[np.ndarray, " labelled"]]
    variance: Float[np.ndarray, " stratum"]  # of every logit

    @property
    def mean(self) -> Sheet:
        """The fit centred at the mean instead of the mode: the posterior is skewed, as probabilities are bounded."""
        terms, own = self.drift
        return replace(self.sheet, terms=self.sheet.terms + terms, own=self.sheet.own + own)


class _Problem:
    """Laplace approximation of the evidence of scales; starts the search for each mode from the last one."""

    def __init__(self, evidence: Strata, plan: Plan) -> None:
        self.evidence, self.plan = evidence, plan
        self.heard, self.start, self.arm = np.unique(evidence.group, return_index=True, return_inverse=True)
        # Where every arm is one stratum, blocks of the Hessian simplify.
        self.simple = len(self.heard) == len(evidence.group) and bool(np.all(evidence.share == 1))
        self.terms, self.own = plan.centre.copy(), np.zeros(len(self.heard))
        self.brief = evidence.design.astype(BRIEF)
        self.n_evaluations = 0

    def begin(self, terms: Terms, own: Float[np.ndarray, " labelled"]) -> None:
        """Set the start of the next search for the mode."""
        self.terms, self.own = terms, own

    def look(self, at: Scales) -> _View:
        """Compute the log evidence and its gradient."""
        self.n_evaluations += 1
        firm, hold = self._tighten(at), float(np.exp(-2 * at[self.plan.n]))
        value, right, (stiff, pull, square) = self._settle(firm, hold)
        seen = self.evidence
        covariance = np.linalg.inv(square)
        lean = pull / stiff[:, None]
        doubt = np.linalg.slogdet(square)[1] - np.log(firm).sum() + np.log(stiff / hold).sum()
        prior, slope = self.plan.log_prior(at)
        logit_variance, vary = self._vary(covariance, stiff, lean, hold)
        # the derivative of -1/2 log determinant with respect to each logit
        tilt = -0.5 * logit_variance * seen.total * right * (1 - right) * (1 - 2 * right)
        term_shift, arm_shift = self._solve(
            covariance, stiff, pull, seen.design.T @ tilt, self._gather(seen.share * tilt)
        )
        off = self.terms - self.plan.centre
        each = firm * off**2 - (1 - firm * np.diag(covariance)) + 2 * firm * off * term_shift
        inside = self.plan.block != FIXED
        slope[: self.plan.n] += np.bincount(self.plan.block[inside], weights=each[inside], minlength=self.plan.n)
        slope[self.plan.n] += (hold * self.own**2 - (1 - hold * vary) + 2 * hold * self.own * arm_shift).sum()
        sheet = Sheet(1.0, at, self.terms, covariance, self.own, stiff, lean)
        return _View(value - 0.5 * doubt + prior, slope, sheet, (term_shift, arm_shift), logit_variance)

    def describe(self, view: _View) -> Sheet:
        """Return the fit centred at the mean; by EP where the normal at the mode contradicts labels."""
        seen, mean = self.evidence, view.mean
        at, sd = self._rise(mean.terms, mean.own), np.sqrt(view.variance)
        contradicted = find_contradicted(at, sd, seen.right, seen.total).any()
        return self._propagate(view.sheet) if contradicted else mean

    def _propagate(self, sheet: Sheet) -> Sheet:
        """Run expectation propagation from the mode until logits no longer change."""
        seen, firm, hold = self.evidence, self._tighten(sheet.scales), float(np.exp(-2 * sheet.scales[self.plan.n]))
        at = self._rise(sheet.terms, sheet.own)
        right = squash(at)
        weight = seen.total * right * (1 - right) + LEAST
        sites = Sites(weight, weight * at + seen.right - seen.total * right)
        for _ in range(MOST_ROUNDS):
            variance, _ = self._vary(sheet.covariance, sheet.stiff, sheet.lean, hold)
            sites = sites.update(at, variance, seen.right, seen.total)
            sheet = self._combine(sites, sheet, firm, hold)
            before, at = at, self._rise(sheet.terms, sheet.own)
            if np.all(np.abs(at - before) < SETTLED * np.sqrt(variance)):
                break
        return sheet

    def _combine(self, sites: Sites, sheet: Sheet, firm: Terms, hold: float) -> Sheet:
        """Combine the prior and the sites of all strata into one normal."""
        seen = self.evidence
        stiff, pull, square = self._eliminate(sites.precision, firm, hold)
        covariance = np.linalg.inv(square)
        miss = sites.shift - sites.precision * self._rise(sheet.terms, sheet.own)
        up = seen.design.T @ miss - firm * (sheet.terms - self.plan.centre)
        terms, own = self._solve(covariance, stiff, pull, up, self._gather(seen.share * miss) - hold * sheet.own)
        return replace(
            sheet,
            terms=sheet.terms + terms,
            own=sheet.own + own,
            covariance=covariance,
            stiff=stiff,
            lean=pull / stiff[:, None],
        )

    def inform(self, sheet: Sheet) -> Scales:
        """Fisher information on each log scale: twice the effective number of its terms that labels determine."""
        plan, out = self.plan, np.zeros(len(sheet.scales))
        inside = plan.block != FIXED
        told = (1 - self._tighten(sheet.scales) * np.diag(sheet.covariance))[inside]
        out[: plan.n] = np.bincount(plan.block[inside], weights=2 * told**2, minlength=plan.n)
        vary = _square(sheet.lean, sheet.covariance) + 1 / sheet.stiff
        out[plan.n] = 2 * ((1 - np.exp(-2 * sheet.scales[plan.n]) * vary) ** 2).sum()
        return out

    def bend(self, view: _View) -> Float[np.ndarray, "scale scale"]:
        """Approximate the inverse Hessian of the negative log evidence."""
        return np.linalg.inv(self.plan.precision + np.diag(self.inform(view.sheet)))

    def _settle(
        self, firm: Terms, hold: float
    ) -> tuple[float, Float[np.ndarray, " stratum"], tuple[Float[np.ndarray, "..."], ...]]:
        """Find the mode by Newton's method; return the log posterior, P(right) and the Hessian blocks there."""
        seen = self.evidence
        value = self._weigh(self.terms, self.own, firm, hold)
        for _ in range(MOST_STEPS):
            right = squash(self._rise(self.terms, self.own))
            miss = seen.right - seen.total * right
            bends = stiff, pull, square = self._eliminate(seen.total * right * (1 - right) + LEAST, firm, hold)
            up = seen.design.T @ miss - firm * (self.terms - self.plan.centre)
            beside = self._gather(seen.share * miss) - hold * self.own
            step = np.linalg.solve(square, up - pull.T @ (beside / stiff))
            own = (beside - pull @ step) / stiff
            if up @ step + beside @ own < 2 * CLOSE:
                break
            length = 1.0
            for _ in range(MOST_HALVINGS):
                ahead = self._weigh(self.terms + length * step, self.own + length * own, firm, hold)
                if ahead >= value:
                    break
                length /= 2
            else:
                break
            self.terms, self.own, value = self.terms + length * step, self.own + length * own, ahead
        return value, right, bends

    def _eliminate(
        self, weight: Float[np.ndarray, " stratum"], firm: Terms, hold: float
    ) -> tuple[Float[np.ndarray, " labelled"], Float[np.ndarray, "labelled term"], Float[np.ndarray, "term term"]]:
        """Eliminate the arms; return their precisions, the cross block, and the Schur complement of the terms."""
        design, share = self.evidence.design, self.evidence.share
        stiff = self._gather(share**2 * weight) + hold
        pull = self._gather((share * weight)[:, None] * design)
        if self.simple:  # the Schur complement is a single weighted product
            square = _multiply(self.brief, weight * hold / stiff)
        else:
            square = _multiply(self.brief, weight) - _multiply(pull, 1 / stiff)
        square[np.diag_indices_from(square)] += firm
        return stiff, pull, square

    def _vary(
        self,
        covariance: Float[np.ndarray, "term term"],
        stiff: Float[np.ndarray, " labelled"],
        lean: Float[np.ndarray, "labelled term"],
        hold: float,
    ) -> tuple[Float[np.ndarray, " stratum"], Float[np.ndarray, " labelled"]]:
        """Variance of the logit of every stratum, and of every arm's random effect."""
        design, share = self.evidence.design, self.evidence.share
        if self.simple:  # both follow from the variance due to the terms
            alone, given = _square(self.brief, covariance), 1 - hold / stiff
            return (1 - given) ** 2 * alone + 1 / stiff, given**2 * alone + 1 / stiff
        moved = design - share[:, None] * lean[self.arm]
        return _square(moved, covariance) + share**2 / stiff[self.arm], _square(lean, covariance) + 1 / stiff

    def _solve(
        self,
        covariance: Float[np.ndarray, "term term"],
        stiff: Float[np.ndarray, " labelled"],
        pull: Float[np.ndarray, "labelled term"],
        up: Terms,
        beside: Float[np.ndarray, " labelled"],
    ) -> tuple[Terms, Float[np.ndarray, " labelled"]]:
        """Newton step of terms and arm effects for these gradients."""
        step = covariance @ (up - pull.T @ (beside / stiff))
        return step, (beside - pull @ step) / stiff

    def _weigh(self, terms: Terms, own: Float[np.ndarray, " labelled"], firm: Terms, hold: float) -> float:
        rise, off = self._rise(terms, own), terms - self.plan.centre
        likely = (self.evidence.right * rise - self.evidence.total * np.logaddexp(0.0, rise)).sum()
        return float(likely - 0.5 * firm @ off**2 - 0.5 * hold * own @ own)

    def _rise(self, terms: Terms, own: Float[np.ndarray, " labelled"]) -> Float[np.ndarray, " stratum"]:
        return self.evidence.base + self.evidence.design @ terms + self.evidence.share * own[self.arm]

    def _tighten(self, at: Scales) -> Terms:
        """Prior precision of every term at these scales."""
        inside = self.plan.block != FIXED
        log_spread = np.log(self.plan.spread)
        log_spread[inside] = at[self.plan.block[inside]]
        return np.exp(-2 * log_spread)

    def _gather(self, values: Float[np.ndarray, "stratum *rest"]) -> Float[np.ndarray, "labelled *rest"]:
        """Sum over the strata of each arm."""
        if len(self.start) == len(values):
            return values
        return np.add.reduceat(values, self.start, axis=0)


def _multiply(
    design: Float[np.ndarray, "row term"], weight: Float[np.ndarray, " row"]
) -> Float[np.ndarray, "term term"]:
    """Σ w x xᵀ, as AᵀA of one matrix, which takes half the time of a general product."""
    rooted = np.sqrt(weight).astype(BRIEF)[:, None] * design.astype(BRIEF, copy=False)
    return (rooted.T @ rooted).astype(np.float64)


def _square(
    rows: Float[np.ndarray, "row term"], covariance: Float[np.ndarray, "term term"]
) -> Float[np.ndarray, " row"]:
    """Variance of x · terms, row by row."""
    brief = rows.astype(BRIEF, copy=False)
    return np.einsum("rt,rt->r", brief @ covariance.astype(BRIEF), brief).astype(np.float64)


@dataclass(frozen=True)
class _Summit:
    """The mode of the scales of one model, with a Laplace approximation around it."""

    problem: _Problem
    view: _View

    @cached_property
    def precision(self) -> Float[np.ndarray, "scale scale"]:
        """Precision of the log scales in a normal approximation at the mode."""
        above = self.problem.look(self.view.sheet.scales + UP)
        return self.problem.plan.precision + np.diag(self.problem.inform(above.sheet))

    @cached_property
    def evidence(self) -> float:
        """Log evidence of the model, with scales integrated out (Laplace)."""
        before, after = (np.linalg.slogdet(one)[1] for one in (self.problem.plan.precision, self.precision))
        return float(self.view.value + 0.5 * (before - after))

    def lay_sheets(self, weight: float) -> list[Sheet]:
        """Fit at sets of scales drawn from the normal approximation around the mode."""
        root = np.linalg.inv(np.linalg.cholesky(self.precision)).T
        aside = np.random.default_rng(0).standard_normal((N_SHEETS // 2, len(root))) @ root.T
        pairs = [self._look_aside(step) for step in aside]
        views = [view for side in zip(*pairs, strict=True) for view in side]
        return [replace(self.problem.describe(view), weight=weight / N_SHEETS) for view in views]

    def _look_aside(self, step: Scales) -> tuple[_View, _View]:
        """Evaluate an antithetic pair; the second search starts at the reflection of the first result."""
        top = self.view.sheet
        self.problem.begin(top.terms, top.own)
        one = self.problem.look(top.scales + step)
        self.problem.begin(2 * top.terms - one.sheet.terms, 2 * top.own - one.sheet.own)
        return one, self.problem.look(top.scales - step)


def fit(evidence: Strata, plan: Plan, start: Scales | None = None) -> Fit:
    """Fit all model variants: find the mode of their scales (from `start` if given), and sample scales around it."""
    begin = plan.start if start is None else np.where(np.isfinite(start), start, plan.start)
    variants, summits = plan.list_variants(), list[_Summit]()
    for variant in variants:  # each starts from the mode of the simpler one
        summits.append(_ascend(evidence, variant.plan, variant.read(begin)))
        begin = variant.spell_out(summits[-1].view.sheet.scales, begin)
    probabilities = _model_probabilities(variants, summits)
    kept = np.where(probabilities < FAINT, 0.0, probabilities) / probabilities[probabilities >= FAINT].sum()
    sheets = [
        _spell_out(variant, sheet)
        for variant, summit, weight in zip(variants, summits, kept.tolist(), strict=True)
        for sheet in (summit.lay_sheets(weight) if weight else [])
    ]
    together = float(probabilities[1:].sum())
    best = 1 + int(kept[1:].argmax()) if together > 0.5 else 0
    top, slope = summits[best].view.sheet, summits[best].view.slope
    n_evaluations = sum(summit.problem.n_evaluations for summit in summits)
    gradient_norm = float(np.abs(slope).max(initial=0.0))
    return Fit(
        plan,
        summits[0].problem.heard,
        tuple(sheets),
        _spell_out(variants[best], top),
        n_evaluations,
        gradient_norm,
        together,
    )


def _ascend(evidence: Strata, plan: Plan, start: Scales) -> _Summit:
    design = np.ascontiguousarray(evidence.design[:, : len(plan.block)])  # terms of pairs come last and may be absent
    problem = _Problem(replace(evidence, design=design), plan)
    return _Summit(problem, climb(problem.look, start, problem.bend))


def _model_probabilities(variants: Sequence[Variant], summits: Sequence[_Summit]) -> Float[np.ndarray, " variant"]:
    """Posterior probability of every variant."""
    if len(variants) == 1:
        return np.ones(1)
    return softmax([np.log(v.likely) + summit.evidence for v, summit in zip(variants, summits, strict=True)])


def _spell_out(variant: Variant, sheet: Sheet) -> Sheet:
    """Convert the scales of a variant to those of the full model."""
    return replace(sheet, scales=variant.spell_out(sheet.scales))
