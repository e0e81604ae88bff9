"""Dirichlet posteriors over the true class, and gains linear in a weighted mean of class shares.

With costs as weights, the mean is an expected cost; with pseudo-counts as weights, it is the only random part of the
expected variance reduction. Either way only Σ_j value_j θ_j is drawn, never the whole vector θ.
"""

import math
from typing import NamedTuple

import numpy as np

from fewlabels.active.simulation.kernels.interface import (
    deviation,
    draw_every,
    draw_gain,
    draw_quantile,
    draw_top,
    is_linked,
    is_redrawn,
    observe,
    plug_in_gain,
    prepare,
    standing,
    upper_gain,
)
from fewlabels.active.simulation.kernels.jit import implements, inner, pasted
from fewlabels.active.simulation.kernels.queue import Deck, Ints, Records
from fewlabels.active.simulation.kernels.top import Top
from fewlabels.active.simulation.kernels.weighted_shares import (
    FEW,
    better,
    draw_lead,
    draw_parts,
    draw_seen,
    note_seen,
    regroup,
    set_lead,
    value_of,
)
from fewlabels.distributions.belief import Rng


class Columns(NamedTuple):
    """Posterior and gains of one run; cells are sorted by group, then by decreasing weight."""

    cells: Records
    lots: Records  # (cell, class)
    parts: Records  # (cell, part): classes of equal value, or labelled classes with stick-breaking
    start: Ints  # first cell of each group
    cell: Ints  # of each item
    label: Ints  # of each item
    shrinking: bool  # are the gains variances?
    in_sticks: bool  # is the prior drawn by stick-breaking?


@implements(prepare, Columns)
def prepare_column(state: Columns, group: int) -> None:
    """Initialize all cells of a group."""
    for i in range(state.start[group], state.start[group + 1]):
        set_line(state, i)
    set_reach(state, group)


@implements(observe, Columns)
def observe_column(state: Columns, item: int, group: int) -> None:
    """Update the posterior of a cell with an outcome."""
    add_label(state, state.cell[item], state.label[item])
    set_line(state, state.cell[item])
    set_reach(state, group)


@inner
def add_label(state: Columns, i: int, label: int) -> None:
    """Count a label, and update sums and parts."""
    cell, lots, parts = state.cells[i], state.lots[i], state.parts[i]
    lot = lots[label]
    cell.total += 1.0
    cell.squares += 2.0 * lot.alpha + 1.0
    cell.priced += lot.price
    lot.alpha += 1.0
    if state.in_sticks:
        if label != cell.lead:
            note_seen(cell, lots, parts, label)
            cell.other = better(cell.slope, cell.other, value_of(lot, state.shrinking))
    elif state.shrinking:
        regroup(cell, lots, parts, label)
    else:
        parts[lot.part].shape += 1.0


@inner
def set_line(state: Columns, i: int) -> None:
    """Set the gain to the variance, (1 − Σm²)/(A + 1), minus its expectation after a label: linear in Σ α_j θ_j."""
    cell = state.cells[i]
    if state.shrinking:
        total, squares = cell.total, cell.squares
        now = (1.0 - squares / total**2) / (total + 1.0)
        later = (1.0 - (squares + 1.0) / (total + 1.0) ** 2) / (total + 2.0)
        cell.base = cell.scale * (now - later)
        cell.slope = cell.scale * 2.0 / ((total + 1.0) ** 2 * (total + 2.0))
    if not state.in_sticks:
        set_lead(cell, state.parts[i])


@pasted
def lead_value(state: Columns, i: int) -> float:
    """Value of the leading part."""
    cell = state.cells[i]
    return value_of(state.lots[i, cell.lead], state.shrinking) if state.in_sticks else state.parts[i, cell.lead].value


@inner
def set_reach(state: Columns, group: int) -> None:
    """Sum the upper bounds of the cells' gains, from the last cell to the first."""
    reach = 0.0
    for i in range(state.start[group + 1] - 1, state.start[group] - 1, -1):
        cell = state.cells[i]
        reach += cell.base + cell.slope * better(cell.slope, lead_value(state, i), cell.other)
        cell.reach = reach


@implements(is_linked, Columns)
def is_column_linked(state: Columns) -> bool:  # noqa: ARG001
    """Gains of groups are independent."""
    return False


@implements(is_redrawn, Columns)
def is_column_redrawn(state: Columns) -> bool:  # noqa: ARG001
    """Quantiles of sums have no closed form."""
    return True


@implements(plug_in_gain, Columns)
def plug_in_column(state: Columns, group: int) -> float:
    """Gain at the posterior means."""
    gain = 0.0
    for i in range(state.start[group], state.start[group + 1]):
        cell = state.cells[i]
        gain += cell.base + cell.slope * (cell.squares if state.shrinking else cell.priced) / cell.total
    return gain


@implements(standing, Columns)
def stand_column(state: Columns, group: int) -> float:
    """Gain at the posterior mean, so that likely winners come first."""
    return plug_in_gain(state, group)


@pasted
def draw_cell(rng: Rng, state: Columns, i: int, floor: float) -> float:
    """Gain of a cell at a draw; minus infinity if, given its leading part, it stays below the floor."""
    cell = state.cells[i]
    if not state.in_sticks and cell.n_parts <= FEW:
        return cell.base + cell.slope * draw_parts(rng, state.parts, i, cell.n_parts, cell.n_parts)
    shape = state.lots[i, cell.lead].alpha if state.in_sticks else state.parts[i, cell.lead].shape
    share = draw_lead(rng, shape, cell.total)
    led = share * lead_value(state, i)
    if cell.base + cell.slope * (led + (1.0 - share) * cell.other) < floor:
        return -np.inf
    if state.in_sticks:
        rest = draw_seen(rng, state.parts, i, cell.n_parts, state.lots, cell.spare, state.shrinking)
    else:
        rest = draw_parts(rng, state.parts, i, cell.n_parts, cell.lead)
    return cell.base + cell.slope * (led + (1.0 - share) * rest)


@implements(draw_gain, Columns)
def draw_column(rng: Rng, state: Columns, group: int, floor: float) -> float:
    """Gain at a draw; minus infinity as soon as the remaining cells cannot reach the floor."""
    gain, end = 0.0, state.start[group + 1]
    for i in range(state.start[group], end):
        if gain + state.cells[i].reach < floor:
            return -np.inf
        later = state.cells[i + 1].reach if i + 1 < end else 0.0
        gain += draw_cell(rng, state, i, floor - gain - later)
    return gain


@implements(draw_top, Columns)
def draw_top_columns(rng: Rng, state: Columns, deck: Deck, top: Top) -> None:
    """Draw every open group."""
    draw_every(rng, state, deck, top)


@implements(upper_gain, Columns)
def upper_column(rng: Rng, state: Columns, group: int, level: float) -> float:
    """Quantile of the gain, from draws."""
    return draw_quantile(rng, state, group, level)


@implements(deviation, Columns)
def deviate_column(state: Columns, group: int) -> float:
    """Standard deviation of the class: variance 1 − Σm², averaged over the cells of the group."""
    variance = 0.0
    for i in range(state.start[group], state.start[group + 1]):
        cell = state.cells[i]
        variance += cell.weight * max(1.0 - cell.squares / cell.total**2, 0.0)
    return math.sqrt(variance)
