"""Build the columns of a pool from the arrays of scikit-learn: y_pred, y_score, y_true."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from fewlabels.data.frames import align_series, fill_masked
from fewlabels.data.names import to_name
from fewlabels.errors import InputError, join_names

PREFIX = "p_"


def to_columns(
    y_pred: Any = None, y_score: Any = None, y_true: Any = None, classes: Any = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Convert arrays to columns and roles of a pool; see `Predictions.from_arrays`.

    >>> columns, roles = to_columns(y_score=[[0.9, 0.1]], y_true=["cat"], classes=["cat", "dog"])
    >>> list(columns), roles
    (['label', 'p_cat', 'p_dog'], {'scores': 'p_'})
    """
    if y_pred is None and y_score is None:
        raise InputError("give the predictions: a pool (a path, a frame or a dict), or the arrays y_pred or y_score")
    if classes is None and hasattr(y_score, "columns"):  # a frame of scores names its classes
        classes = list(y_score.columns)
    given = {"y_pred": y_pred, "y_score": y_score, "y_true": y_true}
    arrays = {name: fill_masked(v) if isinstance(v, np.ma.MaskedArray) else v for name, v in given.items()}
    aligned = align_series({name: values for name, values in arrays.items() if values is not None})
    y_pred, y_score, y_true = (aligned.get(name) for name in arrays)
    names = (
        None if classes is None else [to_name(value) for value in np.asarray(_name_mixed_booleans(classes)).tolist()]
    )
    classed = {"predicted": ("y_pred", y_pred), "label": ("y_true", y_true)}
    columns = {role: _array_to_arrow(*array) for role, array in classed.items() if array[1] is not None}
    if names is not None:
        _require_known(columns, names)
    scores, roles = _read_score_array(y_score, names, y_pred is not None)
    columns |= scores
    _require_same_length(columns)
    return columns, roles


def _read_score_array(
    y_score: Any, classes: Sequence[str] | None, has_pred: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return columns and roles of the array y_score: one column per class, the positive class's, or the predicted class's."""
    if y_score is None:
        return {}, {}
    scores = np.asarray(y_score)
    if scores.ndim == 2:
        _require_classes(classes, scores.shape[1])
        return {f"{PREFIX}{name}": scores[:, i] for i, name in enumerate(classes or ())}, {"scores": PREFIX}
    if scores.ndim != 1:
        raise InputError(f"y_score has {scores.ndim} dimensions; give one score per item, or items × classes")
    if classes is not None and len(classes) == 2:
        return {"positive_score": scores}, {"positive_score": "positive_score", "positive": classes[1]}
    if not has_pred:
        raise InputError(
            "y_score has one number per item, and there is no y_pred; give y_pred, or classes=(negative, positive) "
            "if it is the probability of the positive class"
        )
    return {"score": scores}, {"score": "score"}


def _require_classes(classes: Sequence[str] | None, n: int) -> None:
    """Raise unless there is a class for every column of the array y_score."""
    if classes is None or len(classes) != n:
        came = "no classes are given" if classes is None else f"{len(classes):,} classes are given"
        raise InputError(
            f"y_score has {n:,} columns, and {came}; give classes= in the order of the columns, as in model.classes_"
        )
    if len(set(classes)) < n:
        raise InputError(f"classes: a name is given twice in {join_names(classes)}")


def _require_known(columns: Mapping[str, Any], classes: Sequence[str]) -> None:
    """Raise if arrays of predictions or labels hold other values than the classes: they may be positions instead of names."""
    for role, argument in (("predicted", "y_pred"), ("label", "y_true")):
        seen = columns[role].unique().drop_null().to_pylist() if role in columns else []
        unknown = sorted({to_name(value) for value in seen} - set(classes))
        if unknown:
            raise InputError(
                f"{argument} holds {join_names(unknown, most=3)}, not among the classes {join_names(classes)}; if these "
                f"are positions, give the names: np.asarray(classes)[{argument}]"
            )


def _require_same_length(columns: Mapping[str, Any]) -> None:
    """Raise if the arrays have different lengths."""
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} {n:,}" for name, n in lengths.items())
        raise InputError(f"the arrays have different lengths: {said}; give one value per item")


def _array_to_arrow(argument: str, values: Any) -> pa.Array:
    """Return an array as an Arrow column with one value per item; NaN is null."""
    array = np.asarray(_name_mixed_booleans(values))
    if array.ndim != 1:
        raise InputError(f"{argument} has {array.ndim} dimensions; give one class per item")
    try:
        return pa.array(array, from_pandas=True)
    except pa.ArrowException as error:
        raise InputError(f"{argument} cannot be read: {str(error).splitlines()[0]}") from None


def _name_mixed_booleans(values: Any) -> Any:
    """Replace an array's mix of booleans and other values by their names: NumPy would turn True into 1."""
    kinds = {type(value) for value in values if value is not None} if isinstance(values, list | tuple) else set()
    if bool not in kinds or kinds == {bool}:
        return values
    return [None if value is None else str(value) for value in values]
