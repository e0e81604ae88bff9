"""The design matrices of the additive model: spline columns for scores, effect columns for attributes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import NONE, Axis, Cells
from fewlabels.data.counts import Strata as CellStrata
from fewlabels.models.additive.arm_posterior import ArmPosterior, predict_arms
from fewlabels.models.additive.effect_priors import EffectPriors
from fewlabels.models.additive.effects import Effects, choose_effects
from fewlabels.models.additive.fit import Fit
from fewlabels.models.additive.item_terms import ItemTerms, choose_by_attribute
from fewlabels.models.additive.items import Items
from fewlabels.models.additive.strata import Strata, make_strata
from fewlabels.models.logit.curve import place_knots, to_logit

MOST_CLASSES = 200  # predicted classes with terms of their own
MIN_SPREAD = 1e-3  # least standard deviation of the logits of scores


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
        """Priors of all terms."""
        return self.items.build_priors(self.effects)

    def select_labelled(self) -> Strata:
        """Select the labelled strata."""
        strata = self.strata
        (labelled,) = np.nonzero(strata.n_labels > 0)
        cell = strata.cell[labelled]
        design = np.concatenate([self.curve[labelled], self.design[cell]], axis=1)
        return make_strata(design, cell, strata.right[labelled], strata.n_labels[labelled].astype(np.float64))

    def predict_arms(self, found: Fit, *, finite_pool: bool) -> tuple[ArmPosterior, ArmPosterior | None]:
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


def describe_items(strata: CellStrata) -> Items:
    """Return what is known of the items of every stratum; classes are numbered without gaps."""
    n = len(strata.cell)
    predicted = np.full(n, NONE)
    if strata.predicted is not None:
        predicted = np.unique(strata.predicted, return_inverse=True)[1].reshape(-1)
    return Items(strata.score, predicted, np.zeros((n, 0)))


def choose_item_terms(
    effects: Effects, values: Items, n_items: Int[np.ndarray, " stratum"], classifiers: tuple[int, ...] = ()
) -> ItemTerms:
    """Choose the spline of the score, and what differs by attribute and predicted class; nothing of scores without them."""
    n_classes, n = int(values.predicted.max(initial=NONE)) + 1, len(n_items)
    n_classes = n_classes if 1 < n_classes <= MOST_CLASSES else 0
    by_class = choose_by_attribute(effects, n, n_classes - 1) if n_classes else ()
    if np.isnan(values.score).any():
        return ItemTerms(None, n_classes=n_classes, by_class=by_class, classifiers=classifiers)
    x = to_logit(values.score)
    knots = place_knots(x, n_items)
    centre = float(np.average(x, weights=n_items))
    scale = float(np.sqrt(np.average((x - centre) ** 2, weights=n_items)))
    slopes = choose_by_attribute(effects, n) if knots else ()
    return ItemTerms(knots, slopes, centre, max(scale, MIN_SPREAD), n_classes, by_class, classifiers)


def count_unlabelled(strata: CellStrata, n: int) -> Float[np.ndarray, " stratum"]:
    """Count the unlabelled items of every stratum; where a cell has none, count all its items."""
    rest = strata.n_items - strata.n_labels
    left = np.bincount(strata.cell, weights=rest, minlength=n)[strata.cell]
    return np.where(left > 0, rest, strata.n_items).astype(np.float64)


def list_cell_axes(cells: Cells) -> tuple[tuple[Axis, ...], Int[np.ndarray, "cell axis"]]:
    """Return the axes on which cells of the design differ: of groups, and predicted class and score bin where split."""
    axes, columns = list(cells.axes), list(cells.level[cells.group].T)
    for name, place, ordered in (("predicted class", cells.predicted, False), ("score bin", cells.bin, True)):
        if np.any(place != NONE):
            values, at = np.unique(place, return_inverse=True)
            axes.append(Axis(name, tuple(map(str, values)), ordered))
            columns.append(at.reshape(-1))
    return tuple(axes), np.stack(columns, axis=1)
