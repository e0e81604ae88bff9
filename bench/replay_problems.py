"""Pools as arrays, and what is asked of them in `bench.replay`."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fewlabels.active.simulation.kernels.pool import sort_by_group
from fewlabels.active.simulation.kernels.problems import (
    CalibrationError,
    Cost,
    Rate,
    RopeComparison,
    ShareVariance,
    Variance,
)

EDGE = 1e-6


@dataclass(frozen=True)
class Table:
    """A pool of predictions as arrays."""

    predicted: Int[np.ndarray, " item"]
    label: Int[np.ndarray, " item"]
    score: Float[np.ndarray, " item"]
    probability: Float[np.ndarray, "item class"] | None
    n_classes: int

    @property
    def right(self) -> Float[np.ndarray, " item"]:
        """Which predictions are right."""
        return (self.predicted == self.label).astype(np.float64)


def read(path: Path) -> Table:
    """Read a pool."""
    frame = pd.read_parquet(path)
    names = sorted(set(frame["predicted"]) | set(frame["label"]))
    index = {name: i for i, name in enumerate(names)}
    columns = [f"p_{name}" for name in names]
    known = set(columns) <= set(frame.columns)
    return Table(
        frame["predicted"].map(index).to_numpy(),
        frame["label"].map(index).to_numpy(),
        frame["score"].to_numpy(np.float64),
        frame[columns].to_numpy(np.float64) if known else None,
        len(names),
    )


def seek_least_accurate(table: Table) -> Rate:
    """Return the search for the least accurate class."""
    pool, source = sort_by_group(table.predicted, np.arange(table.n_classes))
    return Rate(pool, table.right[source], np.ones(pool.n_cells), np.ones(pool.n_cells))


def estimate_accuracy(table: Table) -> Variance:
    """Return the estimation of the accuracy of every class."""
    pool, source = sort_by_group(table.predicted, np.arange(table.n_classes))
    ones = np.ones(pool.n_cells)
    return Variance(pool, table.right[source], ones, ones, ones)


def seek_least_calibrated(table: Table) -> CalibrationError:
    """Ten bins of equal width per predicted class."""
    bins = np.minimum((table.score * 10).astype(np.int64), 9)
    keys, cell = np.unique(table.predicted * 10 + bins, return_inverse=True)
    pool, source = sort_by_group(cell, keys // 10)
    ones = np.ones(pool.n_cells)
    return CalibrationError(pool, table.right[source], ones, ones, np.bincount(cell, table.score) / np.bincount(cell))


def seek_costliest(table: Table, *, scores: bool) -> Cost:
    """Three prices to a column, as in the papers: nothing, a mistake, and a grave one."""
    pool, source = sort_by_group(table.predicted, np.arange(table.n_classes))
    k = np.arange(table.n_classes)
    price = np.where(k[:, None] == k, 0.0, np.where((k[:, None] // 5) == (k // 5), 1.0, 10.0))
    return Cost(pool, table.label[source], start_confusion(table, scores=scores), price)


def estimate_confusion(table: Table, *, scores: bool) -> ShareVariance:
    """Return the estimation of the true classes of every predicted class."""
    pool, source = sort_by_group(table.predicted, np.arange(table.n_classes))
    return ShareVariance(pool, table.label[source], start_confusion(table, scores=scores), np.ones(pool.n_cells))


def start_confusion(table: Table, *, scores: bool) -> Float[np.ndarray, "group class"]:
    """A Dirichlet of strength 1 per predicted class: even, or the mean predicted probabilities."""
    if not scores or table.probability is None:
        return np.full((table.n_classes, table.n_classes), 1 / table.n_classes)
    mean = np.stack([table.probability[table.predicted == k].mean(axis=0) for k in range(table.n_classes)])
    mean = np.clip(mean, EDGE, None)
    return mean / mean.sum(axis=1, keepdims=True)


def compare_two(table: Table) -> RopeComparison:
    """The two largest classes."""
    found = seek_least_accurate(table)
    a, b = np.argsort(np.diff(found.pool.start))[-2:]
    return RopeComparison(found.pool, found.right, found.alpha, found.beta, int(a), int(b), 0.05)
