"""Dirichlet posteriors over the true class, and gains linear in a weighted mean of class shares.

With costs as weights, the mean is an expected cost; with pseudo-counts as weights, it is the only random part of the
expected variance reduction. Either way only Σ_j value_j θ_j is drawn, never the whole vector θ.
"""

import math
from typing import NamedTuple

import numpy as np

from fewlabels.active.simulation.kernels.item_queue import Ints, ItemQueue, Records
from fewlabels.active.simulation.kernels.jit import compiled, force_inlined, implements
from fewlabels.active.simulation.kernels.state_interface import (
    draw_all_groups,
    draw_gain,
    draw_quantile,
    draw_top,
    is_linked,
    is_quantile_sampled,
    observe,
    plug_in_gain,
    prepare,
    ranking_key,
    standard_deviation,
    upper_gain,
)
from fewlabels.active.simulation.kernels.top_groups import TopGroups
from fewlabels.active.simulation.kernels.weighted_shares import (
    FEW_PARTS,
    best_value,
    count_label,
    draw_labelled,
    draw_lead,
    draw_parts,
    regroup,
    set_lead,
    value_of,
)
from fewlabels.distributions.randomness import Rng


class DirichletState(NamedTuple):
    """Posterior and gains of one run; cells are sorted by group, then by decreasing weight."""

    cells: Records
    class_records: Records  # (cell, class)
    parts: Records  # (cell, part): classes of equal value, or labelled classes with stick-breaking
    start: Ints  # first cell of each group
    cell: Ints  # of each item
    label: Ints  # of each item
    is_variance: bool  # are the gains variances?
    uses_stick_breaking: bool  # is the prior drawn by stick-breaking?


@implements(prepare, DirichletState)
def prepare_dirichlet(state: DirichletState, group: int) -> None:
    """Initialize all cells of a group with Dirichlet posteriors."""
    for i in range(state.start[group], state.start[group + 1]):
        set_linear_gain(state, i)
    set_dirichlet_bounds(state, group)


@implements(observe, DirichletState)
def observe_dirichlet(state: DirichletState, item: int, group: int) -> None:
    """Update the Dirichlet posterior of a cell with an outcome."""
    add_label(state, state.cell[item], state.label[item])
    set_linear_gain(state, state.cell[item])
    set_dirichlet_bounds(state, group)


@compiled
def add_label(state: DirichletState, i: int, label: int) -> None:
    """Count a label in the state's Dirichlet of a cell, and update its sums and parts."""
    cell, class_records, parts = state.cells[i], state.class_records[i], state.parts[i]
    class_record = class_records[label]
    cell.total += 1.0
    cell.squares += 2.0 * class_record.alpha + 1.0
    cell.cost_sum += class_record.price
    class_record.alpha += 1.0
    if state.uses_stick_breaking:
        if label != cell.lead:
            count_label(cell, class_records, parts, label)
            cell.other = best_value(cell.slope, cell.other, value_of(class_record, state.is_variance))
    elif state.is_variance:
        regroup(cell, class_records, parts, label)
    else:
        parts[class_record.part].shape += 1.0


@compiled
def set_linear_gain(state: DirichletState, i: int) -> None:
    """Set the gain of a Dirichlet to its variance, (1 − Σm²)/(A + 1), minus the expectation after a label.

    It is linear in Σ α_j θ_j.
    """
    cell = state.cells[i]
    if state.is_variance:
        total, squares = cell.total, cell.squares
        now = (1.0 - squares / total**2) / (total + 1.0)
        later = (1.0 - (squares + 1.0) / (total + 1.0) ** 2) / (total + 2.0)
        cell.base = cell.scale * (now - later)
        cell.slope = cell.scale * 2.0 / ((total + 1.0) ** 2 * (total + 2.0))
    if not state.uses_stick_breaking:
        set_lead(cell, state.parts[i])


@force_inlined
def leading_value(state: DirichletState, i: int) -> float:
    """Value of the leading part of a Dirichlet."""
    cell = state.cells[i]
    return (
        value_of(state.class_records[i, cell.lead], state.is_variance)
        if state.uses_stick_breaking
        else state.parts[i, cell.lead].value
    )


@compiled
def set_dirichlet_bounds(state: DirichletState, group: int) -> None:
    """Sum the upper bounds of the gains of a group's Dirichlets, from the last cell to the first."""
    bound = 0.0
    for i in range(state.start[group + 1] - 1, state.start[group] - 1, -1):
        cell = state.cells[i]
        bound += cell.base + cell.slope * best_value(cell.slope, leading_value(state, i), cell.other)
        cell.bound = bound


@implements(is_linked, DirichletState)
def is_dirichlet_linked(state: DirichletState) -> bool:  # noqa: ARG001
    """Are the gains of groups linked in a state of Dirichlets? No: they are independent."""
    return False


@implements(is_quantile_sampled, DirichletState)
def is_dirichlet_quantile_sampled(state: DirichletState) -> bool:  # noqa: ARG001
    """Does a state of Dirichlets draw its quantiles? Yes: sums have no closed form."""
    return True


@implements(plug_in_gain, DirichletState)
def plug_in_dirichlet(state: DirichletState, group: int) -> float:
    """Gain at the means of the Dirichlet posteriors."""
    gain = 0.0
    for i in range(state.start[group], state.start[group + 1]):
        cell = state.cells[i]
        gain += cell.base + cell.slope * (cell.squares if state.is_variance else cell.cost_sum) / cell.total
    return gain


@implements(ranking_key, DirichletState)
def dirichlet_ranking_key(state: DirichletState, group: int) -> float:
    """Gain at the posterior mean of a group's Dirichlets, so that likely winners come first."""
    return plug_in_gain(state, group)


@force_inlined
def draw_cell(rng: Rng, state: DirichletState, i: int, floor: float) -> float:
    """Gain of a cell at a draw of its Dirichlet; minus infinity if, given its leading part, it is below the floor."""
    cell = state.cells[i]
    if not state.uses_stick_breaking and cell.n_parts <= FEW_PARTS:
        return cell.base + cell.slope * draw_parts(rng, state.parts, i, cell.n_parts, cell.n_parts)
    shape = state.class_records[i, cell.lead].alpha if state.uses_stick_breaking else state.parts[i, cell.lead].shape
    share = draw_lead(rng, shape, cell.total)
    leading = share * leading_value(state, i)
    if cell.base + cell.slope * (leading + (1.0 - share) * cell.other) < floor:
        return -np.inf
    if state.uses_stick_breaking:
        rest = draw_labelled(rng, state.parts, i, cell.n_parts, state.class_records, cell.prior_rest, state.is_variance)
    else:
        rest = draw_parts(rng, state.parts, i, cell.n_parts, cell.lead)
    return cell.base + cell.slope * (leading + (1.0 - share) * rest)


@implements(draw_gain, DirichletState)
def draw_dirichlet_gain(rng: Rng, state: DirichletState, group: int, floor: float) -> float:
    """Gain at a draw of Dirichlets; minus infinity as soon as the remaining cells cannot reach the floor."""
    gain, end = 0.0, state.start[group + 1]
    for i in range(state.start[group], end):
        if gain + state.cells[i].bound < floor:
            return -np.inf
        later = state.cells[i + 1].bound if i + 1 < end else 0.0
        gain += draw_cell(rng, state, i, floor - gain - later)
    return gain


@implements(draw_top, DirichletState)
def draw_top_dirichlets(rng: Rng, state: DirichletState, item_queue: ItemQueue, top: TopGroups) -> None:
    """Draw the Dirichlets of every open group."""
    draw_all_groups(rng, state, item_queue, top)


@implements(upper_gain, DirichletState)
def upper_dirichlet(rng: Rng, state: DirichletState, group: int, level: float) -> float:
    """Quantile of a gain that depends on Dirichlets, from draws."""
    return draw_quantile(rng, state, group, level)


@implements(standard_deviation, DirichletState)
def dirichlet_standard_deviation(state: DirichletState, group: int) -> float:
    """Standard deviation of the class: variance 1 − Σm², averaged over the cells of the group."""
    variance = 0.0
    for i in range(state.start[group], state.start[group + 1]):
        cell = state.cells[i]
        variance += cell.weight * max(1.0 - cell.squares / cell.total**2, 0.0)
    return math.sqrt(variance)
