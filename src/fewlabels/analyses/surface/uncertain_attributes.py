"""Surfaces over attributes known only through classifiers: items are assigned to arms with probabilities.

Each such attribute has a column of probabilities per value; a column with the attribute's name may hold known values.
Classifiers are calibrated on these few and on their outputs for all items (see `models.membership`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from fewlabels.data.counts import NONE, STRATA, Axis
from fewlabels.data.groups import Groups
from fewlabels.data.names import MISSING
from fewlabels.data.predictions import Predictions
from fewlabels.data.tabulation import list_axes
from fewlabels.errors import InputError, did_you_mean, join_names
from fewlabels.models.additive.design import build_effect_priors
from fewlabels.models.additive.effects import choose_effects
from fewlabels.models.additive.fitted_surface import FittedSurface
from fewlabels.models.logit.curve import place_knots, spline_basis, to_logit
from fewlabels.models.membership.fit import Method, learn_attribution
from fewlabels.models.membership.fractional_counts import Counts, count_fractionally
from fewlabels.models.membership.likelihood import fit_mixture, select_labelled

MOST_ITEMS = 1_000_000  # rows are processed one by one
MIN_ITEMS = 1e-9  # expected items below which an arm is dropped


@dataclass(frozen=True)
class Uncertain:
    """An attribute known through a classifier: the probability column of every value, or their prefix."""

    name: str
    scores: tuple[tuple[str, str], ...] | str  # value and column

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Pairs of value and probability column."""
        assert not isinstance(self.scores, str), "find the columns first"
        return self.scores

    def find(self, pool: Predictions) -> "Uncertain":
        """Resolve the columns in a pool."""
        if not isinstance(self.scores, str):
            missing = [(value, column) for value, column in self.scores if column not in pool.columns()]
            for value, column in missing:
                raise InputError(
                    f"attributes: {self.name}: there is no column {column!r} for {value!r}; {did_you_mean(column, pool.columns())}"
                )
            return self
        named = [name for name in pool.columns() if name.startswith(self.scores) and len(name) > len(self.scores)]
        found = {name[len(self.scores) :]: name for name in named if pool.is_number(name)}
        if len(found) < 2:
            raise InputError(
                f"attributes: {self.name} is uncertain, so columns {self.scores}VALUE should have the probability of each value; "
                f"there {'is only ' + next(iter(found.values())) if found else 'is none'} among {join_names(pool.columns(), most=20)}"
            )
        return Uncertain(self.name, tuple(found.items()))


def uncertain(name: str, scores: Mapping[str, str] | str | None = None) -> Uncertain:
    """Mark an attribute as known only through a classifier; `scores` maps every value to its probability column.

    `scores` may also be the prefix of these columns (default: the name of the attribute and `_`). A column called
    `name`, if there is one, holds known values.

    >>> uncertain("rain", {"wet": "p_wet", "dry": "p_dry"}).columns
    (('wet', 'p_wet'), ('dry', 'p_dry'))
    """
    if scores is None or isinstance(scores, str):
        return Uncertain(name, scores or f"{name}_")
    if len(scores) < 2:
        raise InputError(f"attributes: {name!r} needs a column of probabilities for each of at least two values")
    return Uncertain(name, tuple((str(value), column) for value, column in scores.items()))


@dataclass(frozen=True)
class SoftAssignment:
    """P(arm | item) with outcomes and scores of items; arms with hardly any expected items are dropped."""

    axes: tuple[Axis, ...]
    level: Int[np.ndarray, "arm axis"]
    chance: csr_array  # (item, arm)
    outcome: Float[np.ndarray, " item"]  # nan without a label
    score: Float[np.ndarray, " item"]  # nan without a score
    warnings: tuple[str, ...] = ()

    @cached_property
    def counts(self) -> Counts:
        """Fractional counts of items and labels of every arm."""
        return count_fractionally(self.chance, self.outcome)


def assign_uncertain(
    pool: Predictions, attributes: Sequence[Groups | Uncertain], method: Method, seed: int
) -> SoftAssignment:
    """Fit the membership model, and return P(arm | item)."""
    _require_scored_pool(pool)
    found = pool.fetch_columns(_list_attribute_values(pool, attributes))
    axes, scores, known = zip(*(_read_axis(one, i, pool, found) for i, one in enumerate(attributes)), strict=True)
    place = np.stack(known, axis=1)
    (rows,) = np.nonzero((place >= 0).all(axis=1))
    names = tuple(axis.name for axis in axes)
    model = learn_attribution(scores, place[rows], rows, method=method, seed=seed, names=names)
    chance = model.assign(scores, place[rows], rows, seed=seed)
    kept = np.asarray(chance.sum(axis=0)).reshape(-1) > MIN_ITEMS
    return SoftAssignment(
        tuple(axes), model.arms[kept], csr_array(chance[:, kept]), _fetch_probabilities(found["right"]),
        _fetch_probabilities(found["score"]) if "score" in found else np.full(len(place), np.nan),
        (*model.warnings, *_warn_partly_known(place, len(rows))),
    )  # fmt: skip


def _warn_partly_known(place: Int[np.ndarray, "item axis"], n_known: int) -> tuple[str, ...]:
    if n_known or not ((place >= 0).any(axis=0)).all():
        return ()
    return (
        "every attribute is known for some items, but no item has all known; known values are used only where all are",
    )


def fit_uncertain(fractions: SoftAssignment) -> FittedSurface:
    """Fit the additive model to items with uncertain arms."""
    n_labels = int((~np.isnan(fractions.outcome)).sum())
    effects = choose_effects(fractions.axes, fractions.level, n_labels)
    design, x = effects.expand(fractions.level), to_logit(fractions.score)
    knots = None if np.isnan(x).any() else place_knots(x, np.ones(len(x), dtype=np.int64))
    curve = np.ones((len(x), 1)) if knots is None else spline_basis(x, knots)
    found = fit_mixture(
        select_labelled(fractions.chance, fractions.outcome, curve, design), build_effect_priors(effects, knots)
    )
    arm, n_items, score = _cut_by_score(fractions, scored=knots is not None)
    return FittedSurface(effects, fractions.level, arm, n_items, score, knots, found)


def _cut_by_score(
    fractions: SoftAssignment, *, scored: bool
) -> tuple[Int[np.ndarray, " stratum"], Float[np.ndarray, " stratum"], Float[np.ndarray, " stratum"]]:
    """Split arms into strata of similar scores: arm, number of items and mean score of each."""
    n = len(fractions.outcome)
    if not scored:
        return np.arange(len(fractions.level)), fractions.counts.n_items, np.full(len(fractions.level), np.nan)
    at = np.unique(np.digitize(fractions.score, STRATA[1:-1]), return_inverse=True)[1].reshape(-1)
    inside = csr_array((np.ones(n), (np.arange(n), at)), shape=(n, at.max() + 1))
    score = np.bincount(at, weights=fractions.score) / np.bincount(at)
    n_items = csr_array(fractions.chance.T @ inside)
    arm = np.repeat(np.arange(len(fractions.level)), np.diff(n_items.indptr))
    return arm, n_items.data.astype(np.float64), score[n_items.indices]


def _list_attribute_values(pool: Predictions, attributes: Sequence[Groups | Uncertain]) -> dict[str, object]:
    """Return the expressions to read for every item."""
    values: dict[str, object] = {"right": pool.outcome()} | ({"score": pool.score} if pool.has("score") else {})
    for i, one in enumerate(attributes):
        if not isinstance(one, Uncertain):
            values |= {f"a{i}_{j}": facet.key for j, facet in enumerate(one.cut(pool).facets)}
            continue
        values |= {f"p{i}_{j}": pool.number(column) for j, (_, column) in enumerate(one.columns)}
        if one.name in pool.columns():
            values[f"k{i}"] = pool.attribute(one.name)
    return values


def _read_axis(
    one: Groups | Uncertain, i: int, pool: Predictions, found: Mapping[str, list[object]]
) -> tuple[Axis, Float[np.ndarray, "item _value"], Int[np.ndarray, " item"]]:
    """Return the axis of an attribute, every item's probability of each value, and known values (−1 elsewhere)."""
    if isinstance(one, Uncertain):
        score = np.stack([_fetch_probabilities(found[f"p{i}_{j}"]) for j in range(len(one.columns))], axis=1)
        axis = Axis(one.name, tuple(value for value, _ in one.columns), ordered=False)
        known_values = found.get(f"k{i}", [None] * len(score))
        return axis, score, _find_known(axis, known_values)
    cut = one.cut(pool)
    filled = cut.fill({key: found[f"a{i}_{j}"] for j, key in enumerate(cut.keys)})
    keys = list(zip(*filled.values(), strict=True))
    axes, level = list_axes(cut, sorted(set(keys), key=cut.order))
    if len(axes) != 1 or level is None:
        raise InputError(f"attributes: {one.name!r} is more than one attribute; name them one by one")
    at = {key: int(place) for key, place in zip(sorted(set(keys), key=cut.order), level[:, 0], strict=True)}
    known = np.array([at[key] for key in keys], dtype=np.int64)
    return axes[0], np.eye(len(axes[0].levels))[known], known


def _find_known(axis: Axis, known_values: Sequence[object]) -> Int[np.ndarray, " item"]:
    """Return the index of every known value, −1 where missing; raise for values without a probability column."""
    known = np.array([axis.find(value) for value in known_values], dtype=np.int64)
    for row in np.nonzero(known == NONE)[0].tolist():
        if known_values[row] not in (None, MISSING):
            raise InputError(
                f"attributes: {axis.name} is known to be {known_values[row]!r} in row {row + 1:,}, and there is no column of that value's "
                f"probability; {did_you_mean(str(known_values[row]), list(axis.levels))}"
            )
    return known


def _fetch_probabilities(values: Sequence[object]) -> Float[np.ndarray, " item"]:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _require_scored_pool(pool: Predictions) -> None:
    if pool.n_items > MOST_ITEMS:
        raise InputError(
            f"{pool.n_items:,} items are too many for uncertain attributes, which process items one by one; give at most "
            f"{MOST_ITEMS:,}: a random sample and all labelled items"
        )
