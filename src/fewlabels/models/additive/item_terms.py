"""Terms that differ between the items of an arm: the curve of the score, its slope by attribute, what attribute classifiers say.

The calibration curve of the score has fixed priors, as in `models.logit.curve`. Its slope may differ by the value of an
attribute. Where attributes are known only through classifiers, items may be right more often where a classifier says so,
beyond the true value of the attribute (both depend on what the item looks like). Slopes and classifiers have learned
scales, which vanish where labels show no such effect.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import NONE
from fewlabels.models.additive.effect_priors import FIXED, EffectPriors, Kind
from fewlabels.models.additive.effects import Effects
from fewlabels.models.additive.items import Items
from fewlabels.models.logit.curve import (
    INTERCEPT_PRIOR,
    KNOT_PRIOR,
    LEVEL_PRIOR,
    SLOPE_PRIOR,
    place_knots,
    spline_basis,
    to_logit,
)

MOST_TERMS = 60  # of effects by attribute, for speed
MOST_NUMBERS = 4_000_000  # strata times terms, for memory
HALF = 0.5
MOST_CLASSES = 200  # predicted classes with terms of their own
MIN_SPREAD = 1e-3  # least standard deviation of the logits of scores


@dataclass(frozen=True)
class ItemTerms:
    """Which terms there are; `expand` makes their design matrix."""

    knots: tuple[float, ...] | None  # of the spline of the score, in logits; None without scores
    slopes: tuple[int, ...] = ()  # attributes by whose values the slope of the score differs
    centre: float = 0.0  # logit of the score where slopes change nothing
    scale: float = 1.0  # of logits of the score, in slopes
    n_classes: int = 0  # predicted classes, where right predictions may depend on them
    by_class: tuple[int, ...] = ()  # attributes whose effect differs by predicted class
    classifiers: tuple[int, ...] = ()  # number of terms of every attribute classifier

    @property
    def n_curve(self) -> int:
        """Number of terms of the curve that all items share."""
        return 1 if self.knots is None else 2 + len(self.knots)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of the effects of items with learned scales."""
        n_class = 0 if not self.n_classes else 1 if self.knots is None else 2
        n_classes = n_class + len(self.by_class)
        slopes: list[Kind] = ["slope"] * len(self.slopes)
        classes: list[Kind] = ["class"] * n_classes
        classifiers: list[Kind] = ["classifier"] * len(self.classifiers)
        return (*slopes, *classes, *classifiers)

    def count_terms(self, effects: Effects) -> int:
        """Number of all terms of the items."""
        return self.n_curve + sum(self._list_sizes(effects))

    def build_priors(self, effects: Effects) -> EffectPriors:
        """Build the priors of the items' terms and of the effects of attributes."""
        fixed = (
            [LEVEL_PRIOR] if self.knots is None else [INTERCEPT_PRIOR, SLOPE_PRIOR, *(KNOT_PRIOR for _ in self.knots)]
        )
        sizes = self._list_sizes(effects)
        more = sum(sizes) + len(effects.block)
        centre, spread = np.array([*fixed, *[(0.0, 1.0)] * more]).T
        block = [np.full(len(fixed), FIXED), np.repeat(np.arange(len(sizes)), sizes), effects.block + len(sizes)]
        return EffectPriors(np.concatenate(block).astype(np.int64), centre, spread, (*self.kinds, *effects.kinds))

    def expand(
        self, items: Items, effects: Effects, level: Int[np.ndarray, "stratum axis"]
    ) -> Float[np.ndarray, "stratum item_term"]:
        """Return the design matrix of strata; `level` has the values of their arms."""
        x = np.zeros(len(items.score)) if self.knots is None else to_logit(items.score)
        curve = np.ones((len(x), 1)) if self.knots is None else spline_basis(x, self.knots)
        steps = ((x - self.centre) / self.scale)[:, None]
        parts = [curve, *(steps * effects.tables[axis][level[:, axis]] for axis in self.slopes)]
        if self.n_classes:
            classes = code_classes(self.n_classes)[items.predicted]
            parts += [classes] if self.knots is None else [classes, steps * classes]
            parts += [_multiply_terms(classes, effects.tables[axis][level[:, axis]]) for axis in self.by_class]
        return np.concatenate([*parts, items.classifier_terms], axis=1)

    def _list_sizes(self, effects: Effects) -> list[int]:
        """Numbers of item terms of every effect with a learned scale."""
        sizes, n = [table.shape[1] for table in effects.tables], self.n_classes - 1
        classes = [] if not self.n_classes else [n] if self.knots is None else [n, n]
        by_class = [n * sizes[axis] for axis in self.by_class]
        return [*(sizes[axis] for axis in self.slopes), *classes, *by_class, *self.classifiers]


def choose_by_attribute(effects: Effects, n_strata: int, each: int = 1) -> tuple[int, ...]:
    """Choose the attributes by which `each` item terms differ: those with few values, within the budget."""
    budget, out = min(MOST_TERMS, MOST_NUMBERS // max(n_strata, 1)), list[int]()
    for axis in sorted(range(len(effects.axes)), key=lambda i: effects.tables[i].shape[1]):
        n = each * effects.tables[axis].shape[1]
        budget -= n
        if n and budget >= 0:
            out.append(axis)
    return tuple(sorted(out))


def code_classes(n: int) -> Float[np.ndarray, "class term"]:
    """Code exchangeable classes as n − 1 independent item terms around their mean.

    >>> code_classes(2).round(2).tolist()
    [[0.71], [-0.71]]
    """
    centred = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(centred)
    out: Float[np.ndarray, "class term"] = vectors[:, values > HALF]
    return out * np.sign(out[:1] + (out[:1] == 0))


def _multiply_terms(
    one: Float[np.ndarray, "stratum one"], other: Float[np.ndarray, "stratum other"]
) -> Float[np.ndarray, "stratum term"]:
    """Multiply the columns of two sets of item terms, pair by pair."""
    return (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)


def choose_item_terms(
    effects: Effects, values: Items, n_items: Int[np.ndarray, " stratum"], classifiers: tuple[int, ...] = ()
) -> ItemTerms:
    """Choose the item terms: the spline of the score, and what differs by attribute and predicted class."""
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
