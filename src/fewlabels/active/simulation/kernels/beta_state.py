"""One Beta posterior per group, and a gain linear in its rate θ: the rate itself, the expected variance reduction, or
the expected probability of the verdict on two groups.
"""

import math
from typing import NamedTuple

import numpy as np

from fewlabels.active.simulation.kernels.beta_quantiles import beta_quantile
from fewlabels.active.simulation.kernels.beta_tails import draw_above_threshold, draw_tail, place_threshold
from fewlabels.active.simulation.kernels.item_queue import Floats, Ints, ItemQueue, Records
from fewlabels.active.simulation.kernels.jit import compiled, implements
from fewlabels.active.simulation.kernels.random_variates import draw_beta
from fewlabels.active.simulation.kernels.rope import (
    A_RIGHT,
    A_WRONG,
    B_RIGHT,
    B_WRONG,
    Shapes,
    fill_table,
    likeliest_region_probability,
)
from fewlabels.active.simulation.kernels.state_interface import (
    draw_gain,
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
from fewlabels.active.simulation.kernels.top_groups import TopGroups, clear_top, entry_threshold, insert_if_top
from fewlabels.active.simulation.kernels.variance_gain import set_variance_gain
from fewlabels.distributions.randomness import Rng

VALUE_GAIN, VARIANCE_GAIN, COMPARISON_GAIN = range(
    3
)  # kinds of gain: θ itself, variance reduction, probability of a verdict
BETA_RECORD = np.dtype(
    [
        ("alpha", "f8"),
        ("beta", "f8"),
        ("scale", "f8"),  # weight of a variance
        ("base", "f8"),  # gain = base + slope · θ
        ("slope", "f8"),
        ("lower", "i8"),  # 1 if low θ gives high gain
        ("threshold", "f8"),  # of θ (or of 1 − θ), in the tail of high gain
        ("tail", "f8"),  # probability beyond the threshold
        ("marked", "i8"),  # number of the last draw beyond the threshold
    ]
)


class BetaState(NamedTuple):
    """Posterior and gains of one run."""

    records: Records
    right: Floats  # per item
    kind: int
    first: int  # the two compared groups
    second: int
    margin: float
    max_tail: float  # largest tail probability
    draw_number: Ints  # number of the current draw
    table: Floats  # of region probabilities, see `rope`


@implements(prepare, BetaState)
def prepare_beta(state: BetaState, group: int) -> None:
    """Update a state's linear gains that depend on the Beta posterior of a group."""
    if state.kind == VARIANCE_GAIN:
        set_variance_gain(state.records[group])
    elif state.kind == COMPARISON_GAIN:
        set_comparison_line(state)


@implements(observe, BetaState)
def observe_beta(state: BetaState, item: int, group: int) -> None:
    """Update a group's Beta posterior in the state with an outcome."""
    record = state.records[group]
    record.alpha += state.right[item]
    record.beta += 1.0 - state.right[item]
    prepare(state, group)


@compiled
def set_comparison_line(state: BetaState) -> None:
    """Set a Beta's linear gain to the expected λ after a label in either group.

    It is exactly equal for equal or mirrored posteriors.
    """
    a, b, table = state.records[state.first], state.records[state.second], state.table
    fill_table(table, Shapes(a.alpha, a.beta, b.alpha, b.beta), state.margin)
    right, wrong = likeliest_region_probability(table, A_RIGHT), likeliest_region_probability(table, A_WRONG)
    a.base, a.slope = wrong, right - wrong
    if a.alpha == b.beta and a.beta == b.alpha:
        b.base, b.slope = right, wrong - right
    elif a.alpha == b.alpha and a.beta == b.beta:
        b.base, b.slope = wrong, right - wrong
    else:
        b.base, b.slope = (
            likeliest_region_probability(table, B_WRONG),
            likeliest_region_probability(table, B_RIGHT) - likeliest_region_probability(table, B_WRONG),
        )


@implements(is_linked, BetaState)
def is_beta_linked(state: BetaState) -> bool:
    """Are the gains of groups linked in a state with one Beta each? A comparison depends on both groups."""
    return state.kind == COMPARISON_GAIN


@implements(is_quantile_sampled, BetaState)
def is_beta_quantile_sampled(state: BetaState) -> bool:  # noqa: ARG001
    """Does the state with one Beta per group draw its quantiles? No: linear gains have exact ones."""
    return False


@compiled
def round_off(state: BetaState, gain: float) -> float:
    """Round gains of a Beta state that compare two groups.

    If no label can change the verdict they tie, and rounding errors must not decide.
    """
    return math.floor(gain * 1e9 + 0.5) / 1e9 if state.kind == COMPARISON_GAIN else gain


@implements(plug_in_gain, BetaState)
def plug_in_beta(state: BetaState, group: int) -> float:
    """Gain at the posterior mean of a group's Beta, in the state with one Beta per group."""
    record = state.records[group]
    return round_off(state, record.base + record.slope * record.alpha / (record.alpha + record.beta))


@implements(upper_gain, BetaState)
def upper_beta(rng: Rng, state: BetaState, group: int, level: float) -> float:  # noqa: ARG001
    """Exact quantile of the gain of one Beta: a quantile of θ, mirrored if the slope is negative."""
    record = state.records[group]
    chance = beta_quantile(record.alpha, record.beta, level if record.slope >= 0.0 else 1.0 - level)
    return round_off(state, record.base + record.slope * chance)


@implements(draw_gain, BetaState)
def draw_beta_gain(rng: Rng, state: BetaState, group: int, floor: float) -> float:  # noqa: ARG001
    """Gain at a draw of the one Beta of a group."""
    record = state.records[group]
    return record.base + record.slope * draw_beta(rng, record.alpha, record.beta)


@implements(standard_deviation, BetaState)
def beta_standard_deviation(state: BetaState, group: int) -> float:
    """Standard deviation of a Bernoulli outcome at the mean of one Beta."""
    record = state.records[group]
    return math.sqrt(record.alpha * record.beta) / (record.alpha + record.beta)


@implements(ranking_key, BetaState)
def beta_ranking_key(state: BetaState, group: int) -> float:
    """Upper bound of the gain of a group's Beta state, unless the draw falls beyond the threshold."""
    record = state.records[group]
    lower = 1 if record.slope <= 0.0 else 0
    known = record.threshold if lower == record.lower else 0.0
    record.lower = lower
    if lower == 1:
        record.threshold, record.tail = place_threshold(record.alpha, record.beta, known, state.max_tail)
        return record.base + record.slope * record.threshold
    record.threshold, record.tail = place_threshold(record.beta, record.alpha, known, state.max_tail)
    return record.base + record.slope * (1.0 - record.threshold)


@compiled
def draw_betas_beyond_thresholds(rng: Rng, state: BetaState, item_queue: ItemQueue, top: TopGroups) -> None:
    """Draw the groups whose Betas fall beyond their thresholds; geometric skips pass over all others."""
    rate = -math.log1p(-state.max_tail)
    state.draw_number[0] += 1
    at = int(rng.standard_exponential() / rate)
    while at < item_queue.n_ranked[0]:
        group = item_queue.order[at]
        record = state.records[group]
        if rng.random() * state.max_tail < record.tail:
            record.marked = state.draw_number[0]
            if record.lower == 1:
                chance = draw_tail(rng, record.alpha, record.beta, record.threshold)
            else:
                chance = 1.0 - draw_tail(rng, record.beta, record.alpha, record.threshold)
            insert_if_top(rng, top, group, record.base + record.slope * chance)
        at += 1 + int(rng.standard_exponential() / rate)


@implements(draw_top, BetaState)
def draw_top_betas(rng: Rng, state: BetaState, item_queue: ItemQueue, top: TopGroups) -> None:
    """Visit groups with one Beta each by their upper bounds; stop when no further one can be among the best.

    Equal in distribution to a draw of every group.
    """
    clear_top(top)
    draw_betas_beyond_thresholds(rng, state, item_queue, top)
    for i in range(item_queue.n_ranked[0]):
        group = item_queue.order[i]
        if item_queue.groups[group].key < entry_threshold(top):
            break
        record = state.records[group]
        if record.marked != state.draw_number[0]:
            if record.lower == 1:
                chance = draw_above_threshold(rng, record.alpha, record.beta, record.threshold)
            else:
                chance = 1.0 - draw_above_threshold(rng, record.beta, record.alpha, record.threshold)
            insert_if_top(rng, top, group, record.base + record.slope * chance)
