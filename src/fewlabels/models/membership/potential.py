"""Joint posterior mode of temperatures and potential, from items with known attributes, with estimated scales.

The potential has the joint distribution estimated from all items (pairwise part and residual) as offsets with free
coefficients. Further terms are added, with normal priors whose scales are estimated (MacKay's evidence), so that a
few hundred items do not overrule all others. The log posterior is concave; Newton's method finds its maximum.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from jaxtyping import Float, Int

from fewlabels.models.membership.joint_distribution import Joint
from fewlabels.models.membership.scores import LogScores
from fewlabels.models.membership.temperature_scaling import TEMPERATURE_SD
from fewlabels.models.membership.terms import Terms
from fewlabels.models.optimize import halve_step

COEFFICIENT_PRIOR = 1.0, 0.5  # prior mean and sd of the coefficients of the offsets
START_SCALE, MIN_SCALE, MAX_SCALE = 0.3, 0.05, 3.0  # initial, smallest and largest scale of terms
SCALE_PRIOR = 0.02, 1e-4  # prior of squared scales: degrees of freedom, sum of squares
MOST_STEPS, MAX_HALVINGS = 30, 12
TOLERANCE, SCALE_TOLERANCE = 1e-2, 0.1  # convergence of the log posterior, and of log scales
N_OFFSETS = 2  # features that are offsets estimated from all items
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
class _Evaluation:
    """Log likelihood, its gradient, and its negative Hessian."""

    value: float
    gradient: Params
    hessian: Square


@dataclass(frozen=True)
class GoldItems:
    """Items with known attributes. Parameters: temperatures, coefficients of offsets, weights of terms."""

    evidence: LogScores
    arm: Int[np.ndarray, " item"]
    terms: Terms
    given: Joint  # estimated from all items

    @cached_property
    def design(self) -> Float[np.ndarray, "arm feature"]:
        """Features of arms in the potential: the pairwise offset, the residual offset, then every term."""
        design, first = self.terms.design, self.terms.n_single
        return np.column_stack([design[:, first:] @ self.given.weights[first:], self.given.rest, design])

    def evaluate(self, at: Params) -> _Evaluation:
        """Log likelihood of temperatures and potential on all items with known attributes, in blocks."""
        size = max(1, ENTRIES // len(self.terms.arms))
        evaluations = [self._evaluate_block(at, slice(start, start + size)) for start in range(0, len(self.arm), size)]
        n = len(at)
        return _Evaluation(
            sum((evaluation.value for evaluation in evaluations), 0.0),
            sum((evaluation.gradient for evaluation in evaluations), np.zeros(n)),
            sum((evaluation.hessian for evaluation in evaluations), np.zeros((n, n))),
        )

    def _evaluate_block(self, at: Params, block: slice) -> _Evaluation:
        """Log likelihood of the potential on a block; the negative Hessian is the covariance of the features."""
        logs, arm, table = tuple(log[block] for log in self.evidence), self.arm[block], self.terms.arms.table
        n_axes, item = len(logs), np.arange(len(arm))
        chance = self.terms.arms.sum_over_attributes(tuple(t * log for t, log in zip(at[:n_axes], logs, strict=True)))
        chance += self.design @ at[n_axes:]
        chance -= chance.max(axis=1, keepdims=True)
        log_numerator = chance[item, arm]
        np.exp(chance, out=chance)
        total = chance.sum(axis=1, keepdims=True)
        chance /= total
        coded_logs = self.terms.project_values(logs)
        mean = chance @ self.design
        expected = self._sum_by_axis(coded_logs * mean[:, N_OFFSETS : N_OFFSETS + self.terms.n_single])
        observed = np.stack([log[item, table[arm, k]] for k, log in enumerate(logs)], axis=1)
        gradient = np.concatenate([(observed - expected).sum(axis=0), (self.design[arm] - mean).sum(axis=0)])
        value = float((log_numerator - np.log(total[:, 0])).sum())
        return _Evaluation(value, gradient, self._hessian(chance, logs, coded_logs, mean, expected))

    def _hessian(
        self,
        chance: Float[np.ndarray, "item arm"],
        logs: LogScores,
        coded_logs: Float[np.ndarray, "item single"],
        mean: Float[np.ndarray, "item feature"],
        expected: Float[np.ndarray, "item axis"],
    ) -> Square:
        """Negative Hessian for the potential: the sum of the items' covariances of log probabilities and features."""
        single = self.terms.design[:, : self.terms.n_single]
        both = (self.design.T * chance.sum(axis=0)) @ self.design - mean.T @ mean
        cross = self._sum_by_axis(single * (coded_logs.T @ chance).T).T @ self.design - expected.T @ mean
        own = self._multiply(logs, coded_logs, mean[:, N_OFFSETS:], expected) - expected.T @ expected
        return np.block([[own, cross], [cross.T, both]])

    def _multiply(
        self,
        logs: LogScores,
        coded_logs: Float[np.ndarray, "item single"],
        mean: Float[np.ndarray, "item term"],
        expected: Float[np.ndarray, "item axis"],
    ) -> Float[np.ndarray, "axis axis"]:
        """Expected products of two attributes' log probabilities; without a pair in the potential they are independent."""
        out = expected.T @ expected
        for k, (log, code, where) in enumerate(zip(logs, self.terms.contrasts, self.terms.single, strict=True)):
            share = (1 + (len(code) - 1) * mean[:, where] @ code.T) / len(code)
            out[k, k] = np.vdot(share, log**2)
        for (k, m), where in zip(self.terms.pairs, self.terms.paired, strict=True):
            one, other = (coded_logs[:, self.terms.single[axis]] for axis in (k, m))
            product = (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)
            out[k, m] = out[m, k] = np.vdot(product, mean[:, where])
        return out

    def _sum_by_axis(self, values: Float[np.ndarray, "row single"]) -> Float[np.ndarray, "row axis"]:
        """Sum the values of each attribute's terms of the potential."""
        return np.stack([values[:, where].sum(axis=1) for where in self.terms.single], axis=1)


@dataclass(frozen=True)
class _Prior:
    """Normal priors of parameters; single-attribute terms and pair terms share one scale each."""

    centre: Params
    spread: Params
    groups: tuple[slice, slice]

    @property
    def scales(self) -> tuple[float, float]:
        """Scales of the potential's single-attribute terms and of its pair terms; 0 if there are none."""
        single, paired = (float(self.spread[group].max(initial=0.0)) for group in self.groups)
        return single, paired

    def penalise(self, at: Params) -> float:
        """Log prior density of the potential, up to a constant."""
        return -float((((at - self.centre) / self.spread) ** 2).sum()) / 2

    def rescale(self, at: Params, variance: Params) -> "_Prior":
        """Update the scales of the potential's terms by MacKay's rule: squares over the number of determined terms."""
        spread = self.spread.copy()
        for group in self.groups:
            off = (at - self.centre)[group]
            determined = max(len(off) - (variance / self.spread**2)[group].sum(), 0.0)
            spread[group] = np.clip(
                np.sqrt((off @ off + SCALE_PRIOR[1]) / (determined + SCALE_PRIOR[0])), MIN_SCALE, MAX_SCALE
            )
        return replace(self, spread=spread)


@dataclass(frozen=True)
class _PotentialPoint:
    """Log posterior of parameters, its gradient, and the inverse of its negative Hessian."""

    at: Params
    likelihood: _Evaluation
    prior: _Prior

    @property
    def value(self) -> float:
        """Log posterior of the potential and temperatures, up to a constant."""
        return self.likelihood.value + self.prior.penalise(self.at)

    @cached_property
    def gradient(self) -> Params:
        """Gradient of the log posterior of the potential and temperatures."""
        return self.likelihood.gradient - (self.at - self.prior.centre) / self.prior.spread**2

    @cached_property
    def covariance(self) -> Square:
        """Covariance of the normal approximation of the potential and temperatures."""
        return np.linalg.inv(self.likelihood.hessian + np.diag(self.prior.spread**-2))


def learn_jointly(gold: GoldItems, start: Float[np.ndarray, " axis"], common: float) -> Learned:
    """Learn the potential's coefficients together with temperatures; `start` are temperatures calibrated separately."""
    n_axes, n_single, given = len(gold.evidence), gold.terms.n_single, gold.given
    first, n_terms = n_axes + N_OFFSETS, len(given.weights)
    centre, spread = (
        np.repeat(values, [n_axes, N_OFFSETS, n_terms])
        for values in ((common, COEFFICIENT_PRIOR[0], 0.0), (TEMPERATURE_SD, COEFFICIENT_PRIOR[1], START_SCALE))
    )
    centre[first : first + n_single] = given.weights[:n_single]
    prior = _Prior(centre, spread, (slice(first, first + n_single), slice(first + n_single, None)))
    at, prior = _maximize_posterior(gold, np.concatenate([start, centre[n_axes:]]), prior)
    pairs, rest = (float(trust) for trust in at[n_axes:first])
    weights = at[first:] + pairs * np.where(np.arange(n_terms) < n_single, 0.0, given.weights)
    return Learned(at[:n_axes], Joint(weights, rest * given.rest), (pairs, rest), prior.scales)


def _maximize_posterior(gold: GoldItems, at: Params, prior: _Prior) -> tuple[Params, _Prior]:
    """Find the mode of the potential and temperatures by Newton's method, with an update of the scales each step."""
    point = _evaluate_posterior(gold, prior, at)
    for _ in range(MOST_STEPS):
        step = point.covariance @ point.gradient
        is_flat, variance = step @ point.gradient < TOLERANCE, np.diag(point.covariance)
        ahead = halve_step(
            partial(_evaluate_posterior, gold, prior), point.at, step, point.value - TOLERANCE, MAX_HALVINGS
        )
        point = point if ahead is None else ahead[1]
        before, prior = prior, prior.rescale(point.at, variance)
        point = replace(point, prior=prior)
        if is_flat and np.abs(np.log(prior.spread / before.spread)).max() < SCALE_TOLERANCE:
            break
    return point.at, prior


def _evaluate_posterior(gold: GoldItems, prior: _Prior, at: Params) -> _PotentialPoint:
    """Evaluate the posterior of the potential and temperatures at a point."""
    return _PotentialPoint(at, gold.evaluate(at), prior)
