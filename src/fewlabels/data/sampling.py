"""Sample the ids of a large table by hashing, in the same query that counts its items.

An item is sampled if a random multiply-add hash of its id, modulo 2³², is below a threshold. So the sample does not
depend on row order, and patterns in ids (such as equal remainders) do not bias it. `checks` finds duplicate ids in it,
`fingerprint` hashes it, and `candidates` draws from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Int

LARGE = 10_000_000  # items; smaller pools are not sampled
WIDTH = 2**32  # modulus of the hash; a bit mask is cheaper than a remainder
LAST = WIDTH - 1
ENOUGH = 1_640_000  # approximate size of a sample: about 13 MB of ids


@dataclass(frozen=True)
class Picking:
    """The rule that decides which items are sampled: about one in `every`, at random."""

    every: int
    seed: int

    def picks(self, id: ir.Value) -> ir.Value:
        """Return whether an item is sampled, as an expression."""
        step, shift = self._line
        return ((id & LAST).cast("int64") * step + shift) & LAST < WIDTH // self.every

    def mark(self, ids: Int[np.ndarray, " item"], every: int) -> Bool[np.ndarray, " item"]:
        """Return which items a sample of one in `every` includes, computed in NumPy as in the engine."""
        step, shift = self._line
        return ((ids.astype(np.int64) & LAST) * step + shift) & LAST < WIDTH // every

    @property
    def _line(self) -> tuple[int, int]:
        """The multiplier, odd and below 2³¹ to avoid overflow, and the offset (Dietzfelbinger et al., 1997)."""
        rng = np.random.default_rng([self.seed, 2])
        return 2 * int(rng.integers(2**28, 2**30)) + 1, int(rng.integers(WIDTH))


@dataclass(frozen=True)
class Sample:
    """The ids of sampled items, with the row of the counts to which each belongs."""

    picking: Picking
    ids: Int[np.ndarray, " item"]
    entry: Int[np.ndarray, " item"]  # row of the counts
    n_blank: int  # items without an id, in the whole table

    def find_repeat(self) -> Any:
        """Return the most frequent duplicate id; None if ids are unique."""
        ids = np.sort(self.ids)
        again = ids[1:][ids[1:] == ids[:-1]]
        if not len(again):
            return None
        values, counts = np.unique(again, return_counts=True)
        return values[counts.argmax()].item()

    def thin(self, most: int) -> "Sample":
        """Return a subsample of about `most` items, sorted by id and independent of the order of items."""
        few = np.flatnonzero(self.picking.mark(self.ids, self.picking.every * max(1, len(self.ids) // most)))
        few = few[np.argsort(self.ids[few], kind="stable")]
        return replace(self, ids=self.ids[few], entry=self.entry[few])

    def renumber(self, rows: Sequence[int]) -> "Sample":
        """Return the same items after the rows of the counts were reordered by `rows`."""
        place = np.empty(len(rows), dtype=np.int64)
        place[rows] = np.arange(len(rows))
        return replace(self, entry=place[self.entry])


def choose_picking(n_items: int, seed: int) -> Picking:
    """Choose the sampling rate for a pool of `n_items`."""
    return Picking(max(2, n_items // ENOUGH), seed)


def unpack(picking: Picking, lists: pa.ListArray, n_blank: int) -> Sample:
    """Build a sample from lists of ids, one list per row of the counts."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    ids = lists.flatten().to_numpy(zero_copy_only=False)
    return Sample(picking, ids, np.repeat(np.arange(len(lists)), lengths), n_blank)
