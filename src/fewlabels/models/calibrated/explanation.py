"""Summary of the learned calibration, for reports: curve, scale of the random effects, and strength in labels."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from fewlabels.models.calibrated.design import CurveDesign
from fewlabels.models.logit.curve import Point, evaluate_curve, score_grid
from fewlabels.models.logit.laplace import LogitFit
from fewlabels.models.logit.model import AT_SCALE

if TYPE_CHECKING:
    from fewlabels.models.logit.cells import CellLogits

EXAMPLE = 0.9
LEVEL = 0.95  # of the intervals that Monte-Carlo errors are compared with
MAX_RELATIVE_ERROR = 0.05  # Monte-Carlo error, as a share of the interval's width, above which a warning is given
MIN_WIDTH = 1e-6  # least width that errors are compared with


@dataclass(frozen=True)
class CalibrationSummary:
    """The learned calibration: the curve, the scale of the random effects, and the prior strength in labels."""

    logits: "CellLogits"
    design_matrix: CurveDesign
    worth: Float[np.ndarray, " cell"]  # prior strength of each cell, in labels, without its own labels
    range: tuple[float, float] | None  # of the scores; None without scores

    @property
    def fit(self) -> LogitFit:
        """The fitted curve and scale of the random effects, to explain the calibration."""
        return self.logits.fit

    @property
    def scale(self) -> float:
        """σ, which explains how far groups differ: the scale of the random effects, in logits."""
        return float(np.exp(self.fit.mean[AT_SCALE]))

    @property
    def strength(self) -> float:
        """What explains the prior: its median strength in a cell, in labels, from scores and other groups' labels."""
        return float(np.median(np.maximum(self.worth, 0.0)))

    @property
    def warning(self) -> str | None:
        """A warning to explain where the posterior is importance-sampled and its sample unreliable, or too small."""
        sample = self.fit.sample
        if sample is None:
            return None
        low, high = self.logits.interval(LEVEL)
        error = float(np.max(self.logits.error / np.maximum(high - low, MIN_WIDTH), initial=0.0))
        if error <= MAX_RELATIVE_ERROR and sample.is_reliable:
            return None
        return (
            f"the posterior of the curve is far from normal, and its approximation is off by about {error:.0%} of an interval's "
            f"width (importance sampling: Pareto k {sample.pareto_k:.2f}, {sample.effective_size:.0f} effective points): intervals "
            "are approximate; --prior flat (Python: prior=fl.flat()) does not use the curve"
        )

    def draw_curve(self, level: float = 0.95) -> tuple[Point, ...]:
        """Return the calibration curve over the range of the scores, to explain it."""
        if self.range is None:
            return ()
        return self._trace(score_grid(*self.range), level)

    def say(self, level: float = 0.95) -> str:
        """Explain the calibration in a sentence."""
        worth = f"count as much as {self.strength:,.0f} of its own labels"
        if self.range is None:
            return f"there are no scores; in a typical group the labels of other groups {worth}"
        score = float(np.clip(EXAMPLE, *self.range))
        point = self._trace(np.array([score]), level)[0]
        mean, low, high = (_format_percentage(p) for p in (point.mean, point.low, point.high))
        return (
            f"predictions with a score of {score:.2g} are right {mean} of the time ({low} to {high}); "
            f"in a typical group the scores and the labels of other groups {worth}"
        )

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return the explanation of the calibration as plain data."""
        curve = [vars(point) for point in self.draw_curve(level)]
        return {"strength": self.strength, "departure": self.scale, "curve": curve, "sentence": self.say(level)}

    def _trace(self, scores: Float[np.ndarray, " score"], level: float) -> tuple[Point, ...]:
        """Return points of the explained calibration curve at these scores."""
        return evaluate_curve(scores, self.design_matrix.expand(scores), self.fit.mean, self.fit.covariance, level)


def _format_percentage(p: float) -> str:
    """Format a percentage of the calibration's explanation; never 0 % or 100 %."""
    return "less than 1%" if p < 0.01 else "more than 99%" if p > 0.99 else f"{p:.0%}"
