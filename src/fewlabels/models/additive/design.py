"""The design matrices of the additive model: spline columns for scores, effect columns for attributes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import NONE, Axis, Cells
from fewlabels.data.counts import Strata as CellStrata
from fewlabels.models.additive.arm_posterior import ArmPosterior, predict_arms
from fewlabels.models.additive.effect_priors import EffectPriors
from fewlabels.models.additive.effects import Effects, choose_effects
from fewlabels.models.additive.fit_result import AdditiveFit
from fewlabels.models.additive.item_terms import ItemTerms, choose_item_terms
from fewlabels.models.additive.items import describe_items
from fewlabels.models.additive.strata import Strata, make_strata


@dataclass(frozen=True)
class AdditiveDesign:
    """Design matrices of the cells of a pool: a spline of the score per stratum, effects of attributes per cell."""

    cells: Cells
    effects: Effects
    level: Int[np.ndarray, "cell axis"]  # index of each cell's value on each axis
    strata: CellStrata
    items: ItemTerms
    curve: Float[np.ndarray, "stratum item_term"]
    design: Float[np.ndarray, "cell effect_term"]

    @property
    def priors(self) -> EffectPriors:
        """Priors of all terms of the design."""
        return self.items.build_priors(self.effects)

    def select_labelled(self) -> Strata:
        """Select the labelled strata."""
        strata = self.strata
        (labelled,) = np.nonzero(strata.n_labels > 0)
        cell = strata.cell[labelled]
        design = np.concatenate([self.curve[labelled], self.design[cell]], axis=1)
        return make_strata(design, cell, strata.right[labelled], strata.n_labels[labelled].astype(np.float64))

    def predict_arms(self, found: AdditiveFit, *, finite_pool: bool) -> tuple[ArmPosterior, ArmPosterior | None]:
        """Return the posterior of each cell for the population, and over its unlabelled items where `finite_pool`."""
        strata = self.strata
        weights = [
            strata.n_items.astype(np.float64),
            *([count_unlabelled(strata, self.cells.n)] if finite_pool else []),
        ]
        everything, *rest = predict_arms(found, self.curve, self.design, strata.cell, weights)
        n_items = self.cells.n_items.astype(np.float64)
        return everything.sample_items(n_items), rest[0] if finite_pool else None


def build_additive_design(cells: Cells) -> AdditiveDesign:
    """Build the additive design for these cells: the spline of the score and the effects of attributes."""
    axes, level = list_cell_axes(cells)
    effects = choose_effects(axes, level)
    strata = cells.by_class or cells.strata_or_cells
    values = describe_items(strata)
    items = choose_item_terms(effects, values, strata.n_items)
    curve = items.expand(values, effects, level[strata.cell])
    return AdditiveDesign(cells, effects, level, strata, items, curve, effects.expand(level))


def count_unlabelled(strata: CellStrata, n: int) -> Float[np.ndarray, " stratum"]:
    """Count the unlabelled items of every stratum of a design; where a cell has none, count all its items."""
    rest = strata.n_items - strata.n_labels
    left = np.bincount(strata.cell, weights=rest, minlength=n)[strata.cell]
    return np.where(left > 0, rest, strata.n_items).astype(np.float64)


def list_cell_axes(cells: Cells) -> tuple[tuple[Axis, ...], Int[np.ndarray, "cell axis"]]:
    """Return the axes of the additive design: of groups, and predicted class and score bin where cells are split."""
    axes, columns = list(cells.axes), list(cells.level[cells.group].T)
    for name, place, ordered in (("predicted class", cells.predicted, False), ("score bin", cells.bin, True)):
        if np.any(place != NONE):
            values, at = np.unique(place, return_inverse=True)
            axes.append(Axis(name, tuple(map(str, values)), ordered))
            columns.append(at.reshape(-1))
    return tuple(axes), np.stack(columns, axis=1)
