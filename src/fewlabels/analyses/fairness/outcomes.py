"""Evaluate metrics of the registry on the four outcomes (tn, fn, fp, tp) of groups of people."""

import numpy as np
from jaxtyping import Float

from fewlabels.data.counts import NONE, Cells
from fewlabels.errors import InputError
from fewlabels.metrics.metric import Metric, Sample

OUTCOMES = ("tn", "fn", "fp", "tp")
CLASSES = ("negative", "positive")
POSITIVE = 1
MIXTURES = ((0.1, 0.2, 0.3, 0.4), (0.5, 0.1, 0.15, 0.25))  # shares of outcomes on which a rate is verified
Outcomes = Float[np.ndarray, "draw group 4"]


def evaluate_outcomes(metric: Metric, outcomes: Outcomes) -> Float[np.ndarray, "draw group"]:
    """Evaluate a metric on the four outcomes (tn, fn, fp, tp) of groups of people; NaN in groups without items."""
    items = outcomes.sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):  # of groups without items
        values = np.asarray(metric.value(_to_sample(metric, outcomes)), dtype=np.float64)
    if values.shape != items.shape:
        raise InputError(
            f"fairness: the metric {metric.name!r} returned an array of shape {values.shape} for {items.shape[0]:,} draws of "
            f"{items.shape[1]:,} groups; its method `value` must return one value per draw and scope"
        )
    return np.where(items > 0, values, np.nan)


def find_rate(metric: Metric) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the outcomes (of tn, fn, fp, tp) of the part and of the whole of a rate; None if it is not such a ratio.

    A rate is 1 on the outcomes of its part, 0 on the others of its whole, and 0/0 elsewhere.
    """
    values = evaluate_outcomes(metric, np.concatenate([np.eye(4), MIXTURES])[:, None, :])[:, 0]
    part, whole = values[:4] == 1, (values[:4] == 0) | (values[:4] == 1)
    mixtures = np.array(MIXTURES)
    expected = mixtures @ part / np.maximum(mixtures @ whole, min(map(min, MIXTURES)))
    known = whole | np.isnan(values[:4])
    if not (known.all() and whole.any() and np.allclose(values[4:], expected, rtol=1e-9, atol=0)):
        return None
    of_part, of_whole = (tuple(name for name, is_in in zip(OUTCOMES, of, strict=True) if is_in) for of in (part, whole))
    return of_part, of_whole


def _to_sample(metric: Metric, outcomes: Outcomes) -> Sample:
    """Return the outcomes as draws of the cells that a metric asks for."""
    n_draws, n_groups, _ = outcomes.shape
    n_cells = 2 if "predicted" in metric.splits else 1
    cells_of_group = outcomes.reshape(n_draws, n_groups, 2, 2)  # predicted, label
    right = outcomes[:, :, [0, 3]]
    if n_cells == 1:
        cells_of_group, right = cells_of_group.sum(axis=2, keepdims=True), right.sum(axis=2, keepdims=True)
    by_class, right = cells_of_group.reshape(n_draws, -1, 2), right.reshape(n_draws, -1)
    weight = by_class.sum(axis=2)
    some = np.maximum(weight, np.finfo(float).tiny)
    theta = right / some if metric.reads == "right" else by_class / some[:, :, None]
    cells = _to_cells(by_class.mean(axis=0), right.mean(axis=0), n_groups)
    return Sample(theta, weight, cells, cells.group, n_groups, POSITIVE, False)


def _to_cells(labels: Float[np.ndarray, "cell 2"], right: Float[np.ndarray, " cell"], n_groups: int) -> Cells:
    """Return the four outcomes as cells with the expected number of each class."""
    n_cells = len(labels) // n_groups
    group = np.repeat(np.arange(n_groups), n_cells)
    items = np.ceil(np.nan_to_num(labels.sum(axis=1))).astype(np.int64)
    predicted = np.tile(np.arange(2), n_groups) if n_cells == 2 else np.full(n_groups, NONE)
    nothing = np.full(len(labels), NONE)
    return Cells(
        group, predicted, nothing, items, items, np.full(len(labels), np.nan), right, labels, None, None,
        tuple(str(i) for i in range(n_groups)), CLASSES, "group", (), np.zeros((n_groups, 0), dtype=np.int64),
    )  # fmt: skip
