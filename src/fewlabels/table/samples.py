"""Of a large table a sample, picked by ids alone while its items are counted, so that one pass serves whoever needs items.

An item is in it where its id leaves a certain remainder, and so the same items are wherever they stand. Repeated ids show in
it, a fingerprint is made of it, and candidates are drawn from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int

LARGE = 10_000_000  # items; of fewer, nothing has to be picked
ENOUGH = 1_600_000  # ids, about: a dozen megabytes, and plenty to draw from


@dataclass(frozen=True)
class Picking:
    """Which items are in a sample: those whose id leaves this remainder."""

    every: int  # a prime, which no habit of numbering shares
    at: int

    def picks(self, id: ir.Value) -> ir.Value:
        """Is an item in the sample?"""
        return (id % self.every).abs() == self.at


@dataclass(frozen=True)
class Sample:
    """The ids of the items that were picked, with the counts they went into."""

    picking: Picking
    ids: Int[np.ndarray, " item"]
    entry: Int[np.ndarray, " item"]  # the row of the counts
    n_blank: int  # items without an id, in the whole table

    def find_repeat(self) -> Any:
        """Return the id that stands most often in the table, if any stands there twice; else None."""
        ids = np.sort(self.ids)
        again = ids[1:][ids[1:] == ids[:-1]]
        if not len(again):
            return None
        values, counts = np.unique(again, return_counts=True)
        return values[counts.argmax()].item()

    def thin(self, most: int) -> "Sample":
        """Return about so many of it, the same ones whatever order they are in, in the order of their ids."""
        few = np.flatnonzero(self.ids // self.picking.every % max(1, len(self.ids) // most) == 0)
        few = few[np.argsort(self.ids[few], kind="stable")]
        return replace(self, ids=self.ids[few], entry=self.entry[few])

    def renumber(self, rows: Sequence[int]) -> "Sample":
        """Return the same items, where the rows of the counts are now in this order."""
        place = np.empty(len(rows), dtype=np.int64)
        place[rows] = np.arange(len(rows))
        return replace(self, entry=place[self.entry])


def choose_picking(n_items: int, rng: np.random.Generator) -> Picking:
    """Say which items of so many to pick."""
    every = _find_prime(max(2, n_items // ENOUGH))
    return Picking(every, int(rng.integers(every)))


def unpack(picking: Picking, lists: pa.ListArray, n_blank: int) -> Sample:
    """Make a sample of lists of ids, one for every row of counts."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    ids = lists.flatten().to_numpy(zero_copy_only=False)
    return Sample(picking, ids, np.repeat(np.arange(len(lists)), lengths), n_blank)


def _find_prime(most: int) -> int:
    """Return the greatest prime that is not greater."""
    return next(n for n in range(most, 1, -1) if all(n % k for k in range(2, int(n**0.5) + 1)))
