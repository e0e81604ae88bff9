"""Surfaces over attributes known only through classifiers: items are assigned to arms with probabilities.

Each such attribute has a column of probabilities per value; a column with the attribute's name may hold known values.
Classifiers are calibrated on these few and on their outputs for all items (see `models.membership`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from scipy.special import logit

from fewlabels.data.counts import NONE, Axis
from fewlabels.data.groups import Groups
from fewlabels.data.names import MISSING
from fewlabels.data.predictions import Predictions
from fewlabels.data.tabulation import list_axes
from fewlabels.errors import InputError, did_you_mean, join_names
from fewlabels.models.additive.effects import choose_effects
from fewlabels.models.additive.fitted_surface import FittedSurface
from fewlabels.models.additive.item_terms import choose_item_terms
from fewlabels.models.additive.items import Items
from fewlabels.models.membership.classifier_terms import describe_classifier
from fewlabels.models.membership.context import attribute_in_context
from fewlabels.models.membership.fit import Method
from fewlabels.models.membership.fractional_counts import Counts, count_fractionally
from fewlabels.models.membership.likelihood import fit_mixture, select_labelled
from fewlabels.models.membership.strata import merge_into_strata

MOST_ITEMS = 1_000_000  # rows are processed one by one
MIN_ITEMS = 1e-9  # expected items below which an arm is dropped
FEW_KNOWN = 5  # items with known attributes, below which the share of an arm's items is hardly known


@dataclass(frozen=True)
class Uncertain:
    """An attribute known through a classifier: the probability column of every value, or their prefix."""

    name: str
    scores: tuple[tuple[str, str], ...] | str  # value and column

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Pairs of value and probability column of the uncertain attribute."""
        assert not isinstance(self.scores, str), "find the columns first"
        return self.scores

    def find(self, pool: Predictions) -> "Uncertain":
        """Resolve the probability columns of the uncertain attribute in a pool."""
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
    classifier_terms: tuple[Float[np.ndarray, "item _term"], ...] = ()  # of each uncertain attribute
    predicted: Int[np.ndarray, " item"] | None = None  # number of the predicted class
    others: tuple[csr_array, ...] = ()  # P(arm | item) if other items had been checked (bootstrap)
    warnings: tuple[str, ...] = ()

    @cached_property
    def counts(self) -> Counts:
        """Fractional counts of items and labels of every arm."""
        return count_fractionally(self.chance, self.outcome)


def assign_uncertain_attributes(
    pool: Predictions, attributes: Sequence[Groups | Uncertain], method: Method, seed: int
) -> SoftAssignment:
    """Assign items to the arms of uncertain attributes: P(arm | item), by fitting the membership model."""
    _require_scored_pool(pool)
    found = pool.fetch_columns(_list_attribute_values(pool, attributes))
    axes, scores, known = zip(*(_read_axis(one, i, pool, found) for i, one in enumerate(attributes)), strict=True)
    place = np.stack(known, axis=1)
    (rows,) = np.nonzero((place >= 0).all(axis=1))
    names = tuple(axis.name for axis in axes)
    score = _fetch_probabilities(found["score"]) if "score" in found else np.full(len(place), np.nan)
    predicted = _number_classes(found.get("predicted"))
    found_arms = attribute_in_context(scores, place, rows, score, predicted, method=method, seed=seed, names=names)
    kept = np.asarray(found_arms.chance.sum(axis=0)).reshape(-1) > MIN_ITEMS
    chance, *others = (csr_array(one[:, kept]) for one in (found_arms.chance, *found_arms.others))
    classifier_terms = (
        describe_classifier(one) for one, kind in zip(scores, attributes, strict=True) if isinstance(kind, Uncertain)
    )
    return SoftAssignment(
        tuple(axes), found_arms.arms[kept], chance, _fetch_probabilities(found["right"]), score, tuple(classifier_terms), predicted, tuple(others),
        (*found_arms.warnings, *_warn_partly_known(place, len(rows)), *_warn_few_known(found_arms.arms[kept], place[rows])),
    )  # fmt: skip


def _warn_partly_known(place: Int[np.ndarray, "item axis"], n_known: int) -> tuple[str, ...]:
    """Warn that no item has all uncertain attributes known."""
    if n_known or not ((place >= 0).any(axis=0)).all():
        return ()
    return (
        "every attribute is known for some items, but no item has all known; known values are used only where all are",
    )


def _warn_few_known(arms: Int[np.ndarray, "arm axis"], known: Int[np.ndarray, "known axis"]) -> tuple[str, ...]:
    """Warn of arms with few items whose attributes are known: where classifiers err there, nothing corrects them."""
    if not len(known):
        return ()
    n_known = (arms[:, None, :] == known[None, :, :]).all(axis=2).sum(axis=1)
    n_few = int((n_known < FEW_KNOWN).sum())
    if not n_few:
        return ()
    return (
        f"arms with fewer than {FEW_KNOWN} items whose attributes are known: {n_few:,} of {len(arms):,}; which items belong to them rests on "
        "the classifiers, and their intervals may be too narrow; provide the attributes of more items, drawn at random",
    )


def fit_uncertain(fractions: SoftAssignment) -> FittedSurface:
    """Fit the additive model to items with uncertain arms; the doubt of the attribution widens intervals."""
    fitted = _fit_once(fractions)
    if not fractions.others:
        return fitted
    logits = [logit(_fit_once(replace(fractions, chance=one)).posterior.mean) for one in fractions.others]
    off = np.stack(logits, axis=1)
    return replace(fitted, doubt=(off - off.mean(axis=1, keepdims=True)) / np.sqrt(len(logits) - 1))


def _fit_once(fractions: SoftAssignment) -> FittedSurface:
    """Fit the additive model to one attribution of items to arms."""
    n_labels, n = int((~np.isnan(fractions.outcome)).sum()), len(fractions.outcome)
    effects = choose_effects(fractions.axes, fractions.level, n_labels)
    classifier_terms = np.concatenate([np.zeros((n, 0)), *fractions.classifier_terms], axis=1)
    predicted = np.full(n, NONE) if fractions.predicted is None else fractions.predicted
    values = Items(fractions.score, predicted, classifier_terms)
    items = choose_item_terms(
        effects, values, np.ones(n, dtype=np.int64), tuple(one.shape[1] for one in fractions.classifier_terms)
    )
    items = replace(items, slopes=(), by_class=())  # of uncertain attributes it is not known which slope an item has
    nowhere = np.full((n, len(fractions.axes)), NONE)
    curve, design = items.expand(values, effects, nowhere), effects.expand(fractions.level)
    found = fit_mixture(
        select_labelled(fractions.chance, fractions.outcome, curve, design), items.build_priors(effects)
    )
    strata = merge_into_strata(fractions.chance, curve @ found.mode.terms[: curve.shape[1]], predicted)
    average = strata.average(np.column_stack([fractions.score, classifier_terms]))
    values = Items(average[:, 0], strata.predicted, average[:, 1:])
    return FittedSurface(effects, fractions.level, strata.arm, strata.n_items, values, items, found)


def _list_attribute_values(pool: Predictions, attributes: Sequence[Groups | Uncertain]) -> dict[str, object]:
    """Return the expressions to read of every item's uncertain attributes."""
    values: dict[str, object] = {"right": pool.outcome()} | ({"score": pool.score} if pool.has("score") else {})
    if pool.has("predicted"):
        values["predicted"] = pool.predicted
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
    """Return the index of every known value of an uncertain attribute, −1 where missing; raise for unlisted values."""
    known = np.array([axis.find(value) for value in known_values], dtype=np.int64)
    for row in np.nonzero(known == NONE)[0].tolist():
        if known_values[row] not in (None, MISSING):
            raise InputError(
                f"attributes: {axis.name} is known to be {known_values[row]!r} in row {row + 1:,}, and there is no column of that value's "
                f"probability; {did_you_mean(str(known_values[row]), list(axis.levels))}"
            )
    return known


def _number_classes(predicted: Sequence[object] | None) -> Int[np.ndarray, " item"] | None:
    """Number the predicted classes for arms of uncertain attributes; None where they are not known."""
    if predicted is None:
        return None
    return np.unique([str(one) for one in predicted], return_inverse=True)[1].reshape(-1).astype(np.int64)


def _fetch_probabilities(values: Sequence[object]) -> Float[np.ndarray, " item"]:
    """Return the probabilities of an attribute's value, nan where missing."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _require_scored_pool(pool: Predictions) -> None:
    """Refuse a pool with too many items for uncertain attributes."""
    if pool.n_items > MOST_ITEMS:
        raise InputError(
            f"{pool.n_items:,} items are too many for uncertain attributes, which process items one by one; give at most "
            f"{MOST_ITEMS:,}: a random sample and all labelled items"
        )
