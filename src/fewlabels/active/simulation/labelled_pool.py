"""A fully labelled pool as arrays, for replays.

Only counts are fetched: items of the same group, predicted class, score bin and label are exchangeable.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.checks import require_valid
from fewlabels.data.counts import SPLITS, CountTable, Split
from fewlabels.data.groups import Bins, Groups
from fewlabels.data.predictions import Predictions
from fewlabels.data.tabulation import count_pool
from fewlabels.errors import InputError
from fewlabels.metrics.metric import Metric
from fewlabels.models.posterior import Posterior


@dataclass(frozen=True, eq=False)
class LabelledPool:
    """Items sorted by group, with true labels that a replay reveals one by one."""

    tally: CountTable  # without labels
    entry: Int[np.ndarray, " item"]
    label: Int[np.ndarray, " item"]
    right: Float[np.ndarray, " item"]
    warnings: tuple[str, ...] = ()  # about the table

    @property
    def n_items(self) -> int:
        """Number of items of the labelled pool."""
        return len(self.entry)

    @cached_property
    def group(self) -> Int[np.ndarray, " item"]:
        """The group of each item of the labelled pool."""
        return self.tally.group[self.entry]

    @cached_property
    def start(self) -> Int[np.ndarray, " border"]:
        """First item of each group in the labelled pool, and the end of the last group."""
        return np.searchsorted(self.group, np.arange(len(self.tally.groups) + 1))

    def cell(self, metric: Metric) -> Int[np.ndarray, " item"]:
        """Return the cell of each item, at the resolution a metric needs."""
        if metric.splits not in self._cells:
            self._cells[metric.splits] = self.tally.assign_cells(metric.splits)[1][self.entry]
        return self._cells[metric.splits]

    @cached_property
    def _cells(self) -> dict[tuple[Split, ...], Int[np.ndarray, " item"]]:
        """Cache of cells by split; every step of a replay needs them."""
        return {}

    def count(self, posterior: Posterior, order: Int[np.ndarray, " step"]) -> Float[np.ndarray, "cell outcome"]:
        """Count the outcomes of these items by cell, as posterior counts."""
        counts = np.zeros_like(posterior.counts)
        cell, right = self.cell(posterior.metric)[order], self.right[order]
        if posterior.metric.reads == "right":
            np.add.at(counts, cell, np.stack([right, 1 - right], axis=1))
        else:
            np.add.at(counts, (cell, self.label[order]), 1.0)
        return counts

    def add_labels(self, order: Int[np.ndarray, " step"]) -> CountTable:
        """Return the count table with the labels of these items."""
        ones = np.ones(len(order), dtype=np.int64)
        return self.tally.add_labels(self.entry[order], self.label[order], ones, self.right[order])

    def select(self, items: Int[np.ndarray, " left"]) -> "LabelledPool":
        """Return a pool of some of the items; the count table remains that of the whole pool."""
        return replace(self, entry=self.entry[items], label=self.label[items], right=self.right[items])

    def truth(self, posterior: Posterior) -> Float[np.ndarray, " group"]:
        """Return the true metric in every group, from all labels."""
        counts = self.count(posterior, np.arange(self.n_items))
        shares = counts / counts.sum(axis=1, keepdims=True)
        return posterior.values((shares[:, 0] if posterior.metric.reads == "right" else shares)[None])[0]


def require_labels(pool: Predictions, n_labels: int) -> None:
    """Refuse to lay out a labelled pool without labels."""
    if not n_labels:
        raise InputError(
            f"simulate replays labelled items, and {pool.source} has none; use plan, which needs no labels"
        )


def make_labelled_pool(
    pool: Predictions,
    by: Groups,
    *,
    bins: Bins | None = None,
    **choices: Any,
) -> LabelledPool:
    """Count a labelled pool and expand it to items; items without a label are dropped.

    `choices` are those of the aggregate query; every value of agreement is counted separately, whatever they say.
    """
    require_labels(pool, pool.n_labels)
    warnings = require_valid(pool)
    pool = pool.drop_unlabelled() if pool.n_labels < pool.n_items else pool
    counts = count_pool(pool, by, bins=bins, **(choices | {"grades": True}))
    key, entry = counts.assign_cells(SPLITS)
    entry, order = np.sort(entry, kind="stable"), np.argsort(entry, kind="stable")
    n = counts.n_items[order]
    assert len(key) == entry[-1] + 1
    return LabelledPool(
        tally=counts.drop_labels(),
        entry=np.repeat(entry, n),
        label=np.repeat(counts.label[order], n),
        right=np.repeat(counts.right[order] / n, n),
        warnings=warnings,
    )
