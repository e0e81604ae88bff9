"""The labelling loop: a rule chooses groups, a random item of each is labelled, the posterior is updated.

Written against `interface`, and compiled once per kind of state.
"""

from typing import Any

import numpy as np
from jaxtyping import Int

from fewlabels.active.simulation.kernels.interface import (
    deviation,
    draw_top,
    is_linked,
    is_redrawn,
    observe,
    plug_in_gain,
    prepare,
    standing,
    upper_gain,
)
from fewlabels.active.simulation.kernels.jit import borrow, door, woven
from fewlabels.active.simulation.kernels.problems import Problem
from fewlabels.active.simulation.kernels.queue import (
    Deck,
    Ints,
    enter_ranking,
    leave_ranking,
    move_in_ranking,
    shuffle_together,
    take_item,
)
from fewlabels.active.simulation.kernels.rules import Kind, Rule
from fewlabels.active.simulation.kernels.top import Top, clear, hold_best, offer, shuffle
from fewlabels.active.simulation.kernels.variates import draw_index
from fewlabels.distributions.belief import Rng

TRIES = 100  # draws of top-two for a challenger
PROPORTIONAL, EQUAL, NEYMAN = int(Kind.PROPORTIONAL), int(Kind.EQUAL), int(Kind.NEYMAN)
THOMPSON, TOP_TWO = int(Kind.THOMPSON), int(Kind.TOP_TWO)
EPSILON_GREEDY, UPPER_BOUND = int(Kind.EPSILON_GREEDY), int(Kind.UPPER_BOUND)


@woven
def draws(kind: int) -> bool:
    """Does the rule use posterior draws?"""
    return kind in (THOMPSON, TOP_TWO)


@woven
def score_group(rng: Rng, deck: Deck, state: Any, kind: int, level: float, group: int) -> None:
    """Update the score that a rule keeps for a group."""
    pile = deck.piles[group]
    if kind == PROPORTIONAL:
        pile.score = pile.share
    elif kind == EQUAL:
        pile.score = 1.0
    elif kind == NEYMAN:
        pile.score = pile.share * deviation(state, group)
    elif kind == EPSILON_GREEDY:
        pile.score = plug_in_gain(state, group)
    elif kind == UPPER_BOUND:
        pile.score = upper_gain(rng, state, group, level)


@woven
def begin(rng: Rng, deck: Deck, state: Any, kind: int, level: float) -> None:
    """Initialize the scores of all eligible groups."""
    for i in range(deck.n_open[0]):
        group = deck.open[i]
        prepare(state, group)
        if draws(kind):
            enter_ranking(deck, group, standing(state, group))
        else:
            score_group(rng, deck, state, kind, level, group)


@woven
def refresh(rng: Rng, deck: Deck, state: Any, kind: int, level: float, group: int) -> None:
    """Update scores after an outcome: of this group, or of all open groups if gains are linked or sampled."""
    if draws(kind) and deck.piles[group].left == 0:
        leave_ranking(deck, group)
    everyone = is_linked(state) or (kind == UPPER_BOUND and is_redrawn(state))
    for i in range(deck.n_open[0] if everyone else 1):
        other = deck.open[i] if everyone else group
        if not draws(kind):
            score_group(rng, deck, state, kind, level, other)
        elif deck.piles[other].left > 0:
            move_in_ranking(deck, other, standing(state, other))


@woven
def pick_best(rng: Rng, deck: Deck, top: Top) -> None:
    """Choose the open group with the largest score."""
    clear(top)
    for i in range(deck.n_open[0]):
        offer(rng, top, deck.open[i], deck.piles[deck.open[i]].score)


@woven
def pick_by_quota(rng: Rng, deck: Deck, top: Top) -> None:
    """Choose the open group furthest below its quota of the labels of open groups."""
    clear(top)
    total, given = 0.0, 1
    for i in range(deck.n_open[0]):
        total += deck.piles[deck.open[i]].score
        given += deck.piles[deck.open[i]].taken
    for i in range(deck.n_open[0]):
        pile = deck.piles[deck.open[i]]
        quota = pile.score / total if total > 0.0 else 0.0
        offer(rng, top, deck.open[i], quota * given - pile.taken)


@woven
def pick_any(rng: Rng, deck: Deck, top: Top) -> None:
    """Choose an open group uniformly."""
    clear(top)
    offer(rng, top, deck.open[draw_index(rng, deck.n_open[0])], 0.0)


@woven
def pick_drawn(rng: Rng, deck: Deck, state: Any, top: Top, pair: Top, tries: int) -> None:
    """Choose the best group of a draw; with tries, the best other group of further draws, else the second of the last.

    There is a single call of `draw_top`, to keep compilation short.
    """
    leader = -1
    for i in range(tries + 1):
        seats = pair if 0 < i == tries else top
        draw_top(rng, state, deck, seats)
        if i == 0:
            leader = top.seats[0].group
        elif top.seats[0].group != leader:
            return
    if tries > 0:
        top.seats[0].group = pair.seats[0].group if pair.seats[0].group != leader else pair.seats[1].group


@woven
def pick(rng: Rng, deck: Deck, state: Any, top: Top, pair: Top, kind: int, chance: float) -> None:
    """Fill `top` with the groups to label in."""
    if draws(kind):
        seeks = kind == TOP_TWO and deck.n_open[0] > 1 and rng.random() < chance
        pick_drawn(rng, deck, state, top, pair, TRIES if seeks else 0)
        shuffle(rng, top)
    elif kind in (PROPORTIONAL, EQUAL, NEYMAN):
        pick_by_quota(rng, deck, top)
    elif kind == EPSILON_GREEDY and rng.random() < chance:
        pick_any(rng, deck, top)
    else:
        pick_best(rng, deck, top)


@door
def run_rule(
    rng: Rng, deck: Deck, state: Any, top: Top, pair: Top, kind: int, chance: float, level: float, budget: int
) -> Ints:
    """Return items in the order in which a rule labels them."""
    order = np.empty(budget, dtype=np.int64)
    deck, state, top, pair = borrow(deck), borrow(state), borrow(top), borrow(pair)
    begin(rng, deck, state, kind, level)
    n = 0
    while n < budget:
        pick(rng, deck, state, top, pair, kind, chance)
        for i in range(min(top.taken[0], budget - n)):
            group = top.seats[i].group
            order[n] = take_item(rng, deck, group)
            observe(state, order[n], group)
            refresh(rng, deck, state, kind, level, group)
            n += 1
    return order


def choose(rng: Rng, problem: Problem, rule: Rule, budget: int) -> Int[np.ndarray, " step"]:
    """Return items, as indices into the pool, in the order in which a rule labels them; at most `budget`."""
    pool, groups = problem.pool, problem.contestants
    n = min(budget, int(np.diff(pool.start)[groups].sum()))
    if rule.kind is Kind.RANDOM:
        return rng.permutation(pool.items_of(groups))[:n]
    deck = shuffle_together(pool.start, pool.share, pool.n_labels, groups)
    top = hold_best(rule.m if rule.kind is Kind.THOMPSON else 1)
    settings = int(rule.kind), rule.chance, rule.level, n
    return run_rule(rng, deck, problem.start(), top, hold_best(2), *settings)
