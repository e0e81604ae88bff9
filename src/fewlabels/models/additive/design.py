"""The design matrices of the additive model: spline columns for scores, effect columns for attributes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import NONE, Axis, Cells
from fewlabels.models.additive.arm_posterior import ArmPosterior, predict_arms
from fewlabels.models.additive.effect_priors import FIXED, EffectPriors
from fewlabels.models.additive.effects import Effects, choose_effects
from fewlabels.models.additive.fit import Fit
from fewlabels.models.additive.strata import Strata, make_strata
from fewlabels.models.logit.curve import (
    INTERCEPT_PRIOR,
    KNOT_PRIOR,
    LEVEL_PRIOR,
    SLOPE_PRIOR,
    place_knots,
    spline_basis,
    to_logit,
)
from fewlabels.models.logit.to_prior import count_unlabelled


@dataclass(frozen=True)
class AdditiveDesign:
    """Design matrices of the cells of a pool: a spline of the score per stratum, effects of attributes per cell."""

    cells: Cells
    effects: Effects
    level: Int[np.ndarray, "cell axis"]  # index of each cell's value on each axis
    curve: Float[np.ndarray, "stratum curve_term"]
    knots: tuple[float, ...] | None  # of the spline, in logits; None without scores
    design: Float[np.ndarray, "cell effect_term"]

    @property
    def priors(self) -> EffectPriors:
        """Priors of all terms."""
        return build_effect_priors(self.effects, self.knots)

    def select_labelled(self) -> Strata:
        """Select the labelled strata."""
        strata = self.cells.strata_or_cells
        (labelled,) = np.nonzero(strata.n_labels > 0)
        cell = strata.cell[labelled]
        design = np.concatenate([self.curve[labelled], self.design[cell]], axis=1)
        return make_strata(design, cell, strata.right[labelled], strata.n_labels[labelled].astype(np.float64))

    def predict_arms(self, found: Fit, *, finite_pool: bool) -> tuple[ArmPosterior, ArmPosterior | None]:
        """Return the posterior of each cell over all its items, and over its unlabelled items where `finite_pool`."""
        strata = self.cells.strata_or_cells
        weights = [strata.n_items.astype(np.float64), *([count_unlabelled(self.cells)] if finite_pool else [])]
        everything, *rest = predict_arms(found, self.curve, self.design, strata.cell, weights)
        return everything, rest[0] if finite_pool else None


def build_additive_design(cells: Cells) -> AdditiveDesign:
    """Build the spline of the score and the effects of attributes for these cells."""
    axes, level = list_cell_axes(cells)
    effects = choose_effects(axes, level)
    strata = cells.strata_or_cells
    if np.isnan(strata.score).any():
        return AdditiveDesign(cells, effects, level, np.ones((len(strata.cell), 1)), None, effects.expand(level))
    x = to_logit(strata.score)
    knots = place_knots(x, strata.n_items)
    return AdditiveDesign(cells, effects, level, spline_basis(x, knots), knots, effects.expand(level))


def build_effect_priors(effects: Effects, knots: tuple[float, ...] | None) -> EffectPriors:
    """Build the priors of the curve's and the effects' terms."""
    terms = [LEVEL_PRIOR] if knots is None else [INTERCEPT_PRIOR, SLOPE_PRIOR, *(KNOT_PRIOR for _ in knots)]
    centre, spread = np.array(terms).T
    more = len(effects.block)
    return EffectPriors(
        np.concatenate([np.full(len(terms), FIXED), effects.block]),
        np.concatenate([centre, np.zeros(more)]),
        np.concatenate([spread, np.ones(more)]),
        effects.kinds,
    )


def list_cell_axes(cells: Cells) -> tuple[tuple[Axis, ...], Int[np.ndarray, "cell axis"]]:
    """Return the axes on which cells differ: those of their groups, and predicted class and score bin where split."""
    axes, columns = list(cells.axes), list(cells.level[cells.group].T)
    for name, place, ordered in (("predicted class", cells.predicted, False), ("score bin", cells.bin, True)):
        if np.any(place != NONE):
            values, at = np.unique(place, return_inverse=True)
            axes.append(Axis(name, tuple(map(str, values)), ordered))
            columns.append(at.reshape(-1))
    return tuple(axes), np.stack(columns, axis=1)
