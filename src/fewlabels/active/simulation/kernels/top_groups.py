"""The m best groups of the current draw."""

from typing import NamedTuple

import numpy as np

from fewlabels.active.simulation.kernels.item_queue import Ints, Records
from fewlabels.active.simulation.kernels.jit import compiled
from fewlabels.active.simulation.kernels.random_variates import draw_index
from fewlabels.distributions.randomness import Rng

TOP_ENTRY = np.dtype([("gain", "f8"), ("tie_break", "f8"), ("group", "i8")])


class TopGroups(NamedTuple):
    """The best groups so far, in decreasing order of gain; ties are broken by a random number."""

    entries: Records
    taken: Ints


def make_top(m: int) -> TopGroups:
    """Allocate space for the m top groups."""
    return TopGroups(np.zeros(m, dtype=TOP_ENTRY), np.zeros(1, np.int64))


@compiled
def clear_top(top: TopGroups) -> None:
    """Remove all of the top groups, before a new draw."""
    top.taken[0] = 0


@compiled
def entry_threshold(top: TopGroups) -> float:
    """Return the smallest gain that can still be among the m top groups."""
    n = top.taken[0]
    return top.entries[n - 1].gain if n == len(top.entries) else -np.inf


@compiled
def insert_if_top(rng: Rng, top: TopGroups, group: int, gain: float) -> None:
    """Insert a group if it is among the m top groups."""
    floor = entry_threshold(top)
    if gain < floor:
        return
    entries, at, tie_break = top.entries, top.taken[0], rng.random()
    if at == len(entries):
        if gain == floor and tie_break < entries[at - 1].tie_break:
            return
        at -= 1
    top.taken[0] = at + 1
    while at > 0 and (
        entries[at - 1].gain < gain or (entries[at - 1].gain == gain and entries[at - 1].tie_break < tie_break)
    ):
        entries[at].gain, entries[at].tie_break, entries[at].group = (
            entries[at - 1].gain,
            entries[at - 1].tie_break,
            entries[at - 1].group,
        )
        at -= 1
    entries[at].gain, entries[at].tie_break, entries[at].group = gain, tie_break, group


@compiled
def shuffle_top(rng: Rng, top: TopGroups) -> None:
    """Shuffle the top groups, so that a truncated round favours none of them."""
    for i in range(top.taken[0] - 1, 0, -1):
        j = draw_index(rng, i + 1)
        top.entries[i].group, top.entries[j].group = top.entries[j].group, top.entries[i].group
