"""The posterior of all effects: their mode by Newton's method, a normal around it, and scales by their evidence.

The logit of being right is a curve of the score, plus effects of attributes, plus an effect of the arm itself. Effects
are normal, each kind with a scale that is learned. Arms are many and each only touches its own labels, so their effects
are eliminated first; what is left is as large as the number of terms, not of arms.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.latent.departures import squash
from fewlabels.surfaces.ascent import climb
from fewlabels.surfaces.effects import Kind
from fewlabels.surfaces.strata import Strata

MOST_STEPS, MOST_HALVINGS = 40, 12
CLOSE = 1e-4  # of the log posterior: a step that gains less is not taken
FIXED = -1  # the block of terms whose spread is given
LEAST = 1e-10  # weight of a label that tells nothing
CENTRES: dict[str, float] = {"main": -0.5, "pair": -1.3, "arm": -0.8}  # log scale that is expected of effects,
SPREADS: dict[str, float] = {"main": 0.7, "pair": 0.8, "arm": 1.0}  # how far off that may be for all of a kind,
APART: dict[Kind, float] = {"main": 0.7, "pair": 0.8}  # and how far effects of a kind differ
N_SHEETS = 8  # sets of scales to sum over, in pairs on either side of the summit
UP = 0.7  # from the summit, to see what labels tell of log scales: of larger ones they tell more, so these are less likely
Terms = Float[np.ndarray, " term"]
Scales = Float[np.ndarray, " scale"]  # logs: of every effect, of arms, then the centre of every kind


@dataclass(frozen=True)
class Plan:
    """What is assumed before any label: terms of given spread, and effects of several terms whose scale is learned."""

    block: Int[np.ndarray, " term"]  # the effect a term is part of, or FIXED
    centre: Terms  # of terms
    spread: Terms  # of terms that are FIXED
    kinds: tuple[Kind, ...]  # of effects

    @property
    def n(self) -> int:
        """How many effects; in `Scales`, this is the place of the arms'."""
        return len(self.kinds)

    @cached_property
    def named(self) -> tuple[Kind, ...]:
        """The kinds there are."""
        return tuple(dict.fromkeys(self.kinds))

    @cached_property
    def start(self) -> Scales:
        """Scales as expected."""
        return np.array([CENTRES[kind] for kind in (*self.kinds, "arm", *self.named)])

    @cached_property
    def precision(self) -> Float[np.ndarray, "scale scale"]:
        """Of the scales' prior, which is normal."""
        out = np.diag(
            [APART[kind] ** -2 for kind in self.kinds] + [SPREADS[kind] ** -2 for kind in ("arm", *self.named)]
        )
        for i, kind in enumerate(self.kinds):
            centre = self.n + 1 + self.named.index(kind)
            out[centre, centre] += out[i, i]
            out[i, centre] = out[centre, i] = -out[i, i]
        return out

    def log_prior(self, at: Scales) -> tuple[float, Scales]:
        """Log density of scales, and its slope."""
        pull = self.precision @ (at - self.start)
        return float(-0.5 * (at - self.start) @ pull), -pull


@dataclass(frozen=True)
class Sheet:
    """The fit at one set of scales."""

    weight: float
    scales: Scales
    terms: Terms
    covariance: Float[np.ndarray, "term term"]
    own: Float[np.ndarray, " heard"]  # effect of every arm with labels
    stiff: Float[np.ndarray, " heard"]  # how firmly its labels and its prior hold it
    lean: Float[np.ndarray, "heard term"]  # by how much it falls when a term rises, its labels unchanged


@dataclass(frozen=True)
class Fit:
    """The fit at several sets of scales, for few labels tell little of these."""

    plan: Plan
    heard: Int[np.ndarray, " heard"]  # arms with labels
    sheets: tuple[Sheet, ...]
    summit: Sheet  # at the scales that explain the labels best
    n_looks: int  # how often the evidence was worked out
    slope: float  # of the evidence at its summit, where it should be none

    def forget_arms(self) -> "Fit":
        """Return what it says of arms without a label, whichever they are."""
        nothing = np.zeros(0)
        sheets = [replace(one, own=nothing, stiff=nothing, lean=one.lean[:0]) for one in self.sheets]
        return replace(self, heard=self.heard[:0], sheets=tuple(sheets))


@dataclass(frozen=True)
class _View:
    """Evidence at a set of scales, with the mode of everything else."""

    value: float
    slope: Scales
    sheet: Sheet


class _Problem:
    """The evidence of scales; remembers the last mode, from which the next is not far."""

    def __init__(self, evidence: Strata, plan: Plan) -> None:
        self.evidence, self.plan = evidence, plan
        self.heard, self.start, self.arm = np.unique(evidence.group, return_index=True, return_inverse=True)
        self.whole = bool(np.all(evidence.share == 1))
        self.terms, self.own = plan.centre.copy(), np.zeros(len(self.heard))
        self.n_looks = 0

    def look(self, at: Scales) -> _View:
        """Work the evidence out."""
        self.n_looks += 1
        firm, hold = self._tighten(at), float(np.exp(-2 * at[self.plan.n]))
        value = self._settle(firm, hold)
        seen = self.evidence
        right = squash(self._rise(self.terms, self.own))
        weight = seen.total * right * (1 - right) + LEAST
        stiff, pull, square = self._eliminate(weight, firm, hold)
        covariance = np.linalg.inv(square)
        lean = pull / stiff[:, None]
        doubt = np.linalg.slogdet(square)[1] - np.log(firm).sum() + np.log(stiff / hold).sum()
        prior, slope = self.plan.log_prior(at)
        moved = seen.design - (lean[self.arm] if self.whole else seen.share[:, None] * lean[self.arm])
        spread = np.einsum("st,st->s", moved @ covariance, moved) + seen.share**2 / stiff[self.arm]
        vary = np.einsum("at,at->a", lean @ covariance, lean) + 1 / stiff
        tilt = -0.5 * spread * (weight - LEAST) * (1 - 2 * right)  # how the doubt changes with each logit
        there, beside = self._solve(covariance, stiff, pull, seen.design.T @ tilt, self._gather(seen.share * tilt))
        off = self.terms - self.plan.centre
        each = firm * off**2 - (1 - firm * np.diag(covariance)) + 2 * firm * off * there
        inside = self.plan.block != FIXED
        slope[: self.plan.n] += np.bincount(self.plan.block[inside], weights=each[inside], minlength=self.plan.n)
        slope[self.plan.n] += (hold * self.own**2 - (1 - hold * vary) + 2 * hold * self.own * beside).sum()
        sheet = Sheet(1.0, at, self.terms, covariance, self.own, stiff, lean)
        return _View(value - 0.5 * doubt + prior, slope, sheet)

    def inform(self, sheet: Sheet) -> Scales:
        """Return how much labels tell of each log scale: twice the number of its terms, as far as labels determine them."""
        plan, out = self.plan, np.zeros(len(sheet.scales))
        inside = plan.block != FIXED
        told = (1 - self._tighten(sheet.scales) * np.diag(sheet.covariance))[inside]
        out[: plan.n] = np.bincount(plan.block[inside], weights=2 * told**2, minlength=plan.n)
        vary = np.einsum("at,at->a", sheet.lean @ sheet.covariance, sheet.lean) + 1 / sheet.stiff
        out[plan.n] = 2 * ((1 - np.exp(-2 * sheet.scales[plan.n]) * vary) ** 2).sum()
        return out

    def _settle(self, firm: Terms, hold: float) -> float:
        """Find the mode of terms and arms' effects by Newton's steps, and return the log posterior there."""
        seen = self.evidence
        value = self._weigh(self.terms, self.own, firm, hold)
        for _ in range(MOST_STEPS):
            right = squash(self._rise(self.terms, self.own))
            miss = seen.right - seen.total * right
            stiff, pull, square = self._eliminate(seen.total * right * (1 - right) + LEAST, firm, hold)
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
        return value

    def _eliminate(
        self, weight: Float[np.ndarray, " stratum"], firm: Terms, hold: float
    ) -> tuple[Float[np.ndarray, " heard"], Float[np.ndarray, "heard term"], Float[np.ndarray, "term term"]]:
        """Eliminate the arms: how stiff each is, how terms pull on it, and the precision of what is left."""
        design, share = self.evidence.design, self.evidence.share
        weighted = weight[:, None] * design
        stiff = self._gather(share**2 * weight) + hold
        pull = self._gather(weighted if self.whole else share[:, None] * weighted)
        if self.whole and len(stiff) == len(weight):  # an arm is a stratum, and one product does for two
            square = design.T @ ((hold / stiff)[:, None] * weighted)
        else:
            square = design.T @ weighted - (pull.T / stiff) @ pull
        square[np.diag_indices_from(square)] += firm
        return stiff, pull, square

    def _solve(
        self,
        covariance: Float[np.ndarray, "term term"],
        stiff: Float[np.ndarray, " heard"],
        pull: Float[np.ndarray, "heard term"],
        up: Terms,
        beside: Float[np.ndarray, " heard"],
    ) -> tuple[Terms, Float[np.ndarray, " heard"]]:
        """How the mode of terms and of arms moves when pulled like this."""
        step = covariance @ (up - pull.T @ (beside / stiff))
        return step, (beside - pull @ step) / stiff

    def _weigh(self, terms: Terms, own: Float[np.ndarray, " heard"], firm: Terms, hold: float) -> float:
        rise, off = self._rise(terms, own), terms - self.plan.centre
        likely = (self.evidence.right * rise - self.evidence.total * np.logaddexp(0.0, rise)).sum()
        return float(likely - 0.5 * firm @ off**2 - 0.5 * hold * own @ own)

    def _rise(self, terms: Terms, own: Float[np.ndarray, " heard"]) -> Float[np.ndarray, " stratum"]:
        return self.evidence.base + self.evidence.design @ terms + self.evidence.share * own[self.arm]

    def _tighten(self, at: Scales) -> Terms:
        """Return the prior precision of every term."""
        inside = self.plan.block != FIXED
        log_spread = np.log(self.plan.spread)
        log_spread[inside] = at[self.plan.block[inside]]
        return np.exp(-2 * log_spread)

    def _gather(self, values: Float[np.ndarray, "stratum *rest"]) -> Float[np.ndarray, "heard *rest"]:
        """Add up the strata of each arm."""
        if len(self.start) == len(values):
            return values
        return np.add.reduceat(values, self.start, axis=0)


def fit(evidence: Strata, plan: Plan, start: Scales | None = None) -> Fit:
    """Find the scales that explain the labels best, from `start` if it is known where they may be, and look around."""
    problem = _Problem(evidence, plan)
    summit = climb(problem.look, plan.start if start is None else start)
    steepest = float(np.abs(summit.slope).max(initial=0.0))
    return Fit(plan, problem.heard, _lay_sheets(problem, summit.sheet), summit.sheet, problem.n_looks, steepest)


def _lay_sheets(problem: _Problem, summit: Sheet) -> tuple[Sheet, ...]:
    """Look at other scales that may well be, drawn around the summit."""
    precision = problem.plan.precision + np.diag(problem.inform(problem.look(summit.scales + UP).sheet))
    root = np.linalg.inv(np.linalg.cholesky(precision)).T
    aside = np.random.default_rng(0).standard_normal((N_SHEETS // 2, len(precision))) @ root.T
    views = [problem.look(summit.scales + step) for step in np.concatenate([aside, -aside])]
    return tuple(replace(view.sheet, weight=1 / N_SHEETS) for view in views)
