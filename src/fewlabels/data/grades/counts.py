"""Counts of graded items: one cell per group and combination of judges' grades, and the grades of people in it."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

from fewlabels.data.grades.scale import Scale


@dataclass(frozen=True)
class JudgeCounts:
    """What a judge says of every cell."""

    name: str
    scale: Scale
    bin: Int[np.ndarray, " cell"]
    total: Float[np.ndarray, " cell"]  # summed grades
    n: Int[np.ndarray, " cell"]  # items that it graded
    bar: float  # from which on it passes an item
    passes: Bool[np.ndarray, " cell"]  # False where it did not grade
    edges: tuple[float, ...] = ()  # between its bins

    @property
    def has_graded(self) -> Bool[np.ndarray, " cell"]:
        """The cells whose items it graded."""
        return self.n > 0

    @property
    def mean(self) -> Float[np.ndarray, " cell"]:
        """Mean grade of every cell; the overall mean where it did not grade."""
        overall = self.total.sum() / max(int(self.n.sum()), 1)
        return np.where(self.has_graded, self.total / np.maximum(self.n, 1), overall)

    @property
    def standardized(self) -> Float[np.ndarray, " cell"]:
        """Mean grade of every cell, centred and scaled over all items; 0 where it did not grade."""
        weight = self.n / max(int(self.n.sum()), 1)
        away = np.where(self.has_graded, self.mean - weight @ self.mean, 0.0)
        return away / max(float(np.sqrt(weight @ away**2)), 1e-12)


@dataclass(frozen=True)
class GradeBins:
    """The possible outcomes: the levels of the scale, or ranges of grades with the grades seen in them."""

    names: tuple[str, ...]
    value: Float[np.ndarray, " outcome"]  # the level, or the mean of the grades seen
    error: Float[np.ndarray, " outcome"]  # standard error of this mean; 0 for levels
    passes: Bool[np.ndarray, " outcome"]  # at or above the bar


@dataclass(frozen=True, eq=False)
class GradeCounts:
    """Counts of graded items by group, judges' grades and people's grade."""

    by: str
    groups: tuple[str, ...]
    scale: Scale
    bar: float
    outcomes: GradeBins
    group: Int[np.ndarray, " cell"]
    n_items: Int[np.ndarray, " cell"]
    grades: Float[np.ndarray, "cell outcome"]  # items by people's grade
    judges: tuple[JudgeCounts, ...] = ()
    total: Float[np.ndarray, " cell"] | None = None  # summed grades of people; None: as their outcomes say
    entry_cell: Int[np.ndarray, " entry"] | None = None  # where items form clusters: cell and cluster of every entry
    entry_cluster: Int[np.ndarray, " entry"] | None = None
    entry_grades: Float[np.ndarray, "entry outcome"] | None = None
    cluster_size: float = 1.0  # mean size of the cluster of an item, over items
    notes: tuple[str, ...] = field(default=())
    group_keys: tuple[tuple[object, ...], ...] = ()  # of the groups, as the engine returns them

    @property
    def n_grades(self) -> Int[np.ndarray, " cell"]:
        """Items graded by people, per cell."""
        return self.grades.sum(axis=1).astype(np.int64)

    def sum_by_group(self, values: Int[np.ndarray, " cell"]) -> Int[np.ndarray, " group"]:
        """Sum the cells of every group."""
        return np.bincount(self.group, weights=values, minlength=len(self.groups)).astype(np.int64)
