"""The calibrated prior: what it makes of honest scores, of lying ones, of none, and of very few labels."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

import fewlabels as fl
from fewlabels.active.simulation.dispatch import run_policy
from fewlabels.active.simulation.labelled_pool import make_labelled_pool
from fewlabels.active.simulation.replay import ReplayRun
from fewlabels.data.counts import STRATA
from fewlabels.data.tabulation import count_pool
from fewlabels.distributions.beta_dirichlet import Beta, Dirichlet
from fewlabels.models.calibrated.prior import Calibrated, calibrated
from fewlabels.models.inference import infer
from fewlabels.reporting.html.assessment_text import headline

GROUPS = 12


def make_pool(seed=0, n=1200, scores="honest", spread=0.4, liar=None):
    """A pool whose truth is known: groups differ, scores are over-confident unless told otherwise."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, GROUPS, size=n)
    logit = rng.normal(1.5, 1.5, size=n) + rng.normal(0, spread, size=GROUPS)[group]
    right = rng.random(n) < expit(logit)
    shown = 2.0 * logit
    if liar is not None:
        right = np.where(group == liar, rng.random(n) < 0.15, right)
        shown = np.where(group == liar, 4.0, shown)
    kinds = {
        "honest": shown, "random": rng.normal(1.5, 1.5, size=n), "inverted": -shown, "constant": np.full(n, 30.0),
    }  # fmt: skip
    said = np.array([f"c{g:02d}" for g in group])
    truth = np.where(right, said, "another")
    return {"id": np.arange(n), "predicted": said, "score": expit(kinds[scores]), "label": truth}


def hide(pool, n, seed=0):
    """The pool with n labels, drawn at random."""
    kept = set(np.random.default_rng([seed, 7]).permutation(len(pool["id"]))[:n].tolist())
    return pool | {"label": [y if i in kept else None for i, y in enumerate(pool["label"].tolist())]}


def find_truth(pool):
    right = np.array(pool["predicted"]) == np.array(pool["label"])
    return {g: right[np.array(pool["predicted"]) == g].mean() for g in np.unique(pool["predicted"])}


def err(pool, n, prior, seed=0, **choices):
    """Root of the mean squared error over groups."""
    truth, found = (
        find_truth(pool),
        fl.assess(hide(pool, n, seed), prior=prior, finite_pool=True, n_draws=2000, **choices),
    )
    return float(np.sqrt(np.mean([(row.mean - truth[row.group]) ** 2 for row in found.groups])))


def average(prior, n, runs=6, **kind):
    return np.mean([err(make_pool(seed, **kind), n, prior, seed) for seed in range(runs)])


def test_without_labels_it_says_what_scores_support_and_how_little_that_is():
    pool = make_pool()
    found = fl.assess(hide(pool, 0), prior=calibrated())
    for row in found.groups:
        assert abs(row.mean - row.score) < 0.1
        assert row.high - row.low > 0.3
        assert row.n_labels == 0


def test_with_every_label_it_is_the_frequency():
    pool = make_pool()
    truth = find_truth(pool)
    found = fl.assess(pool, prior=calibrated(), finite_pool=True)
    for row in found.groups:
        assert (row.mean, row.low, row.high) == pytest.approx((truth[row.group],) * 3, abs=1e-9)
    people = fl.assess(pool, prior=calibrated())
    assert all(abs(row.mean - truth[row.group]) < 0.06 for row in people.groups)
    assert all(row.low < truth[row.group] < row.high for row in people.groups)


def test_it_needs_a_fraction_of_the_labels():
    few = average(calibrated(), 2 * GROUPS)
    assert few < 0.7 * average(fl.from_scores(), 2 * GROUPS)
    assert few < average(fl.from_scores(), 8 * GROUPS)


@pytest.mark.parametrize("scores", ["random", "inverted", "constant"])
@pytest.mark.parametrize("each", [3, 10, 40])
def test_scores_that_lie_do_not_make_it_worse_than_a_flat_prior(scores, each):
    assert average(calibrated(), each * GROUPS, scores=scores) < 1.05 * average(fl.flat(), each * GROUPS, scores=scores)


def test_a_few_labels_overrule_the_crowd_in_a_group_that_breaks_the_pattern():
    pool = make_pool(3, liar=4)
    found = fl.assess(hide(pool, 8 * GROUPS), prior=calibrated(), finite_pool=True).row("c04")
    assert found.score > 0.95
    assert found.mean < 0.5
    assert found.low < find_truth(pool)["c04"] < found.high


def test_groups_hang_together_without_any_score():
    hard = [{k: v for k, v in make_pool(seed, spread=0.3).items() if k != "score"} for seed in range(6)]
    ours, flat = (
        np.mean([err(pool, 4 * GROUPS, prior, seed) for seed, pool in enumerate(hard)]) for prior in (calibrated(), fl.flat())
    )  # fmt: skip
    assert ours < 0.75 * flat


@pytest.mark.parametrize("by", [fl.everything, fl.predicted, fl.bins(5), fl.column("site")])
@pytest.mark.parametrize("metric", [fl.accuracy, fl.ece, fl.confusion, fl.recall, fl.f1, fl.tpr])
def test_it_works_for_every_metric_and_grouping(by, metric):
    pool = hide(make_pool(n=300), 60)
    pool = fl.Predictions.read(pool | {"site": ["x", "y", "z"] * 100}, positive="c01")
    found = fl.assess(pool, by=by, metric=metric, prior=calibrated(), n_draws=200)
    for row in found.groups:
        assert -1e-9 <= row.low <= row.high <= 1 + 1e-9
    assert found.overall.low <= found.overall.high


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_labels_that_are_all_alike_leave_room_for_doubt(right):
    pool = make_pool(n=240)
    pool["label"] = (
        pool["predicted"]
        if right
        else np.roll(np.unique(pool["predicted"]), 1)[[int(c[1:]) for c in pool["predicted"]]]
    )
    found = fl.assess(hide(pool, 48), prior=calibrated())
    for row in found.groups:
        assert row.high - row.low > 0.005
        assert abs(row.mean - right) < 0.3  # though some scores say a half


def test_one_item_is_enough():
    found = fl.assess({"predicted": ["a"], "score": [0.7], "label": ["a"]}, prior=calibrated())
    assert 0.5 < found.groups[0].mean < 1


def test_the_whole_is_less_certain_than_independent_groups_would_be():
    """What is not known of the curve is not known of any group: it does not average out."""
    pool = hide(make_pool(n=2400), 24)
    found = fl.assess(pool, prior=calibrated())
    share = np.array([row.share for row in found.groups])
    width = np.array([row.high - row.low for row in found.groups])
    assert found.overall.high - found.overall.low > 1.5 * np.sqrt((share**2 * width**2).sum())


def test_what_it_starts_from_and_the_labels_make_what_it_believes():
    counts = count_pool(fl.Predictions.read(hide(make_pool(), 60)), fl.predicted, strata=STRATA)
    cells = counts.cells()
    prior_fit = Calibrated().learn(cells, "right", finite_pool=False)
    after = prior_fit.before.observe(cells.outcomes)
    assert isinstance(after, Beta)
    assert np.all(after.alpha > 0)
    assert np.all(after.beta > 0)
    assert prior_fit.joint.mean() == pytest.approx(after.mean(), abs=0.03)


def make_columns(seed=0, n=900, k=6):
    """Probabilities of all classes, over-confident, and truths drawn from calibrated ones."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.2, size=(n, k))
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    shown = np.exp(1.8 * logits) / np.exp(1.8 * logits).sum(axis=1, keepdims=True)
    label = [str(rng.choice(k, p=p)) for p in true]
    table = {"id": np.arange(n), "predicted": [str(i) for i in shown.argmax(axis=1)], "score": shown.max(axis=1)}
    return table | {f"p_{j}": shown[:, j] for j in range(k)} | {"label": np.array(label)}


def test_which_class_it_is_instead_is_learned_too():
    pool = make_columns()
    truth = {(e.predicted, e.label): e.mean for e in fl.assess(pool, metric=fl.confusion, prior=fl.flat(1e-6)).matrix}

    def miss(prior, n):
        found = fl.assess(hide(pool, n), metric=fl.confusion, prior=prior).matrix
        return np.sqrt(np.mean([(e.mean - truth[e.predicted, e.label]) ** 2 for e in found]))

    assert miss(calibrated(), 12) < 0.5 * miss(fl.from_scores(1.0), 12)
    assert miss(calibrated(), 12) < miss(calibrated(), 0)
    assert miss(calibrated(), 600) < miss(calibrated(), 12)


def test_a_column_of_the_matrix_is_right_as_often_as_accuracy_says():
    pool = hide(make_columns(), 60)
    one = fl.assess(pool, metric=fl.confusion, prior=calibrated())
    other = fl.assess(pool, metric=fl.accuracy, prior=calibrated())
    assert [row.mean for row in one.groups] == pytest.approx([row.mean for row in other.groups])
    diagonal = {e.predicted: e.mean for e in one.matrix if e.predicted == e.label}
    assert [diagonal[row.group] for row in other.groups] == pytest.approx([row.mean for row in other.groups], abs=0.02)
    cells = count_pool(fl.Predictions.read(pool), fl.predicted, strata=STRATA, probabilities=True).cells(("predicted",))
    assert isinstance(Calibrated().before(cells, "label"), Dirichlet)


# -- inside the loop --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drop", [(), ("score",)])
@pytest.mark.parametrize(
    "goal", [fl.FindWorst(), fl.Estimate(width=0.4), fl.Compare("c00", "c01"), fl.Estimate(fl.confusion)]
)
def test_a_session_learns_as_it_goes_and_remembers(tmp_path, goal, drop):
    pool = make_pool(n=240)
    table = {name: values for name, values in hide(pool, 0).items() if name not in drop}
    s = fl.Session.create(tmp_path / "s.db", table, goal=goal, prior=calibrated())
    for _ in range(4):
        s.tell({i: pool["label"][i] for i in s.ask(5)}, new_classes=True)
    asked = s.ask(3)
    before = s.status(), [row.mean for row in s.assess().groups]
    s.close()
    with fl.Session.open(tmp_path / "s.db") as again:
        assert again.ask(3) == asked
        assert (again.status(), [row.mean for row in again.assess().groups]) == before


def test_what_a_session_says_is_what_assess_says_of_its_labels(tmp_path):
    pool = make_pool(n=240)
    s = fl.Session.create(None, hide(pool, 0), goal=fl.FindWorst(), prior=calibrated())
    s.tell({i: pool["label"][i] for i in s.ask(30)}, new_classes=True)
    told = {row["id"]: row["label"] for row in s.answers()}
    table = pool | {"label": [told.get(i) for i in range(240)]}
    ours, theirs = s.assess(), fl.assess(table, prior=calibrated())
    assert [row.mean for row in ours.groups] == pytest.approx([row.mean for row in theirs.groups], abs=1e-6)


@pytest.mark.parametrize("goal", [fl.FindWorst(), fl.FindWorst(fl.ece), fl.Estimate(), fl.Estimate(fl.confusion)])
def test_a_replay_lets_it_learn(goal):
    found = fl.simulate(
        make_pool(n=120), goal=goal, policies=[fl.random, fl.thompson], priors=[calibrated()], runs=2, n_checkpoints=4, n_jobs=1,
    )  # fmt: skip
    rows = [row for row in found if row["measure"] in ("mrr", "rmse")]
    assert {row["prior"] for row in rows} == {"calibrated"}
    last = [row["mean"] for row in rows if row["n_labels"] == 120]
    assert last == pytest.approx([1.0 if goal.name == "find-worst" else 0.0] * 2, abs=1e-6)


def test_the_kernels_and_the_plain_loop_choose_alike():
    """Which group is labelled next after the same labels, and how often: by kernel, and by the objects a session uses."""
    pool = fl.Predictions.read(make_pool(n=240))
    run = ReplayRun(make_labelled_pool(pool, fl.predicted, strata=STRATA), fl.FindWorst(), fl.thompson, calibrated())
    chosen = np.array(
        [[choose(run, np.random.default_rng(i), 8) for i in range(25)] for choose in (run_policy, lambda t, rng, n: t.run_policy(rng, n))]
    )  # fmt: skip
    first, other = (np.bincount(run.labelled.group[orders].reshape(-1), minlength=GROUPS) for orders in chosen)
    assert np.abs(first - other).max() < 5 * np.sqrt((first + other).max())


def test_a_plan_takes_it_as_it_is():
    assert (
        fl.plan(hide(make_pool(n=600), 60), goal=fl.Estimate(width=0.3), prior=calibrated(), runs=4, n_jobs=1).runs == 4
    )


def test_what_was_learned_from_labels_is_not_called_a_belief():
    pool = hide(make_pool(), 5 * GROUPS)
    assert "depends strongly on the prior" not in headline(fl.assess(pool, prior=calibrated()))
    assert "depends strongly on the prior" in headline(fl.assess(pool, prior=fl.from_scores(50.0), metric=fl.ece))


def test_what_the_curve_tells_of_two_groups_alike_cancels_between_them():
    known = infer(
        count_pool(fl.Predictions.read(hide(make_pool(), 10)), fl.predicted, strata=STRATA), fl.accuracy, calibrated()
    )
    goal, rng = fl.Compare("c00", "c01"), np.random.default_rng(0)
    together, apart = (goal.describe(k, rng).details for k in (known, replace(known, joint=None)))
    assert together["high"] - together["low"] < 0.95 * (apart["high"] - apart["low"])
    assert together["mean"] == pytest.approx(apart["mean"], abs=0.03)
    assert goal.name_verdict(known) == max(("below", "equivalent", "above"), key=lambda name: together[f"p_{name}"])
    found = fl.compare(hide(make_pool(), 10), ("c00", "c01"))
    assert found.high - found.low == pytest.approx(together["high"] - together["low"], rel=0.1)
