"""One Beta posterior per group, and a gain linear in its rate θ: the rate itself, the expected variance reduction, or
the expected probability of the verdict on two groups.
"""

import math
from typing import NamedTuple

import numpy as np

from fewlabels.active.simulation.kernels.interface import (
    deviation,
    draw_gain,
    draw_top,
    is_linked,
    is_redrawn,
    observe,
    plug_in_gain,
    prepare,
    standing,
    upper_gain,
)
from fewlabels.active.simulation.kernels.jit import implements, inner
from fewlabels.active.simulation.kernels.quantiles import beta_quantile
from fewlabels.active.simulation.kernels.queue import Deck, Floats, Ints, Records
from fewlabels.active.simulation.kernels.rope import A_RIGHT, A_WRONG, B_RIGHT, B_WRONG, Shapes, fill_table, surest
from fewlabels.active.simulation.kernels.tails import draw_rest, draw_tail, place_threshold
from fewlabels.active.simulation.kernels.top import Top, clear, least, offer
from fewlabels.active.simulation.kernels.variates import draw_beta
from fewlabels.distributions.belief import Rng

STEADY, SHRINKING, COMPARING = range(3)  # kinds of gain: θ itself, variance reduction, probability of a verdict
ARM = np.dtype(
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


class Chances(NamedTuple):
    """Posterior and gains of one run."""

    arms: Records
    right: Floats  # per item
    kind: int
    first: int  # the two compared groups
    second: int
    margin: float
    cap: float  # largest tail probability
    clock: Ints  # number of the current draw
    table: Floats  # of region probabilities, see `rope`


@implements(prepare, Chances)
def prepare_chance(state: Chances, group: int) -> None:
    """Update the linear gains that depend on a group's posterior."""
    if state.kind == SHRINKING:
        set_shrinking(state, group)
    elif state.kind == COMPARING:
        set_comparing(state)


@implements(observe, Chances)
def observe_chance(state: Chances, item: int, group: int) -> None:
    """Update a group's posterior with an outcome."""
    arm = state.arms[group]
    arm.alpha += state.right[item]
    arm.beta += 1.0 - state.right[item]
    prepare(state, group)


@inner
def set_shrinking(state: Chances, group: int) -> None:
    """Set the gain to the variance minus its expectation after a label: linear in θ, the probability of an outcome."""
    arm = state.arms[group]
    total = arm.alpha + arm.beta
    later = (total + 1.0) ** 2 * (total + 2.0)
    now = arm.alpha * arm.beta / (total**2 * (total + 1.0))
    arm.base = arm.scale * (now - arm.alpha * (arm.beta + 1.0) / later)
    arm.slope = arm.scale * (arm.alpha - arm.beta) / later


@inner
def set_comparing(state: Chances) -> None:
    """Set the gain to the expected λ after a label in either group; exactly equal for equal or mirrored posteriors."""
    a, b, table = state.arms[state.first], state.arms[state.second], state.table
    fill_table(table, Shapes(a.alpha, a.beta, b.alpha, b.beta), state.margin)
    right, wrong = surest(table, A_RIGHT), surest(table, A_WRONG)
    a.base, a.slope = wrong, right - wrong
    if a.alpha == b.beta and a.beta == b.alpha:
        b.base, b.slope = right, wrong - right
    elif a.alpha == b.alpha and a.beta == b.beta:
        b.base, b.slope = wrong, right - wrong
    else:
        b.base, b.slope = surest(table, B_WRONG), surest(table, B_RIGHT) - surest(table, B_WRONG)


@implements(is_linked, Chances)
def is_chance_linked(state: Chances) -> bool:
    """A comparison depends on both groups."""
    return state.kind == COMPARING


@implements(is_redrawn, Chances)
def is_chance_redrawn(state: Chances) -> bool:  # noqa: ARG001
    """A linear function of one Beta has exact quantiles."""
    return False


@inner
def round_off(state: Chances, gain: float) -> float:
    """Round comparison gains: if no label can change the verdict they tie, and rounding errors must not decide."""
    return math.floor(gain * 1e9 + 0.5) / 1e9 if state.kind == COMPARING else gain


@implements(plug_in_gain, Chances)
def plug_in_chance(state: Chances, group: int) -> float:
    """Gain at the posterior mean."""
    arm = state.arms[group]
    return round_off(state, arm.base + arm.slope * arm.alpha / (arm.alpha + arm.beta))


@implements(upper_gain, Chances)
def upper_chance(rng: Rng, state: Chances, group: int, level: float) -> float:  # noqa: ARG001
    """Exact quantile of the gain: a quantile of θ, mirrored if the slope is negative."""
    arm = state.arms[group]
    chance = beta_quantile(arm.alpha, arm.beta, level if arm.slope >= 0.0 else 1.0 - level)
    return round_off(state, arm.base + arm.slope * chance)


@implements(draw_gain, Chances)
def draw_chance(rng: Rng, state: Chances, group: int, floor: float) -> float:  # noqa: ARG001
    """Gain at a posterior draw."""
    arm = state.arms[group]
    return arm.base + arm.slope * draw_beta(rng, arm.alpha, arm.beta)


@implements(deviation, Chances)
def deviate_chance(state: Chances, group: int) -> float:
    """Standard deviation of a Bernoulli outcome."""
    arm = state.arms[group]
    return math.sqrt(arm.alpha * arm.beta) / (arm.alpha + arm.beta)


@implements(standing, Chances)
def bound_chance(state: Chances, group: int) -> float:
    """Upper bound of the gain, unless the draw falls beyond the threshold."""
    arm = state.arms[group]
    lower = 1 if arm.slope <= 0.0 else 0
    known = arm.threshold if lower == arm.lower else 0.0
    arm.lower = lower
    if lower == 1:
        arm.threshold, arm.tail = place_threshold(arm.alpha, arm.beta, known, state.cap)
        return arm.base + arm.slope * arm.threshold
    arm.threshold, arm.tail = place_threshold(arm.beta, arm.alpha, known, state.cap)
    return arm.base + arm.slope * (1.0 - arm.threshold)


@inner
def mark_tails(rng: Rng, state: Chances, deck: Deck, top: Top) -> None:
    """Draw the groups beyond their thresholds; geometric skips pass over all others."""
    rate = -math.log1p(-state.cap)
    state.clock[0] += 1
    at = int(rng.standard_exponential() / rate)
    while at < deck.n_ranked[0]:
        group = deck.order[at]
        arm = state.arms[group]
        if rng.random() * state.cap < arm.tail:
            arm.marked = state.clock[0]
            if arm.lower == 1:
                chance = draw_tail(rng, arm.alpha, arm.beta, arm.threshold)
            else:
                chance = 1.0 - draw_tail(rng, arm.beta, arm.alpha, arm.threshold)
            offer(rng, top, group, arm.base + arm.slope * chance)
        at += 1 + int(rng.standard_exponential() / rate)


@implements(draw_top, Chances)
def draw_top_chances(rng: Rng, state: Chances, deck: Deck, top: Top) -> None:
    """Visit the groups in order of their upper bounds, and stop when no further group can be among the best.

    Equal in distribution to a draw of every group.
    """
    clear(top)
    mark_tails(rng, state, deck, top)
    for i in range(deck.n_ranked[0]):
        group = deck.order[i]
        if deck.piles[group].key < least(top):
            break
        arm = state.arms[group]
        if arm.marked != state.clock[0]:
            if arm.lower == 1:
                chance = draw_rest(rng, arm.alpha, arm.beta, arm.threshold)
            else:
                chance = 1.0 - draw_rest(rng, arm.beta, arm.alpha, arm.threshold)
            offer(rng, top, group, arm.base + arm.slope * chance)
