"""Fairness: the curves, what they are learned from, and the gaps between groups."""

import json
from dataclasses import replace
from io import StringIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.stats
from rich.console import Console
from scipy.special import expit

import fewlabels as fl
from fewlabels.analyses.fairness.api import fairness
from fewlabels.analyses.fairness.calibrated_method import CalibratedMethod
from fewlabels.analyses.fairness.calibration_curves import SHAPES, STEP_TERMS, CalibrationCurves, CurveShape
from fewlabels.analyses.fairness.definitions import say_four_fifths
from fewlabels.analyses.fairness.gaps import ODDS, Ratio
from fewlabels.analyses.fairness.group_metrics import GROUP_METRICS, RATES
from fewlabels.analyses.fairness.methods import METHODS
from fewlabels.analyses.fairness.strata import add_empty_strata, expected_unseen, find_threshold
from fewlabels.analyses.fairness.stratification import count_strata
from fewlabels.analyses.fairness.warnings import RateCount, list_rare_warnings
from fewlabels.cli.app import app
from fewlabels.cli.conditions import parse_condition
from fewlabels.cli.fairness_tables import print_fairness
from fewlabels.errors import InputError
from fewlabels.models.diagnostics import diagnose
from fewlabels.models.hmc import ChainSettings, run_chains
from fewlabels.reporting.plots.fairness import plot_group_curves


def rng(seed=0):
    return np.random.default_rng(seed)


def make_people(n=2000, n_labels=100, seed=0, groups=("f", "m")):
    """A pool whose scores are over-confident, more so in one group."""
    r = rng(seed)
    group = r.integers(0, len(groups), size=n)
    logit = r.normal(-0.5, 1.5, size=n)
    label = (r.random(n) < expit(logit)).astype(int).astype(str).astype(object)
    label[r.permutation(n)[n_labels:]] = None
    shown = expit((1.5 + 0.5 * (group == 0)) * logit)
    return {"id": np.arange(n), "score_x": shown, "sex": np.array(groups)[group], "label": label}


def read(pool, **roles):
    return fl.Predictions.read(pool, positive_score="score_x", positive="1", **roles)


def count(pool, **roles):
    return count_strata(read(pool, **roles), fl.column("sex"))


def test_counts_are_those_of_the_pool():
    pool = make_people()
    strata = count(pool)
    assert strata.groups == ("f", "m")
    said, sex = pool["score_x"] >= 0.5, pool["sex"]
    for g, name in enumerate(strata.groups):
        for s in (0, 1):
            here, cell = (sex == name) & (said == s), (strata.group == g) & (strata.predicted == s)
            assert strata.n_items[cell].sum() == here.sum()
            assert strata.n_labels[cell].sum() == sum(y is not None for y in pool["label"][here])
            assert strata.n_positive[cell].sum() == sum(y == "1" for y in pool["label"][here])
            assert (strata.n_items * strata.score)[cell].sum() == pytest.approx(pool["score_x"][here].sum(), abs=1e-3)
    assert np.all(np.diff(strata.cell) >= 0)


SHAPES_TRIED = [CurveShape(terms, pooled) for terms in (STEP_TERMS, *SHAPES.values()) for pooled in (True, False)]
TITLES = [f"{name} {how}" for name in ("ours", *SHAPES) for how in ("pooled", "apart")]


@pytest.mark.parametrize("groups", [("f",), ("f", "m"), ("a", "b", "c", "d")], ids=len)
@pytest.mark.parametrize("shape", SHAPES_TRIED, ids=TITLES)
def test_slopes_are_those_of_the_density(shape, groups):
    curves = CalibrationCurves(shape, count(make_people(groups=groups)))
    at = curves.start(rng(1), 3) * 2
    _, slope = curves(at)
    for i, step in enumerate(1e-5 * np.eye(curves.n_parameters)):
        assert (curves(at + step)[0] - curves(at - step)[0]) / 2e-5 == pytest.approx(slope[:, i], abs=1e-4)


PAPER = CurveShape(SHAPES["beta"], centred=False, factors=())


def test_groups_vary_as_the_papers_say():
    """Draws of the prior: the level of a coefficient, and how far two groups are apart."""
    curves = CalibrationCurves(PAPER, count(make_people(n_labels=0)))
    a, b, c, _ = curves.coefficients(rng().standard_normal((200_000, curves.n_parameters))).transpose(1, 0, 2)
    mean, spread = rng(1).normal(0, 2, size=200_000), np.abs(rng(2).normal(0, 0.75, size=200_000))
    expected = mean[:, None] + spread[:, None] * rng(3).normal(size=(200_000, 2))
    assert np.cov(c.T) == pytest.approx(np.cov(expected.T), rel=0.02)
    gap, expected_gap = c[:, 0] - c[:, 1], expected[:, 0] - expected[:, 1]
    assert np.quantile(gap, [0.01, 0.25, 0.75]) == pytest.approx(
        np.quantile(expected_gap, [0.01, 0.25, 0.75]), rel=0.05
    )
    assert np.log(a).std() == pytest.approx(np.sqrt(0.4**2 + 0.15**2), rel=0.02)
    assert np.log(b).mean() == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("n_labels", [10, 100, 1000])
def test_chains_agree_soon(n_labels):
    curves = CalibrationCurves(CurveShape(), count(make_people(n_labels=n_labels)))
    found = run_chains(curves, curves.start(rng(), 16), rng(1), ChainSettings(), reflections=curves.reflections)
    probability = curves.probability(found.draws.reshape(-1, curves.n_parameters))
    cells = np.stack([probability[:, curves.strata.cell == cell].mean(axis=1) for cell in range(4)], axis=1)
    health = diagnose(cells.reshape(*found.draws.shape[:2], 4), found.divergences)
    assert health.rhat < 1.015  # of the first batch; more are drawn where that is not enough
    assert health.ess > 400


SEX = fl.column("sex")


def ask(pool, **choices):
    return fairness(read(pool), by=SEX, **choices)


def brute(pool, rate):
    """Count by hand: rate of each sex on a pool with every label."""
    said, truth = pool["score_x"] >= 0.5, pool["label"] == "1"
    outcome = np.array(["tn", "fn", "fp", "tp"])[2 * said.astype(int) + truth.astype(int)]
    part, whole = np.isin(outcome, rate.part), np.isin(outcome, rate.whole)
    return {sex: (part & here).sum() / (whole & here).sum() for sex in ("f", "m") for here in [pool["sex"] == sex]}


def test_with_every_label_rates_are_those_one_counts():
    pool = make_people(n=600, n_labels=600)
    found = ask(pool, metrics=tuple(RATES), finite_pool=True)
    for name, rate in RATES.items():
        expected = brute(pool, rate)
        for row in found.groups:
            if row.metric == name:
                assert (row.mean, row.low, row.high) == pytest.approx((expected[row.group],) * 3)
        gap = found.gap(name, "f" if found.reference == "m" else "m")
        assert gap.mean == pytest.approx(expected[gap.group] - expected[found.reference])
        assert gap.ratio.median == pytest.approx(expected[gap.group] / expected[found.reference])


def test_scores_of_those_who_are_positive_and_calibration_are_those_one_counts():
    pool = make_people(n=600, n_labels=600)
    found = ask(pool, metrics=("balance-positive", "balance-negative", "calibration"), finite_pool=True)
    truth, score = pool["label"] == "1", pool["score_x"]
    for row in found.groups:
        here = pool["sex"] == row.group
        if row.metric == "calibration":
            bins = np.minimum((10 * score).astype(int), 9)
            expected = sum(abs((truth[b].astype(float) - score[b]).sum()) for k in range(10) for b in [here & (bins == k)]) / here.sum()  # fmt: skip
        else:
            expected = score[here & (truth == (row.metric == "balance-positive"))].mean()
        assert row.mean == pytest.approx(expected, abs=0.01)  # strata near the border of a bin fall on one side of it


def test_the_larger_of_two_gaps_is_what_odds_are_equalised_by():
    found = ask(make_people(), metrics=("tpr", "fpr", ODDS))
    other = "f" if found.reference == "m" else "m"
    parts = [np.abs(found.gap(name, other).draws) for name in ("tpr", "fpr")]
    odds = found.gap(ODDS, other)
    assert odds.draws == pytest.approx(np.maximum(*parts))
    assert odds.ratio.high <= 1
    settled = [found.gap(name, other).is_settled and abs(found.gap(name, other).mean) > 0.02 for name in ("tpr", "fpr")]
    assert odds.is_settled == any(settled)  # the larger of two uncertain gaps is never small


def test_attributes_are_crossed_and_a_handful_of_people_borrow_from_the_others():
    pool = make_people(n=3000, n_labels=200)
    race = np.where(np.arange(3000) < 8, "few", rng(4).choice(["a", "b"], size=3000))
    crossed = fl.cross(fl.column("sex"), fl.column("race"))
    found = fairness(read(change(pool, race=race)), by=crossed, reference="m,a", metrics=("accuracy",))
    assert found.reference == "m × a"
    assert {row.group for row in found.groups} == {f"{sex} × {name}" for sex in "fm" for name in ("a", "b", "few")}
    width = {row.group: row.high - row.low for row in found.groups}
    method = CalibratedMethod("apart", CurveShape(pooled=False))
    alone = fairness(read(change(pool, race=race)), by=crossed, metrics=("accuracy",), method=method)
    apart = {row.group: row.high - row.low for row in alone.groups}
    for group in ("f × few", "m × few"):
        assert width["f × a"] < width[group] < apart[group]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_answers(method):
    found = ask(make_people(n_labels=200), method=method, metrics=("accuracy", "tpr"))
    assert found.method == method
    for row in found.groups:
        assert 0 <= row.low <= row.mean <= row.high <= 1
    for gap in found.gaps:
        assert gap.low <= gap.mean <= gap.high
        assert 0 <= gap.p_practically_fair <= 1


def test_labels_alone_are_a_beta():
    pool = make_people(n_labels=200)
    strata = count(pool)
    found = ask(pool, method="beta-binomial", metrics=("accuracy",))
    for i, row in enumerate(found.groups):
        here = strata.group == i
        right = np.where(strata.predicted == 1, strata.n_positive, strata.n_labels - strata.n_positive)[here].sum()
        assert row.mean == pytest.approx((1 + right) / (2 + strata.group_labels[i]), abs=0.005)


def test_scores_say_more_than_labels_alone():
    pool = make_people(n=4000, n_labels=60)
    ours, theirs = (ask(pool, method=method, metrics=("tpr", "fpr")) for method in ("calibrated", "beta-binomial"))
    for a, b in zip(ours.gaps, theirs.gaps, strict=True):
        assert a.high - a.low < 0.8 * (b.high - b.low)


def test_against_everybody_else_and_the_largest_of_all():
    pool = make_people(n=3000, n_labels=3000, groups=("a", "b", "c"))
    found = ask(pool, reference="rest", metrics=("accuracy",), finite_pool=True)
    right = (pool["score_x"] >= 0.5) == (pool["label"] == "1")
    share = {sex: right[pool["sex"] == sex].mean() for sex in "abc"}
    assert [gap.group for gap in found.gaps] == ["a", "b", "c", "largest"]
    for gap in found.gaps[:3]:
        assert gap.mean == pytest.approx(share[gap.group] - right[pool["sex"] != gap.group].mean())
    assert found.gaps[3].mean == pytest.approx(max(share.values()) - min(share.values()))
    assert found.gaps[3].ratio.median == pytest.approx(min(share.values()) / max(share.values()))


def change(pool, **columns):
    return pool | columns


BAD = {
    "one class of labels": lambda p: change(p, label=np.where(p["label"] == None, None, "1")),  # noqa: E711
    "no label": lambda p: change(p, label=np.full(len(p["id"]), None, dtype=object)),
    "a group without a label": lambda p: change(p, label=np.where(p["sex"] == "f", None, p["label"])),
    "a single member": lambda p: change(p, sex=np.where(np.arange(len(p["id"])) == 5, "x", p["sex"])),
    "scores of 0 and 1": lambda p: change(p, score_x=np.round(p["score_x"])),
    "constant scores": lambda p: change(p, score_x=np.full(len(p["id"]), 0.7)),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_gets_wide_intervals(kind):
    found = fairness(read(BAD[kind](make_people(n=400))), by=SEX, metrics=tuple(GROUP_METRICS))
    assert found.health.rhat < 1.02
    for row in found.groups:
        assert np.isnan(row.mean) or row.low - 1e-9 <= row.mean <= row.high + 1e-9
    if kind == "no label":
        width = {row.metric: row.high - row.low for row in found.groups}
        assert width["tpr"] > 0.3
    said = {
        "one class of labels": "labels are of one class", "no label": "there are no labels", "a group without a label": "no labels in f",
        "constant scores": "are predicted to be '1'",
    }  # fmt: skip
    if kind in said:
        assert any(said[kind] in warning for warning in found.warnings)
    if kind == "constant scores":
        assert not any("exactly" in found.say(gap) for gap in found.gaps)


def test_scores_of_the_other_class_are_noticed():
    pool = make_people(n_labels=60)
    assert not ask(pool).warnings
    turned = 1 - pool["score_x"]
    for score, said in ((turned, "or give 1 minus the score"), (0.45 * turned, "Then use 1 minus the score")):
        warnings = [warning for warning in ask(change(pool, score_x=score)).warnings if "of the other class" in warning]
        assert len(warnings) == 1
        assert said in warnings[0]


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("bc", "come from scores and the other groups' labels"),
        ("bc-apart", "come from the scores alone"),
        ("frequency", "this method has no information about them"),
    ],
)
def test_what_speaks_where_there_is_no_label_is_said(method, said):
    found = ask(BAD["a group without a label"](make_people(n=400)), method=method, metrics=("accuracy",))
    assert any(said in warning for warning in found.warnings)


def test_a_single_person_does_not_stand_for_all_like_them():
    """Accepted, and alone in the group: on exactly these people that is known, of the population nearly nothing is."""
    pool = BAD["a single member"](make_people(n=400))
    pool["score_x"][5] = 0.9
    for finite in (True, False):
        found = ask(pool, metrics=("selection-rate", "fpr"), reference="m", finite_pool=finite)
        rows = {row.metric: row for row in found.groups if row.group == "x"}
        assert (rows["selection-rate"].low == 1) == finite
        jeffreys = scipy.stats.beta(1.5, 0.5).ppf(0.025)
        assert finite or rows["selection-rate"].low == pytest.approx(jeffreys, abs=0.02)
        assert finite or rows["fpr"].low < 0.2
        assert found.gap("fpr", "x").is_settled == finite


def reject_all(pool):
    """The same people with scores below the threshold."""
    return change(pool, score_x=0.49 * pool["score_x"])


def test_where_nobody_is_accepted_that_is_known_of_exactly_these_people_only():
    """Of the population, the selection rate of a group of n has the Beta(1/2, n + 1/2) of Jeffreys' prior."""
    pool = reject_all(make_people(n=60, n_labels=40))
    metrics = ("selection-rate", "tpr", "fpr")
    exact = ask(pool, metrics=metrics, finite_pool=True)
    assert all(exact.say(gap).endswith("exactly") for gap in exact.gaps)
    found = ask(pool, metrics=metrics)
    for row in found.groups:
        assert row.low < 0.001
        assert row.high > 0.02
        if row.metric == "selection-rate":
            assert row.high == pytest.approx(scipy.stats.beta(0.5, row.n_items + 0.5).ppf(0.975), rel=0.1)
    assert not any("exactly" in found.say(gap) for gap in found.gaps)
    assert not any(gap.is_settled for gap in found.gaps)
    assert any("in every group of these items; for the population" in said for said in found.warnings)


def test_where_nobody_is_accepted_no_group_is_called_worse_than_another():
    """The lowest of three rates that nothing is known of is far below the highest in nearly every draw, by chance alone."""
    found = ask(reject_all(make_people(n=90, n_labels=40, groups=("f", "m", "x"))), metrics=("selection-rate",))
    assert "not settled" in found.say_four_fifths(found.gap("selection-rate", "largest"))


def test_labels_alone_do_not_call_equal_shares_exact_in_a_population():
    pool = reject_all(make_people(n=60, n_labels=60))
    said = [one.say(gap) for one in [ask(pool, metrics=("fpr",), method="frequency")] for gap in one.gaps]
    assert any("how far they differ in the population, this method cannot tell" in sentence for sentence in said)


def test_those_not_seen_count_for_one_person():
    strata = count(make_people(n=400))
    whole = add_empty_strata(strata)
    assert np.all(np.diff(whole.cell) >= 0)
    assert whole.size == pytest.approx(strata.size)
    unseen = expected_unseen(whole)
    assert np.bincount(whole.group, unseen) == pytest.approx([1, 1])
    assert unseen[(whole.n_items == 0) & (whole.predicted == 1)] == pytest.approx([0.5] * 2)
    assert not expected_unseen(strata).any()


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"reference": "Mail"}, "there is no group 'Mail' in sex"),
        ({"metrics": ("tprr",)}, "there is no metric 'tprr'"),
        ({"method": "magic"}, "there is no method 'magic'"),
        ({"rope": -0.1}, "rope is -0.1"),
        ({"rope": 2.0}, "if 2 points are meant, give 0.02"),
        ({"level": 95.0}, "level is 95"),
        ({"level": 1.0}, "level is 1.0"),
        ({"metrics": ()}, "metric: none given"),
        ({"method": "frequency", "metrics": ("calibration",)}, "calibration needs scores"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_said(choices, said):
    with pytest.raises(InputError, match=said):
        ask(make_people(), **choices)


def make_many_classes(n=900, n_labels=900, seed=3):
    """Three classes with probabilities, and two groups."""
    r = rng(seed)
    p = r.dirichlet([0.6, 0.6, 0.6], size=n)
    names = np.array(["cat", "cow", "dog"])
    label = names[(p.cumsum(axis=1) > r.random((n, 1))).argmax(axis=1)].astype(object)
    truth = label.copy()
    label[n_labels:] = None
    pool = {"sex": np.array(["f", "m"])[r.integers(0, 2, size=n)], "label": label} | {f"p_{c}": p[:, i] for i, c in enumerate(names)}  # fmt: skip
    return pool, names[p.argmax(axis=1)], truth


@pytest.mark.parametrize("probabilities", [True, False], ids=["all probabilities", "confidence only"])
def test_one_class_is_set_against_the_rest(probabilities):
    pool, said, truth = make_many_classes()
    if not probabilities:
        top = np.max([pool[f"p_{c}"] for c in ("cat", "cow", "dog")], axis=0)
        pool = {"sex": pool["sex"], "label": pool["label"], "predicted": said, "score": top}
    found = fairness(fl.Predictions.read(pool, positive="cow"), by=SEX, metrics=("tpr", "fpr"), finite_pool=True)
    for row in found.groups:
        here = (pool["sex"] == row.group) & ((truth == "cow") == (row.metric == "tpr"))
        assert row.mean == pytest.approx((said[here] == "cow").mean())


def test_without_a_positive_class_what_counts_is_being_right():
    pool, said, truth = make_many_classes()
    found = fairness(fl.Predictions.read(pool), by=SEX, metrics=("accuracy",), finite_pool=True)
    for row in found.groups:
        here = pool["sex"] == row.group
        assert row.mean == pytest.approx((said == truth)[here].mean())
    with pytest.raises(InputError, match="of which class"):
        fairness(fl.Predictions.read(pool), by=SEX)


@pytest.mark.parametrize("positive", ["cow", None])
def test_the_unlabelled_stay_unlabelled_however_classes_are_posed(positive):
    pool, said, truth = make_many_classes(n_labels=60)
    found = fairness(fl.Predictions.read(pool, positive=positive), by=SEX, metrics=("accuracy",), finite_pool=True)
    assert found.n_labels == 60
    right = (said == truth) if positive is None else ((said == positive) == (truth == positive))
    for row in found.groups:
        assert row.low < right[pool["sex"] == row.group].mean() < row.high


def test_hard_predictions_will_do():
    pool = make_people(n=2000, n_labels=200)
    hard = {"sex": pool["sex"], "label": pool["label"], "predicted": (pool["score_x"] >= 0.5).astype(int).astype(str)}
    found = fairness(hard, by=SEX, finite_pool=True)
    assert any("no scores" in warning for warning in found.warnings)
    for method in ("calibrated", "beta-binomial"):
        rates = {row.group: row for row in fairness(hard, by=SEX, method=method, metrics=("accuracy",)).groups}
        assert all(0.6 < row.mean < 0.85 for row in rates.values())


@pytest.mark.parametrize("name", ["rest", "largest"])
def test_names_that_mean_something_else_are_refused(name):
    with pytest.raises(InputError, match=f"called '{name}'"):
        ask(make_people(groups=("f", name)))


def test_one_group_has_nobody_to_be_compared_with():
    with pytest.raises(InputError, match="no group to compare with"):
        ask(make_people(groups=("f",)))


def test_more_labels_are_asked_for_where_nothing_is_settled():
    found = ask(make_people(n_labels=40), rope=0.02)
    more = [gap.more_labels for gap in found.gaps]
    assert any(n is None or n > 0 for n in more)
    settled = ask(make_people(n_labels=40), rope=1.0)
    assert [gap.more_labels for gap in settled.gaps] == [0, 0, 0]
    assert found.to_dict()["gaps"][0]["more_labels"] == more[0]
    assert "of" in found.say(found.gaps[0])
    assert list(found.to_frame().metric) == ["accuracy", "tpr", "fpr"]


def label_more(pool, n):
    """The same people with labels of others, too."""
    truth = (rng(0).random(len(pool["id"])) < expit(np.log(pool["score_x"] / (1 - pool["score_x"])) / 1.6)).astype(int)
    label = truth.astype(str).astype(object)
    label[rng(1).permutation(len(label))[n:]] = None
    return change(pool, label=label)


@pytest.mark.parametrize("finite", [False, True], ids=["population", "these people"])
def test_widths_shrink_about_as_foreseen(finite):
    """Within a fifth, from 60 labels to 600, where a root of ten would say 0.32."""
    pool = make_people(n=3000)
    few, many = (METHODS["calibrated"].learn(count(label_more(pool, n)), rng(3), finite_pool=finite) for n in (60, 600))
    for name in ("accuracy", "tpr", "fpr"):
        before, after = (np.subtract(*sample.value(RATES[name]).T) for sample in (few, many))
        expected = after.std() / before.std()
        assert expected > 0.35
        assert few.forecast(before, [0, 1]).relative_width(540) == pytest.approx(expected, rel=0.2)


def test_no_label_tells_more_of_who_is_selected():
    found = ask(make_people(n=300, n_labels=60), metrics=("selection-rate",), rope=0.01)
    assert found.gaps[0].more_labels is None


def test_exact_figures_blame_no_chains_and_undefined_ones_have_a_reason():
    pool = make_people(400, 400)
    pool["label"][pool["sex"] == "f"] = "0"
    found = fl.fairness(
        read(pool), by=fl.column("sex"), metrics=("accuracy", "tpr", "equalised-odds"), finite_pool=True
    )
    assert found.health.is_good
    assert not any("posterior" in warning for warning in found.warnings)
    assert "tpr is undefined (0/0) in f: no item there is '1'" in found.warnings
    assert all(not np.isnan(gap.mean) or any(warning.startswith(f"{gap.metric} is undefined") for warning in found.warnings) for gap in found.gaps)  # fmt: skip


def test_all_labels_settle_what_is_asked_of_exactly_these_people():
    found = ask(make_people(n=300, n_labels=60), metrics=("accuracy", "tpr"), finite_pool=True)
    assert all(gap.more_labels is not None and gap.more_labels <= 240 for gap in found.gaps)


def test_four_fifths_are_read_of_selection_alone():
    pool = make_people(n=600, n_labels=50)
    said = pool["score_x"] >= 0.5
    found = ask(pool, metrics=("selection-rate", "tpr"), finite_pool=True)
    gap = found.gaps[0]
    share = {sex: said[pool["sex"] == sex].mean() for sex in ("f", "m")}
    assert gap.ratio.median == pytest.approx(share[gap.group] / share[found.reference])  # who is selected is known
    sentence = found.say_four_fifths(gap)
    side = "below" if share[gap.group] / share[found.reference] < 0.8 else "at least"
    assert f"{side} four fifths with probability >0.99" in sentence
    assert found.say_four_fifths(found.gaps[1]) is None
    three = ask(make_people(n=600, n_labels=50, groups=("f", "m", "x")), metrics=("selection-rate",))
    assert three.say_four_fifths(three.gaps[-1]).startswith("the lowest selection rate of all groups is 0.")


def test_four_fifths_that_no_interval_tells_are_not_settled():
    ratio = Ratio(median=0.81, low=0.7, high=0.93, p_below_four_fifths=0.45)
    gap = replace(ask(make_people(n=200, n_labels=50), metrics=("selection-rate",)).gaps[0], ratio=ratio)
    assert say_four_fifths(gap, "m", level=0.95).endswith("not settled, at least four fifths with probability 0.55")


@pytest.mark.parametrize("method", ["beta-binomial", "frequency"])
def test_labels_alone_know_the_labelled_of_a_finite_pool(method):
    pool = make_people(n=600, n_labels=600)
    exact = ask(pool, method=method, metrics=("accuracy", "tpr"), finite_pool=True)
    for row in exact.groups:
        assert (row.low, row.mean, row.high) == pytest.approx((brute(pool, RATES[row.metric])[row.group],) * 3)
    assert exact.health.is_exact
    most = np.where(np.arange(600) < 30, None, pool["label"])
    some = [
        ask(change(pool, label=most), method=method, metrics=("accuracy",), finite_pool=finite)
        for finite in (True, False)
    ]
    known, population = (found.groups[0].high - found.groups[0].low for found in some)
    assert known < 0.5 * population


def test_the_papers_method_keeps_the_pool_and_its_labels():
    """Eq. 4.3: labelled people as they are, the others by their probability; the selection rate is that of the pool."""
    pool = make_people(n=600, n_labels=600)
    found = ask(pool, method="bc", metrics=("accuracy", "selection-rate"))
    for row in found.groups:
        assert (row.low, row.mean, row.high) == pytest.approx((brute(pool, RATES[row.metric])[row.group],) * 3)


def test_curves_turn_around_the_threshold_of_decisions():
    strata = count(make_people())
    assert find_threshold(strata) == 0.5
    moved = replace(strata, predicted=(strata.score > 0.3).astype(np.int64))
    threshold = find_threshold(moved)
    assert strata.score[strata.score < threshold].max() <= 0.3 < strata.score[strata.score > threshold].min()
    curves = CalibrationCurves(CurveShape(), moved)
    calibrated = curves.probability(np.zeros((1, curves.n_parameters)))[0]
    assert calibrated == pytest.approx(strata.score)


def test_a_rate_of_a_handful_of_people_says_so():
    strata = count(make_people(n_labels=60))
    told = list(list_rare_warnings(strata, [RateCount("tpr", "f", 3.04), RateCount("tpr", "m", 50.0)]))
    assert told == ["tpr: a share of fewer than 5 expected items that are '1' in f (3.0); one of them moves it far"]
    pool = make_people(n=600, n_labels=200)
    few = np.where((pool["sex"] == "f") & (np.arange(600) > 6), "m", pool["sex"])
    found = ask(change(pool, sex=few), method="beta-binomial", metrics=(ODDS,))
    assert any("tpr: a share of fewer than 5 expected items" in warning for warning in found.warnings)


@pytest.mark.parametrize("name", ["f1", "mcc", "balanced-accuracy"])
def test_other_metrics_of_outcomes_are_those_of_the_registry(name):
    pool = make_people(n=400, n_labels=400)
    found = ask(pool, method="beta-binomial", metrics=(name,), finite_pool=True)
    data = read(pool)
    expected = fl.assess(data, by=SEX, metric=name, finite_pool=True, prior="flat")
    for row in found.groups:
        assert row.mean == pytest.approx(expected.row(row.group).mean)


def test_metrics_of_score_bins_are_refused():
    with pytest.raises(InputError, match="choose 'calibration'"):
        ask(make_people(), metrics=("ece",))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    pool = make_people(n=800, n_labels=150, groups=("f", "m", "x"))
    pq.write_table(pa.table({name: pa.array(list(values)) for name, values in pool.items()}), path)
    return path


def type_in(*words):
    return app([*map(str, words)])


def test_the_command_line_gives_the_contract(file, capsys):
    assert type_in("fairness", file, "--positive-score", "score_x", "--by", "sex", "--reference", "m", "--metric", "accuracy,tpr,fpr", "--rope", 0.02, "--json", "-") == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    assert found["reference"] == "m"
    assert {row["metric"] for row in found["gaps"]} == {"accuracy", "tpr", "fpr"}
    for name in ("metric", "group", "mean", "low", "high", "p_greater", "p_practically_fair", "ratio"):
        assert all(name in row for row in found["gaps"])
    for name in ("group", "metric", "mean", "low", "high", "n_items", "n_labels"):
        assert all(name in row for row in found["groups"])
    assert set(found["health"]) == {"rhat", "ess", "divergences"}


def test_a_terminal_shows_gaps_and_what_is_settled(file, capsys):
    failing = type_in(
        "fairness", file, "--positive-score", "score_x", "--by", "sex", "--rope", 1, "--fail-if", "low < 2"
    )
    out = capsys.readouterr()
    assert failing == 2
    assert "more labels" in out.out
    assert "settled" in out.out
    assert "within ±1 with probability >0.99" in out.out
    assert "failed: accuracy of" in out.err


def test_the_report_is_one_page_with_pictures_and_both_tables(file, tmp_path):
    read_in = fl.Predictions.read(file, positive_score="score_x", positive="1")
    found = fairness(read_in, by=SEX, metrics=("accuracy", "tpr", ODDS, "calibration"), finite_pool=True)
    page = found.report(tmp_path / "f.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    for word in ("Every gap", "Every group", "Fairness by sex", "R-hat at most", "exactly these people"):
        assert word in page
    assert "nan" not in page


def test_labels_alone_have_no_curves_and_certain_gaps_no_density(file, tmp_path):
    everything = ask(make_people(n=300, n_labels=300), method="calibrated", finite_pool=True)
    assert everything.report(tmp_path / "g.html").read_text(encoding="utf-8").count("<svg") == 2
    alone = ask(make_people(), method="beta-binomial")
    assert alone.report(tmp_path / "h.html").read_text(encoding="utf-8").count("<svg") == 2
    with pytest.raises(InputError, match="calibrates no scores"):
        plot_group_curves(alone)
    assert alone.plot() is not None


def test_a_rate_of_nobody_is_null_and_no_condition_holds_of_it():
    pool = make_people(n=400, n_labels=400)
    pool = change(pool, sex=np.where(np.arange(400) == 5, "x", pool["sex"]), label=np.where(np.arange(400) == 5, "0", pool["label"]))  # fmt: skip
    found = ask(pool, metrics=("tpr",), finite_pool=True)
    gap = next(row for row in json.loads(found.to_json())["gaps"] if row["group"] == "x")
    assert gap["mean"] is None
    assert gap["p_practically_fair"] is None
    assert all("of x" not in hit for hit in parse_condition("low < 2").find_matches(found.to_dict()))
    print_fairness(Console(file=StringIO()), found)


def test_of_very_many_gaps_the_least_fair_are_shown(tmp_path):
    pool = make_people(n=600, n_labels=100, groups=tuple(f"g{i:02d}" for i in range(60)))
    found = ask(pool, metrics=("accuracy",), method="beta-binomial")
    assert found.pick(100) == found.gaps
    chances = [gap.p_practically_fair for gap in found.pick(5)]
    assert chances == sorted(gap.p_practically_fair for gap in found.gaps)[:5]
    out = StringIO()
    print_fairness(Console(file=out, width=200), found)
    assert "… and 10 more gaps, more likely within the margin" in out.getvalue()
    page = found.report(tmp_path / "many.html").read_text(encoding="utf-8")
    assert "60 gaps were examined" in page
