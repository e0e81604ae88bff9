"""Goal `fairness`: is the gap between two groups of people in a rate, such as tpr, larger than a margin?

Items are chosen from ranges of the score of each decision (predicted class) of each group, at random within them, so
labels go to the group, the decision and the scores that matter for the gap, and accuracies of all ranges stay unbiased.
The rate is that of the metric registry, evaluated on draws of the four outcomes.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float

from fewlabels.active.goals.fairness_arms import Arms, name_people
from fewlabels.active.goals.goal import Gains, GoalStatus, MetricChoice, require_confidence
from fewlabels.active.goals.inspection import FEWEST, Inspection, is_shown_intact
from fewlabels.active.goals.variance import expect_variance_of_sum
from fewlabels.active.pricing import Pricing
from fewlabels.data.groups import Bins, Cross, DecisionRanges, Everything, Groups, Predicted
from fewlabels.distributions.belief import Belief
from fewlabels.distributions.difference import (
    NOT_SETTLED,
    DrawnDifference,
    describe_verdict,
)
from fewlabels.distributions.draws import Draws
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import InputError, did_you_mean, format_option, join_names
from fewlabels.metrics.evaluate import Theta
from fewlabels.metrics.metric import Cost, Metric, accuracy, confusion, selection_rate, tpr
from fewlabels.metrics.parsing import resolve_metric
from fewlabels.models.posterior import Posterior

RATES = "accuracy, tpr, fpr, tnr, fnr, ppv, npv, fdr, for"


@dataclass(frozen=True)
class FairnessGap:
    """Decide whether the gap a − b in a rate is within `margin`, or beyond it, with posterior probability `confidence`.

    Of two groups they need not be named: the first one is compared with the second one.
    """

    a: str | None = None
    b: str | None = None
    rate: MetricChoice = tpr  # type: ignore[assignment]
    margin: float = 0.05
    confidence: float = 0.95
    name: str = "fairness"
    metric: ClassVar[Metric] = accuracy  # of the arms, from which rates follow
    pricing: ClassVar[Pricing] = "divide"
    remedy: ClassVar[str] = "choose another margin, ask for less confidence, or about exactly these items (finite pool)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", _resolve_rate(self.rate))
        require_confidence(self.name, self.confidence)
        _require_margin(self.margin)
        if (self.a is None) != (self.b is None) or (self.a is not None and self.a == self.b):
            raise InputError("goal fairness: name two different groups, or none of two")

    @property
    def aim(self) -> str:
        """What enough labels will do for a goal about a fairness gap."""
        return (
            f"tell whether the gap in {self.rate.name} is within {self.margin:g}, with probability {self.confidence:g}"
        )

    def refine(self, by: Groups) -> Groups:
        """Return the arms that items are chosen from: ranges of the score of each decision of each group."""
        if isinstance(by, Everything | Predicted | Bins):
            raise InputError(f"goal fairness: {by.name!r} does not name groups of people; name their column, for instance {format_option('by', 'sex')}")  # fmt: skip
        return Cross((by, DecisionRanges()))

    def gain(self, belief: Posterior, truth: Theta) -> Gains:
        """Return the expected fall of the variance of the gap by one more label in each arm, if a draw were true."""
        arms = self._find_arms(belief)
        gains = np.stack([self._reduce_variance(belief, arms, draw) for draw in truth])
        return np.where(arms.matter(self.rate), gains, -np.inf)

    def answer(self, belief: Posterior, rng: Rng) -> Belief:  # noqa: ARG002
        """Return what the goal asks for: the posterior of the fairness gap a − b."""
        arms = self._find_arms(belief)
        values = arms.draw_rates(self.rate)
        return Draws((f"{arms.names[0]} − {arms.names[1]}",), (values[:, [0]] - values[:, [1]]))

    def settled(self, belief: Posterior, rng: Rng) -> bool:
        """Has the verdict on the fairness gap the required probability, from groups that have been looked at?"""
        return self.describe(belief, rng).settled

    def describe(self, belief: Posterior, rng: Rng) -> GoalStatus:  # noqa: ARG002
        """Return the verdict on the fairness gap, its probability, and the rates of both groups."""
        arms = self._find_arms(belief)
        values = arms.draw_rates(self.rate)
        if np.isnan(values).all(axis=0).any():
            return GoalStatus(
                False, f"{NOT_SETTLED}: {self.rate.name} is not defined in {join_names(arms.names)} (0/0)"
            )
        values = values[~np.isnan(values).any(axis=1)]
        difference = DrawnDifference(values[:, 0] - values[:, 1])
        below, above = difference.below(-self.margin), difference.above(self.margin)
        chances = {"below": below, "equivalent": max(0.0, 1 - below - above), "above": above}
        likeliest = max(chances, key=lambda name: chances[name])
        p, unseen = chances[likeliest], _list_unseen(arms, self.rate)
        verdict = likeliest if p >= self.confidence else NOT_SETTLED
        low, high = difference.interval(belief.level)
        details = {
            "groups": list(arms.names), "metric": self.rate.name, "margin": self.margin, "mean": difference.mean(), "low": low,
            "high": high, **{f"p_{name}": chance for name, chance in chances.items()}, "verdict": verdict, "confidence": p,
            "rates": [
                {"group": name, "mean": float(rates.mean()), **dict(zip(("low", "high"), map(float, np.quantile(rates, [(1 - belief.level) / 2, (1 + belief.level) / 2])), strict=True))}
                for name, rates in zip(arms.names, values.T, strict=True)
            ],
            "unseen": unseen,
        }  # fmt: skip
        a, b = arms.names
        said = describe_verdict(f"{self.rate.name} of {a}", b, self.margin, verdict, chances, that=f"that of {b}") + (f" (gap {difference.mean():+.3f}, {100 * belief.level:g}% interval {low:+.3f} to {high:+.3f})").replace("-", "−")  # fmt: skip
        if unseen:
            said += f"; too few labels to show that predictions are not broken: {join_names(unseen, most=5)}"
        return GoalStatus(verdict != NOT_SETTLED and not unseen, said, details)

    def _reduce_variance(
        self, belief: Posterior, arms: Arms, draw: Float[np.ndarray, " arm"]
    ) -> Float[np.ndarray, " arm"]:
        """Return the expected fall of the gap's variance by one more label in each arm."""
        slope = arms.differentiate_gap(self.rate, draw)
        return expect_variance_of_sum(belief, slope)

    def _find_arms(self, belief: Posterior) -> Arms:
        """Return the arms of the two groups of the gap."""
        return Arms(belief, self._find_pair(belief), needs_positive=self.rate is not accuracy)

    def _find_pair(self, belief: Posterior) -> tuple[str, str]:
        """Return the two groups of the gap: the named ones, or the only two."""
        names = list(dict.fromkeys(name_people(belief)))
        if self.a is None or self.b is None:
            if len(names) != 2:
                raise InputError(f"goal fairness: there are {len(names)} groups ({join_names(names, most=5)}); name the two to compare")  # fmt: skip
            return names[0], names[1]
        for name in (self.a, self.b):
            if name not in names:
                raise InputError(f"goal fairness: there is no group {name!r}; {did_you_mean(name, names)}")
        return self.a, self.b


def _list_unseen(arms: Arms, rate: Metric) -> list[str]:
    """Name the decisions of a group of the fairness gap whose own labels do not show yet that they are not broken."""
    inspection, matters, positive = Inspection(arms.belief), arms.matter(rate), arms.belief.evaluation.tally.positive
    unseen = []
    for group, name in enumerate(arms.names):
        for is_positive in (False, True):
            here = (arms.group == group) & (arms.is_positive == is_positive) & matters
            if here.any() and not _is_seen(inspection, here):
                decision = f" predicted {'' if is_positive else 'not '}{positive}" if arms.needs_positive else ""
                unseen.append(name + decision)
    return unseen


def _is_seen(inspection: Inspection, here: Bool[np.ndarray, " arm"]) -> bool:
    """Have arms of the fairness gap been looked at together? They have, too, once none of their items is left to ask about."""
    known = inspection.posterior
    pending = known.sum_by_group(known.pending.astype(np.float64))
    if not (known.left + pending)[here].any():
        return True
    has_labels = inspection.n_labels[here].sum() >= FEWEST
    return bool(has_labels and is_shown_intact(float(inspection.evidence[here].sum()), known.level))


def _require_margin(margin: float) -> None:
    """Refuse a margin that every gap is within, or none."""
    if not 0 <= margin < 1:
        points = f"; if {margin:g} points are meant, give {margin / 100:g}" if margin > 1 else ""
        raise InputError(f"goal fairness: margin must be at least 0 and less than 1, got {margin:g}{points}")


def _resolve_rate(rate: Metric | str) -> Metric:
    """Return the registered metric of a fairness gap; refuse those that labels do not determine, or that need none."""
    metric = resolve_metric(rate)
    if metric is selection_rate:
        raise InputError(
            "goal fairness: selection-rate needs no labels; fewlabels fairness computes it from the predictions"
        )
    if (
        isinstance(metric, Cost)
        or metric is confusion
        or ("predicted" not in metric.splits and metric is not accuracy)
        or "bin" in metric.splits
    ):
        raise InputError(
            f"goal fairness: {metric.name!r} does not follow from right and wrong decisions; choose from {RATES}"
        )
    return metric
