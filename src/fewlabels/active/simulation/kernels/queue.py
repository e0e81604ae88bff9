"""The items still to be labelled, group by group, which groups are open, and in which order draws visit them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels.active.simulation.kernels.jit import inner
from fewlabels.active.simulation.kernels.variates import draw_index
from fewlabels.distributions.belief import Rng

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Record = Any
Records = NDArray[Any]  # one array of records instead of many arrays: quicker to compile and nearer in memory
PILE = np.dtype(
    [
        ("start", "i8"),  # its items stand at start … start + size of the queue
        ("left", "i8"),  # items not yet taken
        ("taken", "i8"),  # labels so far
        ("place", "i8"),  # within `open`
        ("rank", "i8"),  # within `order`
        ("share", "f8"),  # of the pool
        ("score", "f8"),  # what the rule keeps of the group
        ("key", "f8"),  # what the group is ranked by
    ]
)


class Deck(NamedTuple):
    """One run's items and groups; everything changes as items are taken."""

    piles: Records  # per group
    queue: Ints
    open: Ints  # open groups, in no order
    order: Ints  # ranked groups, greatest key first
    n_open: Ints
    n_ranked: Ints


def shuffle_together(start: Ints, share: Floats, n_labels: Ints, contestants: Ints) -> Deck:
    """Make a full deck in which only some groups take part."""
    piles = np.zeros(len(share), dtype=PILE)
    piles["start"], piles["left"], piles["share"], piles["taken"] = start[:-1], np.diff(start), share, n_labels
    opened = contestants[piles["left"][contestants] > 0]
    piles["place"][opened] = np.arange(len(opened))
    none, all_of = np.zeros_like(opened), np.array([len(opened)])
    return Deck(piles, np.arange(start[-1]), opened, none, all_of, np.zeros(1, np.int64))


@inner
def take_item(rng: Rng, deck: Deck, group: int) -> int:
    """Take a random item of a group; close the group when it was the last."""
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
    """Let the last open group take its place."""
    deck.n_open[0] -= 1
    last, at = deck.open[deck.n_open[0]], deck.piles[group].place
    deck.open[at] = last
    deck.piles[last].place = at


@inner
def enter_ranking(deck: Deck, group: int, key: float) -> None:
    """Add a group."""
    at = deck.n_ranked[0]
    deck.n_ranked[0] = at + 1
    deck.order[at] = group
    deck.piles[group].rank = at
    move_in_ranking(deck, group, key)


@inner
def leave_ranking(deck: Deck, group: int) -> None:
    """Take a group out."""
    move_in_ranking(deck, group, -np.inf)
    deck.n_ranked[0] -= 1


@inner
def move_in_ranking(deck: Deck, group: int, key: float) -> None:
    """Give a group another key, and walk it to its new place."""
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
