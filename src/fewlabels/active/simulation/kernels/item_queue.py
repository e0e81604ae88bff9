"""Unlabelled items by group, the set of open groups, and the order in which draws visit groups."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels.active.simulation.kernels.jit import compiled
from fewlabels.active.simulation.kernels.random_variates import draw_index
from fewlabels.distributions.randomness import Rng

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Record = Any
Records = NDArray[Any]  # one array of records instead of many arrays: compiles faster, better locality
GROUP_RECORD = np.dtype(
    [
        ("start", "i8"),  # its items are at start … start + size of the queue
        ("left", "i8"),  # unlabelled items
        ("taken", "i8"),  # labels so far
        ("place", "i8"),  # within `open`
        ("rank", "i8"),  # within `order`
        ("share", "f8"),  # of the pool
        ("score", "f8"),  # of the rule
        ("key", "f8"),  # sort key of `order`
    ]
)


class ItemQueue(NamedTuple):
    """Items and groups of one run; modified in place as items are labelled."""

    groups: Records  # per group
    queue: Ints
    open: Ints  # open groups, unordered
    order: Ints  # ranked groups, by decreasing key
    n_open: Ints
    n_ranked: Ints


def make_item_queue(start: Ints, share: Floats, n_labels: Ints, eligible_groups: Ints) -> ItemQueue:
    """Make the compiled queue of all items, in which only some groups can be chosen."""
    groups = np.zeros(len(share), dtype=GROUP_RECORD)
    groups["start"], groups["left"], groups["share"], groups["taken"] = start[:-1], np.diff(start), share, n_labels
    opened = eligible_groups[groups["left"][eligible_groups] > 0]
    groups["place"][opened] = np.arange(len(opened))
    none, all_of = np.zeros_like(opened), np.array([len(opened)])
    return ItemQueue(groups, np.arange(start[-1]), opened, none, all_of, np.zeros(1, np.int64))


@compiled
def draw_item(rng: Rng, item_queue: ItemQueue, group: int) -> int:
    """Remove and return a random item from a group's compiled queue; close the group after its last item."""
    record = item_queue.groups[group]
    record.left -= 1
    record.taken += 1
    last = record.start + record.left
    at = record.start + draw_index(rng, record.left + 1)
    item = item_queue.queue[at]
    item_queue.queue[at], item_queue.queue[last] = item_queue.queue[last], item
    if record.left == 0:
        close_group(item_queue, group)
    return item


@compiled
def close_group(item_queue: ItemQueue, group: int) -> None:
    """Remove a group whose compiled queue is empty from the open groups, by a swap with the last."""
    item_queue.n_open[0] -= 1
    last, at = item_queue.open[item_queue.n_open[0]], item_queue.groups[group].place
    item_queue.open[at] = last
    item_queue.groups[last].place = at


@compiled
def enter_draw_order(item_queue: ItemQueue, group: int, key: float) -> None:
    """Insert a group into the order in which draws visit the groups of the compiled queue."""
    at = item_queue.n_ranked[0]
    item_queue.n_ranked[0] = at + 1
    item_queue.order[at] = group
    item_queue.groups[group].rank = at
    move_in_draw_order(item_queue, group, key)


@compiled
def leave_draw_order(item_queue: ItemQueue, group: int) -> None:
    """Remove a group from the order in which draws visit the groups of the compiled queue."""
    move_in_draw_order(item_queue, group, -np.inf)
    item_queue.n_ranked[0] -= 1


@compiled
def move_in_draw_order(item_queue: ItemQueue, group: int, key: float) -> None:
    """Move a group in the order in which draws visit the groups of the compiled queue (insertion sort)."""
    groups, order = item_queue.groups, item_queue.order
    at = groups[group].rank
    groups[group].key = key
    while at > 0 and groups[order[at - 1]].key < key:
        order[at] = order[at - 1]
        groups[order[at]].rank = at
        at -= 1
    while at + 1 < item_queue.n_ranked[0] and groups[order[at + 1]].key > key:
        order[at] = order[at + 1]
        groups[order[at]].rank = at
        at += 1
    order[at] = group
    groups[group].rank = at
