"""Arms of a fairness goal: ranges of the score of each decision of two groups of people, and the rates that follow.

An arm's accuracy is the share of its decisions that are right, so the four outcomes of a group are sums over its arms.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from fewlabels.analyses.fairness.outcomes import evaluate_outcomes
from fewlabels.data.groups import CROSS
from fewlabels.errors import InputError, format_option, join_names
from fewlabels.metrics.metric import Metric
from fewlabels.models.posterior import Posterior

STEP = 1e-4  # of an accuracy, for derivatives
NEGLIGIBLE = 1e-9  # slope, from rounding
PROBES = (0.3, 0.6)  # accuracies at which it is seen which arms a rate depends on
Outcomes = Float[np.ndarray, "draw group 4"]


@dataclass(frozen=True, eq=False)
class Arms:
    """The two groups of a gap, and the arms that they consist of."""

    belief: Posterior
    names: tuple[str, str]
    needs_positive: bool = True

    @cached_property
    def group(self) -> Int[np.ndarray, " arm"]:
        """0 and 1 for arms of the two groups of a fairness goal, −1 for others."""
        index = {name: i for i, name in enumerate(self.names)}
        return np.array([index.get(name, -1) for name in name_people(self.belief)])

    @cached_property
    def is_positive(self) -> Bool[np.ndarray, " arm"]:
        """Is the decision of the fairness goal's arm the positive class?

        Accuracy needs to know only whether it is right.
        """
        tally = self.belief.evaluation.tally
        if not self.needs_positive:
            return np.zeros(len(self.group), dtype=bool)
        if tally.positive is None or len(tally.classes) > 2:
            raise InputError(f"goal fairness: rates of the positive class need two classes, of which one is named by {format_option('positive')}; the classes are {join_names(tally.classes, most=5)}")  # fmt: skip
        place = find_decision_axis(self.belief)
        assert tally.level is not None
        return np.array(tally.axes[place].levels)[tally.level[:, place]] == tally.positive

    def draw_rates(self, rate: Metric) -> Float[np.ndarray, "draw 2"]:
        """Return joint draws of both groups' rate from a fairness goal's arms, with drawn sizes for a population."""
        drawn, size = self.belief.draws, self.belief.n_items.astype(np.float64)
        weight = size[None]
        if not self.belief.finite_pool:
            rng = np.random.default_rng([*np.atleast_1d(self.belief.seed), 3])
            weight = rng.gamma(size, size=drawn.shape)
        return evaluate_outcomes(rate, self._sum_outcomes(drawn, weight))

    def differentiate_gap(self, rate: Metric, at: Float[np.ndarray, " arm"]) -> Float[np.ndarray, " arm"]:
        """Return the derivatives of the gap by the accuracy of each arm; 0 where it is undefined."""
        step = np.where(at > 1 / 2, -STEP, STEP)
        moved = np.concatenate([at[None], at + np.diag(step)])
        rates = evaluate_outcomes(rate, self._sum_outcomes(moved, self.belief.n_items[None].astype(np.float64)))
        gap = rates[:, 0] - rates[:, 1]
        return np.nan_to_num((gap[1:] - gap[0]) / step)

    def matter(self, rate: Metric) -> Bool[np.ndarray, " arm"]:
        """Can a label in the arm tell about the fairness gap?"""
        slopes = [np.abs(self.differentiate_gap(rate, np.full(len(self.group), middle))) for middle in PROBES]
        return np.max(slopes, axis=0) > NEGLIGIBLE

    def _sum_outcomes(self, right: Float[np.ndarray, "draw arm"], weight: Float[np.ndarray, "#draw arm"]) -> Outcomes:
        """Sum the outcomes tn, fn, fp, tp of both groups over a fairness goal's arms."""
        outcomes = np.zeros((len(right), 2, 4))
        for group in (0, 1):
            for positive, (good, bad) in enumerate(((0, 1), (3, 2))):
                here = (self.group == group) & (self.is_positive == bool(positive))
                outcomes[:, group, good] = (weight[:, here] * right[:, here]).sum(axis=1)
                outcomes[:, group, bad] = (weight[:, here] * (1 - right[:, here])).sum(axis=1)
        return outcomes


def find_decision_axis(belief: Posterior) -> int:
    """Find the axis of decisions among those of the arms of a fairness goal."""
    names = [axis.name for axis in belief.evaluation.tally.axes]
    return len(names) - 1 - names[::-1].index("predicted")


def name_people(belief: Posterior) -> list[str]:
    """Name the group of people of every arm of a fairness goal."""
    tally, place = belief.evaluation.tally, find_decision_axis(belief)
    assert tally.level is not None
    return [CROSS.join(axis.levels[k] for axis, k in zip(tally.axes[:place], row, strict=False)) for row in tally.level]
