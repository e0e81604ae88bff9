"""Count tables: items, labels, outcomes and summed scores per group, predicted class, score bin, stratum and label.

A count table has the finest resolution that any metric needs (`tabulation` builds it from the aggregate of a pool); its
method `cells` sums the entries to coarser cells. The packages above use these counts and never read rows.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float, Int, Real

from fewlabels.data.model_columns import ModelColumns
from fewlabels.data.names import MISSING, bin_names, to_name
from fewlabels.errors import InputError

Split = Literal["predicted", "bin", "stratum"]
SPLITS: tuple[Split, ...] = ("predicted", "bin", "stratum")
SEPARATOR = "\x1f"  # the ASCII unit separator, which names do not contain
LOGITS = (-3, -1.5, -0.5, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 7.5, 9)
STRATA = (0.0, *(1 / (1 + math.exp(-x)) for x in LOGITS), 1.0)  # edges, spaced on the logit scale
NONE = -1  # the index of an absent class or bin


@dataclass(frozen=True)
class Axis:
    """An attribute by which groups differ, and its levels."""

    name: str
    levels: tuple[str, ...]
    ordered: bool  # are neighbouring levels similar?
    edges: tuple[float, ...] = ()  # if levels are ranges of a number

    def find(self, value: object) -> int:
        """Return the index of a value on an axis of the count table, −1 if unseen; a number maps to the range that contains it, or the nearest one.

        >>> Axis("sex", ("f", "m"), False).find("m"), Axis("age", ("[18, 40)", "[40, 70]"), True, (18.0, 40.0, 70.0)).find(52)
        (1, 1)
        """
        name = MISSING if value is None or value != value else to_name(value)
        number = _parse_float(name) if self.edges and name not in self.levels else None
        if number is not None:
            name = bin_names(self.edges)[bisect_right(self.edges[1:-1], number)]
        return self.levels.index(name) if name in self.levels else NONE


@dataclass(frozen=True)
class Strata:
    """Strata: the items of a cell with nearly equal scores, sorted by cell; a cell without scores is one stratum."""

    cell: Int[np.ndarray, " stratum"]
    n_items: Int[np.ndarray, " stratum"]
    n_labels: Real[np.ndarray, " stratum"]  # fractional where labels are discounted
    right: Float[np.ndarray, " stratum"]  # summed outcomes of the labelled items
    score: Float[np.ndarray, " stratum"]  # mean score of the items; nan without scores
    predicted: Int[np.ndarray, " stratum"] | None = None  # where strata are split by predicted class


@dataclass(frozen=True)
class Cells:
    """A partition of the pool that refines its groups, with the counts of each cell."""

    group: Int[np.ndarray, " cell"]
    predicted: Int[np.ndarray, " cell"]  # NONE if cells are not split by predicted class
    bin: Int[np.ndarray, " cell"]
    n_items: Int[np.ndarray, " cell"]
    n_labels: Real[np.ndarray, " cell"]
    score: Float[np.ndarray, " cell"]  # mean score of the items; nan without scores
    right: Float[np.ndarray, " cell"]  # summed outcomes of the labelled items
    labels: Float[np.ndarray, "cell class"]  # number of labels of each class
    probability: Float[np.ndarray, "cell class"] | None  # mean predicted probability of each class
    strata: Strata | None  # None if not counted
    names: tuple[str, ...]
    classes: tuple[str, ...]
    by: str
    axes: tuple[Axis, ...]  # attributes by which groups differ
    level: Int[np.ndarray, "group axis"]
    by_class: Strata | None = (
        None  # strata split by predicted class; None where cells are, or where all are of one class
    )

    @property
    def n(self) -> int:
        """The number of cells of the count table."""
        return len(self.group)

    @property
    def strata_or_cells(self) -> Strata:
        """The strata; if they were not counted, one per cell."""
        return self.strata or Strata(np.arange(self.n), self.n_items, self.n_labels, self.right, self.score)

    def count_unlabelled(self) -> Float[np.ndarray, " stratum"]:
        """Count the unlabelled items of every stratum; where a cell has none, count all its items."""
        strata = self.strata_or_cells
        rest = strata.n_items - strata.n_labels
        left = np.bincount(strata.cell, weights=rest, minlength=self.n)[strata.cell]
        return np.where(left > 0, rest, strata.n_items).astype(np.float64)

    @property
    def outcomes(self) -> Float[np.ndarray, "cell 2"]:
        """Counts of right and wrong outcomes; fractional if agreement is partial."""
        return np.stack([self.right, self.n_labels - self.right], axis=1)


@dataclass(frozen=True, eq=False)
class CountTable:
    """Counts of a pool: one entry per (group, predicted class, score bin, stratum, label) that occurs."""

    by: str
    groups: tuple[str, ...]
    classes: tuple[str, ...]
    bins: tuple[str, ...]
    group: Int[np.ndarray, " entry"]
    predicted: Int[np.ndarray, " entry"]
    bin: Int[np.ndarray, " entry"]
    label: Int[np.ndarray, " entry"]
    n_items: Int[np.ndarray, " entry"]
    n_labels: Int[np.ndarray, " entry"]
    score: Float[np.ndarray, " entry"]  # summed
    right: Float[np.ndarray, " entry"]  # summed
    probability: Float[np.ndarray, "entry class"] | None = None  # summed
    positive: str | None = None  # the positive class of binary metrics such as tpr
    stratum: Int[np.ndarray, " entry"] | None = None  # finer ranges of the score, for priors that are fitted to them
    axes: tuple[Axis, ...] = ()  # attributes by which groups differ, if known
    level: Int[np.ndarray, "group axis"] | None = None  # the level of each group on each axis
    models: ModelColumns | None = None  # where several models predict the same items; the table is the first one's
    graded: bool = False  # are outcomes grades, and the labelled items of every entry of the same grade?

    def count(self, what: Literal["n_items", "n_labels"]) -> Int[np.ndarray, " group"]:
        """Sum items or labels per group."""
        return np.bincount(self.group, weights=getattr(self, what), minlength=len(self.groups)).astype(np.int64)

    def assign_cells(self, splits: Sequence[Split] = ()) -> tuple[Int[np.ndarray, "cell 4"], Int[np.ndarray, " entry"]]:
        """Return the (group, predicted class, bin, stratum) of every cell, and the cell of every entry."""
        nothing = np.full(len(self.group), NONE)
        columns = (getattr(self, s) if s in splits else nothing for s in SPLITS)
        n_strata = 0 if self.stratum is None else int(self.stratum.max(initial=0)) + 1
        shape = (len(self.groups), len(self.classes) + 1, len(self.bins) + 1, n_strata + 1)
        keys = (self.group, *(nothing if column is None else column for column in columns))
        code = np.ravel_multi_index([keys[0], *(key + 1 for key in keys[1:])], shape)
        found, where = np.unique(code, return_inverse=True)
        return np.stack(np.unravel_index(found, shape), axis=1) - [0, 1, 1, 1], where.reshape(-1)

    def cells(self, splits: Sequence[Split] = ()) -> Cells:
        """Sum entries into cells: the groups, split by `splits`."""
        key, where = self.assign_cells(splits)
        n_items = _sum_by_cell(where, self.n_items, len(key))
        probability = None
        if self.probability is not None:
            probability = _sum_rows(where, self.probability, len(key)) / n_items[:, None]
        return Cells(
            group=key[:, 0],
            predicted=key[:, 1],
            bin=key[:, 2],
            n_items=n_items.astype(np.int64),
            n_labels=_sum_by_cell(where, self.n_labels, len(key)).astype(np.int64),
            score=_sum_by_cell(where, self.score, len(key)) / n_items,
            right=_sum_by_cell(where, self.right, len(key)),
            labels=_count_labels(where, self.label, self.n_labels, (len(key), len(self.classes))),
            probability=probability,
            strata=None if self.stratum is None or "stratum" in splits else self._stratify(splits, key),
            names=tuple(self._name(*k) for k in key.tolist()),
            classes=self.classes,
            by=self.by,
            axes=self.axes or (Axis(self.by, self.groups, ordered=False),),
            level=np.arange(len(self.groups))[:, None] if self.level is None else self.level,
            by_class=None if "predicted" in splits or "stratum" in splits else self._stratify_by_class(splits),
        )

    def _stratify(self, splits: Sequence[Split], cells: Int[np.ndarray, "cell 4"]) -> Strata:
        """Split every cell of the count table into its strata."""
        key, where = self.assign_cells((*splits, "stratum"))
        n = len(key)
        n_items, n_labels = (_sum_by_cell(where, values, n) for values in (self.n_items, self.n_labels))
        starts = np.any(np.diff(key[:, :3], axis=0), axis=1)  # the stratum is the last key
        cell = np.concatenate([[0], np.cumsum(starts)])
        assert cell[-1] == len(cells) - 1
        return Strata(
            cell, n_items.astype(np.int64), n_labels.astype(np.int64), _sum_by_cell(where, self.right, n),
            _sum_by_cell(where, self.score, n) / n_items,
        )  # fmt: skip

    def _stratify_by_class(self, splits: Sequence[Split]) -> Strata | None:
        """Split cells by predicted class and stratum; None where all predictions are of one class."""
        if np.all(self.predicted == self.predicted[:1]):
            return None
        finest: tuple[Split, ...] = ("predicted",) if self.stratum is None else ("predicted", "stratum")
        key, where = self.assign_cells((*splits, *finest))
        n, order = len(key), np.lexsort((key[:, 3], key[:, 1], key[:, 2], key[:, 0]))
        n_items, n_labels, right, score = (
            _sum_by_cell(where, values, n)[order] for values in (self.n_items, self.n_labels, self.right, self.score)
        )
        starts = np.any(np.diff(key[order][:, [0, 2]], axis=0), axis=1)
        cell = np.concatenate([[0], np.cumsum(starts)])
        return Strata(cell, n_items.astype(np.int64), n_labels.astype(np.int64), right, score / n_items, key[order, 1])

    def drop_labels(self) -> "CountTable":
        """Return the same items without labels: one entry per (group, predicted class, bin, stratum)."""
        key, where = self.assign_cells(SPLITS)
        n = len(key)
        return replace(
            self, group=key[:, 0], predicted=key[:, 1], bin=key[:, 2], label=np.full(n, NONE),
            stratum=None if self.stratum is None else key[:, 3],
            n_items=_sum_by_cell(where, self.n_items, n).astype(np.int64), n_labels=np.zeros(n, dtype=np.int64),
            score=_sum_by_cell(where, self.score, n), right=np.zeros(n),
            probability=None if self.probability is None else _sum_rows(where, self.probability, n), models=None,
        )  # fmt: skip

    def add_labels(
        self,
        entry: Int[np.ndarray, " new"],
        label: Int[np.ndarray, " new"],
        n: Int[np.ndarray, " new"],
        right: Float[np.ndarray, " new"],
    ) -> "CountTable":
        """Return the counts after labelling `n` items of each `entry` as class `label`, with summed outcome `right`."""
        if not len(entry):
            return self
        rest = self.n_items - _sum_by_cell(entry, n, len(self.group)).astype(np.int64)
        nothing = np.zeros(len(entry))
        probability = None
        if self.probability is not None:
            probability = np.concatenate([self.probability, np.zeros((len(entry), len(self.classes)))])
        return replace(
            self,
            group=np.concatenate([self.group, self.group[entry]]),
            predicted=np.concatenate([self.predicted, self.predicted[entry]]),
            bin=np.concatenate([self.bin, self.bin[entry]]),
            stratum=None if self.stratum is None else np.concatenate([self.stratum, self.stratum[entry]]),
            label=np.concatenate([self.label, label]),
            n_items=np.concatenate([rest, n]),
            n_labels=np.concatenate([self.n_labels, n]),
            score=np.concatenate([self.score, nothing]),
            right=np.concatenate([self.right, right]),
            probability=probability,
            models=None if self.models is None else self.models.append(entry),
        )

    def add_classes(self, classes: Sequence[str]) -> "CountTable":
        """Return the same counts with further classes appended."""
        if not classes:
            return self
        probability = None
        if self.probability is not None:
            probability = np.concatenate([self.probability, np.zeros((len(self.group), len(classes)))], axis=1)
        return replace(self, classes=(*self.classes, *classes), probability=probability)

    def merged(self, name: str = "all") -> "CountTable":
        """Return the same counts with all items in one group."""
        return replace(self, by="all", groups=(name,), group=np.zeros_like(self.group), axes=(), level=None)

    def by_bin(self) -> "CountTable":
        """Return the same counts with score bins as groups; empty bins are dropped."""
        if not self.bins:
            raise InputError("score bins need scores, and these predictions have none")
        used, group = np.unique(self.bin, return_inverse=True)
        names = tuple(self.bins[b] for b in used)
        axis, level = Axis("score", names, ordered=True), np.arange(len(used))[:, None]
        return replace(self, by="bins", groups=names, group=group.reshape(-1), axes=(axis,), level=level)

    def _name(self, group: int, predicted: int, bin: int, stratum: int) -> str:
        """Name a cell of the count table by group, predicted class, bin and stratum."""
        parts = [self.groups[group]]
        if predicted != NONE:
            parts.append(self.classes[predicted])
        if bin != NONE:
            parts.append(self.bins[bin])
        if stratum != NONE:
            parts.append(str(stratum))
        return SEPARATOR.join(parts)


def _sum_by_cell(where: Int[np.ndarray, " entry"], values: np.ndarray, n: int) -> Float[np.ndarray, " cell"]:
    """Sum the entries of a count table by cell."""
    return np.bincount(where, weights=values, minlength=n).astype(np.float64)  # integers if there are no entries


def _sum_rows(
    where: Int[np.ndarray, " entry"], values: Float[np.ndarray, "entry class"], n: int
) -> Float[np.ndarray, "cell class"]:
    """Sum the rows of a count table's entries by cell, for every class."""
    out = np.zeros((n, values.shape[1]))
    np.add.at(out, where, values)
    return out


def _count_labels(
    where: Int[np.ndarray, " entry"],
    label: Int[np.ndarray, " entry"],
    n: Int[np.ndarray, " entry"],
    shape: tuple[int, int],
) -> Float[np.ndarray, "cell class"]:
    """Count the labels of every class in each cell of a count table."""
    known = label != NONE
    counts = np.zeros(shape)
    np.add.at(counts, (where[known], label[known]), n[known])
    return counts


def _parse_float(name: str) -> float | None:
    """Return the number that a value of a count table's axis is; None if it is none."""
    try:
        return float(name)
    except ValueError:
        return None
