"""What was learned about the scores, for people."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fewlabels.models.calibrated.design import Layout
from fewlabels.models.logit.cells import Logits
from fewlabels.models.logit.curve import Point, spread_scores, trace
from fewlabels.models.logit.laplace import Fit

EXAMPLE = 0.9
LEVEL = 0.95  # of the intervals that errors are compared with
ROUGH = 0.05  # Monte-Carlo error of a mean, in widths of its interval, from which on it is reported
NARROWEST = 1e-6  # width that errors are compared with


@dataclass(frozen=True)
class Trust:
    """How far the scores were trusted: the curve, how far groups depart from it, and what that is worth in labels."""

    logits: Logits
    layout: Layout
    worth: Float[np.ndarray, " cell"]  # of everything but a cell's own labels, in labels
    range: tuple[float, float] | None  # of the scores; None without any

    @property
    def fit(self) -> Fit:
        """The curve and the scale of departures."""
        return self.logits.fit

    @property
    def scale(self) -> float:
        """σ: how far groups depart from the curve, in logits."""
        return float(np.exp(self.fit.mode[-1]))

    @property
    def strength(self) -> float:
        """What the scores and the other groups' labels are worth in a typical cell, in labels."""
        return float(np.median(np.maximum(self.worth, 0.0)))

    @property
    def doubt(self) -> str | None:
        """Say so where points of the posterior are too few for the cells' intervals."""
        low, high = self.logits.interval(LEVEL)
        error = float(np.max(self.logits.error / np.maximum(high - low, NARROWEST), initial=0.0))
        if error <= ROUGH:
            return None
        return (
            f"the posterior of the curve is far from normal, and its approximation is off by about {error:.0%} of an interval's "
            "width: intervals are rough; --prior flat (Python: prior=fl.flat()) does without the curve"
        )

    def draw_curve(self, level: float = 0.95) -> tuple[Point, ...]:
        """Return how often scores are right, over the range that they have."""
        if self.range is None:
            return ()
        return self._trace(spread_scores(*self.range), level)

    def say(self, level: float = 0.95) -> str:
        """Put it in a sentence."""
        worth = f"count as much as {self.strength:,.0f} of its own labels"
        if self.range is None:
            return f"there are no scores; the labels of other groups {worth} in a typical group"
        score = float(np.clip(EXAMPLE, *self.range))
        point = self._trace(np.array([score]), level)[0]
        return (
            f"a score of {score:.2g} is right {_say(point.mean)} of the time ({_say(point.low)} to {_say(point.high)}), as far "
            f"as labels tell; in a typical group the scores and the labels of other groups {worth}"
        )

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return it as plain data."""
        curve = [vars(point) for point in self.draw_curve(level)]
        return {"strength": self.strength, "departure": self.scale, "curve": curve, "sentence": self.say(level)}

    def _trace(self, scores: Float[np.ndarray, " score"], level: float) -> tuple[Point, ...]:
        return trace(scores, self.layout.expand(scores), self.fit.mode, self.fit.covariance, level)


def _say(p: float) -> str:
    """A percentage that is never rounded to certainty."""
    return "less than 1%" if p < 0.01 else "more than 99%" if p > 0.99 else f"{p:.0%}"
