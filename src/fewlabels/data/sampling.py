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

MIN_SAMPLED_POOL = 10_000_000  # items; smaller pools are not sampled
MODULUS = 2**32  # modulus of the hash; a bit mask is cheaper than a remainder
MASK = MODULUS - 1
SAMPLE_SIZE = 1_640_000  # approximate size of a sample: about 13 MB of ids


@dataclass(frozen=True)
class SamplingRule:
    """The rule that decides which items are sampled: about one in `every`, at random."""

    every: int
    seed: int

    def includes(self, id: ir.Value) -> ir.Value:
        """Return whether an item is sampled, as an expression."""
        multiplier, offset = self._multiplier_and_offset
        return ((id & MASK).cast("int64") * multiplier + offset) & MASK < MODULUS // self.every

    def mask(self, ids: Int[np.ndarray, " item"], every: int) -> Bool[np.ndarray, " item"]:
        """Return which items a sample of one in `every` includes, computed in NumPy as in the engine."""
        multiplier, offset = self._multiplier_and_offset
        return ((ids.astype(np.int64) & MASK) * multiplier + offset) & MASK < MODULUS // every

    @property
    def _multiplier_and_offset(self) -> tuple[int, int]:
        """The multiplier, odd and below 2³¹ to avoid overflow, and the offset (Dietzfelbinger et al., 1997)."""
        rng = np.random.default_rng([self.seed, 2])
        return 2 * int(rng.integers(2**28, 2**30)) + 1, int(rng.integers(MODULUS))


@dataclass(frozen=True)
class Sample:
    """The ids of sampled items, with the row of the counts to which each belongs."""

    rule: SamplingRule
    ids: Int[np.ndarray, " item"]
    entry: Int[np.ndarray, " item"]  # row of the counts
    n_missing: int  # items without an id, in the whole table

    def find_duplicate(self) -> Any:
        """Return the most frequent duplicate id in a sample; None if ids are unique."""
        ids = np.sort(self.ids)
        again = ids[1:][ids[1:] == ids[:-1]]
        if not len(again):
            return None
        values, counts = np.unique(again, return_counts=True)
        return values[counts.argmax()].item()

    def subsample(self, most: int) -> "Sample":
        """Return a subsample of about `most` items, sorted by id and independent of the order of items."""
        few = np.flatnonzero(self.rule.mask(self.ids, self.rule.every * max(1, len(self.ids) // most)))
        few = few[np.argsort(self.ids[few], kind="stable")]
        return replace(self, ids=self.ids[few], entry=self.entry[few])

    def renumber(self, rows: Sequence[int]) -> "Sample":
        """Return the same sampled items after the rows of the counts were reordered by `rows`."""
        place = np.empty(len(rows), dtype=np.int64)
        place[rows] = np.arange(len(rows))
        return replace(self, entry=place[self.entry])


def choose_sampling_rule(n_items: int, seed: int) -> SamplingRule:
    """Choose the rule (rate) of sampling for a pool of `n_items`."""
    return SamplingRule(max(2, n_items // SAMPLE_SIZE), seed)


def sample_from_lists(rule: SamplingRule, lists: pa.ListArray, n_missing: int) -> Sample:
    """Build a sample from lists of sampled ids, one list per row of the counts."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    ids = lists.flatten().to_numpy(zero_copy_only=False)
    return Sample(rule, ids, np.repeat(np.arange(len(lists)), lengths), n_missing)
