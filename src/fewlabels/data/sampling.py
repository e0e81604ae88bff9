"""Of a large table a sample, picked by ids alone while its items are counted, so that one pass serves whoever needs items.

An item is in it where its id, times a random step around a circle, ends low. So the same items are in it wherever they
stand, and no habit of numbering decides which: of ids that leave the same remainder, some are in it and some are not.
Repeated ids show in it, a fingerprint is made of it, and candidates are drawn from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Int

LARGE = 10_000_000  # items; of fewer, nothing has to be picked
WIDTH = 2**32  # of the circle on which ids are laid; to cut a number off costs less than a remainder
LAST = WIDTH - 1
ENOUGH = 1_640_000  # ids, about: a dozen megabytes, and plenty to draw from


@dataclass(frozen=True)
class Picking:
    """Which items are in a sample: about one in so many, at random."""

    every: int
    seed: int

    def picks(self, id: ir.Value) -> ir.Value:
        """Is an item in the sample?"""
        step, shift = self._line
        return ((id & LAST).cast("int64") * step + shift) & LAST < WIDTH // self.every

    def mark(self, ids: Int[np.ndarray, " item"], every: int) -> Bool[np.ndarray, " item"]:
        """Say which items were in a sample of one in so many, as an engine would."""
        step, shift = self._line
        return ((ids.astype(np.int64) & LAST) * step + shift) & LAST < WIDTH // every

    @property
    def _line(self) -> tuple[int, int]:
        """A step, odd and below 2³¹, so that nothing overflows, and where to begin (Dietzfelbinger et al., 1997)."""
        rng = np.random.default_rng([self.seed, 2])
        return 2 * int(rng.integers(2**28, 2**30)) + 1, int(rng.integers(WIDTH))


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
        few = np.flatnonzero(self.picking.mark(self.ids, self.picking.every * max(1, len(self.ids) // most)))
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
