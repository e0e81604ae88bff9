"""Build a count table from the aggregate of a pool."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.aggregate import Aggregate, aggregate_pool
from fewlabels.data.counts import NONE, Axis, CountTable
from fewlabels.data.groups import Cut, Groups
from fewlabels.data.joint_predictions import JointPredictions
from fewlabels.data.model_columns import ModelColumns
from fewlabels.data.names import bin_names
from fewlabels.data.predictions import Predictions
from fewlabels.data.relation import Columns
from fewlabels.errors import InputError


def count_pool(pool: Predictions, by: Groups, **choices: Any) -> CountTable:
    """Tabulate a pool: count it in one query and build the count table; `choices` as for the aggregate."""
    return to_count_table(aggregate_pool(pool, by, **choices))


def to_count_table(aggregated: Aggregate) -> CountTable:
    """Tabulate the aggregate of a valid pool: convert it to a count table."""
    pool, found, cut = aggregated.pool, aggregated.found, aggregated.cut
    if not aggregated.n_items:
        raise InputError(f"{pool.source} has no rows")
    order = sorted(set(aggregated.groups), key=cut.order)
    index = {key: i for i, key in enumerate(order)}
    axes, level = list_axes(cut, order)
    n = len(found["n"])
    return CountTable(
        by=aggregated.by.name,
        groups=tuple(cut.name(key) for key in order),
        classes=pool.classes,
        bins=bin_names(aggregated.edges) if aggregated.edges else (),
        group=np.array([index[key] for key in aggregated.groups]),
        predicted=_class_index(found, "predicted", pool.classes),
        bin=np.array(found.get("bin", [NONE] * n)),
        label=_class_index(found, "label", pool.classes),
        n_items=np.array(found["n"]),
        n_labels=np.array(found["n_labels"]),
        score=_to_floats(found, "score", missing=np.nan),
        right=_to_floats(found, "right", missing=0.0),
        probability=_align_classes(found, pool) if "p0" in found else None,
        positive=pool.positive,
        stratum=_list_strata(aggregated),
        axes=axes,
        level=level,
        models=_list_models(found, pool) if isinstance(pool, JointPredictions) else None,
        graded="grade" in found,
    )


def _list_models(found: Columns, pool: JointPredictions) -> ModelColumns:
    """Tabulate what every model predicts in every entry of the count table."""
    names = ["", *(f"_{i}" for i in range(1, len(pool.models)))]
    blank = [NONE] * len(found["n"])
    predicted = [_class_index(found, f"predicted{name}", pool.classes) for name in names]
    slot, bin = ([np.array(found.get(f"{what}{name}", blank)) for name in names] for what in ("slot", "bin"))
    score = [_to_floats(found, f"score{name}", missing=np.nan) for name in names]
    return ModelColumns(pool.models, *(np.stack(columns, axis=1) for columns in (predicted, slot, bin, score)))


def _list_strata(aggregated: Aggregate) -> Int[np.ndarray, " entry"] | None:
    """Return the stratum of every entry to tabulate; None if not requested, one stratum without scores."""
    if not aggregated.strata:
        return None
    return np.array(aggregated.found.get("stratum", [0] * len(aggregated.found["n"])))


def list_axes(cut: Cut, groups: Sequence[Any]) -> tuple[tuple[Axis, ...], Int[np.ndarray, "group axis"] | None]:
    """Return the axes to tabulate, one per facet with its sorted levels, and the level of each group on each."""
    axes, places = [], []
    for i, facet in enumerate(cut.facets):
        values = sorted({group[i] for group in groups}, key=facet.order)
        at = {value: place for place, value in enumerate(values)}
        axes.append(Axis(facet.name, tuple(map(facet.show, values)), facet.ordered, facet.edges))
        places.append([at[group[i]] for group in groups])
    return tuple(axes), np.array(places).T if places else None


def _class_index(found: Columns, column: str, classes: tuple[str, ...]) -> Int[np.ndarray, " entry"]:
    """Tabulate a column of the aggregate as indices of classes, for the count table."""
    at: dict[str | None, int] = {name: i for i, name in enumerate(classes)}
    return np.array([at.get(name, NONE) for name in found.get(column, [None] * len(found["n"]))])


def _to_floats(found: Columns, column: str, *, missing: float) -> Float[np.ndarray, " entry"]:
    """Tabulate a column of the aggregate as floats, for the count table."""
    values = found.get(column, [None] * len(found["n"]))
    return np.array([missing if v is None else float(v) for v in values])


def _align_classes(found: Columns, pool: Predictions) -> Float[np.ndarray, "entry class"]:
    """Align the summed probabilities of the scored classes with all classes of the count table; others are 0."""
    out = np.zeros((len(found["n"]), len(pool.classes)))
    for i, name in enumerate(pool.scored_classes):
        out[:, pool.classes.index(name)] = found[f"p{i}"]
    return out
