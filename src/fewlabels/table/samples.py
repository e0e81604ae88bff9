"""Of a large table a sample, picked by ids alone while its items are counted, so that one pass serves whoever needs items.

An item is in it where a random line through its id ends low, and so the same items are wherever they stand, and no habit of
numbering decides which: of ids that leave the same remainder, some are in it and some are not. Repeated ids show in it, a
fingerprint is made of it, and candidates are drawn from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from ibis.backends import BaseBackend
from jaxtyping import Int

from fewlabels.table.candidates import PRIME, find_chance, work_out_chance

LARGE = 10_000_000  # items; of fewer, nothing has to be picked
LINE = 2  # terms: enough to pick by; whoever draws from the sample has one more
ENOUGH = 1_640_000  # ids, about: a dozen megabytes, and plenty to draw from


@dataclass(frozen=True)
class Picking:
    """Which items are in a sample: about one in so many, at random."""

    every: int
    seed: int

    @property
    def limit(self) -> int:
        """Below this are the chances of items that are in it."""
        return PRIME // self.every

    def picks(self, id: ir.Value, engine: BaseBackend) -> ir.Value:
        """Is an item in the sample?"""
        return find_chance(id, engine, self.seed, LINE) < self.limit


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
        limit = self.picking.limit // max(1, len(self.ids) // most)
        few = np.flatnonzero(work_out_chance(self.ids, self.picking.seed, LINE) < limit)
        few = few[np.argsort(self.ids[few], kind="stable")]
        return replace(self, ids=self.ids[few], entry=self.entry[few])

    def renumber(self, rows: Sequence[int]) -> "Sample":
        """Return the same items, where the rows of the counts are now in this order."""
        place = np.empty(len(rows), dtype=np.int64)
        place[rows] = np.arange(len(rows))
        return replace(self, entry=place[self.entry])


def choose_picking(n_items: int, seed: int) -> Picking:
    """Say which items of so many to pick."""
    return Picking(max(2, n_items // ENOUGH), seed)


def unpack(picking: Picking, lists: pa.ListArray, n_blank: int) -> Sample:
    """Make a sample of lists of ids, one for every row of counts."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    ids = lists.flatten().to_numpy(zero_copy_only=False)
    return Sample(picking, ids, np.repeat(np.arange(len(lists)), lengths), n_blank)
