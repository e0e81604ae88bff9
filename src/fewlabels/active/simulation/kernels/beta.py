"""One Beta per group, and a gain that is a line in its chance: the chance itself, the variance a label takes away,
or how sure a comparison of two groups becomes.
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

STEADY, SHRINKING, COMPARING = range(3)  # what an outcome does to the line
ARM = np.dtype(
    [
        ("alpha", "f8"),
        ("beta", "f8"),
        ("scale", "f8"),  # what a variance is worth
        ("base", "f8"),  # gain = base + slope · θ
        ("slope", "f8"),
        ("lower", "i8"),  # is the winning side that of low chances?
        ("threshold", "f8"),  # of the chance, counted from the winning side
        ("tail", "f8"),  # chance to lie beyond it
        ("marked", "i8"),  # the last draw in which it did
    ]
)


class Chances(NamedTuple):
    """Belief and gains of one run."""

    arms: Records
    right: Floats  # per item
    kind: int
    first: int  # the two groups compared
    second: int
    margin: float
    cap: float  # most chance of a tail
    clock: Ints  # number of the draw
    table: Floats  # of the comparison


@implements(prepare, Chances)
def prepare_chance(state: Chances, group: int) -> None:
    """Draw the lines anew that a group's belief changes."""
    if state.kind == SHRINKING:
        set_shrinking(state, group)
    elif state.kind == COMPARING:
        set_comparing(state)


@implements(observe, Chances)
def observe_chance(state: Chances, item: int, group: int) -> None:
    """Add an outcome."""
    arm = state.arms[group]
    arm.alpha += state.right[item]
    arm.beta += 1.0 - state.right[item]
    prepare(state, group)


@inner
def set_shrinking(state: Chances, group: int) -> None:
    """Variance now, less its expectation after a label: linear in θ, for one outcome's variance or the other's."""
    arm = state.arms[group]
    total = arm.alpha + arm.beta
    later = (total + 1.0) ** 2 * (total + 2.0)
    now = arm.alpha * arm.beta / (total**2 * (total + 1.0))
    arm.base = arm.scale * (now - arm.alpha * (arm.beta + 1.0) / later)
    arm.slope = arm.scale * (arm.alpha - arm.beta) / later


@inner
def set_comparing(state: Chances) -> None:
    """Expected λ after a label in either group; exactly alike where the two are, or mirror each other."""
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
    """A comparison looks at both groups."""
    return state.kind == COMPARING


@implements(is_redrawn, Chances)
def is_chance_redrawn(state: Chances) -> bool:  # noqa: ARG001
    """A line in one Beta has exact quantiles."""
    return False


@inner
def round_off(state: Chances, gain: float) -> float:
    """Where no single label can change the verdict both groups gain the same, and rounding should not choose."""
    return math.floor(gain * 1e9 + 0.5) / 1e9 if state.kind == COMPARING else gain


@implements(plug_in_gain, Chances)
def plug_in_chance(state: Chances, group: int) -> float:
    """The line at the posterior mean."""
    arm = state.arms[group]
    return round_off(state, arm.base + arm.slope * arm.alpha / (arm.alpha + arm.beta))


@implements(upper_gain, Chances)
def upper_chance(rng: Rng, state: Chances, group: int, level: float) -> float:  # noqa: ARG001
    """Exact: a line keeps quantiles, or turns them round."""
    arm = state.arms[group]
    chance = beta_quantile(arm.alpha, arm.beta, level if arm.slope >= 0.0 else 1.0 - level)
    return round_off(state, arm.base + arm.slope * chance)


@implements(draw_gain, Chances)
def draw_chance(rng: Rng, state: Chances, group: int, floor: float) -> float:  # noqa: ARG001
    """The line at a draw."""
    arm = state.arms[group]
    return arm.base + arm.slope * draw_beta(rng, arm.alpha, arm.beta)


@implements(deviation, Chances)
def deviate_chance(state: Chances, group: int) -> float:
    """Of a yes or no."""
    arm = state.arms[group]
    return math.sqrt(arm.alpha * arm.beta) / (arm.alpha + arm.beta)


@implements(standing, Chances)
def bound_chance(state: Chances, group: int) -> float:
    """The gain a group cannot exceed unless its draw falls beyond the threshold."""
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
    """Draw the groups that fall beyond their thresholds, found by skipping over those that do not."""
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
    """Visit the groups by what they can still reach, and stop where none can win any more.

    In distribution exactly what drawing every group would give.
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
