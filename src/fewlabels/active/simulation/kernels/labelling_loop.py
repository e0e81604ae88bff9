"""The labelling loop: a rule chooses groups, a random item of each is labelled, the posterior is updated.

Written against `state_interface`, and compiled once per kind of state.
"""

from typing import Any

import numpy as np
from jaxtyping import Int

from fewlabels.active.simulation.kernels.item_queue import (
    Ints,
    ItemQueue,
    draw_item,
    enter_draw_order,
    leave_draw_order,
    make_item_queue,
    move_in_draw_order,
)
from fewlabels.active.simulation.kernels.jit import borrow, entry_point, inlined
from fewlabels.active.simulation.kernels.problems import Problem
from fewlabels.active.simulation.kernels.random_variates import draw_index
from fewlabels.active.simulation.kernels.rules import Rule, RuleKind
from fewlabels.active.simulation.kernels.state_interface import (
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
from fewlabels.active.simulation.kernels.top_groups import TopGroups, clear_top, insert_if_top, make_top, shuffle_top
from fewlabels.distributions.randomness import Rng

MAX_DRAWS = 100  # draws of top-two for a challenger
PROPORTIONAL, EQUAL, NEYMAN = int(RuleKind.PROPORTIONAL), int(RuleKind.EQUAL), int(RuleKind.NEYMAN)
THOMPSON, TOP_TWO = int(RuleKind.THOMPSON), int(RuleKind.TOP_TWO)
EPSILON_GREEDY, UPPER_BOUND = int(RuleKind.EPSILON_GREEDY), int(RuleKind.UPPER_BOUND)


@inlined
def samples_gains(kind: int) -> bool:
    """Does the rule of the compiled labelling loop use posterior draws?"""
    return kind in (THOMPSON, TOP_TWO)


@inlined
def score_group(rng: Rng, item_queue: ItemQueue, state: Any, kind: int, level: float, group: int) -> None:
    """Update the score that the compiled labelling loop keeps for a group."""
    record = item_queue.groups[group]
    if kind == PROPORTIONAL:
        record.score = record.share
    elif kind == EQUAL:
        record.score = 1.0
    elif kind == NEYMAN:
        record.score = record.share * standard_deviation(state, group)
    elif kind == EPSILON_GREEDY:
        record.score = plug_in_gain(state, group)
    elif kind == UPPER_BOUND:
        record.score = upper_gain(rng, state, group, level)


@inlined
def initialize_scores(rng: Rng, item_queue: ItemQueue, state: Any, kind: int, level: float) -> None:
    """Initialize the scores of all eligible groups, before the compiled labelling loop."""
    for i in range(item_queue.n_open[0]):
        group = item_queue.open[i]
        prepare(state, group)
        if samples_gains(kind):
            enter_draw_order(item_queue, group, ranking_key(state, group))
        else:
            score_group(rng, item_queue, state, kind, level, group)


@inlined
def update_scores(rng: Rng, item_queue: ItemQueue, state: Any, kind: int, level: float, group: int) -> None:
    """Update the compiled loop's scores after an outcome: of a group, or of all if gains are linked or sampled."""
    if samples_gains(kind) and item_queue.groups[group].left == 0:
        leave_draw_order(item_queue, group)
    all_groups = is_linked(state) or (kind == UPPER_BOUND and is_quantile_sampled(state))
    for i in range(item_queue.n_open[0] if all_groups else 1):
        other = item_queue.open[i] if all_groups else group
        if not samples_gains(kind):
            score_group(rng, item_queue, state, kind, level, other)
        elif item_queue.groups[other].left > 0:
            move_in_draw_order(item_queue, other, ranking_key(state, other))


@inlined
def choose_best(rng: Rng, item_queue: ItemQueue, top: TopGroups) -> None:
    """Choose the open group with the largest score, at a step of the compiled labelling loop."""
    clear_top(top)
    for i in range(item_queue.n_open[0]):
        insert_if_top(rng, top, item_queue.open[i], item_queue.groups[item_queue.open[i]].score)


@inlined
def choose_by_quota(rng: Rng, item_queue: ItemQueue, top: TopGroups) -> None:
    """Choose the open group furthest below its quota of labels, at a step of the compiled labelling loop."""
    clear_top(top)
    total, given = 0.0, 1
    for i in range(item_queue.n_open[0]):
        total += item_queue.groups[item_queue.open[i]].score
        given += item_queue.groups[item_queue.open[i]].taken
    for i in range(item_queue.n_open[0]):
        record = item_queue.groups[item_queue.open[i]]
        quota = record.score / total if total > 0.0 else 0.0
        insert_if_top(rng, top, item_queue.open[i], quota * given - record.taken)


@inlined
def choose_uniformly(rng: Rng, item_queue: ItemQueue, top: TopGroups) -> None:
    """Choose an open group uniformly, at a step of the compiled labelling loop."""
    clear_top(top)
    insert_if_top(rng, top, item_queue.open[draw_index(rng, item_queue.n_open[0])], 0.0)


@inlined
def choose_by_sampling(
    rng: Rng, item_queue: ItemQueue, state: Any, top: TopGroups, pair: TopGroups, max_draws: int
) -> None:
    """Choose the best group of a draw in the compiled loop; with tries, the best other of further draws, else the 2nd.

    There is a single call of `draw_top`, to keep compilation short.
    """
    leader = -1
    for i in range(max_draws + 1):
        entries = pair if 0 < i == max_draws else top
        draw_top(rng, state, item_queue, entries)
        if i == 0:
            leader = top.entries[0].group
        elif top.entries[0].group != leader:
            return
    if max_draws > 0:
        top.entries[0].group = pair.entries[0].group if pair.entries[0].group != leader else pair.entries[1].group


@inlined
def choose_by_rule(
    rng: Rng, item_queue: ItemQueue, state: Any, top: TopGroups, pair: TopGroups, kind: int, chance: float
) -> None:
    """Fill `top` with the groups to label in at a step of the compiled labelling loop."""
    if samples_gains(kind):
        seeks_challenger = kind == TOP_TWO and item_queue.n_open[0] > 1 and rng.random() < chance
        choose_by_sampling(rng, item_queue, state, top, pair, MAX_DRAWS if seeks_challenger else 0)
        shuffle_top(rng, top)
    elif kind in (PROPORTIONAL, EQUAL, NEYMAN):
        choose_by_quota(rng, item_queue, top)
    elif kind == EPSILON_GREEDY and rng.random() < chance:
        choose_uniformly(rng, item_queue, top)
    else:
        choose_best(rng, item_queue, top)


@entry_point
def run_rule(
    rng: Rng,
    item_queue: ItemQueue,
    state: Any,
    top: TopGroups,
    pair: TopGroups,
    kind: int,
    chance: float,
    level: float,
    budget: int,
) -> Ints:
    """Run the compiled labelling loop: return items in the order in which a rule labels them."""
    order = np.empty(budget, dtype=np.int64)
    item_queue, state, top, pair = borrow(item_queue), borrow(state), borrow(top), borrow(pair)
    initialize_scores(rng, item_queue, state, kind, level)
    n = 0
    while n < budget:
        choose_by_rule(rng, item_queue, state, top, pair, kind, chance)
        for i in range(min(top.taken[0], budget - n)):
            group = top.entries[i].group
            order[n] = draw_item(rng, item_queue, group)
            observe(state, order[n], group)
            update_scores(rng, item_queue, state, kind, level, group)
            n += 1
    return order


def choose(rng: Rng, problem: Problem, rule: Rule, budget: int) -> Int[np.ndarray, " step"]:
    """Run the compiled loop: return items, as indices into the pool, in the order of a rule; at most `budget`."""
    pool, groups = problem.pool, problem.eligible_groups
    n = min(budget, int(np.diff(pool.start)[groups].sum()))
    if rule.kind is RuleKind.RANDOM:
        return rng.permutation(pool.items_of(groups))[:n]
    item_queue = make_item_queue(pool.start, pool.share, pool.n_labels, groups)
    top = make_top(rule.m if rule.kind is RuleKind.THOMPSON else 1)
    settings = int(rule.kind), rule.chance, rule.level, n
    return run_rule(rng, item_queue, problem.start(), top, make_top(2), *settings)
