"""Goal `compare`: do two groups differ by more than a region of practical equivalence (ROPE)?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from fewlabels.active.goals.goal import Gains, Standing, name_undefined, require_confidence, say_chance
from fewlabels.active.goals.variance import gain_by_variance
from fewlabels.distributions.belief import Belief, Beta, Draws, Rng
from fewlabels.distributions.difference import (
    NOT_SETTLED,
    PANELS,
    BetaDifference,
    Difference,
    say_not_settled,
)
from fewlabels.errors import InputError, did_you_mean
from fewlabels.metrics.evaluate import Theta
from fewlabels.metrics.metric import Metric, accuracy
from fewlabels.models.posterior import Posterior

ROUGH = 32  # quadrature panels for acquisition: enough digits to choose a group, in an eighth of the time


@dataclass(frozen=True)
class Compare:
    """Decide whether two groups differ by more than `rope`, with posterior probability `confidence`."""

    a: str
    b: str
    metric: Metric = accuracy
    rope: float = 0.05
    confidence: float = 0.95
    name: str = "compare"
    remedy: ClassVar[str] = "choose another rope, ask for less confidence, or about exactly these items (finite pool)"

    def __post_init__(self) -> None:
        require_confidence(self.name, self.confidence)
        if not self.rope >= 0:
            raise InputError(f"goal compare: rope is {self.rope}; it is a half-width and cannot be negative")
        if self.a == self.b:
            raise InputError(f"goal compare: {self.a!r} cannot be compared with itself; name two groups")

    def gain(self, belief: Posterior, truth: Theta) -> Gains:
        """Return the expected probability of the verdict after a label; without a closed form, variance reduction."""
        two = self._positions(belief)
        gains = np.full((len(truth), len(belief.groups)), -np.inf)
        if isinstance(belief.foreseen, Beta) and belief.scheme.cells.n == len(belief.groups) and belief.metric.own_cell:
            gains[:, two] = self._expect_verdict(belief.foreseen, truth, two)
        else:
            gains[:, two] = gain_by_variance(belief, truth)[:, two]
        return gains

    def answer(self, belief: Posterior, rng: Rng) -> Belief:  # noqa: ARG002
        """Return the posterior of the difference a − b."""
        values = belief.draws[:, self._positions(belief)]
        return Draws((f"{self.a} − {self.b}",), values[:, [0]] - values[:, [1]])

    def settled(self, belief: Posterior, rng: Rng) -> bool:  # noqa: ARG002
        """Does the verdict have the required probability?"""
        return self._suffices(belief, max(self._weigh(self._difference(belief)).values()))

    def judge(self, belief: Posterior) -> str:
        """Return the most probable verdict."""
        return "undecided" if self._is_undefined(belief) else _decide(self._weigh(self._difference(belief)))[0]

    def describe(self, belief: Posterior, rng: Rng) -> Standing:  # noqa: ARG002
        """Return the verdict and its probability."""
        difference = self._difference(belief)
        chances = self._weigh(difference)
        verdict, p = _decide(chances)
        verdict = verdict if p >= self.confidence and not self._is_undefined(belief) else NOT_SETTLED
        words = {
            "below": f"{self.a} is lower than {self.b} by more than {self.rope:g}",
            "above": f"{self.a} is higher than {self.b} by more than {self.rope:g}",
            "equivalent": f"{self.a} and {self.b} differ by at most {self.rope:g}",
        }
        low, high = difference.interval(belief.level)
        details = {
            "groups": [self.a, self.b], "rope": self.rope, "mean": difference.mean(), "low": low, "high": high,
            **{f"p_{name}": chance for name, chance in chances.items()}, "verdict": verdict, "confidence": p,
        }  # fmt: skip
        said = f"{words[verdict]}, with probability {say_chance(p)}" if verdict in words else self._say_open(chances)
        if self._is_undefined(belief):
            said = f"{NOT_SETTLED}: {name_undefined(belief)}"
        return Standing(self._suffices(belief, p), said, details)

    def _say_open(self, chances: dict[str, float]) -> str:
        return say_not_settled(self.a, self.b, self.rope, (chances["below"], chances["equivalent"], chances["above"]))

    def _suffices(self, belief: Posterior, p: float) -> bool:
        heard = bool(belief.is_heard[self._positions(belief)].all())
        return p >= self.confidence and heard and not self._is_undefined(belief)

    def _is_undefined(self, belief: Posterior) -> bool:
        """Is the metric undefined in one of the two groups?"""
        return bool(belief.undefined[self._positions(belief)].any())

    def _weigh(self, difference: Difference) -> dict[str, float]:
        below, above = difference.below(-self.rope), difference.above(self.rope)
        return {"below": below, "equivalent": max(0.0, 1 - below - above), "above": above}

    def _difference(self, belief: Posterior) -> Difference:
        return belief.difference(*self._positions(belief))

    def _expect_verdict(self, belief: Beta, truth: Theta, two: list[int]) -> Float[np.ndarray, "draw 2"]:
        after = np.empty((2, 2))  # group, outcome
        for i, g in enumerate(two):
            for outcome in (0, 1):
                counts = np.zeros((len(belief.groups), 2))
                counts[g, outcome] = 1.0
                difference = _set_apart(belief.observe(counts), two[0], two[1], ROUGH)
                below, above = difference.below(-self.rope), difference.above(self.rope)
                after[i, outcome] = max(below, above, 1 - below - above)
        right = truth[:, two]
        return np.round(right * after[:, 0] + (1 - right) * after[:, 1], 6)  # quadrature is accurate to six digits

    def _positions(self, belief: Posterior) -> list[int]:
        for group in (self.a, self.b):
            if group not in belief.groups:
                raise InputError(
                    f"goal compare: there is no group {group!r}; {did_you_mean(group, list(belief.groups))}"
                )
        return [belief.position(self.a), belief.position(self.b)]


def _decide(chances: dict[str, float]) -> tuple[str, float]:
    """Return the most probable verdict, or undecided if several tie to six digits (the accuracy of the quadrature)."""
    best = max(chances.values())
    likeliest = [name for name, p in chances.items() if round(p, 6) == round(best, 6)]
    return (likeliest[0] if len(likeliest) == 1 else "undecided"), best


def _set_apart(belief: Beta, first: int, second: int, panels: int = PANELS) -> BetaDifference:
    one, other = (Beta((belief.groups[i],), belief.alpha[[i]], belief.beta[[i]]) for i in (first, second))
    return BetaDifference(one, other, panels)
