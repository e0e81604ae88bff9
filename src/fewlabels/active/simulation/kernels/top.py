"""The m best groups of the current draw."""

from typing import NamedTuple

import numpy as np

from fewlabels.active.simulation.kernels.jit import inner
from fewlabels.active.simulation.kernels.queue import Ints, Records
from fewlabels.active.simulation.kernels.variates import draw_index
from fewlabels.distributions.belief import Rng

SEAT = np.dtype([("gain", "f8"), ("luck", "f8"), ("group", "i8")])


class Top(NamedTuple):
    """The best groups so far, in decreasing order of gain; ties are broken by a random number."""

    seats: Records
    taken: Ints


def hold_best(m: int) -> Top:
    """Allocate space for m groups."""
    return Top(np.zeros(m, dtype=SEAT), np.zeros(1, np.int64))


@inner
def clear(top: Top) -> None:
    """Remove all groups, before a new draw."""
    top.taken[0] = 0


@inner
def least(top: Top) -> float:
    """Return the smallest gain that can still be among the m best."""
    n = top.taken[0]
    return top.seats[n - 1].gain if n == len(top.seats) else -np.inf


@inner
def offer(rng: Rng, top: Top, group: int, gain: float) -> None:
    """Insert a group if it is among the m best."""
    floor = least(top)
    if gain < floor:
        return
    seats, at, luck = top.seats, top.taken[0], rng.random()
    if at == len(seats):
        if gain == floor and luck < seats[at - 1].luck:
            return
        at -= 1
    top.taken[0] = at + 1
    while at > 0 and (seats[at - 1].gain < gain or (seats[at - 1].gain == gain and seats[at - 1].luck < luck)):
        seats[at].gain, seats[at].luck, seats[at].group = seats[at - 1].gain, seats[at - 1].luck, seats[at - 1].group
        at -= 1
    seats[at].gain, seats[at].luck, seats[at].group = gain, luck, group


@inner
def shuffle(rng: Rng, top: Top) -> None:
    """Shuffle the groups, so that a truncated round favours none of them."""
    for i in range(top.taken[0] - 1, 0, -1):
        j = draw_index(rng, i + 1)
        top.seats[i].group, top.seats[j].group = top.seats[j].group, top.seats[i].group
