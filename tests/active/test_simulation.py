"""Replays tell the truth about what labelling would have cost, compiled or not."""

import gc
import json
import tracemalloc
import weakref
from collections import Counter
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config, register_parallel_backend
from joblib.parallel import ThreadingBackend
from makers import make_pool, outcome_pool
from scipy.stats import chi2
from threadpoolctl import threadpool_info, threadpool_limits

import fewlabels as fl
from fewlabels.active.policies import POLICIES, multi_play
from fewlabels.active.simulation import parallel as crew
from fewlabels.active.simulation.dispatch import find_problem, is_compiled, measure, run_policy
from fewlabels.active.simulation.kernels.reciprocal_ranks import mean_reciprocal_ranks
from fewlabels.active.simulation.labelled_pool import make_labelled_pool
from fewlabels.active.simulation.plan import (
    CHECK_RESOLUTION,
    SimulatedFuture,
    count_until_settled,
    draw_planned_labels,
)
from fewlabels.active.simulation.replay import ReplayRun, follow_posterior, schedule_replay
from fewlabels.active.simulation.replay_measures import choose_measures, mean_reciprocal_rank
from fewlabels.data.tabulation import count_pool
from fewlabels.errors import InputError
from fewlabels.metrics.metric import Metric
from fewlabels.models.blas import use_one_thread
from fewlabels.models.inference import infer

PRICE = fl.cost({y: {p: float(ord(y) != ord(p)) * (1 + ord(y) - ord("a")) for p in "abc"} for y in "abc"})
GOALS = [
    fl.FindWorst(), fl.FindBest(m=2), fl.FindWorst(fl.ece), fl.FindWorst(PRICE), fl.FindWorst(fl.confusion),
    fl.Estimate(), fl.Estimate(fl.ece), fl.Estimate(fl.confusion), fl.Compare("a", "b"),
]  # fmt: skip
NAMES = [f"{goal.name}-{goal.metric.name}" for goal in GOALS]
FLAT = (fl.flat(),)


def stage_of(seed=0, n=60, by=fl.predicted, **more):
    return make_labelled_pool(fl.Predictions.read(make_pool(seed, n, **more)), by)


@dataclass(frozen=True)
class Nearest:
    """The groups whose accuracy is nearest to this."""

    to: float = 0.8
    name: str = "nearest"
    metric: Metric = fl.accuracy

    def gain(self, belief, truth):
        return -np.abs(belief.values(truth) - self.to)

    def answer(self, belief, rng):
        return belief

    def settled(self, belief, rng):
        return bool(belief.width().max() < 0.5)


# -- the stage ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [fl.accuracy, fl.ece, fl.confusion, fl.recall], ids=lambda m: m.name)
@pytest.mark.parametrize("by", [fl.predicted, fl.column("sex"), fl.bins(4)], ids=lambda b: b.name)
def test_the_truth_of_a_stage_is_that_of_its_pool(metric, by):
    pool = make_pool(1)
    labelled = make_labelled_pool(fl.Predictions.read(pool), by)
    rows = fl.assess(pool, by=by, metric=metric, finite_pool=True).groups
    assert np.allclose(labelled.truth(infer(labelled.tally, metric, fl.flat())), [row.mean for row in rows])


def test_items_without_a_label_are_left_out():
    labelled = make_labelled_pool(fl.Predictions.read(outcome_pool(one=(3, 1, 5), other=(2, 2, 0))), fl.column("group"))
    assert (labelled.n_items, labelled.start.tolist()) == (8, [0, 4, 8])


def test_grades_keep_their_values():
    labelled = make_labelled_pool(fl.Predictions.read({"agreement": [0.25, 0.25, 1.0, None]}), fl.everything)
    assert sorted(labelled.right.tolist()) == [0.25, 0.25, 1.0]


def test_a_table_without_labels_is_refused():
    with pytest.raises(InputError, match="has none; use plan"):
        fl.simulate({"predicted": ["a", "b"]}, goal=fl.FindWorst())


# -- playing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [*POLICIES.values()], ids=[*POLICIES])
@pytest.mark.parametrize("goal", [*GOALS, fl.FindWorst(fl.recall), Nearest()], ids=[*NAMES, "recall", "own"])
def test_every_goal_plays_with_every_policy_to_the_last_item(goal, policy):
    run = ReplayRun(stage_of(), goal, policy, fl.from_scores())
    order = run_policy(run, np.random.default_rng(0), 1000)
    there = np.isin(run.labelled.group, [0, 1]).sum() if goal.name == "compare" else run.labelled.n_items
    assert len(order) == len(set(order.tolist())) == there
    assert len(run_policy(run, np.random.default_rng(0), 7)) == 7


def test_goals_and_policies_of_ones_own_are_not_compiled():
    labelled = stage_of()
    assert not is_compiled(ReplayRun(labelled, Nearest(), fl.thompson, fl.flat()))
    assert not is_compiled(ReplayRun(labelled, fl.FindWorst(), lambda rng, prospect: [0], fl.flat()))
    assert is_compiled(ReplayRun(labelled, fl.FindWorst(), fl.thompson, fl.flat()))


def test_items_of_a_group_named_twice_are_two():
    run = ReplayRun(stage_of(n=24), fl.Estimate(), lambda rng, prospect: [1, 1], fl.flat())
    for budget in (1, 2, 7, 24):
        order = run.run_policy(np.random.default_rng(0), budget)
        assert len(order) == len(set(order.tolist())) == min(budget, (run.labelled.group == 1).sum())
        assert np.all(run.labelled.group[order] == 1)


def test_a_run_ends_where_a_policy_names_nothing_that_is_open():
    """Of a closed group nothing is taken, least of all an item of its neighbour."""
    labelled = stage_of(n=24)
    there = np.bincount(labelled.group)
    for named, taken in (([0], [there[0], 0, 0]), ([0, 2], [there[0], 0, there[2]]), ([], [0, 0, 0])):
        order = ReplayRun(labelled, fl.Estimate(), lambda rng, prospect, named=named: named, fl.flat()).run_policy(
            np.random.default_rng(0), 24
        )
        assert np.bincount(labelled.group[order], minlength=3).tolist() == taken
    two = ReplayRun(
        labelled, fl.Compare("a", "b"), lambda rng, prospect: [2, 0], fl.flat()
    )  # c does not matter to the goal
    assert np.all(labelled.group[two.run_policy(np.random.default_rng(0), 24)] == 0)


def test_rows_end_where_the_runs_do():
    pool, n = make_pool(4), make_pool(4)["predicted"].count("a")

    def stubborn(rng, prospect):
        return [0]

    found = fl.simulate(pool, priors=FLAT, goal=fl.Estimate(), policies=(stubborn,), runs=2, n_jobs=1)
    assert max(row["n_labels"] for row in found) == n < 60


@pytest.mark.parametrize("group", [-1, 3])
def test_groups_that_are_not_there_are_refused(group):
    run = ReplayRun(stage_of(n=24), fl.Estimate(), lambda rng, prospect: [group], fl.flat())
    with pytest.raises(InputError, match=f"named group {group}; groups go from 0 to 2"):
        run.run_policy(np.random.default_rng(0), 5)


@pytest.mark.parametrize(("allocation", "first"), [("equal", 0), ("proportional", 0), ("neyman", None)])
def test_a_kernel_counts_the_labels_there_are(allocation, first):
    """Group a has its share already; Neyman's quotas move with what is seen of b, which has none."""
    counts = count_pool(fl.Predictions.read(outcome_pool(a=(60, 40, 300), b=(0, 0, 400))), fl.column("group"))
    labelled = draw_planned_labels(np.random.default_rng(0), counts, infer(counts, fl.accuracy, fl.flat()))
    run = ReplayRun(labelled, fl.Estimate(), fl.Stratified(allocation), fl.flat(), finite_pool=False)
    plain, fast = (
        np.mean([(labelled.group[choose(np.random.default_rng(seed), 60)] == 0).sum() for seed in range(20)])
        for choose in (run.run_policy, partial(run_policy, run))
    )
    assert plain == pytest.approx(fast, abs=1.5)
    assert first is None or fast == first


@pytest.mark.parametrize("metric", [fl.ece, fl.confusion], ids=lambda m: m.name)
def test_an_upper_bound_by_draws_is_drawn_anew_at_every_step(metric):
    """How often two labels in a row fall in the same of six groups alike: kernel and definition, 40 labels a run.

    Fails a right kernel once in 100,000 times. A kernel that keeps a group's bound until its next label stays with
    whom chance put ahead, and differs by about eight standard errors.
    """
    predicted, right = np.repeat(list("abcdef"), 60), np.tile(np.arange(60) % 10 < 7, 6)
    score = np.tile(np.where(np.arange(60) % 2, 0.3, 0.7), 6)
    pool = {"predicted": predicted, "label": np.where(right, predicted, "x"), "score": score}
    labelled = make_labelled_pool(
        fl.Predictions.read({k: v.tolist() for k, v in pool.items()}), fl.predicted, bins=fl.bins(2)
    )
    run = ReplayRun(labelled, fl.FindWorst(metric), fl.upper_bound, fl.flat(40.0))
    seeds = np.random.SeedSequence(6).spawn(80)
    plain = [stays(run, run.run_policy(np.random.default_rng(s), 40)) for s in seeds[:16]]
    fast = [stays(run, run_policy(run, np.random.default_rng(s), 40)) for s in seeds[16:]]
    error = np.sqrt(np.var(plain, ddof=1) / len(plain) + np.var(fast, ddof=1) / len(fast))
    assert abs(np.mean(plain) - np.mean(fast)) < 4.4 * error


def stays(run, order):
    return np.mean(np.diff(run.labelled.group[order]) == 0)


PLAIN, FAST, ERROR = 80, 400, 1e-4  # runs of each, and the error of every comparison
PAIRS = [(goal, fl.thompson) for goal in GOALS] + [
    (fl.FindWorst(m=2), policy)
    for policy in (fl.top_two, multi_play, fl.epsilon_greedy, fl.upper_bound, fl.stratified, fl.Stratified("neyman"))
]


@pytest.mark.parametrize(("goal", "policy"), PAIRS, ids=[f"{g.name}-{g.metric.name}-{p.name}" for g, p in PAIRS])
def test_a_kernel_chooses_as_the_definition_does(goal, policy):
    """Pairs of groups at steps 1-2, 3-4 and 5-6 have the same distribution: chi-square of two samples."""
    run = ReplayRun(stage_of(2, n=24), goal, policy, fl.flat())
    seeds = np.random.SeedSequence(5).spawn(PLAIN + FAST)
    plain = [run.labelled.group[run.run_policy(np.random.default_rng(s), 6)] for s in seeds[:PLAIN]]
    fast = [run.labelled.group[run_policy(run, np.random.default_rng(s), 6)] for s in seeds[PLAIN:]]
    for step in (0, 2, 4):
        assert alike(*(Counter(tuple(sorted(run[step : step + 2].tolist())) for run in runs) for runs in (plain, fast)))


def alike(one, other):
    groups = [g for g in {*one, *other} if one[g] + other[g] > 0]
    table = np.array([[counts[g] for g in groups] for counts in (one, other)], dtype=float)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return len(groups) == 1 or ((table - expected) ** 2 / expected).sum() < chi2.isf(ERROR, len(groups) - 1)


# -- measuring ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("goal", [*GOALS, fl.FindWorst(fl.recall), fl.Estimate(fl.f1)], ids=[*NAMES, "recall", "f1"])
@pytest.mark.parametrize("prior", [fl.flat(), fl.from_scores()], ids=lambda p: p.name)
def test_measures_are_those_of_the_definition(goal, prior):
    run = ReplayRun(stage_of(3), goal, fl.random, prior)
    order = run_policy(run, np.random.default_rng(1), 60)
    checkpoints = np.array([1, 2, 5, 20, len(order)])
    found = measure(run, order, checkpoints)
    plain = [choose_measures(goal)(run, known) for _, known in follow_posterior(run, order, checkpoints.tolist())]
    assert found.keys() == plain[0].keys()
    for name, values in found.items():
        assert np.allclose(values, [row[name] for row in plain], atol=1e-6, equal_nan=True), name


@pytest.mark.parametrize(
    ("estimate", "truth", "m", "mrr"),
    [
        ([9, 1, 2], [9, 1, 2], 1, 1.0),
        ([9, 9, 2], [9, 1, 2], 1, 1 / 2),  # a tie in the estimate counts against us
        ([1, 9, 2], [9, 1, 2], 1, 1 / 3),
        ([8, 9, 2], [9, 8, 2], 2, 1.0),  # others of the m are left out of the ranking
        ([8, 1, 2], [9, 8, 2], 2, (1 + 1 / 2) / 2),
        ([1, 9, 2], [9, 9, 2], 1, 1.0),  # any of those that tie in truth will do
        ([9, 1, 2, 3], [9, 5, 5, 1], 2, (1 + 1 / 2) / 2),
        ([1, 2], [3, 4], 5, 1.0),
    ],
)
def test_the_reciprocal_rank_of_the_true_ones(estimate, truth, m, mrr):
    assert mean_reciprocal_rank(np.array(estimate, float), np.array(truth, float), m) == pytest.approx(mrr)


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
@pytest.mark.parametrize(("off", "mrr"), [(1e-11, 1 / 2), (1e-7, 1.0)])
def test_what_is_a_tie_does_not_depend_on_who_looks(scale, off, mrr):
    """A value ahead by no more than rounding is tied, and a tie counts against us; at any scale."""
    estimate, truth = scale * np.array([1 + off, 1.0, 0.5]), scale * np.array([3.0, 2.0, 1.0])
    assert mean_reciprocal_rank(estimate, truth, 1) == mean_reciprocal_ranks(estimate[None], truth, 1)[0] == mrr
    assert mean_reciprocal_rank(truth, estimate, 2) == mean_reciprocal_ranks(truth[None], estimate, 2)[0] == 1.0


@pytest.mark.parametrize("goal", [fl.Compare("a", "b"), fl.Compare("b", "a")], ids=["below", "above"])
def test_a_tie_between_verdicts_is_never_right(goal):
    pool = {"predicted": ["a"] * 50 + ["b"] * 50, "label": ["a"] * 25 + ["b"] * 70 + ["a"] * 5}
    run = ReplayRun(make_labelled_pool(fl.Predictions.read(pool), fl.predicted), goal, fl.random, fl.flat())
    order = run_policy(run, np.random.default_rng(0), 100)
    assert measure(run, order, np.array([0, 100]))["correct"].tolist() == [0.0, 1.0]
    look = choose_measures(goal)
    assert [look(run, run.infer_posterior(order[:n]))["correct"] for n in (0, 100)] == [0.0, 1.0]


def test_checkpoints_begin_with_nothing_and_end_with_everything():
    marks = schedule_replay(10_000)
    assert (marks[0], marks[1], marks[-1]) == (0, 1, 10_000)
    assert np.all(np.diff(marks) > 0)


# -- simulating ---------------------------------------------------------------------------------------------------


def rows_of(simulation):
    return [{k: v for k, v in row.items() if k != "se"} for row in simulation]


def test_rows_are_as_the_contract_says():
    found = fl.simulate(make_pool(4), goal=fl.FindWorst(), priors=(fl.flat(), fl.from_scores()), runs=4, n_jobs=1)
    keys = {"goal", "metric", "policy", "prior", "n_labels", "measure", "mean", "se", "runs"}
    assert all(row.keys() == keys for row in found)
    assert {row["measure"] for row in found} == {"mrr", "found"}
    assert {(row["policy"], row["prior"]) for row in found} == {(p, q) for p in ("random", "thompson") for q in ("flat", "scores")}  # fmt: skip
    last = found.labels_to_target[0]
    assert last["target"] == 0.99
    assert last["share"] == last["n_labels"] / 60
    assert found.to_dict().keys() >= {"rows", "labels_to_target"}
    assert len(found.to_frame()) == len(found.rows)


@pytest.mark.parametrize(("goal", "measures"), [
    (fl.Estimate(), {"rmse", "coverage", "width"}),
    (fl.Estimate(fl.ece), {"relative_error"}),
    (fl.Compare("a", "b"), {"correct"}),
    (Nearest(), {"rmse", "coverage", "width"}),
], ids=["estimate", "ece", "compare", "own"])  # fmt: skip
def test_every_goal_has_its_measures(goal, measures):
    found = fl.simulate(make_pool(4), priors=FLAT, goal=goal, runs=2, budget=20, n_checkpoints=4, n_jobs=1)
    assert {row["measure"] for row in found} == measures


@pytest.mark.parametrize("goal", [fl.FindWorst(), Nearest()], ids=["compiled", "own"])
def test_the_same_seed_gives_the_same_rows_however_many_work(goal):
    one, two, other = (
        rows_of(
            fl.simulate(
                make_pool(4), priors=FLAT, goal=goal, runs=6, budget=30, n_checkpoints=4, n_jobs=jobs, seed=seed
            )
        )
        for jobs, seed in ((1, 3), (2, 3), (1, 4))
    )
    assert one == two
    assert one != other


class Cluster(ThreadingBackend):
    """A cluster, as far as joblib can tell; like Ray's, it hands back nothing until everything is done."""

    supports_return_generator = False


register_parallel_backend("cluster", Cluster)


@pytest.mark.parametrize("backend", ["loky", "threading", "cluster"])
def test_whoever_tells_joblib_decides_where_the_same_rows_are_made(backend, monkeypatch):
    chosen = []

    class Noting(Parallel):
        def __init__(self, **options):
            super().__init__(**options)
            chosen.append((type(self._backend).__name__.lower(), self.n_jobs))

    monkeypatch.setattr(crew, "Parallel", Noting)
    choices = {"goal": fl.FindWorst(), "priors": FLAT, "runs": 4, "budget": 20, "n_checkpoints": 2}
    alone = rows_of(fl.simulate(make_pool(4), n_jobs=1, **choices))
    with parallel_config(backend=backend, n_jobs=2):
        assert rows_of(fl.simulate(make_pool(4), **choices)) == alone
    assert all(name.startswith(backend) and n == 2 for name, n in chosen[len(chosen) // 2 :])


def count_threads(_=None):
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.parametrize("backend", ["sequential", "loky", "threading"])
def test_linear_algebra_keeps_to_one_thread_wherever_a_replay_is_played(backend):
    with threadpool_limits(limits=2, user_api="blas"):
        with parallel_config(backend=backend, n_jobs=2):
            assert all(found == {1} for found in crew.spread(delayed(count_threads)(i) for i in range(4)))
        assert count_threads() == {2}


def test_the_last_to_leave_gives_the_threads_back():
    with threadpool_limits(limits=2, user_api="blas"):
        one, other = use_one_thread(), use_one_thread()
        one.__enter__()
        other.__enter__()
        one.__exit__(None, None, None)
        assert count_threads() == {1}
        other.__exit__(None, None, None)
        assert count_threads() == {2}


def test_with_every_label_the_answer_is_right_and_the_interval_a_point():
    found = fl.simulate(make_pool(4), priors=FLAT, goal=fl.Estimate(), runs=3, n_jobs=1)
    last = {row["measure"]: row["mean"] for row in found if row["n_labels"] == 60}
    assert last["coverage"] == 1.0
    assert last["width"] == pytest.approx(0.0, abs=1e-12)


def test_a_target_must_be_kept_to_the_end():
    """Of two groups the worse one is found at once by chance, lost, and found again: only the last time counts."""
    pool = outcome_pool(a=(5, 5, 0), b=(6, 4, 0))
    found = fl.simulate(
        pool, goal=fl.FindWorst(), by=fl.column("group"), priors=FLAT, policies=(fl.random,), runs=50, n_jobs=1
    )
    n = found.labels_to_target[0]["n_labels"]
    after = [row["mean"] for row in found if row["measure"] == "mrr" and row["n_labels"] >= n]
    before = [row["mean"] for row in found if row["measure"] == "mrr" and row["n_labels"] < n]
    assert min(after) >= 0.99 > before[-1]


def test_a_target_that_is_never_reached_is_null():
    found = fl.simulate(make_pool(4), goal=fl.Estimate(), priors=FLAT, budget=2, runs=3, n_jobs=1)
    assert all(row["n_labels"] is None and row["share"] is None for row in found.labels_to_target)


def test_progress_is_told():
    seen = []
    fl.simulate(
        make_pool(4),
        priors=FLAT,
        goal=fl.FindWorst(),
        runs=3,
        n_jobs=1,
        tick=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(i, 6) for i in range(1, 7)]


@pytest.mark.parametrize(("wrong", "said"), [
    ({"runs": 1}, "variation needs at least 2"),
    ({"budget": 0}, "leaves nothing to replay"),
    ({"policies": ()}, "at least one policy"),
    ({"policies": (fl.random, fl.random)}, "two policies have the same name in random, random"),
    ({"priors": (fl.flat(2.0), fl.flat(50.0))}, "two priors have the same name in flat, flat"),
    ({"goal": fl.FindWorst(m=4)}, "goal find-worst: m is 4, but there are only 3 groups"),
    ({"goal": fl.Compare("a", "d")}, "there is no group 'd'"),
])  # fmt: skip
def test_senseless_simulations_are_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        fl.simulate(make_pool(4), **({"goal": fl.FindWorst()} | wrong))


@pytest.mark.parametrize("policy", [fl.random, fl.thompson], ids=lambda p: p.name)
def test_a_comparison_ends_with_the_items_of_its_two_groups(policy):
    pool = make_pool(4, n=300)
    there = 300 - pool["predicted"].count("c")
    for budget, most in ((None, there), (10_000, there), (7, 7)):
        found = fl.simulate(
            pool, goal=fl.Compare("a", "b"), priors=FLAT, policies=(policy,), budget=budget, runs=3, n_jobs=1
        )
        assert max(row["n_labels"] for row in found) == most


def undefined_pool(positives):
    """Three groups of twenty; those not named have no positive label, and their tpr is undefined."""
    rng = np.random.default_rng(9)
    group, predicted = np.repeat(["f", "g", "h"], 20), rng.integers(2, size=60)
    label = np.where(np.isin(group, positives), np.where(rng.random(60) < 0.7, predicted, 1 - predicted), 0)
    return {"predicted": predicted.tolist(), "label": label.tolist(), "group": group.tolist()}


@pytest.mark.parametrize("goal", [fl.Estimate(fl.tpr), fl.FindWorst(fl.tpr), fl.Compare("f", "g", fl.tpr)], ids=lambda g: g.name)  # fmt: skip
def test_groups_without_a_truth_take_no_part(goal):
    settings = {
        "by": fl.column("group"),
        "priors": FLAT,
        "policies": (fl.random,),
        "runs": 2,
        "n_checkpoints": 4,
        "n_jobs": 1,
    }
    some = fl.simulate(undefined_pool(["f", "g"]), goal=goal, **settings)
    assert all(row["mean"] is not None and np.isfinite(row["se"]) for row in some)
    none = fl.simulate(undefined_pool([]), goal=goal, **settings)
    assert all(row["mean"] is None and row["se"] is None for row in none)
    assert all(row["n_labels"] is None for row in none.labels_to_target)
    assert json.loads(none.to_json())["rows"][0]["mean"] is None


def test_measures_leave_out_the_group_without_a_truth_and_no_other():
    run = ReplayRun(make_labelled_pool(fl.Predictions.read(undefined_pool(["f", "g"])), fl.column("group")), fl.Estimate(fl.tpr), fl.random, fl.flat())  # fmt: skip
    known = run.infer_posterior(np.arange(0, 60, 2))
    off = known.values(known.belief.mean()[None])[0] - run.truth
    low, high = known.interval()
    assert np.isnan(run.truth).tolist() == [False, False, True]
    found = choose_measures(run.goal)(run, known)
    assert found["rmse"] == pytest.approx(np.sqrt((off[:2] ** 2).mean()))
    assert found["width"] == pytest.approx((high - low)[:2].mean())


def test_grades_have_coverage_and_width():
    grades = np.random.default_rng(0).integers(5, size=80) / 4
    pool = {"agreement": grades.tolist(), "group": ["x", "y"] * 40}
    run = ReplayRun(
        make_labelled_pool(fl.Predictions.read(pool), fl.column("group")), fl.Estimate(), fl.thompson, fl.flat()
    )
    order = run_policy(run, np.random.default_rng(0), 80)
    checkpoints = np.array([0, 3, 40, 79, 80])
    plain = [choose_measures(run.goal)(run, known) for _, known in follow_posterior(run, order, checkpoints.tolist())]
    for name, values in measure(run, order, checkpoints).items():
        assert values == pytest.approx([row[name] for row in plain]), name
    assert json.loads(
        fl.simulate(pool, goal=fl.Estimate(), by=fl.column("group"), priors=FLAT, runs=2, n_jobs=1).to_json()
    )


def test_a_perfectly_calibrated_pool_has_no_relative_error():
    pool = {"predicted": ["a"] * 20, "label": ["a", "b"] * 10, "score": [0.5] * 20}
    found = fl.simulate(pool, goal=fl.Estimate(fl.ece), policies=(fl.random,), runs=2, n_jobs=1)
    assert {row["mean"] for row in found} == {None}


def test_intervals_cover_when_labels_are_random():
    """200 runs of 3 groups, 95 % finite-pool intervals; flat beliefs about fixed truths cover 90 to 99 %."""
    found = fl.simulate(
        make_pool(5, n=300, skill=0.5),
        goal=fl.Estimate(),
        priors=FLAT,
        policies=(fl.random,),
        runs=200,
        budget=60,
        n_checkpoints=6,
    )
    covers = [row["mean"] for row in found if row["measure"] == "coverage" and row["n_labels"] >= 20]
    assert 0.90 < min(covers) <= max(covers) <= 1.0


def test_curves_are_drawn(tmp_path):
    found = fl.simulate(make_pool(4), priors=FLAT, goal=fl.Estimate(), runs=3, n_jobs=1)
    assert found.plot("rmse").get_ylabel() == "error (RMSE)"
    assert found.write_plots(tmp_path / "curves.png").stat().st_size > 10_000
    with pytest.raises(InputError, match="has no 'rsme'; did you mean 'rmse'"):
        found.plot("rsme")
    with pytest.raises(InputError, match="should end in"):
        found.write_plots(tmp_path / "curves")


# -- planning -----------------------------------------------------------------------------------------------------


def test_a_plan_for_one_group_is_that_of_the_closed_form():
    """Strong scores fix the accuracy at 0.9; then the labels until a Beta is narrow enough can be counted by hand."""
    pool = {"predicted": ["a"] * 3000, "score": [0.9] * 3000}
    found = fl.plan(
        pool, goal=fl.Estimate(width=0.05), prior=fl.from_scores(1000.0), by=fl.everything, runs=40, n_jobs=1
    )
    widths = [fl.Beta(("a",), np.array([0.9 * n]), np.array([0.1 * n])).interval() for n in range(1000, 3000)]
    n = next(i for i, (low, high) in enumerate(widths) if high[0] - low[0] <= 0.05)
    assert n - 1 <= found.low <= found.high <= n + 60


def test_a_plan_knows_the_labels_there_are():
    few = fl.plan(outcome_pool(a=(0, 0, 300)), goal=fl.Estimate(width=0.2), runs=20, n_jobs=1)
    more = fl.plan(outcome_pool(a=(30, 20, 250)), goal=fl.Estimate(width=0.2), runs=20, n_jobs=1)
    assert (few.n_labels, more.n_labels) == (0, 50)
    assert more.n_more < few.n_more
    assert "more labels will get accuracy of every group within ±10 points" in more.sentence


def test_a_plan_says_when_all_labels_would_not_do():
    found = fl.plan(outcome_pool(a=(0, 0, 20)), goal=fl.Estimate(width=0.01), runs=10, n_jobs=1)
    assert (found.n_more, found.p_settled) == (None, 0.0)
    assert found.sentence.startswith("in none of the simulated futures")
    assert "wider target" in str(found.remedy)


@pytest.mark.parametrize(("goal", "said"), [
    (fl.FindWorst(m=2), "name the 2 worst groups by accuracy"),
    (fl.Compare("a", "b"), "tell whether a and b differ by more than 0.05"),
    (fl.FindWorst(fl.confusion), "name the worst group by confusion"),
    (Nearest(), "settle nearest"),
], ids=["worst", "compare", "classes", "own"])  # fmt: skip
def test_every_goal_can_be_planned(goal, said):
    pool = make_pool(6, n=200, labelled=0.0)
    found = fl.plan(pool, goal=goal, runs=4, n_jobs=1, finite_pool=True)
    assert said in found.sentence
    assert found.to_dict()["goal"] == goal.name


def test_imagined_labels_follow_the_belief():
    pool = fl.Predictions.read(outcome_pool(a=(90, 10, 2000), b=(10, 90, 2000)))
    counts = count_pool(pool, fl.column("group"))
    labelled = draw_planned_labels(np.random.default_rng(0), counts, infer(counts, fl.accuracy, fl.flat()))
    shares = [labelled.right[labelled.group == g].mean() for g in (0, 1)]
    assert shares == pytest.approx([0.9, 0.1], abs=0.12)
    assert labelled.n_items == 4000


@pytest.mark.parametrize("metric", [fl.accuracy, fl.ece, fl.confusion, fl.recall], ids=lambda m: m.name)
@pytest.mark.parametrize("by", [fl.predicted, fl.column("sex")], ids=lambda b: b.name)
def test_imagined_items_are_those_without_a_label(metric, by):
    """In every cell as many as there are, and over many futures labelled as is believed: z-scores, error 1e-4."""
    pool = fl.Predictions.read(make_pool(3, n=120, labelled=0.5))
    counts = count_pool(pool, by)
    known = infer(counts, metric, fl.flat())
    rng, n_futures = np.random.default_rng(1), 400
    more = []
    for _ in range(n_futures):
        labelled = draw_planned_labels(rng, counts, known)
        assert np.all(np.diff(labelled.group) >= 0)
        more.append(labelled.count(known, np.arange(labelled.n_items)))
        assert np.array_equal((known.counts + more[-1]).sum(axis=1), known.evaluation.cells.n_items)
    mean = known.belief.mean()
    expected = np.sum(more[0], axis=1) * (mean if mean.ndim == 1 else mean[:, 0])
    first = np.array(more)[:, :, 0]
    spread = np.maximum(first.std(axis=0, ddof=1), 1e-9) / np.sqrt(n_futures)
    assert np.all(np.abs(first.mean(axis=0) - expected) < 5 * spread)


def test_imagining_takes_no_number_per_item_and_class():
    n, k = 40_000, 100
    counts = count_pool(fl.Predictions.read({"predicted": [f"c{i % k}" for i in range(n)]}), fl.predicted)
    known = infer(counts, fl.confusion, fl.flat())
    tracemalloc.start()
    labelled = draw_planned_labels(np.random.default_rng(0), counts, known)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert labelled.n_items == n
    assert peak < n * k * 8 / 4


def imagine_future(seed, goal, n=120, policy=fl.thompson):
    counts = count_pool(fl.Predictions.read(make_pool(seed, n=n, labelled=0.0)), fl.predicted)
    known = infer(counts, goal.metric, fl.flat())
    label_seed, policy_seed, answer_seed = np.random.SeedSequence(seed).spawn(3)
    labelled = draw_planned_labels(np.random.default_rng(label_seed), counts, known)
    return SimulatedFuture(ReplayRun(labelled, goal, policy, fl.flat(), finite_pool=False), policy_seed, answer_seed)


GRID = [fl.FindWorst(confidence=0.9), fl.FindBest(m=2, confidence=0.8), fl.Compare("a", "b"), fl.Estimate(width=0.4)]


def follow_checks(future):
    """Whether the goal is settled after every number of labels, in the order in which they are labelled."""
    order = np.concatenate([items for items, _ in future.label_in_batches()])
    return [future.is_settled(future.run.infer_posterior(order[:n])) for n in range(len(order) + 1)]


@pytest.mark.parametrize("goal", GRID, ids=lambda g: g.name)
def test_a_future_ends_the_first_time_that_it_is_settled(goal, monkeypatch):
    """With a look at every label it is the first; with fewer, the first of those that were looked at."""
    flickers = 0
    for seed in range(8):
        future = imagine_future(seed, goal)
        settles, n = follow_checks(future), count_until_settled(future)
        first = settles.index(True) if any(settles) else None
        flickers += np.sum(np.diff(settles) != 0) > 1
        assert first == n if first is None or first <= CHECK_RESOLUTION else n is None or (settles[n] and n >= first)
        monkeypatch.setattr("fewlabels.active.simulation.plan.CHECK_RESOLUTION", 1000)
        settles = follow_checks(future)
        assert count_until_settled(future) == (settles.index(True) if any(settles) else None)
        monkeypatch.setattr("fewlabels.active.simulation.plan.CHECK_RESOLUTION", CHECK_RESOLUTION)
    assert flickers > 0 or goal.name == "estimate", "else halving would have done"


@pytest.mark.parametrize("policy", [*POLICIES.values(), lambda rng, prospect: [int(prospect.left.argmax())]], ids=[*POLICIES, "own"])  # fmt: skip
def test_a_future_labels_every_item_once_in_batches_that_grow(policy):
    future = imagine_future(3, fl.Estimate(), n=60, policy=policy)
    batches = [items for items, _ in future.label_in_batches()]
    assert sorted(np.concatenate(batches)) == list(range(60))
    n_labels = np.cumsum([0, *map(len, batches)])
    assert all(len(items) <= max(1, n // CHECK_RESOLUTION) for items, n in zip(batches, n_labels, strict=False))
    assert max(map(len, batches)) > 1
    again = [items for items, _ in future.label_in_batches()]
    assert all(np.array_equal(one, other) for one, other in zip(batches, again, strict=True))
    for (_, posterior), n in zip(future.label_in_batches(), n_labels[1:], strict=True):
        assert posterior.n_labels.sum() == n


@pytest.mark.parametrize("policy", ["thompson", "stratified", "stratified:neyman", "random", "top-two"])
def test_batches_label_groups_as_often_as_single_choices_do(policy):
    """Labels per group among the first 60 of 120, over 60 futures: two-sample z-scores, error 1e-4."""
    drawn = {"batch": [], "single": []}
    for seed in range(60):
        future = imagine_future(seed, fl.Estimate(), policy=POLICIES[policy])
        batches = np.concatenate([items for items, _ in future.label_in_batches()])[:60]
        single = future.run.run_policy(np.random.default_rng([seed, 1]), 60)
        for name, order in (("batch", batches), ("single", single)):
            drawn[name].append(np.bincount(future.run.labelled.group[order], minlength=3)[:3])
    batch, single = (np.array(drawn[name], dtype=float) for name in ("batch", "single"))
    spread = np.sqrt((batch.var(axis=0, ddof=1) + single.var(axis=0, ddof=1)) / 60)
    assert np.all(np.abs(batch.mean(axis=0) - single.mean(axis=0)) < 4.2 * spread + 0.5)


def test_a_future_is_played_no_further_than_needed(monkeypatch):
    """Ten thousand items, of which some dozens settle the goal."""
    labelled = []
    label_in_batches = ReplayRun.label_in_batches

    def count_items(run, rng, resolution):
        for items, posterior in label_in_batches(run, rng, resolution):
            labelled.append(len(items))
            yield items, posterior

    monkeypatch.setattr(ReplayRun, "label_in_batches", count_items)
    found = fl.plan({"predicted": ["a"] * 10_000}, goal=fl.Estimate(width=0.3), runs=3, n_jobs=1)
    assert found.n_more < 100
    assert sum(labelled) <= 3 * 100


def test_a_plan_needs_something_to_label():
    with pytest.raises(InputError, match="nothing left to plan"):
        fl.plan(make_pool(4), goal=fl.Estimate())
    with pytest.raises(InputError, match="that could help is labelled"):
        fl.plan(outcome_pool(a=(9, 1, 0), b=(5, 5, 0), c=(0, 0, 9)), goal=fl.Compare("a", "b"), by=fl.column("group"))
    with pytest.raises(InputError, match="variation needs at least 2"):
        fl.plan(make_pool(4, labelled=0.0), goal=fl.Estimate(), runs=1)


@pytest.mark.parametrize(("goal", "said"), [
    (fl.FindWorst(m=4), "m is 4, but there are only 3 groups"),
    (fl.Compare("a", "d"), "there is no group 'd'"),
], ids=["many", "unknown"])  # fmt: skip
def test_senseless_plans_are_refused(goal, said):
    with pytest.raises(InputError, match=said):
        fl.plan(make_pool(4, labelled=0.0), goal=goal)


def test_a_plan_counts_only_the_items_that_could_help():
    pool = outcome_pool(a=(0, 0, 5), b=(0, 0, 5), c=(0, 0, 50))
    found = fl.plan(pool, goal=fl.Compare("a", "b", rope=0.001, confidence=0.999), by=fl.column("group"), runs=3, n_jobs=1)  # fmt: skip
    assert "labelling all 10 items" in found.sentence


# -- keeping ------------------------------------------------------------------------------------------------------


def test_what_was_laid_out_for_a_trial_goes_with_it():
    run = ReplayRun(stage_of(), fl.FindWorst(), fl.thompson, fl.flat())
    assert find_problem(run) is find_problem(run)
    gone = weakref.ref(run.labelled)
    del run
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("jobs", [0, -5])
def test_so_many_jobs_make_no_sense(jobs):
    with pytest.raises(fl.InputError, match="or -1 for all cores"):
        fl.simulate(make_pool(4), priors=FLAT, goal=fl.Estimate(), runs=2, n_jobs=jobs)
