"""Joint posterior mode of temperatures and potential, from items with known attributes, with estimated scales.

The potential has the joint distribution estimated from all items (pairwise part and residual) as offsets with free
coefficients. Further terms are added, with normal priors whose scales are estimated (MacKay's evidence), so that a
few hundred items do not overrule all others. The log posterior is concave; Newton's method finds its maximum.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.models.membership.calibration import OWN
from fewlabels.models.membership.joint_distribution import Joint
from fewlabels.models.membership.scores import Evidence
from fewlabels.models.membership.terms import Terms

TRUST = 1.0, 0.5  # prior mean and sd of the coefficients of the offsets
START, LEAST, MOST = 0.3, 0.05, 3.0  # initial, smallest and largest scale of terms
WEAK = 0.02, 1e-4  # prior of squared scales: degrees of freedom, sum of squares
MOST_STEPS, MOST_HALVINGS = 30, 12
CLOSE, STEADY = 1e-2, 0.1  # convergence of the log posterior, and of log scales
GIVEN = 2  # features that are offsets estimated from all items
ENTRIES = 4_000_000  # items × arms per block
Params = Float[np.ndarray, " parameter"]
Square = Float[np.ndarray, "parameter parameter"]


@dataclass(frozen=True)
class Learned:
    """Estimated temperatures and potential, with the coefficients of the offsets and the scales of terms."""

    temperatures: Float[np.ndarray, " axis"]
    potential: Joint
    trust: tuple[float, float]  # coefficients of the offsets: pairwise part, residual per arm
    scales: tuple[float, float]  # of terms of single attributes and of pairs


@dataclass(frozen=True)
class _View:
    """Log likelihood, its gradient, and its negative Hessian."""

    value: float
    slope: Params
    bend: Square


@dataclass(frozen=True)
class Gold:
    """Items with known attributes. Parameters: temperatures, coefficients of offsets, weights of terms."""

    evidence: Evidence
    arm: Int[np.ndarray, " item"]
    terms: Terms
    given: Joint  # estimated from all items

    @cached_property
    def design(self) -> Float[np.ndarray, "arm feature"]:
        """Features of arms: the pairwise offset, the residual offset, then every term."""
        design, first = self.terms.design, self.terms.n_single
        return np.column_stack([design[:, first:] @ self.given.weights[first:], self.given.rest, design])

    def look(self, at: Params) -> _View:
        """Log likelihood of all items, in blocks."""
        size = max(1, ENTRIES // len(self.terms.arms))
        views = [self._look(at, slice(start, start + size)) for start in range(0, len(self.arm), size)]
        n = len(at)
        return _View(
            sum((view.value for view in views), 0.0),
            sum((view.slope for view in views), np.zeros(n)),
            sum((view.bend for view in views), np.zeros((n, n))),
        )

    def _look(self, at: Params, block: slice) -> _View:
        """Log likelihood of a block; the negative Hessian is the covariance of the features."""
        logs, arm, table = tuple(log[block] for log in self.evidence), self.arm[block], self.terms.arms.table
        n_axes, item = len(logs), np.arange(len(arm))
        chance = self.terms.arms.add_up(tuple(t * log for t, log in zip(at[:n_axes], logs, strict=True)))
        chance += self.design @ at[n_axes:]
        chance -= chance.max(axis=1, keepdims=True)
        height = chance[item, arm]
        np.exp(chance, out=chance)
        total = chance.sum(axis=1, keepdims=True)
        chance /= total
        signs = self.terms.express(logs)
        mean = chance @ self.design
        said = self._sum_by_axis(signs * mean[:, GIVEN : GIVEN + self.terms.n_single])
        seen = np.stack([log[item, table[arm, k]] for k, log in enumerate(logs)], axis=1)
        slope = np.concatenate([(seen - said).sum(axis=0), (self.design[arm] - mean).sum(axis=0)])
        value = float((height - np.log(total[:, 0])).sum())
        return _View(value, slope, self._bend(chance, logs, signs, mean, said))

    def _bend(
        self,
        chance: Float[np.ndarray, "item arm"],
        logs: Evidence,
        signs: Float[np.ndarray, "item single"],
        mean: Float[np.ndarray, "item feature"],
        said: Float[np.ndarray, "item axis"],
    ) -> Square:
        """Negative Hessian: the sum of the items' covariances of log probabilities and features."""
        single = self.terms.design[:, : self.terms.n_single]
        both = (self.design.T * chance.sum(axis=0)) @ self.design - mean.T @ mean
        cross = self._sum_by_axis(single * (signs.T @ chance).T).T @ self.design - said.T @ mean
        own = self._multiply(logs, signs, mean[:, GIVEN:], said) - said.T @ said
        return np.block([[own, cross], [cross.T, both]])

    def _multiply(
        self,
        logs: Evidence,
        signs: Float[np.ndarray, "item single"],
        mean: Float[np.ndarray, "item term"],
        said: Float[np.ndarray, "item axis"],
    ) -> Float[np.ndarray, "axis axis"]:
        """Expected products of log probabilities of two attributes; without a pair they are assumed independent."""
        out = said.T @ said
        for k, (log, code, where) in enumerate(zip(logs, self.terms.contrasts, self.terms.single, strict=True)):
            share = (1 + (len(code) - 1) * mean[:, where] @ code.T) / len(code)
            out[k, k] = np.vdot(share, log**2)
        for (k, m), where in zip(self.terms.pairs, self.terms.paired, strict=True):
            one, other = (signs[:, self.terms.single[axis]] for axis in (k, m))
            product = (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)
            out[k, m] = out[m, k] = np.vdot(product, mean[:, where])
        return out

    def _sum_by_axis(self, values: Float[np.ndarray, "row single"]) -> Float[np.ndarray, "row axis"]:
        return np.stack([values[:, where].sum(axis=1) for where in self.terms.single], axis=1)


@dataclass(frozen=True)
class _Prior:
    """Normal priors of parameters; single-attribute terms and pair terms share one scale each."""

    centre: Params
    spread: Params
    groups: tuple[slice, slice]

    @property
    def scales(self) -> tuple[float, float]:
        """Scales of single-attribute terms and of pair terms; 0 if there are none."""
        single, paired = (float(self.spread[group].max(initial=0.0)) for group in self.groups)
        return single, paired

    def penalise(self, at: Params) -> float:
        """Log prior density, up to a constant."""
        return -float((((at - self.centre) / self.spread) ** 2).sum()) / 2

    def rescale(self, at: Params, variance: Params) -> "_Prior":
        """Update scales by MacKay's rule: sum of squares over the effective number of determined terms."""
        spread = self.spread.copy()
        for group in self.groups:
            off = (at - self.centre)[group]
            determined = max(len(off) - (variance / self.spread**2)[group].sum(), 0.0)
            spread[group] = np.clip(np.sqrt((off @ off + WEAK[1]) / (determined + WEAK[0])), LEAST, MOST)
        return replace(self, spread=spread)


def learn_jointly(gold: Gold, start: Float[np.ndarray, " axis"], common: float) -> Learned:
    """Estimate temperatures, coefficients of offsets and weights; `start` are temperatures calibrated separately."""
    n_axes, n_single, given = len(gold.evidence), gold.terms.n_single, gold.given
    first, n_terms = n_axes + GIVEN, len(given.weights)
    centre, spread = (
        np.repeat(values, [n_axes, GIVEN, n_terms]) for values in ((common, TRUST[0], 0.0), (OWN, TRUST[1], START))
    )
    centre[first : first + n_single] = given.weights[:n_single]
    prior = _Prior(centre, spread, (slice(first, first + n_single), slice(first + n_single, None)))
    at, prior = _climb(gold, np.concatenate([start, centre[n_axes:]]), prior)
    pairs, rest = (float(trust) for trust in at[n_axes:first])
    weights = at[first:] + pairs * np.where(np.arange(n_terms) < n_single, 0.0, given.weights)
    return Learned(at[:n_axes], Joint(weights, rest * given.rest), (pairs, rest), prior.scales)


def _climb(gold: Gold, at: Params, prior: _Prior) -> tuple[Params, _Prior]:
    """Newton's method, with an update of the scales after each step."""
    view = gold.look(at)
    for _ in range(MOST_STEPS):
        slope = view.slope - (at - prior.centre) / prior.spread**2
        covariance = np.linalg.inv(view.bend + np.diag(prior.spread**-2))
        step = covariance @ slope
        at, view = _step(gold, at, step, view, prior)
        before, prior = prior, prior.rescale(at, np.diag(covariance))
        if step @ slope < CLOSE and np.abs(np.log(prior.spread / before.spread)).max() < STEADY:
            break
    return at, prior


def _step(gold: Gold, at: Params, step: Params, view: _View, prior: _Prior) -> tuple[Params, _View]:
    """Backtracking line search: halve the step until the log posterior increases."""
    before = view.value + prior.penalise(at)
    for _ in range(MOST_HALVINGS):
        ahead = gold.look(at + step)
        if ahead.value + prior.penalise(at + step) >= before - CLOSE:
            return at + step, ahead
        step = step / 2
    return at, view
