"""The queue of unlabelled items in random order: all of them, or a random sample of every group of a large pool.

The aggregate of a pool counts items per entry and, for a large pool, includes a sample. Groups with too few items in
the sample are drawn by the query engine.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.aggregate import Aggregate
from fewlabels.data.candidates import allocate_candidates, draw_candidates
from fewlabels.data.relation import Columns
from fewlabels.sessions.item_order import spread_over_scores
from fewlabels.sessions.journal.events import Item

MAX_ITEMS = 200_000  # kept in the file
Key: TypeAlias = tuple[Any, ...]  # of a group, as the query engine returns it
ItemIndex: TypeAlias = Int[np.ndarray, " item"]
ItemEntries: TypeAlias = tuple[list[str], ItemIndex]  # ids of items, and the entry each is counted in


@dataclass(frozen=True)
class ItemQueue:
    """Items in random order, stored as columns: 100,000 objects take longer to create than to draw."""

    ids: list[str]
    group: list[int]
    place: list[int]
    entry: list[int]

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Item]:
        return map(Item._make, zip(self.ids, self.group, self.place, self.entry, strict=True))


def build_queue(aggregated: Aggregate, group: ItemIndex, seed: int) -> ItemQueue:
    """Queue the unlabelled items, or a random sample if there are very many; `group` gives the group of each entry."""
    sizes: Counter[Key] = Counter()
    for key, n, n_labels in zip(aggregated.groups, aggregated.found["n"], aggregated.found["n_labels"], strict=True):
        sizes[key] += n - n_labels
    names, entry = _list_items(aggregated) if sizes.total() <= MAX_ITEMS else _draw_items(aggregated, +sizes, seed)
    return shuffle(names, group[entry], entry, _average_scores(aggregated)[entry], seed)


def _average_scores(aggregated: Aggregate) -> Float[np.ndarray, " entry"]:
    """Return the mean score of each entry of the queue; 0 without scores."""
    n = np.array(aggregated.found["n"], dtype=np.float64)
    summed = np.array([total or 0.0 for total in aggregated.found.get("score", [0.0] * len(n))])
    return summed / n


def shuffle(
    names: list[str], group: ItemIndex, entry: ItemIndex, score: Float[np.ndarray, " item"], seed: int
) -> ItemQueue:
    """Queue items in random order, spread evenly over the scores of their group."""
    rows = spread_over_scores(np.random.default_rng([seed, 1]), group, score)
    places = _number_within_groups(group[rows])
    return ItemQueue([names[row] for row in rows.tolist()], group[rows].tolist(), places.tolist(), entry[rows].tolist())


def _number_within_groups(group: ItemIndex) -> ItemIndex:
    """Number the queued items of every group in the given order: 0, 1, ..."""
    order = np.argsort(group, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(group)) - np.searchsorted(group[order], group[order])
    return place


def _list_items(aggregated: Aggregate) -> ItemEntries:
    """List all items to queue, sorted by id, whatever the engine's order; drawn items are ordered by their random numbers."""
    names, entry = _find_entries(aggregated, aggregated.pool.list_unlabelled(aggregated.keys))
    rows = sorted(range(len(names)), key=names.__getitem__)
    return [names[row] for row in rows], entry[rows]


def _draw_items(aggregated: Aggregate, sizes: Mapping[Key, int], seed: int) -> ItemEntries:
    """Draw items to queue: from the sample for groups that have enough items in it, for the others by the query engine."""
    wanted = allocate_candidates(sizes, MAX_ITEMS)
    names, entry, complete = _draw_from_sample(aggregated, wanted, seed)
    rare = {key: n for key, n in sizes.items() if key not in complete}
    if not rare:
        return names, entry
    few = {key: wanted[key] for key in rare}
    found = aggregated.pool.draw_unlabelled(aggregated.keys, rare, few, within=list(aggregated.cut.keys), seed=seed)
    more, theirs = _find_entries(aggregated, found)
    return [*names, *more], np.concatenate([entry, theirs])


def _draw_from_sample(
    aggregated: Aggregate, wanted: Mapping[Key, int], seed: int
) -> tuple[list[str], ItemIndex, set[Key]]:
    """Return items to queue of the groups that have enough items in the sample, and these groups."""
    if aggregated.sample is None:
        return [], np.zeros(0, dtype=np.int64), set()
    at, want = {key: i for i, key in enumerate(wanted)}, np.array(list(wanted.values()))
    is_open = _has_unlabelled(aggregated)
    group = np.array([at[key] if open_ else len(want) for key, open_ in zip(aggregated.groups, is_open, strict=True)])
    enough = np.bincount(group[aggregated.sample.entry], minlength=len(want) + 1)[:-1] >= want
    drawn = draw_candidates(aggregated.sample.ids, group[aggregated.sample.entry], [*(want * enough).tolist(), 0], seed)
    complete = {key for key, i in at.items() if enough[i]}
    return [str(id) for id in aggregated.sample.ids[drawn].tolist()], aggregated.sample.entry[drawn], complete


def _find_entries(aggregated: Aggregate, found: Columns) -> ItemEntries:
    """Find the entry that each queued item is counted in."""
    keys, is_open = list(aggregated.keys), _has_unlabelled(aggregated)
    entry_at = {row: i for i, row in enumerate(_list_keys(aggregated.found, keys, "n")) if is_open[i]}
    rows = _list_keys(found | aggregated.cut.fill(found), keys, "name")
    return found["name"], np.array([entry_at[row] for row in rows], dtype=np.int64)


def _list_keys(found: Columns, keys: list[str], other: str) -> list[Key]:
    """Return the group and further keys of every item to queue."""
    return list(zip(*(found[key] for key in keys), strict=True)) if keys else [()] * len(found[other])


def _has_unlabelled(aggregated: Aggregate) -> list[bool]:
    """Return whether each entry has items without a label, which are queued."""
    return [n > n_labels for n, n_labels in zip(aggregated.found["n"], aggregated.found["n_labels"], strict=True)]
