"""Replays tell the truth about what labelling would have cost, compiled or not."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from makers import make_pool, outcome_pool
from scipy.stats import chi2

import fewlabels as fl
from fewlabels.errors import InputError
from fewlabels.knowledge import know
from fewlabels.labels import tally
from fewlabels.metrics import Metric
from fewlabels.policies import POLICIES, multi_play
from fewlabels.replay.compiled import is_compiled, measure, play
from fewlabels.replay.measures import choose_measures, rank_reciprocally
from fewlabels.replay.planning import count_until_settled, imagine_stage
from fewlabels.replay.stage import set_stage
from fewlabels.replay.trial import Trial, mark_checkpoints, watch

PRICE = fl.cost({y: {p: float(ord(y) != ord(p)) * (1 + ord(y) - ord("a")) for p in "abc"} for y in "abc"})
GOALS = [
    fl.FindWorst(), fl.FindBest(m=2), fl.FindWorst(fl.ece), fl.FindWorst(PRICE), fl.FindWorst(fl.confusion),
    fl.Estimate(), fl.Estimate(fl.ece), fl.Estimate(fl.confusion), fl.Compare("a", "b"),
]  # fmt: skip
NAMES = [f"{goal.name}-{goal.metric.name}" for goal in GOALS]


def stage_of(seed=0, n=60, by=fl.predicted, **more):
    return set_stage(fl.Predictions.read(make_pool(seed, n, **more)), by)


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
    stage = set_stage(fl.Predictions.read(pool), by)
    rows = fl.assess(pool, by=by, metric=metric, finite_pool=True).groups
    assert np.allclose(stage.truth(know(stage.tally, metric, fl.flat())), [row.mean for row in rows])


def test_items_without_a_label_are_left_out():
    stage = set_stage(fl.Predictions.read(outcome_pool(one=(3, 1, 5), other=(2, 2, 0))), fl.column("group"))
    assert (stage.n_items, stage.start.tolist()) == (8, [0, 4, 8])


def test_grades_keep_their_values():
    stage = set_stage(fl.Predictions.read({"agreement": [0.25, 0.25, 1.0, None]}), fl.everything)
    assert sorted(stage.right.tolist()) == [0.25, 0.25, 1.0]


def test_a_table_without_labels_is_refused():
    with pytest.raises(InputError, match="has none; plan says what to expect"):
        fl.simulate({"predicted": ["a", "b"]}, goal=fl.FindWorst())


# -- playing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [*POLICIES.values()], ids=[*POLICIES])
@pytest.mark.parametrize("goal", [*GOALS, fl.FindWorst(fl.recall), Nearest()], ids=[*NAMES, "recall", "own"])
def test_every_goal_plays_with_every_policy_to_the_last_item(goal, policy):
    trial = Trial(stage_of(), goal, policy, fl.from_scores())
    order = play(trial, np.random.default_rng(0), 1000)
    there = np.isin(trial.stage.group, [0, 1]).sum() if goal.name == "compare" else trial.stage.n_items
    assert len(order) == len(set(order.tolist())) == there
    assert len(play(trial, np.random.default_rng(0), 7)) == 7


def test_goals_and_policies_of_ones_own_are_not_compiled():
    stage = stage_of()
    assert not is_compiled(Trial(stage, Nearest(), fl.thompson, fl.flat()))
    assert not is_compiled(Trial(stage, fl.FindWorst(), lambda rng, prospect: [0], fl.flat()))
    assert is_compiled(Trial(stage, fl.FindWorst(), fl.thompson, fl.flat()))


PLAIN, FAST, ERROR = 150, 600, 1e-4  # runs of each, and the error of every comparison
PAIRS = [(goal, fl.thompson) for goal in GOALS] + [
    (fl.FindWorst(m=2), policy)
    for policy in (fl.top_two, multi_play, fl.epsilon_greedy, fl.upper_bound, fl.stratified, fl.Stratified("neyman"))
]


@pytest.mark.parametrize(("goal", "policy"), PAIRS, ids=[f"{g.name}-{g.metric.name}-{p.name}" for g, p in PAIRS])
def test_a_kernel_chooses_as_the_definition_does(goal, policy):
    """Pairs of groups at steps 1-2, 3-4 and 5-6 have the same distribution: chi-square of two samples."""
    trial = Trial(stage_of(2, n=24), goal, policy, fl.flat())
    seeds = np.random.SeedSequence(5).spawn(PLAIN + FAST)
    plain = [trial.stage.group[trial.play(np.random.default_rng(s), 6)] for s in seeds[:PLAIN]]
    fast = [trial.stage.group[play(trial, np.random.default_rng(s), 6)] for s in seeds[PLAIN:]]
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
    trial = Trial(stage_of(3), goal, fl.random, prior)
    order = play(trial, np.random.default_rng(1), 60)
    checkpoints = np.array([1, 2, 5, 20, len(order)])
    found = measure(trial, order, checkpoints)
    plain = [choose_measures(goal)(trial, known) for _, known in watch(trial, order, checkpoints.tolist())]
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
    assert rank_reciprocally(np.array(estimate, float), np.array(truth, float), m) == pytest.approx(mrr)


def test_checkpoints_begin_with_nothing_and_end_with_everything():
    marks = mark_checkpoints(10_000)
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
    found = fl.simulate(make_pool(4), goal=goal, runs=2, budget=20, n_checkpoints=4, n_jobs=1)
    assert {row["measure"] for row in found} == measures


@pytest.mark.parametrize("goal", [fl.FindWorst(), Nearest()], ids=["compiled", "own"])
def test_the_same_seed_gives_the_same_rows_however_many_work(goal):
    one, two, other = (
        rows_of(fl.simulate(make_pool(4), goal=goal, runs=6, budget=30, n_checkpoints=4, n_jobs=jobs, seed=seed))
        for jobs, seed in ((1, 3), (2, 3), (1, 4))
    )
    assert one == two
    assert one != other


def test_with_every_label_the_answer_is_right_and_the_interval_a_point():
    found = fl.simulate(make_pool(4), goal=fl.Estimate(), runs=3, n_jobs=1)
    last = {row["measure"]: row["mean"] for row in found if row["n_labels"] == 60}
    assert last["coverage"] == 1.0
    assert last["width"] == pytest.approx(0.0, abs=1e-12)


def test_a_target_must_be_kept_to_the_end():
    """Of two groups the worse one is found at once by chance, lost, and found again: only the last time counts."""
    pool = outcome_pool(a=(5, 5, 0), b=(6, 4, 0))
    found = fl.simulate(pool, goal=fl.FindWorst(), by=fl.column("group"), policies=(fl.random,), runs=50, n_jobs=1)
    n = found.labels_to_target[0]["n_labels"]
    after = [row["mean"] for row in found if row["measure"] == "mrr" and row["n_labels"] >= n]
    before = [row["mean"] for row in found if row["measure"] == "mrr" and row["n_labels"] < n]
    assert min(after) >= 0.99 > before[-1]


def test_a_target_that_is_never_reached_is_null():
    found = fl.simulate(make_pool(4), goal=fl.Estimate(), budget=2, runs=3, n_jobs=1)
    assert all(row["n_labels"] is None and row["share"] is None for row in found.labels_to_target)


def test_progress_is_told():
    seen = []
    fl.simulate(
        make_pool(4), goal=fl.FindWorst(), runs=3, n_jobs=1, tick=lambda done, total: seen.append((done, total))
    )
    assert seen == [(i, 6) for i in range(1, 7)]


@pytest.mark.parametrize(("wrong", "said"), [
    ({"runs": 1}, "tells nothing about chance"),
    ({"budget": 0}, "leaves nothing to replay"),
    ({"policies": ()}, "at least one policy"),
    ({"policies": (fl.random, fl.random)}, "called alike"),
])  # fmt: skip
def test_senseless_simulations_are_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        fl.simulate(make_pool(4), goal=fl.FindWorst(), **wrong)


def test_intervals_cover_when_labels_are_random():
    """200 runs of 3 groups, 95 % finite-pool intervals; flat beliefs about fixed truths cover 90 to 99 %."""
    found = fl.simulate(
        make_pool(5, n=300, skill=0.5), goal=fl.Estimate(), policies=(fl.random,), runs=200, budget=60, n_checkpoints=6
    )
    covers = [row["mean"] for row in found if row["measure"] == "coverage" and row["n_labels"] >= 20]
    assert 0.90 < min(covers) <= max(covers) <= 1.0


def test_curves_are_drawn(tmp_path):
    found = fl.simulate(make_pool(4), goal=fl.Estimate(), runs=3, n_jobs=1)
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
    assert found.sentence.startswith("in none of the imagined futures")
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
    counts = tally(pool, fl.column("group"))
    stage = imagine_stage(np.random.default_rng(0), counts, know(counts, fl.accuracy, fl.flat()))
    shares = [stage.right[stage.group == g].mean() for g in (0, 1)]
    assert shares == pytest.approx([0.9, 0.1], abs=0.12)
    assert stage.n_items == 4000


def test_the_count_until_settled_is_the_first_that_settles():
    trial = Trial(stage_of(7, n=200), fl.Estimate(width=0.4), fl.stratified, fl.flat(), finite=False)
    rng = np.random.default_rng(0)
    order = play(trial, rng, 200)
    n = count_until_settled(trial, order, rng)
    settles = [trial.goal.settled(trial.know(order[:i]), rng) for i in range(201)]
    assert settles[n]
    assert not settles[n - 1]


def test_a_plan_needs_something_to_label():
    with pytest.raises(InputError, match="nothing left to plan"):
        fl.plan(make_pool(4), goal=fl.Estimate())
    with pytest.raises(InputError, match="tells nothing"):
        fl.plan(make_pool(4, labelled=0.0), goal=fl.Estimate(), runs=1)
