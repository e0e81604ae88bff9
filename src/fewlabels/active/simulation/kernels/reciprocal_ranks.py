"""Mean reciprocal ranks of the sought groups, with ties handled."""

import numpy as np

from fewlabels.active.simulation.kernels.item_queue import Floats, Ints
from fewlabels.active.simulation.kernels.jit import compiled, entry_point

TIE = 1e-9  # differences up to this are rounding errors, relative to the largest value
OUT, SURE, CHOSEN, SPARE = range(4)


def mean_reciprocal_ranks(values: Floats, truth: Floats, m: int) -> Floats:
    """Mean reciprocal rank of the m truly largest groups at each checkpoint, from values (checkpoint, group).

    If the truth ties at the m-th place, any of the tied groups is correct.
    """
    last, tie = np.sort(truth)[len(truth) - m], TIE * np.abs(truth).max()
    membership = np.where(truth > last + tie, SURE, np.where(truth >= last - tie, SPARE, OUT))
    return rank_checkpoints(values, membership, m)


@entry_point
def rank_checkpoints(values: Floats, membership: Ints, m: int) -> Floats:
    """Mean reciprocal rank of m groups: those clearly among the m, completed by the tied ones of largest estimate."""
    out, kind = np.empty(len(values)), np.empty_like(membership)
    for i in range(len(values)):
        tie, total = break_ties(values[i], membership, kind, m), 0.0
        for g in range(len(kind)):
            if kind[g] in (SURE, CHOSEN):
                total += 1.0 / rank_group(values[i], kind, g, tie)
        out[i] = total / m
    return out


@compiled
def break_ties(value: Floats, membership: Ints, kind: Ints, m: int) -> float:
    """Choose the tied groups of largest estimate for the last of the m ranks; return the tolerance for ties."""
    largest, missing = 0.0, m
    for g in range(len(kind)):
        kind[g] = membership[g]
        largest = max(largest, abs(value[g]))
        missing -= 1 if membership[g] == SURE else 0
    for _ in range(missing):
        best = len(kind)
        for g in range(len(kind)):
            if kind[g] == SPARE and (best == len(kind) or value[g] > value[best]):
                best = g
        kind[best] = CHOSEN
    return TIE * largest


@compiled
def rank_group(value: Floats, kind: Ints, g: int, tie: float) -> int:
    """Rank among the groups not sought; they win ties, and groups tied in truth do not outrank each other."""
    rank = 1
    for h in range(len(value)):
        if kind[h] in (OUT, SPARE):
            equal = kind[g] == CHOSEN and kind[h] == SPARE
            if value[h] > value[g] + tie or (value[h] >= value[g] - tie and not equal):
                rank += 1
    return rank
