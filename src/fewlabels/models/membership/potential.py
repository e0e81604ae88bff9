"""Temperatures and potential together, from items with known attributes: the mode, and how freely terms may move.

The potential starts from what all items say of values that occur together, in pairs and beyond, each believed as far
as known attributes bear it out. Terms of its own are added, penalised by scales that are learned as well (MacKay's
evidence), so that a few hundred items do not overrule everything. The log posterior has one maximum, which Newton's
method finds.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.models.membership.calibration import OWN
from fewlabels.models.membership.joint_distribution import Joint
from fewlabels.models.membership.scores import Evidence
from fewlabels.models.membership.terms import Terms

TRUST = 1.0, 0.5  # how far what all items tell is expected to be right, and how far off
START, LEAST, MOST = 0.3, 0.05, 3.0  # of the scales of terms
WEAK = 0.02, 1e-4  # what scales rest on without data: degrees of freedom, and squares
MOST_STEPS, MOST_HALVINGS = 30, 12
CLOSE, STEADY = 1e-2, 0.1  # of the log posterior, and of log scales
GIVEN = 2  # features that stand for what all items tell
ENTRIES = 4_000_000  # of items by arms, at a time
Params = Float[np.ndarray, " parameter"]
Square = Float[np.ndarray, "parameter parameter"]


@dataclass(frozen=True)
class Learned:
    """Temperatures, and the potential: the weights of its terms, and what is left to each arm."""

    temperatures: Float[np.ndarray, " axis"]
    potential: Joint
    trust: tuple[float, float]  # of what all items tell: of pairs, and of each arm beyond
    scales: tuple[float, float]  # of terms of single attributes, and of pairs


@dataclass(frozen=True)
class _View:
    """The log likelihood, its slope, and how it bends down."""

    value: float
    slope: Params
    bend: Square


@dataclass(frozen=True)
class Gold:
    """Items with known attributes. Parameters are temperatures, trusts and the weights of terms, in this order."""

    evidence: Evidence
    arm: Int[np.ndarray, " item"]
    terms: Terms
    given: Joint  # what all items suggest

    @cached_property
    def design(self) -> Float[np.ndarray, "arm feature"]:
        """What arms have in common for all items: given pairs as one, the rest that is given, then every term."""
        design, first = self.terms.design, self.terms.n_single
        return np.column_stack([design[:, first:] @ self.given.weights[first:], self.given.rest, design])

    def look(self, at: Params) -> _View:
        """Add up over items, some at a time."""
        size = max(1, ENTRIES // len(self.terms.arms))
        views = [self._look(at, slice(start, start + size)) for start in range(0, len(self.arm), size)]
        n = len(at)
        return _View(
            sum((view.value for view in views), 0.0),
            sum((view.slope for view in views), np.zeros(n)),
            sum((view.bend for view in views), np.zeros((n, n))),
        )

    def _look(self, at: Params, block: slice) -> _View:
        """Likelihood of some items: the slope is what is seen less what is expected, the bend a covariance."""
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
        """Sum of the items' covariances of log probabilities and features of arms."""
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
        """Expected products of two attributes' log probabilities; without a pair they are taken for independent."""
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
    """What is expected of parameters, and how far off; terms of single attributes and of pairs share a scale each."""

    centre: Params
    spread: Params
    groups: tuple[slice, slice]

    @property
    def scales(self) -> tuple[float, float]:
        """How far terms of single attributes, and of pairs, may be off; 0 if there are none."""
        single, paired = (float(self.spread[group].max(initial=0.0)) for group in self.groups)
        return single, paired

    def penalise(self, at: Params) -> float:
        """Log density, up to a constant."""
        return -float((((at - self.centre) / self.spread) ** 2).sum()) / 2

    def rescale(self, at: Params, variance: Params) -> "_Prior":
        """Set scales to how far off terms are, counting only as many as the data determine."""
        spread = self.spread.copy()
        for group in self.groups:
            off = (at - self.centre)[group]
            determined = max(len(off) - (variance / self.spread**2)[group].sum(), 0.0)
            spread[group] = np.clip(np.sqrt((off @ off + WEAK[1]) / (determined + WEAK[0])), LEAST, MOST)
        return replace(self, spread=spread)


def learn_jointly(gold: Gold, start: Float[np.ndarray, " axis"], common: float) -> Learned:
    """Find temperatures, trusts and weights, starting from temperatures that were found one by one."""
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
    """Take Newton's steps, and let the scales follow after each."""
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
    """Take a step, or half of it, and so on, until it climbs."""
    before = view.value + prior.penalise(at)
    for _ in range(MOST_HALVINGS):
        ahead = gold.look(at + step)
        if ahead.value + prior.penalise(at + step) >= before - CLOSE:
            return at + step, ahead
        step = step / 2
    return at, view
