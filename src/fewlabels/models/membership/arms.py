"""The combinations of attribute values (arms) that are considered, and fast sums over attributes for all of them.

Attributes are split in two halves. Each half has few combinations, so its sum is computed once for all arms that
share it.
"""

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from jaxtyping import Float, Int

from fewlabels.errors import InputError
from fewlabels.models.membership.scores import LogScores

MOST_ARMS = 10_000  # above that, only combinations that occur in the data
NOWHERE = -1


@dataclass(frozen=True)
class Half:
    """Combinations of a subset of the attributes, and the combination of each arm."""

    axes: tuple[int, ...]
    combinations: Int[np.ndarray, "combination axis"]
    place: Int[np.ndarray, " arm"]

    def sum_over_attributes(self, values: LogScores) -> Float[np.ndarray, "item combination"]:
        """Sum the values of half of the attributes for every item and combination of arms."""
        out = np.zeros((len(values[0]), len(self.combinations)), dtype=values[0].dtype)
        for axis, column in zip(self.axes, self.combinations.T, strict=True):
            out += np.take(values[axis], column, axis=1)
        return out


@dataclass(frozen=True)
class Arms:
    """The combinations of attribute values that are considered."""

    table: Int[np.ndarray, "arm axis"]
    sizes: tuple[int, ...]  # number of values of each attribute

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def halves(self) -> tuple[Half, Half]:
        """Attributes of uncertain arms, split in two parts with about the same number of combinations."""
        below = np.cumsum(np.log(self.sizes))
        cut = int(np.searchsorted(below, below[-1] / 2 + 1e-9)) or 1
        axes = tuple(range(len(self.sizes)))
        return self._halve(axes[:cut]), self._halve(axes[cut:])

    def _halve(self, axes: tuple[int, ...]) -> Half:
        """Return the combinations that arms have of some of the attributes."""
        if not axes:  # a single attribute leaves the second half empty
            return Half((), np.zeros((1, 0), dtype=np.int64), np.zeros(len(self), dtype=np.int64))
        combinations, place = np.unique(self.table[:, list(axes)], axis=0, return_inverse=True)
        return Half(axes, combinations, place.reshape(-1))

    def sum_over_attributes(self, values: LogScores) -> Float[np.ndarray, "item arm"]:
        """Sum the attributes' values for every item and arm."""
        left, right = self.halves
        out = np.take(left.sum_over_attributes(values), left.place, axis=1)
        out += np.take(right.sum_over_attributes(values), right.place, axis=1)
        return out

    def find(self, attributes: Int[np.ndarray, "item axis"]) -> Int[np.ndarray, " item"]:
        """Return the index of the arm of every combination."""
        keys = encode_combinations(np.concatenate([self.table, attributes]), self.sizes)
        keys, wanted = keys[: len(self)], keys[len(self) :]
        order = np.argsort(keys)
        near = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
        unknown = keys[near] != wanted
        if unknown.any():
            raise InputError(
                f"attributes {attributes[unknown][0].tolist()} are not among the {len(keys):,} arms of this model; fit again with this item among those with known attributes"
            )
        return near


def list_arms(
    sizes: tuple[int, ...], guesses: Int[np.ndarray, "item axis"], gold: Int[np.ndarray, "gold axis"]
) -> Arms:
    """List all combinations of uncertain attributes (arms); if too many, those of known items and probable others."""
    if prod(sizes) <= MOST_ARMS:
        return Arms(np.indices(sizes).reshape(len(sizes), -1).T, sizes)
    table = np.concatenate([gold, guesses])
    keys = encode_combinations(table, sizes)
    _, first, times = np.unique(keys, return_index=True, return_counts=True)
    n_known = int((first < len(gold)).sum())
    kept = np.lexsort((-times, first >= len(gold)))[: max(MOST_ARMS, n_known)]
    return Arms(table[np.sort(first[kept])], sizes)


def encode_combinations(table: Int[np.ndarray, "item axis"], sizes: tuple[int, ...]) -> Int[np.ndarray, " item"]:
    """Encode the combinations of attributes (arms) as integers; re-encode prefixes by rank where they overflow."""
    key, span = np.zeros(len(table), dtype=np.int64), 1
    for column, size in zip(table.T, sizes, strict=True):
        if span > np.iinfo(np.int64).max // size:
            key = np.unique(key, return_inverse=True)[1].reshape(-1)
            span = len(table)
        key, span = key * size + column, span * size
    return key
