"""Unlabelled items by group, the set of open groups, and the order in which draws visit groups."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels.active.simulation.kernels.jit import inner
from fewlabels.active.simulation.kernels.variates import draw_index
from fewlabels.distributions.belief import Rng

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Record = Any
Records = NDArray[Any]  # one array of records instead of many arrays: compiles faster, better locality
PILE = np.dtype(
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


class Deck(NamedTuple):
    """Items and groups of one run; modified in place as items are labelled."""

    piles: Records  # per group
    queue: Ints
    open: Ints  # open groups, unordered
    order: Ints  # ranked groups, by decreasing key
    n_open: Ints
    n_ranked: Ints


def shuffle_together(start: Ints, share: Floats, n_labels: Ints, contestants: Ints) -> Deck:
    """Make the queue of all items, in which only some groups can be chosen."""
    piles = np.zeros(len(share), dtype=PILE)
    piles["start"], piles["left"], piles["share"], piles["taken"] = start[:-1], np.diff(start), share, n_labels
    opened = contestants[piles["left"][contestants] > 0]
    piles["place"][opened] = np.arange(len(opened))
    none, all_of = np.zeros_like(opened), np.array([len(opened)])
    return Deck(piles, np.arange(start[-1]), opened, none, all_of, np.zeros(1, np.int64))


@inner
def take_item(rng: Rng, deck: Deck, group: int) -> int:
    """Remove and return a random item of a group; close the group after its last item."""
    pile = deck.piles[group]
    pile.left -= 1
    pile.taken += 1
    last = pile.start + pile.left
    at = pile.start + draw_index(rng, pile.left + 1)
    item = deck.queue[at]
    deck.queue[at], deck.queue[last] = deck.queue[last], item
    if pile.left == 0:
        close_group(deck, group)
    return item


@inner
def close_group(deck: Deck, group: int) -> None:
    """Remove a group from the open groups, by a swap with the last."""
    deck.n_open[0] -= 1
    last, at = deck.open[deck.n_open[0]], deck.piles[group].place
    deck.open[at] = last
    deck.piles[last].place = at


@inner
def enter_ranking(deck: Deck, group: int, key: float) -> None:
    """Insert a group into the ranking."""
    at = deck.n_ranked[0]
    deck.n_ranked[0] = at + 1
    deck.order[at] = group
    deck.piles[group].rank = at
    move_in_ranking(deck, group, key)


@inner
def leave_ranking(deck: Deck, group: int) -> None:
    """Remove a group from the ranking."""
    move_in_ranking(deck, group, -np.inf)
    deck.n_ranked[0] -= 1


@inner
def move_in_ranking(deck: Deck, group: int, key: float) -> None:
    """Change the key of a group, and move it to its new rank (insertion sort)."""
    piles, order = deck.piles, deck.order
    at = piles[group].rank
    piles[group].key = key
    while at > 0 and piles[order[at - 1]].key < key:
        order[at] = order[at - 1]
        piles[order[at]].rank = at
        at -= 1
    while at + 1 < deck.n_ranked[0] and piles[order[at + 1]].key > key:
        order[at] = order[at + 1]
        piles[order[at]].rank = at
        at += 1
    order[at] = group
    piles[group].rank = at
