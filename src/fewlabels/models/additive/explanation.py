"""What was learned about the attributes, for people."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from fewlabels.models.additive.design import Layout
from fewlabels.models.additive.effects import Effects
from fewlabels.models.additive.fit import Fit
from fewlabels.models.logit.curve import Point, bend, spread_scores, to_logit, trace

OWN = "combination"  # what an arm does beyond its attributes
MOST_NAMED = 3


@dataclass(frozen=True)
class Scale:
    """How far something moves the logit of being right, as a standard deviation over its values."""

    attributes: tuple[str, ...]
    scale: float


@dataclass(frozen=True)
class Portrait:
    """How far each attribute, every two together and combinations themselves move accuracy, and what that is worth."""

    layout: Layout
    fit: Fit
    worth: Float[np.ndarray, " cell"]  # of everything but a cell's own labels, in labels

    @property
    def strength(self) -> float:
        """What the labels of others are worth in a typical cell, in labels."""
        return float(np.median(np.maximum(self.worth, 0.0)))

    @cached_property
    def scales(self) -> tuple[Scale, ...]:
        """Every effect, the largest first; what combinations do by themselves comes last."""
        return list_scales(self.layout.effects, self.fit)

    def draw_curve(self, level: float = 0.95) -> tuple[Point, ...]:
        """Return how often scores are right, over the range that they have."""
        if self.layout.knots is None:
            return ()
        score, summit = self.layout.cells.layers.score, self.fit.summit
        scores = spread_scores(float(score.min()), float(score.max()))
        return trace(scores, bend(to_logit(scores), self.layout.knots), summit.terms, summit.covariance, level)

    def say(self, level: float = 0.95) -> str:  # noqa: ARG002
        """Put it in a sentence."""
        *effects, own = self.scales
        largest = ", ".join(f"{' × '.join(one.attributes)} ({one.scale:.2f})" for one in effects[:MOST_NAMED])
        named = f"accuracy differs most by {largest}, in logits; " if effects else ""
        return (
            f"{named}combinations differ by {own.scale:.2f} beyond their attributes; in a typical one the labels of others "
            f"count as much as {self.strength:,.0f} of its own"
        )

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "strength": self.strength,
            "scales": [{"attributes": list(one.attributes), "scale": one.scale} for one in self.scales],
            "curve": [vars(point) for point in self.draw_curve(level)],
            "sentence": self.say(level),
        }


def list_scales(effects: Effects, found: Fit) -> tuple[Scale, ...]:
    """Return how far every effect goes, the largest first; what combinations do by themselves comes last.

    Where attributes more probably do nothing together, no pair is named.
    """
    logs = found.summit.scales
    names = [tuple(effects.axes[i].name for i in block) for block in effects.blocks]
    each = zip(names, logs[: len(names)], strict=True)
    scales = [Scale(name, float(np.exp(log))) for name, log in each if np.isfinite(log)]
    return (*sorted(scales, key=lambda one: -one.scale), Scale((OWN,), float(np.exp(logs[len(names)]))))
