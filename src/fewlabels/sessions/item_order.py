"""The order in which the items of a group are asked about: random, and spread evenly over their scores.

Every group is divided into ranges of score of equal size, and every block of the order has one item of each range, so
the labels of a group are a proportionally stratified sample of it, however many there are. Ranges follow each other as in
a generalized random tessellation (Stevens and Olsen 2004), so that parts of a block are spread evenly too. Every item has
the same probability to be among the first ones, so what assumes random labels stays right, and its errors get smaller.
"""

from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int

from fewlabels.distributions.randomness import Rng

DOUBLINGS = 4
N_RANGES = 2**DOUBLINGS  # of score, in each group
Items: TypeAlias = Int[np.ndarray, " item"]
Slots: TypeAlias = Int[np.ndarray, " slot"]
Sizes: TypeAlias = Int[np.ndarray, " group"]


def spread_over_scores(rng: Rng, group: Items, score: Float[np.ndarray, " item"]) -> Items:
    """Return the items in an order in which those of each group are a random sample, spread evenly over scores."""
    by_score = np.lexsort((rng.random(len(group)), score, group))
    sizes = np.bincount(group)
    n_blocks = -(-sizes // N_RANGES)
    slot_group, slot = _number_slots(n_blocks * N_RANGES)
    taken = _draw_slots(rng, slot_group, sizes)
    part, block = _deal_to_blocks(rng, slot_group, slot, n_blocks)
    turn = _order_ranges(rng, np.cumsum(n_blocks)[slot_group] - n_blocks[slot_group] + block, part)
    place = (block * N_RANGES + turn)[taken]
    order = np.lexsort((rng.random(len(group)), place))  # items of different groups have no order
    return by_score[order]


def _number_slots(sizes: Sizes) -> tuple[Slots, Slots]:
    """Return the group of each slot in the order of items, and its number within the group."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group, np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _draw_slots(rng: Rng, slot_group: Slots, sizes: Sizes) -> Items:
    """Draw the slots of the item order: of each group as many as it has items; the others stay empty."""
    shuffled = np.lexsort((rng.random(len(slot_group)), slot_group))
    place = _rank_within(slot_group[shuffled])
    return np.sort(shuffled[place < sizes[slot_group[shuffled]]])


def _deal_to_blocks(rng: Rng, slot_group: Slots, slot: Slots, n_blocks: Sizes) -> tuple[Slots, Slots]:
    """Return the range of each slot and its block: the slots of a range are dealt to the blocks at random."""
    part = slot // n_blocks[slot_group]
    dealt = np.lexsort((rng.random(len(slot)), part, slot_group))
    block = np.empty_like(slot)
    block[dealt] = _rank_within((slot_group * N_RANGES + part)[dealt])
    return part, block


def _order_ranges(rng: Rng, block: Slots, part: Slots) -> Slots:
    """Return the turn of each range within its block: halves alternate, then quarters, each pair in random order."""
    n_blocks = int(block.max(initial=-1)) + 1
    turn = np.zeros_like(part)
    for level in range(DOUBLINGS):
        swapped = rng.integers(0, 2, size=(n_blocks, 2**level))
        above = part >> (DOUBLINGS - level)
        bit = (part >> (DOUBLINGS - 1 - level)) & 1
        turn += (bit ^ swapped[block, above]) << level
    return turn


def _rank_within(key: Slots) -> Slots:
    """Number the items of each run of equal keys in order: 0, 1, ..."""
    start = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else np.zeros(0, dtype=np.int64)
    return np.arange(len(key)) - np.repeat(start, np.diff(np.append(start, len(key))))
