"""Which groups have been looked at: those whose own labels would have shown by now that they are broken.

Scores and the labels of other groups say nothing of a group whose predictions went wrong while its scores stayed as they
were. So no goal counts a group as known by them alone. A broken group has lost a share of its right predictions; labels
that are as right as expected speak against that, each by its likelihood ratio. The ratio of two likelihoods exceeds 1/p
with probability at most p under the second one, however often one looks and whatever the policy asked for (Ville 1939),
so this holds for sessions that stop as soon as they may.

What is expected of a group is what the model says without its own labels: an estimate that the labels of a broken group
have pulled half-way lies between both hypotheses and would hide it. A group whose labels speak for both has been looked
at once they decide its interval alone: once what they say without any model (Wilson 1927) is hardly lower, or as narrow as the goal asks for.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import expit, logit, ndtri

from fewlabels.data.counts import NONE
from fewlabels.distributions.belief import Conjugate
from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.metrics.metric import selection_rate
from fewlabels.models.grades.allocation import MIN_SEEN
from fewlabels.models.grades.mean_grades import MeanGrades
from fewlabels.models.posterior import PerGroup, Posterior
from fewlabels.text import format_share

KEPT = 0.6  # at most so much of its accuracy has a broken group kept
TRUST = 0.4  # of an interval's lower half: so much narrower at most it may be than that of own labels alone
MUCH = 0.5  # an interval that reaches down to this share of the mean shows that the group may be broken
CHANCE, CHANCE_GROUPS = 0.1, 10.0  # least prior chance that a group is broken, and the groups it counts as
FEWEST = 3  # labels that every group needs, if it has as many items
SMALL = 1 / 20  # of the probability outside the interval: so rarely broken groups hardly add to it
LEAST = 0.5  # pseudo-count of either outcome that is left of a model without a group's own labels
EDGE = 1e-6


@dataclass(frozen=True)
class Inspection:
    """What the labels of each group say of whether it is broken; pending labels count with their expected answers."""

    posterior: Posterior
    with_pending: bool = False
    low: PerGroup | None = None  # ends of the intervals, where those of the posterior take too long
    narrow: float = 0.0  # width of an interval that is enough for the goal

    @cached_property
    def n_labels(self) -> PerGroup:
        """Labels of each group."""
        return self.posterior.sum_by_group(self._counts.sum(axis=1))

    @cached_property
    def p_broken(self) -> PerGroup:
        """Probability that each group is broken; its prior chance is learned from all groups with labels."""
        at_first = expit(logit(CHANCE) - self.evidence)
        has_labels = self.n_labels > 0
        chance = (CHANCE * CHANCE_GROUPS + at_first[has_labels].sum()) / (CHANCE_GROUPS + has_labels.sum())
        return expit(logit(max(CHANCE, chance)) - self.evidence)

    @cached_property
    def is_inspected(self) -> Bool[np.ndarray, " group"]:
        """Has each group been looked at? A group is, too, once none of its items is left to ask about."""
        known = self.posterior
        if known.metric is selection_rate:
            return np.ones(len(known.groups), dtype=bool)
        is_exhausted = (known.left == 0) & (known.sum_by_group(known.pending.astype(np.float64)) == 0)
        if isinstance(known.joint, MeanGrades):
            return is_exhausted | (self.n_labels >= MIN_SEEN - EDGE)  # the interval has the spread of own grades
        shown = self.p_broken <= SMALL * (1 - known.level)
        decided = shown | self._is_within_interval | self._is_decided_by_own_labels
        return is_exhausted | (self.n_labels >= FEWEST - EDGE) & decided

    @cached_property
    def expected_fall(self) -> PerGroup:
        """Expected fall, by one more label, of the variance that is due to the chance of being broken."""
        p, right, kept = self.p_broken, self._expected, KEPT * self._expected
        predictive = (1 - p) * right + p * kept
        after = (p * kept) ** 2 / predictive + (p * (1 - kept)) ** 2 / (1 - predictive)
        return np.where(self.is_inspected, 0.0, (after - p**2) * (right - kept) ** 2)

    @property
    def unseen(self) -> list[str]:
        """Names of groups that have not been looked at, the largest first."""
        (places,) = np.nonzero(~self.is_inspected & ~self.posterior.undefined)
        order = places[np.argsort(-self.posterior.n_items[places], kind="stable")]
        return [self.posterior.groups[g] for g in order]

    @cached_property
    def _is_within_interval(self) -> Bool[np.ndarray, " group"]:
        """Does the interval contain what a broken group has?

        Of exactly these items, labelled ones are known, and only the others can be worse than expected.
        """
        known = self.posterior
        if not known.metric.is_cell_accuracy:
            return np.zeros(len(known.groups), dtype=bool)
        worse = MUCH * self._expected
        if known.finite_pool:
            rest = np.maximum(known.n_items - self.n_labels, 0.0)
            worse = (self._right + worse * rest) / known.n_items
        return self._lows <= worse

    @cached_property
    def _is_decided_by_own_labels(self) -> Bool[np.ndarray, " group"]:
        """Is the interval hardly higher than that of the group's own labels alone, or are both together narrow enough?"""
        known = self.posterior
        if not known.metric.is_cell_accuracy:
            return np.zeros(len(known.groups), dtype=bool)
        n = np.maximum(self.n_labels, EDGE)
        left = np.sqrt(np.maximum(1 - n / known.n_items, 0.0)) if known.finite_pool else 1.0
        share = np.clip(self._right / n, 0.0, 1.0)
        low, high = (share + (end - share) * left for end in _find_wilson_interval(share, n, known.level))
        down = self._accuracy - self._lows
        both = np.maximum(high, self._accuracy + down) - np.minimum(low, self._lows)
        return (low >= self._lows - TRUST * down) | (both <= self.narrow)

    @cached_property
    def _lows(self) -> PerGroup:
        """Return the lower end of each group's interval, by which it is inspected."""
        return self.posterior.interval()[0] if self.low is None else self.low

    @cached_property
    def evidence(self) -> PerGroup:
        """Log likelihood ratio of each group's labels: as expected, against broken."""
        right, wrong = self._right, self.n_labels - self._right
        return right * np.log(1 / KEPT) - wrong * np.log((1 - KEPT * self._expected) / (1 - self._expected))

    @cached_property
    def _accuracy(self) -> PerGroup:
        """Accuracy of each inspected group at the posterior mean, away from 0 and 1."""
        return self._average(self.posterior.belief)

    @cached_property
    def _expected(self) -> PerGroup:
        """Accuracy of each group by the model without its own labels, if that is higher than with them."""
        known = self.posterior
        if not isinstance(known.prior, Beta):
            return self._accuracy
        left = replace(
            known.prior, alpha=np.maximum(known.prior.alpha, LEAST), beta=np.maximum(known.prior.beta, LEAST)
        )
        return np.maximum(self._accuracy, self._average(left))

    def _average(self, belief: Conjugate) -> PerGroup:
        """Average the accuracy of the cells of each inspected group, away from 0 and 1."""
        known = self.posterior
        return np.clip(known.sum_by_group(known.weight * self._take_right(belief.mean())), EDGE, 1 - EDGE)

    @cached_property
    def _right(self) -> PerGroup:
        """Right outcomes of each inspected group."""
        return self.posterior.sum_by_group(self._take_right(self._counts))

    @cached_property
    def _counts(self) -> Float[np.ndarray, "cell outcome"]:
        """Outcomes of the inspected cells; pending answers count as expected."""
        known = self.posterior
        if not (self.with_pending and known.pending.any()):
            return known.counts
        mean = known.belief.mean()
        outcomes = np.stack([mean, 1 - mean], axis=1) if mean.ndim == 1 else mean
        return known.counts + outcomes * known.pending[:, None]

    def _take_right(self, values: Float[np.ndarray, "cell *outcome"]) -> Float[np.ndarray, " cell"]:
        """Return what belongs to the right outcome: the first of two, or the predicted class."""
        if isinstance(self.posterior.belief, Beta):
            return values if values.ndim == 1 else values[:, 0]
        predicted = self.posterior.cells.predicted
        taken: Float[np.ndarray, " cell"] = values[np.arange(len(predicted)), np.where(predicted == NONE, 0, predicted)]
        return taken


def _find_wilson_interval(share: PerGroup, n: PerGroup, level: float) -> tuple[PerGroup, PerGroup]:
    """Wilson's interval of a share, to inspect whether a group is broken."""
    square = float(ndtri((1 + level) / 2)) ** 2
    centre, reach = share + square / (2 * n), np.sqrt(square * (share * (1 - share) / n + square / (4 * n**2)))
    return (centre - reach) / (1 + square / n), (centre + reach) / (1 + square / n)


def is_shown_intact(evidence: float, level: float) -> bool:
    """Do labels with this evidence show, on inspection, that a group of the least prior chance to be broken is not?"""
    return bool(expit(logit(CHANCE) - evidence) <= SMALL * (1 - level))


def inspect(posterior: Posterior, narrow: float = 0.0) -> Inspection:
    """Return the inspection of groups: what the labels so far say of whether they are broken."""
    return Inspection(posterior, narrow=narrow)


def count_own_labels(posterior: Posterior) -> PerGroup:
    """Return the labels by which each group was inspected: its own, without pending ones."""
    return posterior.sum_by_group(posterior.counts.sum(axis=1))


def describe_unlabelled(posterior: Posterior) -> str:
    """Say how many groups no label inspects, with their share of the pool; empty if labels are few or everywhere."""
    n_labels = count_own_labels(posterior)
    blank = (n_labels == 0) & (posterior.n_items > 0)
    if not blank.any() or not n_labels.any():
        return ""
    share = posterior.share[blank].sum()
    return f"; groups without a label: {blank.sum():,} of {len(blank):,} ({format_share(float(share))} of the items)"
