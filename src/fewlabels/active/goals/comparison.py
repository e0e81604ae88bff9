"""Goal `compare`: do two groups differ by more than a region of practical equivalence (ROPE)?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from fewlabels.active.goals.goal import (
    DEFAULT_METRIC,
    Gains,
    GoalStatus,
    MetricChoice,
    name_undefined,
    require_confidence,
    resolve_own_metric,
)
from fewlabels.active.goals.inspection import inspect
from fewlabels.active.goals.variance import gain_by_variance
from fewlabels.distributions.belief import Belief
from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.distributions.difference import (
    NOT_SETTLED,
    PANELS,
    BetaDifference,
    Difference,
    describe_verdict,
    require_rope,
)
from fewlabels.distributions.draws import Draws
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import InputError, did_you_mean
from fewlabels.metrics.evaluate import Theta
from fewlabels.models.posterior import Posterior

COARSE_PANELS = 32  # quadrature panels for acquisition: enough digits to choose a group, in an eighth of the time


@dataclass(frozen=True)
class Compare:
    """Decide whether two groups differ by more than `rope`, with posterior probability `confidence`."""

    a: str
    b: str
    metric: MetricChoice = DEFAULT_METRIC
    rope: float = 0.05
    confidence: float = 0.95
    name: str = "compare"
    remedy: ClassVar[str] = "choose another rope, ask for less confidence, or about exactly these items (finite pool)"

    def __post_init__(self) -> None:
        resolve_own_metric(self)
        require_confidence(self.name, self.confidence)
        require_rope(self.rope, is_share=self.metric.is_share, where="goal compare: ")
        if self.a == self.b:
            raise InputError(f"goal compare: {self.a!r} cannot be compared with itself; name two groups")

    @property
    def aim(self) -> str:
        """What enough labels will do for a goal that compares two groups."""
        return f"tell whether {self.a} and {self.b} differ by more than {self.rope:g}, with probability {self.confidence:g}"

    def gain(self, belief: Posterior, truth: Theta) -> Gains:
        """Return the gain of a comparison: the expected probability of the verdict, or variance reduction."""
        pair = self._positions(belief)
        gains = np.full((len(truth), len(belief.groups)), -np.inf)
        if (
            isinstance(belief.with_pending, Beta)
            and belief.evaluation.cells.n == len(belief.groups)
            and belief.metric.is_cell_accuracy
        ):
            gains[:, pair] = self._expect_verdict_probability(belief.with_pending, truth, pair)
        else:
            gains[:, pair] = gain_by_variance(belief, truth)[:, pair]
        return gains

    def answer(self, belief: Posterior, rng: Rng) -> Belief:  # noqa: ARG002
        """Return what the goal of comparison asks for: the posterior of the difference a − b of two groups."""
        values = belief.draws[:, self._positions(belief)]
        return Draws((f"{self.a} − {self.b}",), values[:, [0]] - values[:, [1]])

    def settled(self, belief: Posterior, rng: Rng) -> bool:  # noqa: ARG002
        """Does the verdict of the comparison have the required probability?"""
        return self._is_confident(belief, max(self._region_probabilities(self._difference(belief)).values()))

    def name_verdict(self, belief: Posterior) -> str:
        """Return the most probable verdict of the comparison."""
        return (
            "undecided"
            if self._is_undefined(belief)
            else _find_likeliest(self._region_probabilities(self._difference(belief)))[0]
        )

    def describe(self, belief: Posterior, rng: Rng) -> GoalStatus:  # noqa: ARG002
        """Return the verdict of the comparison and its probability."""
        difference = self._difference(belief)
        probabilities = self._region_probabilities(difference)
        verdict, p = _find_likeliest(probabilities)
        verdict = verdict if p >= self.confidence and not self._is_undefined(belief) else NOT_SETTLED
        low, high = difference.interval(belief.level)
        details = {
            "groups": [self.a, self.b], "rope": self.rope, "mean": difference.mean(), "low": low, "high": high,
            **{f"p_{name}": chance for name, chance in probabilities.items()}, "verdict": verdict, "confidence": p,
        }  # fmt: skip
        said = describe_verdict(self.a, self.b, self.rope, verdict, probabilities)
        if self._is_undefined(belief):
            said = f"{NOT_SETTLED}: {name_undefined(belief)}"
        return GoalStatus(self._is_confident(belief, p), said, details)

    def _is_confident(self, belief: Posterior, p: float) -> bool:
        """Is the verdict of the comparison probable enough, and were both groups looked at?"""
        pair = self._positions(belief)
        is_known = bool((belief.is_informed & inspect(belief).is_inspected)[pair].all())
        return p >= self.confidence and is_known and not self._is_undefined(belief)

    def _is_undefined(self, belief: Posterior) -> bool:
        """Is the metric undefined in one of the two compared groups?"""
        return bool(belief.undefined[self._positions(belief)].any())

    def _region_probabilities(self, difference: Difference) -> dict[str, float]:
        """Return the probabilities that the compared difference is below, within and above the ROPE."""
        below, above = difference.below(-self.rope), difference.above(self.rope)
        return {"below": below, "equivalent": max(0.0, 1 - below - above), "above": above}

    def _difference(self, belief: Posterior) -> Difference:
        """Return the posterior of the compared difference."""
        return belief.difference(*self._positions(belief))

    def _expect_verdict_probability(self, belief: Beta, truth: Theta, pair: list[int]) -> Float[np.ndarray, "draw 2"]:
        """Return the expected probability of the comparison's verdict after one label in each of the two groups."""
        after = np.empty((2, 2))  # group, outcome
        for i, g in enumerate(pair):
            for outcome in (0, 1):
                counts = np.zeros((len(belief.groups), 2))
                counts[g, outcome] = 1.0
                difference = _subtract_betas(belief.observe(counts), pair[0], pair[1], COARSE_PANELS)
                below, above = difference.below(-self.rope), difference.above(self.rope)
                after[i, outcome] = max(below, above, 1 - below - above)
        right = truth[:, pair]
        return np.round(right * after[:, 0] + (1 - right) * after[:, 1], 6)  # quadrature is accurate to six digits

    def _positions(self, belief: Posterior) -> list[int]:
        """Return the positions of the two compared groups; raise if there is no such group."""
        for group in (self.a, self.b):
            if group not in belief.groups:
                raise InputError(
                    f"goal compare: there is no group {group!r}; {did_you_mean(group, list(belief.groups))}"
                )
        return [belief.position(self.a), belief.position(self.b)]


def _find_likeliest(probabilities: dict[str, float]) -> tuple[str, float]:
    """Return the comparison's most probable verdict, or undecided if several tie to six digits (the accuracy of the quadrature)."""
    best = max(probabilities.values())
    likeliest = [name for name, p in probabilities.items() if round(p, 6) == round(best, 6)]
    return (likeliest[0] if len(likeliest) == 1 else "undecided"), best


def _subtract_betas(belief: Beta, first: int, second: int, panels: int = PANELS) -> BetaDifference:
    """Return the difference of the two groups of a comparison, whose posteriors are Betas."""
    one, other = (Beta((belief.groups[i],), belief.alpha[[i]], belief.beta[[i]]) for i in (first, second))
    return BetaDifference(one, other, panels)
