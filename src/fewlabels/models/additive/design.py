"""The design matrices of the additive model: spline columns for scores, effect columns for attributes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import NONE, Axis, Cells
from fewlabels.models.additive.arm_posterior import Relief, survey
from fewlabels.models.additive.effect_priors import FIXED, Plan, Scales
from fewlabels.models.additive.effects import Effects, find_effects
from fewlabels.models.additive.fit import Fit, fit
from fewlabels.models.additive.strata import Strata, take_whole
from fewlabels.models.logit.curve import BEND, HEIGHT, LEVEL, SLOPE, bend, place_knots, to_logit
from fewlabels.models.logit.to_prior import count_unlabelled


@dataclass(frozen=True)
class Layout:
    """Design matrices of the cells of a pool: a spline of the score per stratum, effects of attributes per cell."""

    cells: Cells
    effects: Effects
    level: Int[np.ndarray, "cell axis"]  # index of each cell's value on each axis
    curve: Float[np.ndarray, "stratum curve_term"]
    knots: tuple[float, ...] | None  # of the spline, in logits; None without scores
    design: Float[np.ndarray, "cell effect_term"]

    @property
    def plan(self) -> Plan:
        """Priors of all terms."""
        return plan_effects(self.effects, self.knots)

    def gather(self) -> Strata:
        """Select the labelled strata."""
        strata = self.cells.layers
        (labelled,) = np.nonzero(strata.n_labels > 0)
        cell = strata.cell[labelled]
        design = np.concatenate([self.curve[labelled], self.design[cell]], axis=1)
        return take_whole(design, cell, strata.right[labelled], strata.n_labels[labelled].astype(np.float64))

    def survey(self, found: Fit, *, finite: bool) -> tuple[Relief, Relief | None]:
        """Return the posterior of each cell over all its items, and over its unlabelled items where `finite`."""
        strata = self.cells.layers
        weights = [strata.n_items.astype(np.float64), *([count_unlabelled(self.cells)] if finite else [])]
        everything, *rest = survey(found, self.curve, self.design, strata.cell, weights)
        return everything, rest[0] if finite else None


def lay_out(cells: Cells) -> Layout:
    """Build the spline of the score and the effects of attributes for these cells."""
    axes, level = list_axes(cells)
    effects = find_effects(axes, level)
    strata = cells.layers
    if np.isnan(strata.score).any():
        return Layout(cells, effects, level, np.ones((len(strata.cell), 1)), None, effects.expand(level))
    x = to_logit(strata.score)
    knots = place_knots(x, strata.n_items)
    return Layout(cells, effects, level, bend(x, knots), knots, effects.expand(level))


def plan_effects(effects: Effects, knots: tuple[float, ...] | None) -> Plan:
    """Build the priors of the curve's and the effects' terms."""
    terms = [LEVEL] if knots is None else [HEIGHT, SLOPE, *(BEND for _ in knots)]
    centre, spread = np.array(terms).T
    more = len(effects.block)
    return Plan(
        np.concatenate([np.full(len(terms), FIXED), effects.block]),
        np.concatenate([centre, np.zeros(more)]),
        np.concatenate([spread, np.ones(more)]),
        effects.kinds,
    )


def learn_effects(layout: Layout, start: Scales | None = None) -> Fit:
    """Fit the model to the labels."""
    return fit(layout.gather(), layout.plan, start)


def list_axes(cells: Cells) -> tuple[tuple[Axis, ...], Int[np.ndarray, "cell axis"]]:
    """Return the axes on which cells differ: those of their groups, and predicted class and score bin where split."""
    axes, columns = list(cells.axes), list(cells.level[cells.group].T)
    for name, place, ordered in (("predicted class", cells.predicted, False), ("score bin", cells.bin, True)):
        if np.any(place != NONE):
            values, at = np.unique(place, return_inverse=True)
            axes.append(Axis(name, tuple(map(str, values)), ordered))
            columns.append(at.reshape(-1))
    return tuple(axes), np.stack(columns, axis=1)
