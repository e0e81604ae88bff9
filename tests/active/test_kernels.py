"""Compiled replays choose as the definition chooses, in distribution; their measures are those of brute force.

The definition draws everything at every step. It is run many times in step, as arrays (run, cell, outcome), and the
groups chosen at a few steps are compared with the kernels' by chi-square tests. Each fails a right kernel once in
100,000 times, all of them together once in about 400; the seeds are fixed.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from scipy import stats
from scipy.special import betainc, betaincinv, betaln

from fewlabels.active.simulation.kernels.beta_quantiles import beta_cdf, beta_quantile
from fewlabels.active.simulation.kernels.beta_tails import draw_above_threshold, draw_tail, place_threshold
from fewlabels.active.simulation.kernels.compiled_measures import (
    measure_calibration,
    measure_comparison,
    measure_confusion,
    measure_estimate,
    measure_identification,
    true_gains,
    verdict_probabilities,
)
from fewlabels.active.simulation.kernels.histogram import EDGES, add_outcome, discretize_betas, draw_within_slot
from fewlabels.active.simulation.kernels.labelling_loop import choose
from fewlabels.active.simulation.kernels.pool import sort_by_group
from fewlabels.active.simulation.kernels.problems import (
    CalibrationError,
    Cost,
    Rate,
    RopeComparison,
    ShareVariance,
    Variance,
)
from fewlabels.active.simulation.kernels.reciprocal_ranks import mean_reciprocal_ranks
from fewlabels.active.simulation.kernels.rope import region_probabilities
from fewlabels.active.simulation.kernels.rules import (
    EPSILON_GREEDY,
    EQUAL,
    NEYMAN,
    PROPORTIONAL,
    RANDOM,
    THOMPSON,
    TOP_TWO,
    UPPER_BOUND,
    RuleKind,
    multi_play,
)
from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.distributions.difference import BetaDifference
from fewlabels.distributions.finite_pool import FinitePoolBeta

ALARM = 1e-5
RULES = {
    "random": RANDOM,
    "proportional": PROPORTIONAL,
    "equal": EQUAL,
    "neyman": NEYMAN,
    "thompson": THOMPSON,
    "multi-play": multi_play(3),
    "top-two": TOP_TWO,
    "greedy": EPSILON_GREEDY,
    "upper": UPPER_BOUND,
}


# Pools and problems


def make_pool(seed, n_groups, cells_per_group=1, least=5, most=20):
    """A pool of groups of different sizes, and the chance of every cell."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), cells_per_group)
    size = rng.integers(least, most + 1, size=len(group))
    pool, _ = sort_by_group(rng.permutation(np.repeat(np.arange(len(group)), size)), group)
    return pool, rng.beta(2, 1.5, size=len(group)), rng


def make_binary(seed, n_groups, cells_per_group=1, strength=2.0, fractional=False, **sizes):
    pool, chance, rng = make_pool(seed, n_groups, cells_per_group, **sizes)
    right = (rng.random(pool.n_items) < chance[pool.cell]).astype(float)
    if fractional:
        right = np.round(0.8 * right + 0.2 * rng.random(pool.n_items), 2)
    score = rng.uniform(0.2, 0.95, size=pool.n_cells)
    return pool, right, strength * score, strength * (1 - score), score


def make_labels(seed, n_groups, cells_per_group, n_classes, strength, flat):
    pool, _, rng = make_pool(seed, n_groups, cells_per_group)
    shares = rng.dirichlet(np.full(n_classes, 0.3), size=pool.n_cells)
    label = np.array([rng.choice(n_classes, p=shares[c]) for c in pool.cell])
    centre = np.full_like(shares, 1 / n_classes) if flat else 0.9 * rng.permuted(shares, axis=1) + 0.1 / n_classes
    return pool, label, strength * centre, rng


@cache
def make_problems():
    """One problem for every family and for every way kernels have of drawing it."""
    one = make_binary(1, 8)
    several = make_binary(2, 6, 3)
    many = make_binary(3, 60, least=3, most=8)
    crowd = make_binary(9, 200, 3, least=1, most=5)
    flat = make_labels(4, 7, 1, 12, 1.0, True)
    weak = make_labels(5, 7, 1, 12, 0.4, False)
    strong = make_labels(6, 6, 2, 10, 6.0, False)
    two_prices = np.where(np.arange(12) % 3 == 0, 5.0, np.where(np.arange(12) % 3 == 1, 1.0, 0.0))
    return {
        "rate": Rate(*one[:4]),
        "rate, flat": Rate(one[0], one[1], np.ones(8), np.ones(8), sign=1.0),
        "rate, hardly any prior": Rate(one[0], one[1], np.full(8, 1e-6), np.full(8, 2e-6)),
        "rate, fractions": Rate(*make_binary(7, 8, fractional=True)[:4]),
        "rate, many": Rate(*many[:4]),
        "variance": Variance(*one[:4], np.linspace(0.5, 1.5, 8)),
        "variance, many": Variance(*many[:4], np.ones(60)),
        "variance, cells": Variance(*several[:4], several[0].weight),
        "gap": CalibrationError(*several),
        "gap, least": CalibrationError(*several, sign=-1.0),
        "gap, many": CalibrationError(*crowd),
        "gap, many fractions": CalibrationError(*make_binary(14, 200, 2, fractional=True, least=1, most=5)),
        "cost, few prices": Cost(*flat[:3], np.tile(two_prices, (7, 1))),
        "cost, sticks": Cost(*weak[:3], weak[3].random((7, 12))),
        "cost, cells": Cost(*strong[:3], strong[3].random((12, 10)), sign=-1.0),
        "spread, flat": ShareVariance(*flat[:3], np.ones(7)),
        "spread, sticks": ShareVariance(*weak[:3], np.linspace(0.5, 1.5, 7)),
        "spread, cells": ShareVariance(*strong[:3], strong[0].weight),
        "rope": RopeComparison(*make_binary(8, 5, least=15)[:2], np.full(5, 2.0), np.full(5, 3.0), 1, 3, 0.05),
    }


FAMILIES = ["rate", "variance", "gap", "cost, few prices", "spread, flat", "rope"]
VARIANTS = [name for name in make_problems() if name not in FAMILIES]
DRAWN = ["thompson", "multi-play"]
PAIRS = [*itertools.product(FAMILIES, RULES), *itertools.product(VARIANTS, DRAWN)]


# The definition


class Definition:
    """Many runs of a problem in step: beliefs as pseudo-counts (run, cell, outcome), everything drawn at every step."""

    def __init__(self, problem, n_runs, rng):
        pool = problem.pool
        self.problem, self.rng, self.runs = problem, rng, np.arange(n_runs)
        self.is_beta = problem.alpha.ndim == 1
        start = np.stack([problem.alpha, problem.beta], axis=1) if self.is_beta else problem.alpha
        self.alpha = np.tile(start, (n_runs, 1, 1))
        self.taken = np.zeros((n_runs, pool.n_groups))
        self.left = np.tile(np.isin(pool.group[pool.cell], problem.eligible_groups), (n_runs, 1))  # (run, item)
        self.outcome = (
            np.stack([problem.right, 1 - problem.right], axis=1)
            if self.is_beta
            else np.eye(problem.alpha.shape[1])[problem.label]
        )

    def add_up(self, cells):
        """(…, cell) -> (…, group)."""
        pool = self.problem.pool
        return cells @ np.eye(pool.n_groups)[pool.group]

    def draw(self, alpha):
        if self.is_beta:
            theta = self.rng.beta(alpha[..., 0], alpha[..., 1])
            return np.stack([theta, 1 - theta], axis=-1)
        gammas = self.rng.standard_gamma(alpha)
        return gammas / gammas.sum(axis=-1, keepdims=True)

    def mean(self):
        return self.alpha / self.alpha.sum(axis=-1, keepdims=True)

    def gains(self, theta, alpha):
        """What a label in each group is worth, were theta (run, cell, outcome) true."""
        p = self.problem
        if isinstance(p, Rate):
            return self.add_up(p.sign * theta[..., 0])
        if isinstance(p, CalibrationError):
            return self.add_up(p.sign * p.pool.weight * np.abs(theta[..., 0] - p.score))
        if isinstance(p, Cost):
            return self.add_up(p.sign * p.pool.weight * (p.price * theta).sum(axis=-1))
        if isinstance(p, RopeComparison):
            return (theta * expect_sureness(p, alpha)).sum(axis=-1)
        step = np.eye(alpha.shape[-1])
        later = sum(theta[..., j] * summed_variance(alpha + step[j]) for j in range(len(step)))
        scale = p.pool.share[p.pool.group] * p.coefficient
        half = 0.5 if isinstance(p, Variance) else 1.0  # the variance of one of the two shares, not of both
        return self.add_up(half * scale * (summed_variance(alpha) - later))

    def upper(self, level):
        """Quantile of the gain: exact where it is a line in one chance."""
        p = self.problem
        if isinstance(p, RopeComparison | Rate) or (isinstance(p, Variance) and p.pool.has_one_cell_per_group):
            ends = []
            for q in (level, 1 - level):
                theta = betaincinv(self.alpha[..., 0], self.alpha[..., 1], q)
                ends.append(self.gains(np.stack([theta, 1 - theta], axis=-1), self.alpha))
            return np.maximum(*ends)
        draws = np.stack([self.gains(self.draw(self.alpha), self.alpha) for _ in range(1000)])
        return np.quantile(draws, level, axis=0)

    def deviation(self):
        mean = self.mean()
        variance = mean[..., 0] * mean[..., 1] if self.is_beta else 1 - (mean**2).sum(axis=-1)
        return np.sqrt(np.maximum(self.add_up(self.problem.pool.weight * variance), 0))

    def label(self, group):
        """Take a random item of a group in every run, and learn its outcome."""
        pool = self.problem.pool
        mine = pool.group[pool.cell] == group[:, None]
        item = np.where(self.left & mine, self.rng.random(self.left.shape), -1).argmax(axis=1)
        assert (self.left & mine)[self.runs, item].all()
        self.left[self.runs, item] = False
        self.alpha[self.runs, pool.cell[item]] += self.outcome[item]
        self.taken[self.runs, group] += 1
        return item

    def rank(self, scores, opened):
        """Open groups from best to worst, ties at random."""
        scores = np.where(opened, np.round(scores, 6) if isinstance(self.problem, RopeComparison) else scores, -np.inf)
        return np.lexsort((self.rng.random(scores.shape), scores))[:, ::-1]

    def rank_draw(self, opened, runs):
        alpha = self.alpha[runs]
        return self.rank(self.gains(self.draw(alpha), alpha), opened[runs])

    def pick(self, rule):
        """Groups to label in, (run, pick)."""
        left = np.add.reduceat(self.left, self.problem.pool.start[:-1], axis=1)
        opened = left > 0
        if rule.kind is RuleKind.RANDOM:  # the greatest of log weight + Gumbel noise is a draw by weight
            return self.rank(np.log(np.maximum(left, 1e-9)) + self.rng.gumbel(size=left.shape), opened)[:, :1]
        if rule.kind in (RuleKind.PROPORTIONAL, RuleKind.EQUAL, RuleKind.NEYMAN):
            quota, taken = self.quota(rule.kind) * opened, self.taken * opened
            given = taken.sum(axis=1, keepdims=True) + 1
            return self.rank(quota / quota.sum(axis=1, keepdims=True) * given - taken, opened)[:, :1]
        if rule.kind is RuleKind.THOMPSON:
            m = min(rule.m, opened.sum(axis=1).min())
            return self.rng.permuted(self.rank_draw(opened, self.runs)[:, :m], axis=1)
        if rule.kind is RuleKind.TOP_TWO:
            return self.pick_two(opened)
        if rule.kind is RuleKind.UPPER_BOUND:
            return self.rank(self.upper(rule.level), opened)[:, :1]
        explore = self.rng.random((len(self.runs), 1)) < rule.chance
        best = self.rank(self.gains(self.mean(), self.alpha), opened)
        return np.where(explore, self.rank(0 * self.taken, opened), best)[:, :1]

    def quota(self, kind):
        share = self.problem.pool.share + 0 * self.taken
        return {RuleKind.PROPORTIONAL: share, RuleKind.EQUAL: share * 0 + 1, RuleKind.NEYMAN: share * self.deviation()}[
            kind
        ]

    def pick_two(self, opened):
        out = self.rank_draw(opened, self.runs)[:, 0]
        leader = out.copy()
        seeking = self.runs[(self.rng.random(len(out)) < 0.5) & (opened.sum(axis=1) > 1)]
        for _ in range(100):
            again = self.rank_draw(opened, seeking)
            out[seeking] = np.where(again[:, 0] != leader[seeking], again[:, 0], again[:, 1])
            seeking = seeking[again[:, 0] == leader[seeking]]
        return out[:, None]

    def run(self, rule, budget):
        """Items, (run, step)."""
        order = []
        while len(order) < budget:
            order += [self.label(group) for group in self.pick(rule).T[: budget - len(order)]]
        return np.stack(order, axis=1)


def summed_variance(alpha):
    total = alpha.sum(axis=-1)
    return (1 - ((alpha / total[..., None]) ** 2).sum(axis=-1)) / (total + 1)


def expect_sureness(problem, alpha):
    """λ after each outcome in each of the two groups, (run, group, outcome)."""
    out = np.zeros(alpha.shape)
    pairs, same = np.unique(alpha[:, [problem.a, problem.b]], axis=0, return_inverse=True)
    for i, (a, b) in enumerate(pairs):
        runs = np.flatnonzero(same.reshape(-1) == i)
        for z, e in enumerate(np.eye(2)):
            out[runs, problem.a, z] = surest(tuple(a + e), tuple(b), problem.margin)
            out[runs, problem.b, z] = surest(tuple(a), tuple(b + e), problem.margin)
    return out


@cache
def surest(a, b, margin):
    """Chance of the likeliest region, by midpoints; the same either way round."""
    (a_right, a_wrong), (b_right, b_wrong) = sorted([a, b])
    t = (np.arange(2000) + 0.5) / 2000
    density = np.exp((a_right - 1) * np.log(t) + (a_wrong - 1) * np.log1p(-t) - betaln(a_right, a_wrong)) / 2000
    above = density @ betainc(b_right, b_wrong, np.clip(t - margin, 0, 1))
    below = 1 - density @ betainc(b_right, b_wrong, np.clip(t + margin, 0, 1))
    return max(below, above, 1 - below - above)


# Choosing


def differ(one, other, n_groups):
    """p-value of two samples of groups being alike; rare groups are taken together."""
    table = np.stack([np.bincount(x, minlength=n_groups) for x in (one, other)]).astype(float)
    rare = table.sum(axis=0) < 10
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    return 1.0 if table.shape[1] < 2 else stats.chi2_contingency(table).pvalue


def make_rngs(seed, n):
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(n)]


def choose_often(rngs, problem, rule, budget):
    """One order per generator."""
    return np.stack([choose(rng, problem, rule, budget) for rng in rngs])


@pytest.mark.parametrize(("name", "rule"), PAIRS)
def test_kernels_choose_as_the_definition(name, rule):
    problem = make_problems()[name]
    n_runs, budget = 600, 10
    if rule == "top-two":  # draws a hundred times where one group leads by far
        n_runs, budget = 400, 6
    elif rule == "upper" and name in ("gap", "cost, few prices", "spread, flat"):  # a thousand draws a group
        n_runs, budget = 50, 3
    kernel = choose_often(make_rngs(10, n_runs), problem, RULES[rule], budget)
    plain = Definition(problem, n_runs, np.random.default_rng(11)).run(RULES[rule], budget)
    group = problem.pool.group[problem.pool.cell]
    for step in sorted({0, 1, 2, budget // 2, budget - 1}):
        assert differ(group[kernel[:, step]], group[plain[:, step]], problem.pool.n_groups) > ALARM, step


@pytest.mark.parametrize("name", ["rate, many", "variance, many", "gap, many"])
def test_lazy_thompson_sampling_is_thompson_sampling_to_the_end(name):
    """Many groups, many labels, groups that close: what is skipped must never have mattered."""
    problem = make_problems()[name]
    n_runs, budget = 300, 150
    kernel = choose_often(make_rngs(12, n_runs), problem, THOMPSON, budget)
    plain = Definition(problem, n_runs, np.random.default_rng(13)).run(THOMPSON, budget)
    group, n_groups = problem.pool.group[problem.pool.cell], problem.pool.n_groups
    for step in (20, 60, 100, 149):
        assert differ(group[kernel[:, step]], group[plain[:, step]], n_groups) > ALARM, step
    labels = [np.stack([np.bincount(row, minlength=n_groups) for row in group[x]]) for x in (kernel, plain)]
    spread = np.sqrt((labels[0].var(0) + labels[1].var(0) + 1e-2) / n_runs)  # some are hardly ever labelled
    assert np.abs((labels[0].mean(0) - labels[1].mean(0)) / spread).max() < 5.4  # 200 groups; once in 75,000 times


def test_each_way_of_drawing_is_taken():
    problems = make_problems()
    assert problems["cost, sticks"].start().uses_stick_breaking
    assert problems["spread, sticks"].start().uses_stick_breaking
    assert not problems["spread, flat"].start().uses_stick_breaking
    assert not problems["spread, cells"].start().uses_stick_breaking
    assert len(problems["gap, many"].start().pruning_table.pruning_cells)
    assert not len(problems["gap"].start().pruning_table.pruning_cells)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_full_replay_labels_every_item_once(name, rule):
    problem = make_problems()[name]
    pool = problem.pool
    everything = pool.items_of(problem.eligible_groups)
    budget = 60 if rule == "upper" else 10_000
    order = choose(np.random.default_rng(1), problem, RULES[rule], budget)
    assert len(order) == min(budget, len(everything))
    assert len(set(order.tolist())) == len(order)
    assert set(order.tolist()) <= set(everything.tolist())
    again = choose(np.random.default_rng(1), problem, RULES[rule], 17)
    if rule != "random":
        assert np.array_equal(again, order[:17]), "a run does not depend on where it stops"


def test_items_of_a_group_come_in_any_order():
    problem = make_problems()["rate"]
    pool = problem.pool
    orders = choose_often(make_rngs(3, 2000), problem, PROPORTIONAL, pool.n_items)
    first = [row[pool.cell[row] == 0][0] for row in orders]
    counts = np.bincount(first, minlength=int(pool.start[1]))
    assert stats.chisquare(counts).pvalue > ALARM


def test_multi_play_labels_different_groups_in_a_round():
    problem = make_problems()["rate, many"]
    order = choose(np.random.default_rng(2), problem, multi_play(5), 52)
    rounds = problem.pool.cell[order[:50]].reshape(10, 5)
    assert len(order) == 52
    assert all(len(set(r.tolist())) == 5 for r in rounds)


def test_threads_change_nothing():
    problem = make_problems()["gap"]
    with ThreadPoolExecutor(2) as threads:
        orders = threads.map(partial(choose, problem=problem, rule=THOMPSON, budget=50), make_rngs(4, 20))
    assert np.array_equal(choose_often(make_rngs(4, 20), problem, THOMPSON, 50), list(orders))


@pytest.mark.parametrize("rule", [EQUAL, PROPORTIONAL])
def test_quotas_count_the_labels_there_are(rule):
    """Of groups alike, the one with the fewest labels is next, whenever it got them."""
    pool, _ = sort_by_group(np.repeat([0, 1, 2], 30), np.arange(3))
    n_labels = np.array([6, 0, 3])
    problem = Rate(replace(pool, n_labels=n_labels), np.ones(90), np.ones(3), np.ones(3))
    for g in pool.cell[choose(np.random.default_rng(0), problem, rule, 15)]:
        assert n_labels[g] == n_labels.min()
        n_labels[g] += 1


@pytest.mark.parametrize("name", ["rate", "gap", "variance", "cost, few prices", "spread, flat", "rope"])
def test_an_order_that_ends_stays_as_it_ended(name):
    """Checkpoints past the end must not be read past it."""
    problem = make_problems()[name]
    order = choose(np.random.default_rng(3), problem, RANDOM, 20)
    checkpoints = np.array([5, 20, 25, 10_000_000])
    if isinstance(problem, Rate | CalibrationError | Cost):
        values = measure_identification(problem, order, checkpoints).mrr
    elif isinstance(problem, RopeComparison):
        values = verdict_probabilities(problem, order, checkpoints)[:, 0]
    else:
        look = measure_confusion if isinstance(problem, ShareVariance) else measure_estimate
        values = np.atleast_2d(look(problem, order, checkpoints))[0]
    assert values[1] == values[2] == values[3]


# Numbers


def test_quantiles_and_chances_agree_with_scipy():
    rng = np.random.default_rng(0)
    for a, b in 10 ** rng.uniform(-1.5, 4, size=(300, 2)):
        for q in (1e-6, 0.025, 0.3, 0.5, 0.9, 0.975):
            x = betaincinv(a, b, q)
            if 1e-250 < x < 1 - 1e-12:
                assert beta_quantile(a, b, q) == pytest.approx(x, rel=1e-8)
                assert beta_cdf(a, b, x) == pytest.approx(betainc(a, b, x), rel=1e-8)
    assert beta_quantile(2.0, 3.0, 0.0) == 0
    assert beta_quantile(2.0, 3.0, 1.0) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [(1.0, 1.0), (1.0, 30.0), (0.3, 4.0), (0.5, 0.5), (1.02, 9.0), (3.0, 0.4), (40.0, 0.1), (8.0, 2.0), (40.0, 25.0)],
)
def test_tails_and_the_rest_make_up_the_whole(a, b):
    rng = np.random.default_rng(5)
    threshold, chance = place_threshold(a, b, 0.0, 0.1)
    assert 0 < chance <= 0.1
    assert chance == pytest.approx(betainc(a, b, threshold), rel=1e-9)
    tail = np.array([draw_tail(rng, a, b, threshold) for _ in range(1500)])
    rest = np.array([draw_above_threshold(rng, a, b, threshold) for _ in range(1500)])
    assert stats.kstest(betainc(a, b, tail) / chance, "uniform").pvalue > ALARM
    assert stats.kstest((betainc(a, b, rest) - chance) / (1 - chance), "uniform").pvalue > ALARM


@pytest.mark.parametrize(("a", "b"), [(1.9, 0.1), (0.02, 0.03), (1.0, 1.0), (7.5, 3.1), (60.0, 2.0), (1e-6, 2e-6)])
def test_slots_and_what_lies_within_make_up_the_whole(a, b):
    rng = np.random.default_rng(7)
    below = discretize_betas(np.array([a]), np.array([b]))[0]
    assert below == pytest.approx(betainc(a, b, EDGES), abs=1e-12)
    slots = np.flatnonzero(np.diff(below) > 1e-3)
    for slot in slots[:: max(len(slots) // 4, 1)]:
        drawn = np.array([draw_within_slot(rng, a, b, slot) for _ in range(1500)])
        assert ((EDGES[slot] <= drawn) & (drawn <= EDGES[slot + 1])).all()
        if max(a, b) > 1e-3:  # else all but the last digits are at the ends
            place = (betainc(a, b, drawn) - below[slot]) / (below[slot + 1] - below[slot])
            assert stats.kstest(place, "uniform").pvalue > ALARM


def test_slots_follow_outcomes():
    rng = np.random.default_rng(8)
    a, b = 1.9, 0.1
    below = discretize_betas(np.array([a]), np.array([b]))[0]
    for right in rng.random(300) < 0.8:
        add_outcome(below, a, b, bool(right))
        a, b = (a + 1, b) if right else (a, b + 1)
    assert below == pytest.approx(betainc(a, b, EDGES), abs=1e-12)


def test_rungs_add_up_as_a_convolution():
    pruning_table = make_problems()["gap, many"].start().pruning_table
    for group in (0, 77, 199):
        total = np.ones(1)
        for cell in range(pruning_table.start[group], pruning_table.start[group + 1]):
            own = np.bincount(pruning_table.units[cell], weights=np.diff(pruning_table.below[cell]))
            total = np.convolve(total, own)
        beyond = total[::-1].cumsum()[::-1]
        row = pruning_table.chance[pruning_table.start[group]]
        assert row[: len(beyond)] == pytest.approx(beyond, abs=1e-12)
        assert (row[len(beyond) :] == 0).all()


def test_rope_regions_agree_with_the_exact_difference():
    rng = np.random.default_rng(6)
    for i in range(150):
        a, b, c, d = 10 ** rng.uniform(-0.7 if i % 2 else 0, 3, size=4)
        margin = rng.choice([0.0, 0.01, 0.05, 0.1])
        if i % 3 == 0:  # near each other
            c, d = a * rng.uniform(0.5, 2), b * rng.uniform(0.5, 2)
        exact = BetaDifference(Beta(("a",), np.array([a]), np.array([b])), Beta(("b",), np.array([c]), np.array([d])))
        below, above = region_probabilities(a, b, c, d, margin)
        assert below == pytest.approx(exact.below(-margin), abs=1e-4)
        assert above == pytest.approx(exact.above(margin), abs=1e-4)
    below, above = region_probabilities(8.0, 4.0, 8.0, 4.0, 0.05)
    assert below == above, "of two alike, none is better by rounding"


# Measures


def checkpoints_of(n):
    return np.array(sorted({0, 1, 7, n // 3, n // 2, n - 1, n}))


def outcomes_after(problem, order, n):
    pool = problem.pool
    right = np.bincount(pool.cell[order[:n]], weights=problem.right[order[:n]], minlength=pool.n_cells)
    return right.astype(float), np.bincount(pool.cell[order[:n]], minlength=pool.n_cells)


@pytest.mark.parametrize("name", ["rate", "rate, flat", "variance", "rate, many", "rate, fractions"])
def test_estimates_are_measured_as_by_hand(name):
    problem = make_problems()[name]
    pool = problem.pool
    order = choose(np.random.default_rng(8), problem, THOMPSON, pool.n_items)
    checkpoints = checkpoints_of(len(order))
    measured = measure_estimate(problem, order, checkpoints, level=0.9)
    total, size = outcomes_after(problem, order, pool.n_items)
    truth = total / size
    for i, n in enumerate(checkpoints):
        right, seen = outcomes_after(problem, order, n)
        belief = Beta(tuple(map(str, range(pool.n_groups))), problem.alpha + right, problem.beta + seen - right)
        low, high = FinitePoolBeta(belief, np.stack([right, seen - right], axis=1), size - seen).interval(0.9)
        inside = (low <= truth + 1e-12) & (truth <= high + 1e-12)
        assert measured.rmse[i] == pytest.approx(np.sqrt(pool.share @ (belief.mean() - truth) ** 2))
        assert measured.coverage[i] == pytest.approx(inside.mean())
        assert measured.width[i] == pytest.approx((high - low).mean())
    assert measured.coverage[-1] == 1
    assert measured.width[-1] == 0


def test_intervals_of_large_groups_and_weak_priors_are_the_same():
    for alpha, beta, size in [
        (1.0, 1.0, 25_000),
        (0.01, 0.02, 400),
        (1e-6, 1e-6, 79),
        (1.0, 1.0, 79),
        (300.0, 2.0, 9_000),
    ]:
        pool, _ = sort_by_group(np.repeat([0, 1], [size, 3]), np.arange(2))
        right = np.random.default_rng(0).integers(2, size=size + 3).astype(float)
        problem = Rate(pool, right, np.full(2, alpha), np.full(2, beta))
        order = np.random.default_rng(1).permutation(size + 3)
        checkpoints = np.array([0, 1, 5, 60])
        measured = measure_estimate(problem, order, checkpoints)
        for i, n in enumerate(checkpoints):
            seen_right, seen = outcomes_after(problem, order, n)
            belief = Beta(("a", "b"), alpha + seen_right, beta + seen - seen_right)
            known = np.stack([seen_right, seen - seen_right], axis=1)
            low, high = FinitePoolBeta(belief, known, np.array([size, 3]) - seen).interval()
            assert measured.width[i] == pytest.approx((high - low).mean(), abs=1e-12)


@pytest.mark.parametrize("name", ["spread, flat", "spread, cells", "cost, sticks"])
def test_confusion_is_measured_as_by_hand(name):
    problem = make_problems()[name]
    pool = problem.pool
    order = choose(np.random.default_rng(9), problem, THOMPSON, pool.n_items)
    checkpoints = checkpoints_of(len(order))
    measured = measure_confusion(problem, order, checkpoints)
    one_hot = np.eye(problem.alpha.shape[1])[problem.label]
    counts = [np.zeros_like(problem.alpha) for _ in checkpoints]
    for i, n in enumerate(checkpoints):
        np.add.at(counts[i], pool.cell[order[:n]], one_hot[order[:n]])
    truth = counts[-1] / counts[-1].sum(axis=1, keepdims=True)
    share = pool.share[pool.group] * pool.weight
    for i in range(len(checkpoints)):
        alpha = problem.alpha + counts[i]
        errors = ((alpha / alpha.sum(axis=1, keepdims=True) - truth) ** 2).sum(axis=1)
        assert measured[i] == pytest.approx(np.sqrt(share @ errors))


@pytest.mark.parametrize("name", ["rate", "gap", "gap, least", "cost, few prices", "cost, sticks", "cost, cells"])
def test_finding_is_measured_as_by_hand(name):
    problem = make_problems()[name]
    pool = problem.pool
    order = choose(np.random.default_rng(9), problem, THOMPSON, pool.n_items)
    checkpoints = checkpoints_of(len(order))
    definition = Definition(problem, 1, np.random.default_rng(0))
    by_hand, done = [], 0
    for n in checkpoints:
        for item in order[done:n]:
            definition.alpha[0, pool.cell[item]] += definition.outcome[item]
        done = n
        by_hand.append(definition.gains(definition.mean(), definition.alpha)[0])
    definition.alpha[:] = 0
    np.add.at(definition.alpha[0], pool.cell, definition.outcome)
    assert true_gains(problem) == pytest.approx(definition.gains(definition.mean(), definition.alpha)[0])
    for m in (1, 2, 3):
        measured = measure_identification(problem, order, checkpoints, m)
        expected = [reciprocal_rank(value, true_gains(problem), m) for value in by_hand]
        assert measured.mrr == pytest.approx(expected)
        assert np.array_equal(measured.found, measured.mrr == 1)


def reciprocal_rank(value, truth, m):
    """The best that any m groups which may be called the worst can have."""
    best = 0.0
    for chosen in itertools.combinations(range(len(truth)), m):
        others = [h for h in range(len(truth)) if h not in chosen]
        if min(truth[list(chosen)]) < max(truth[others], default=-np.inf) - 1e-12:
            continue
        ranks = [
            1 + sum(value[h] > value[g] or (value[h] == value[g] and truth[h] < truth[g]) for h in others)
            for g in chosen
        ]
        best = max(best, np.mean(1 / np.array(ranks)))
    return best


def test_ties_count_against_us_unless_the_truth_ties_too():
    rng = np.random.default_rng(10)
    for _ in range(400):
        truth, value = rng.integers(4, size=7).astype(float), rng.integers(4, size=7).astype(float)
        m = int(rng.integers(1, 5))
        assert mean_reciprocal_ranks(value[None], truth, m)[0] == pytest.approx(reciprocal_rank(value, truth, m))
    assert mean_reciprocal_ranks(np.array([[1.0, 1.0, 0.0]]), np.array([3.0, 2.0, 1.0]), 1)[0] == 0.5
    assert mean_reciprocal_ranks(np.array([[1.0, 1.0, 0.0]]), np.array([3.0, 3.0, 1.0]), 1)[0] == 1


@pytest.mark.parametrize("name", ["gap", "gap, least"])
def test_calibration_is_measured_as_by_hand(name):
    problem = make_problems()[name]
    pool = problem.pool
    bins = np.arange(pool.n_cells) % 3
    order = choose(np.random.default_rng(9), problem, RANDOM, 80)
    checkpoints = np.array([0, 10, 80])
    measured = measure_calibration(problem, order, checkpoints, bins)
    weight = pool.share[pool.group] * pool.weight

    def error(theta):
        return sum(abs((weight * (theta - problem.score))[bins == b].sum()) for b in range(3))

    total, size = outcomes_after(problem, np.arange(pool.n_items), pool.n_items)
    for i, n in enumerate(checkpoints):
        right, seen = outcomes_after(problem, order, n)
        ece = error((problem.alpha + right) / (problem.alpha + problem.beta + seen))
        assert measured.ece[i] == pytest.approx(ece)
        assert measured.relative_error[i] == pytest.approx(abs(ece - error(total / size)) / error(total / size))


def test_comparisons_are_measured_as_by_hand():
    problem = make_problems()["rope"]
    pool = problem.pool
    order = choose(np.random.default_rng(9), problem, THOMPSON, 10_000)
    checkpoints = checkpoints_of(len(order))
    found = [measure_comparison(problem, order, checkpoints, verdict) for verdict in range(3)]

    def regions(n):
        right, seen = outcomes_after(problem, order, n)
        alpha, beta = problem.alpha + right, problem.beta + seen - right
        a, b = (Beta(("x",), alpha[[g]], beta[[g]]) for g in (problem.a, problem.b))
        exact = BetaDifference(a, b)
        below, above = exact.below(-problem.margin), exact.above(problem.margin)
        return np.array([below, 1 - below - above, above])

    assert len(order) == len(pool.items_of(problem.eligible_groups))
    for i, n in enumerate(checkpoints):
        for verdict in range(3):
            assert found[verdict][i] == (n > 0 and regions(n).argmax() == verdict)  # before any label, a tie


def test_nothing_is_relative_to_no_calibration_error():
    pool, _ = sort_by_group(np.repeat([0, 1], 10), np.arange(2))
    problem = CalibrationError(pool, np.tile([1.0, 0.0], 10), np.ones(2), np.ones(2), np.full(2, 0.5))
    measured = measure_calibration(problem, np.arange(20), np.array([0, 5, 20]), np.zeros(2, dtype=np.int64))
    assert measured.truth == 0
    assert np.isnan(measured.relative_error).all()
