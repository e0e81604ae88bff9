"""Draws of Σ_j value_j θ_j for θ ~ Dirichlet(α), exact but cheaper than drawing every θ_j.

Classes of equal value are merged into one part (aggregation of Dirichlets). If most values differ, integer counts are
drawn separately from the prior, and a weak prior by stick-breaking: its pieces fall on classes in proportion to α
(Sethuraman 1994). The leading part is drawn first; often it alone shows that the group cannot be among the best.
"""

import math

import numpy as np

from fewlabels.active.simulation.kernels.item_queue import Record, Records
from fewlabels.active.simulation.kernels.jit import compiled, force_inlined
from fewlabels.active.simulation.kernels.random_variates import draw_integer_gamma
from fewlabels.distributions.randomness import Rng

DIRICHLET_CELL = np.dtype(
    [
        ("total", "f8"),  # Σ α
        ("squares", "f8"),  # Σ α²
        ("cost_sum", "f8"),  # Σ price α
        ("weight", "f8"),  # within its group
        ("scale", "f8"),  # weight of a variance
        ("base", "f8"),  # gain = base + slope Σ value θ
        ("slope", "f8"),
        ("bound", "f8"),  # largest gain of this and the later cells of its group
        ("lead", "i8"),  # part (with stick-breaking, class) that is drawn first
        ("other", "f8"),  # best value outside the lead
        ("n_parts", "i8"),
        ("prior_rest", "f8"),  # Σ of the prior α outside the lead
    ]
)
CLASS_RECORD = np.dtype([("alpha", "f8"), ("price", "f8"), ("part", "i8"), ("keep_probability", "f8"), ("alias", "i8")])
PART = np.dtype([("shape", "f8"), ("value", "f8"), ("members", "i8"), ("label", "i8")])
FEW_PARTS = 3  # parts up to which all are drawn at once
UNDERFLOW = 1e-290
STICK_TOLERANCE = 1e-12  # remaining stick that is negligible


@force_inlined
def value_of(class_record: Record, is_variance: bool) -> float:
    """Weight of a class's share: its pseudo-count if gains are variances, else its cost."""
    return class_record.alpha if is_variance else class_record.price


@force_inlined
def best_value(slope: float, one: float, other: float) -> float:
    """Return the weight of a share with the larger gain."""
    return max(one, other) if slope >= 0.0 else min(one, other)


@force_inlined
def draw_lead(rng: Rng, shape: float, total: float) -> float:
    """Share of the leading part of a Dirichlet: a Beta, from two Gammas; if both underflow, 0 or 1."""
    first, second = rng.standard_gamma(shape), rng.standard_gamma(max(total - shape, 0.0))
    if first + second < UNDERFLOW:
        return 1.0 if rng.random() * total < shape else 0.0
    return first / (first + second)


@force_inlined
def draw_parts(rng: Rng, parts: Records, c: int, n: int, lead: int) -> float:
    """Weighted mean of the shares of all parts except the lead (lead = n: of all)."""
    total, mean = 0.0, 0.0
    for i in range(n):
        if i != lead:
            share = rng.standard_gamma(parts[c, i].shape)
            total += share
            mean += share * parts[c, i].value
    return mean / total if total >= UNDERFLOW else draw_single_part(rng, parts, c, n, lead)


@compiled
def draw_single_part(rng: Rng, parts: Records, c: int, n: int, lead: int) -> float:
    """Weighted mean with a single part's share: the limit of a Dirichlet whose Gammas all underflow."""
    total, chosen = 0.0, 0.0
    for i in range(n):
        if i != lead:
            total += parts[c, i].shape
            if rng.random() * total < parts[c, i].shape:
                chosen = parts[c, i].value
    return chosen


@force_inlined
def draw_stick_breaking(rng: Rng, class_records: Records, c: int, prior_rest: float, is_variance: bool) -> float:
    """Weighted mean of shares over the prior outside the lead, by stick-breaking: pieces fall on random classes."""
    rest, mean, n = 1.0, 0.0, class_records.shape[1]
    while rest > STICK_TOLERANCE:
        kept = rest * math.exp(-rng.standard_exponential() / prior_rest)
        at = rng.random() * n
        label = int(at)
        if at - label >= class_records[c, label].keep_probability:
            label = class_records[c, label].alias
        mean += (rest - kept) * value_of(class_records[c, label], is_variance)
        rest = kept
    return mean


@force_inlined
def draw_labelled(
    rng: Rng, parts: Records, c: int, n: int, class_records: Records, prior_rest: float, is_variance: bool
) -> float:
    """Weighted mean of shares outside the lead: one Gamma for each labelled class, and one for the prior."""
    if n == 0:
        return draw_stick_breaking(rng, class_records, c, prior_rest, is_variance)
    total, mean = 0.0, 0.0
    for i in range(n):
        share = draw_integer_gamma(rng, parts[c, i].shape)
        total += share
        mean += share * value_of(class_records[c, parts[c, i].label], is_variance)
    share = rng.standard_gamma(prior_rest)
    if share > STICK_TOLERANCE * total:
        mean += share * draw_stick_breaking(rng, class_records, c, prior_rest, is_variance)
    return mean / (total + share)


@compiled
def count_label(cell: Record, class_records: Records, parts: Records, label: int) -> None:
    """Count a label outside the lead, in the weights of shares."""
    if class_records[label].part < 0:
        class_records[label].part = cell.n_parts
        parts[cell.n_parts].label = label
        cell.n_parts += 1
    parts[class_records[label].part].shape += 1.0


@compiled
def regroup(cell: Record, class_records: Records, parts: Records, label: int) -> None:
    """Move a class to the part with its new pseudo-count, which weights its share."""
    value, old, none = class_records[label].alpha, class_records[label].part, cell.n_parts
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
        new = drop_part(cell, class_records, parts, old, new)
    parts[new].members += 1
    parts[new].shape = parts[new].members * value
    class_records[label].part = new


@compiled
def drop_part(cell: Record, class_records: Records, parts: Records, old: int, new: int) -> int:
    """Replace an empty part of the weighted shares by the last one; return the resulting index of `new`."""
    last = cell.n_parts - 1
    cell.n_parts = last
    parts[old].shape, parts[old].value, parts[old].members = parts[last].shape, parts[last].value, parts[last].members
    for j in range(len(class_records)):
        if class_records[j].part == last:
            class_records[j].part = old
    return old if new == last else new


@compiled
def set_lead(cell: Record, parts: Records) -> None:
    """Set the lead of the weighted shares to the part of best value, and store the second best value."""
    cell.lead = 0
    for i in range(1, cell.n_parts):
        if cell.slope * parts[i].value > cell.slope * parts[cell.lead].value:
            cell.lead = i
    cell.other = -np.inf if cell.slope >= 0.0 else np.inf
    for i in range(cell.n_parts):
        if i != cell.lead:
            cell.other = best_value(cell.slope, cell.other, parts[i].value)
