"""Draws of Σ_j value_j θ_j for θ ~ Dirichlet(α), exact but cheaper than drawing every θ_j.

Classes of equal value are merged into one part (aggregation of Dirichlets). If most values differ, integer counts are
drawn separately from the prior, and a weak prior by stick-breaking: its pieces fall on classes in proportion to α
(Sethuraman 1994). The leading part is drawn first; often it alone shows that the group cannot be among the best.
"""

import math

import numpy as np

from fewlabels.active.simulation.kernels.jit import inner, pasted
from fewlabels.active.simulation.kernels.queue import Record, Records
from fewlabels.active.simulation.kernels.variates import draw_whole_gamma
from fewlabels.distributions.belief import Rng

COLUMN = np.dtype(
    [
        ("total", "f8"),  # Σ α
        ("squares", "f8"),  # Σ α²
        ("priced", "f8"),  # Σ price α
        ("weight", "f8"),  # within its group
        ("scale", "f8"),  # weight of a variance
        ("base", "f8"),  # gain = base + slope Σ value θ
        ("slope", "f8"),
        ("reach", "f8"),  # largest gain of this and the later cells of its group
        ("lead", "i8"),  # part (with stick-breaking, class) that is drawn first
        ("other", "f8"),  # best value outside the lead
        ("n_parts", "i8"),
        ("spare", "f8"),  # Σ of the prior α outside the lead
    ]
)
LOT = np.dtype([("alpha", "f8"), ("price", "f8"), ("part", "i8"), ("cut", "f8"), ("alias", "i8")])
PART = np.dtype([("shape", "f8"), ("value", "f8"), ("members", "i8"), ("label", "i8")])
FEW = 3  # parts up to which all are drawn at once
VANISHED = 1e-290
DUST = 1e-12  # remaining stick that is negligible


@pasted
def value_of(lot: Record, shrinking: bool) -> float:
    """Value of a class: its pseudo-count if gains are variances, else its cost."""
    return lot.alpha if shrinking else lot.price


@pasted
def better(slope: float, one: float, other: float) -> float:
    """Return the value with the larger gain."""
    return max(one, other) if slope >= 0.0 else min(one, other)


@pasted
def draw_lead(rng: Rng, shape: float, total: float) -> float:
    """Share of the leading part: a Beta, from two Gammas; if both underflow, 0 or 1."""
    first, second = rng.standard_gamma(shape), rng.standard_gamma(max(total - shape, 0.0))
    if first + second < VANISHED:
        return 1.0 if rng.random() * total < shape else 0.0
    return first / (first + second)


@pasted
def draw_parts(rng: Rng, parts: Records, c: int, n: int, lead: int) -> float:
    """Mean value over all parts except the lead (lead = n: over all)."""
    total, mean = 0.0, 0.0
    for i in range(n):
        if i != lead:
            share = rng.standard_gamma(parts[c, i].shape)
            total += share
            mean += share * parts[c, i].value
    return mean / total if total >= VANISHED else draw_one(rng, parts, c, n, lead)


@inner
def draw_one(rng: Rng, parts: Records, c: int, n: int, lead: int) -> float:
    """Value of a single part: the limit of a Dirichlet whose Gammas all underflow."""
    total, chosen = 0.0, 0.0
    for i in range(n):
        if i != lead:
            total += parts[c, i].shape
            if rng.random() * total < parts[c, i].shape:
                chosen = parts[c, i].value
    return chosen


@pasted
def draw_sticks(rng: Rng, lots: Records, c: int, spare: float, shrinking: bool) -> float:
    """Mean value over the prior outside the lead, by stick-breaking: each piece falls on a random class."""
    rest, mean, n = 1.0, 0.0, lots.shape[1]
    while rest > DUST:
        kept = rest * math.exp(-rng.standard_exponential() / spare)
        at = rng.random() * n
        label = int(at)
        if at - label >= lots[c, label].cut:
            label = lots[c, label].alias
        mean += (rest - kept) * value_of(lots[c, label], shrinking)
        rest = kept
    return mean


@pasted
def draw_seen(rng: Rng, parts: Records, c: int, n: int, lots: Records, spare: float, shrinking: bool) -> float:
    """Mean value outside the lead: one Gamma for each labelled class, and one for the prior."""
    if n == 0:
        return draw_sticks(rng, lots, c, spare, shrinking)
    total, mean = 0.0, 0.0
    for i in range(n):
        share = draw_whole_gamma(rng, parts[c, i].shape)
        total += share
        mean += share * value_of(lots[c, parts[c, i].label], shrinking)
    share = rng.standard_gamma(spare)
    if share > DUST * total:
        mean += share * draw_sticks(rng, lots, c, spare, shrinking)
    return mean / (total + share)


@inner
def note_seen(cell: Record, lots: Records, parts: Records, label: int) -> None:
    """Count a label outside the lead."""
    if lots[label].part < 0:
        lots[label].part = cell.n_parts
        parts[cell.n_parts].label = label
        cell.n_parts += 1
    parts[lots[label].part].shape += 1.0


@inner
def regroup(cell: Record, lots: Records, parts: Records, label: int) -> None:
    """Move a class to the part with its new pseudo-count."""
    value, old, none = lots[label].alpha, lots[label].part, cell.n_parts
    new = none
    for i in range(cell.n_parts):
        if parts[i].value == value:
            new = i
    alone = parts[old].members == 1
    if not alone:
        parts[old].members -= 1
        parts[old].shape = parts[old].members * parts[old].value
    if new == none:
        new = old if alone else none
        cell.n_parts += 0 if alone else 1
        parts[new].value, parts[new].members = value, 0
    elif alone:
        new = drop_part(cell, lots, parts, old, new)
    parts[new].members += 1
    parts[new].shape = parts[new].members * value
    lots[label].part = new


@inner
def drop_part(cell: Record, lots: Records, parts: Records, old: int, new: int) -> int:
    """Replace an empty part by the last one; return the resulting index of `new`."""
    last = cell.n_parts - 1
    cell.n_parts = last
    parts[old].shape, parts[old].value, parts[old].members = parts[last].shape, parts[last].value, parts[last].members
    for j in range(len(lots)):
        if lots[j].part == last:
            lots[j].part = old
    return old if new == last else new


@inner
def set_lead(cell: Record, parts: Records) -> None:
    """Set the lead to the part of best value, and store the second best value."""
    cell.lead = 0
    for i in range(1, cell.n_parts):
        if cell.slope * parts[i].value > cell.slope * parts[cell.lead].value:
            cell.lead = i
    cell.other = -np.inf if cell.slope >= 0.0 else np.inf
    for i in range(cell.n_parts):
        if i != cell.lead:
            cell.other = better(cell.slope, cell.other, parts[i].value)
