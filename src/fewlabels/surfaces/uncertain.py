"""A surface over attributes that only classifiers tell: items count a little in every arm they may be of.

Each such attribute has a column of probabilities for every value; a column of the attribute's own name may hold the
values that are known for sure. From these few, and from what classifiers say of all items, it is learned how far to
believe them (see `attribution`). Nothing else is ever read of the items whose attributes are not known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from fewlabels.errors import InputError, did_you_mean
from fewlabels.groups import Groups
from fewlabels.labels import Axis, list_axes
from fewlabels.latent import Evidence
from fewlabels.latent.curve import LEVEL
from fewlabels.surfaces.attribution import Counts, Method, count_fractionally, learn_attribution, reassign
from fewlabels.surfaces.chart import Chart
from fewlabels.surfaces.effects import find_effects
from fewlabels.surfaces.fit import FIXED, Plan, fit
from fewlabels.table import Predictions

MOST_ITEMS = 1_000_000  # whose probabilities are looked at one by one
ROUNDS = 3  # of estimating arms, and assigning labelled items by how likely their outcome is there
FAINT = 1e-9


@dataclass(frozen=True)
class Uncertain:
    """An attribute that a classifier tells: the column of every value's probability."""

    name: str
    scores: tuple[tuple[str, str], ...]  # value and column

    @property
    def values(self) -> tuple[str, ...]:
        """The values it may have."""
        return tuple(value for value, _ in self.scores)


def uncertain(name: str, scores: Mapping[str, str]) -> Uncertain:
    """Say that an attribute is told by a classifier: `scores` has, for every value, the column of its probability.

    A column called `name`, where there is one, holds the values that are known for sure.
    """
    if len(scores) < 2:
        raise InputError(f"attributes: {name!r} needs a column of probabilities for each of at least two values")
    return Uncertain(name, tuple((str(value), column) for value, column in scores.items()))


@dataclass(frozen=True)
class Fractions:
    """Arms with fractional counts, and how items were assigned to them."""

    axes: tuple[Axis, ...]
    level: Int[np.ndarray, "arm axis"]
    counts: Counts
    chance: csr_array
    outcome: Float[np.ndarray, " item"]
    notes: tuple[str, ...]


def count_uncertain(
    pool: Predictions, attributes: Sequence[Groups | Uncertain], method: Method, seed: int
) -> Fractions:
    """Assign items to arms, and count them; arms that hardly anything is of are left out."""
    _require(pool, attributes)
    found = pool.pull(_list_values(pool, attributes))
    axes, scores, known = zip(*(_read_axis(one, i, pool, found) for i, one in enumerate(attributes)), strict=True)
    place = np.stack(known, axis=1)
    (rows,) = np.nonzero((place >= 0).all(axis=1))
    outcome = np.array([np.nan if value is None else value for value in found["right"]], dtype=np.float64)
    names = tuple(axis.name for axis in axes)
    model = learn_attribution(scores, place[rows], rows, method=method, seed=seed, names=names)
    chance = model.assign(scores, place[rows], rows, seed=seed)
    counts = count_fractionally(chance, outcome)
    kept = counts.n_items > FAINT
    return Fractions(
        tuple(axes), model.arms[kept], Counts(*(values[kept] for values in counts)), csr_array(chance[:, kept]), outcome, model.notes
    )  # fmt: skip


def chart_uncertain(fractions: Fractions) -> Chart:
    """Fit the effects of attributes to fractional counts.

    Counting in fractions makes arms look alike; so, in turn, arms are estimated, and labelled items assigned by how
    likely their outcome is in each.
    """
    effects = find_effects(fractions.axes, fractions.level)
    design = effects.expand(fractions.level)
    (centre, spread), n = LEVEL, design.shape[1]
    plan = Plan(np.append(FIXED, effects.block), np.append(centre, np.zeros(n)), np.append(spread, np.ones(n)), effects.kinds)  # fmt: skip
    counts, n_items = fractions.counts, np.maximum(np.round(fractions.counts.n_items), 1).astype(np.int64)
    start = None
    for turn in range(ROUNDS):
        (heard,) = np.nonzero(counts.n_labels > FAINT)
        rows = np.column_stack([np.ones(len(heard)), design[heard]])
        found = fit(Evidence(rows, heard, counts.right[heard], counts.n_labels[heard]), plan, start)
        start = found.summit.scales
        arm = np.arange(len(n_items))
        chart = Chart(effects, fractions.level, arm, n_items, np.full(len(arm), np.nan), None, found)
        if turn < ROUNDS - 1:
            counts = count_fractionally(
                reassign(fractions.chance, fractions.outcome, chart.relief.mean), fractions.outcome
            )
    return chart


def _list_values(pool: Predictions, attributes: Sequence[Groups | Uncertain]) -> dict[str, object]:
    """Return what has to be read of every item."""
    values: dict[str, object] = {"right": pool.right()}
    for i, one in enumerate(attributes):
        if not isinstance(one, Uncertain):
            values |= {f"a{i}_{j}": facet.key for j, facet in enumerate(one.cut(pool).facets)}
            continue
        values |= {f"p{i}_{j}": pool.number(column) for j, (_, column) in enumerate(one.scores)}
        if one.name in pool.columns():
            values[f"k{i}"] = pool.attribute(one.name)
    return values


def _read_axis(
    one: Groups | Uncertain, i: int, pool: Predictions, found: Mapping[str, list[object]]
) -> tuple[Axis, Float[np.ndarray, "item _value"], Int[np.ndarray, " item"]]:
    """Return an attribute's axis, the probability of each value for every item, and its value where it is known."""
    if isinstance(one, Uncertain):
        score = np.array([[np.nan if v is None else v for v in found[f"p{i}_{j}"]] for j in range(len(one.scores))]).T
        axis = Axis(one.name, one.values, ordered=False)
        told = found.get(f"k{i}", [None] * len(score))
        return axis, score.astype(np.float64), np.array([axis.find(value) for value in told], dtype=np.int64)
    cut = one.cut(pool)
    keys = list(zip(*(found[f"a{i}_{j}"] for j in range(len(cut.facets))), strict=True))
    axes, level = list_axes(cut, sorted(set(keys), key=cut.order))
    if len(axes) != 1 or level is None:
        raise InputError(f"attributes: {one.name!r} is more than one attribute; name them one by one")
    at = {key: int(place) for key, place in zip(sorted(set(keys), key=cut.order), level[:, 0], strict=True)}
    known = np.array([at[key] for key in keys], dtype=np.int64)
    return axes[0], np.eye(len(axes[0].levels))[known], known


def _require(pool: Predictions, attributes: Sequence[Groups | Uncertain]) -> None:
    if pool.has("agreement"):
        raise InputError("attributes that are uncertain go with right and wrong, not with grades of agreement")
    if pool.n_items > MOST_ITEMS:
        raise InputError(
            f"{pool.n_items:,} items are too many to look at one by one, which uncertain attributes need; give at most "
            f"{MOST_ITEMS:,}, drawn at random, with all that are labelled"
        )
    for one in attributes:
        for value, column in one.scores if isinstance(one, Uncertain) else ():
            if column not in pool.columns():
                raise InputError(
                    f"attributes: {one.name}: there is no column {column!r} for {value!r}; {did_you_mean(column, pool.columns())}"
                )
