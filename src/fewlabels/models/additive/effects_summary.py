"""Readable summary of a fitted additive model: the scales of its effects and the curve of the score."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from fewlabels.models.additive.design import AdditiveDesign
from fewlabels.models.additive.effects import Effects
from fewlabels.models.additive.fit_result import AdditiveFit
from fewlabels.models.logit.curve import Point, evaluate_curve, score_grid, spline_basis, to_logit

COMBINATION = "combination"  # the name of the arms' random effect
MOST_NAMED = 3


@dataclass(frozen=True)
class Scale:
    """Standard deviation of an effect on the logit of P(right)."""

    attributes: tuple[str, ...]
    scale: float


@dataclass(frozen=True)
class EffectsSummary:
    """Scales of all effects, and the strength of the prior that they make for each cell."""

    design: AdditiveDesign
    fit: AdditiveFit
    worth: Float[np.ndarray, " cell"]  # strength of the prior of each cell, in labels

    @property
    def strength(self) -> float:
        """Median strength of the prior that the effects make for a cell, in labels."""
        return float(np.median(np.maximum(self.worth, 0.0)))

    @cached_property
    def scales(self) -> tuple[Scale, ...]:
        """Scales of all effects, largest first; that of the arms' random effect comes last."""
        return list_scales(self.design.effects, self.fit)

    def draw_curve(self, level: float = 0.95) -> tuple[Point, ...]:
        """Return the calibration curve among the effects, over the range of the scores."""
        if self.design.items.knots is None:
            return ()
        score, mode = self.design.strata.score, self.fit.mode
        scores = score_grid(float(score.min()), float(score.max()))
        return evaluate_curve(
            scores, spline_basis(to_logit(scores), self.design.items.knots), mode.terms, mode.covariance, level
        )

    def say(self, level: float = 0.95) -> str:  # noqa: ARG002
        """Return the summary of the effects as a sentence."""
        *effects, own = self.scales
        largest = ", ".join(f"{' × '.join(one.attributes)} ({one.scale:.2f})" for one in effects[:MOST_NAMED])
        named = f"accuracy differs most by {largest}, in logits; " if effects else ""
        return (
            f"{named}combinations differ by {own.scale:.2f} beyond their attributes; in a typical one the labels of others "
            f"count as much as {self.strength:,.0f} of its own"
        )

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return the summary of the effects as plain data."""
        return {
            "strength": self.strength,
            "scales": [{"attributes": list(one.attributes), "scale": one.scale} for one in self.scales],
            "curve": [vars(point) for point in self.draw_curve(level)],
            "sentence": self.say(level),
        }


def list_scales(effects: Effects, found: AdditiveFit) -> tuple[Scale, ...]:
    """Summarize an additive model by the scales of its effects, largest first; that of the random effect is last.

    Pairs are left out where a model without interactions is more probable.
    """
    logs = found.mode.scales[len(found.priors.kinds) - len(effects.blocks) :]  # slopes and classifiers come first
    names = [tuple(effects.axes[i].name for i in block) for block in effects.blocks]
    each = zip(names, logs[: len(names)], strict=True)
    scales = [Scale(name, float(np.exp(log))) for name, log in each if np.isfinite(log)]
    return (*sorted(scales, key=lambda one: -one.scale), Scale((COMBINATION,), float(np.exp(logs[len(names)]))))
