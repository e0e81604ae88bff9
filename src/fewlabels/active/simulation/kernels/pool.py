"""The pool as arrays: items sorted by group, one or more cells per group."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.active.simulation.kernels.item_queue import Ints


@dataclass(frozen=True)
class Pool:
    """Items sorted by group."""

    start: Int[np.ndarray, " edge"]  # items of group g are start[g] … start[g + 1]
    cell: Int[np.ndarray, " item"]
    group: Int[np.ndarray, " cell"]
    weight: Float[np.ndarray, " cell"]  # share of its group
    share: Float[np.ndarray, " group"]  # share of the pool
    n_labels: Int[np.ndarray, " group"]  # before the run, of items outside this pool

    @property
    def n_items(self) -> int:
        """Number of items of the compiled pool."""
        return len(self.cell)

    @property
    def n_groups(self) -> int:
        """Number of groups of the compiled pool."""
        return len(self.share)

    @property
    def n_cells(self) -> int:
        """Number of cells of the compiled pool."""
        return len(self.group)

    @property
    def has_one_cell_per_group(self) -> bool:
        """Does every group have one cell, with the same index?"""
        return self.n_cells == self.n_groups and bool(np.all(self.group == np.arange(self.n_groups)))

    def items_of(self, groups: Ints) -> Ints:
        """Return all items of some groups."""
        return np.concatenate([np.arange(self.start[g], self.start[g + 1]) for g in groups])


def sort_by_group(cell: Ints, group: Ints) -> tuple[Pool, Ints]:
    """Sort the items of a compiled pool by group, given their cells and the groups of cells; also return indices.

    >>> pool, source = sort_by_group(np.array([2, 0, 1, 0]), np.array([0, 1, 1]))
    >>> pool.start, source
    (array([0, 2, 4]), array([1, 3, 0, 2]))
    """
    source = np.argsort(group[cell], kind="stable")
    n_groups = int(group.max()) + 1
    size = np.bincount(group[cell], minlength=n_groups)
    n_items = np.bincount(cell, minlength=len(group))
    weight = n_items / np.maximum(size[group], 1)
    start = np.concatenate([[0], np.cumsum(size)])
    return Pool(start, cell[source], group, weight, size / len(cell), np.zeros(n_groups, dtype=np.int64)), source
