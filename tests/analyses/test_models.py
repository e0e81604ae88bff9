"""Comparing models: figures, differences, verdicts, words, and what is refused."""

import json

import jsonschema_rs
import numpy as np
import pytest
import scipy.stats
from makers import make_models, make_pool

import fewlabels as fl
from fewlabels.analyses.models.sample_size import forecast_best, forecast_difference
from fewlabels.reporting.schemas.verbs import schema


def test_figures_and_differences_are_those_of_direct_counts_when_all_is_labelled():
    pools, truth = make_models(labelled=1.0, skills=(0.6, 0.8, 0.9))
    for metric in ("accuracy", "ece", "precision", "recall", "f1"):
        found = fl.compare_models(pools, metric=metric, by="site", finite_pool=True)
        for name, pool in pools.items():
            alone = fl.assess(pool | {"label": truth}, metric=metric, by="site", finite_pool=True, prior="flat")
            row = next(one for one in found.list_figures("x") if one.model == name)
            assert row.mean == pytest.approx(alone.row("x").mean, abs=2e-3)
            assert row.high - row.low < 0.01


def test_a_verdict_needs_confidence_and_says_how_many_labels_it_lacks():
    pools, _ = make_models(n=2000, labelled=0.02, skills=(0.7, 0.75))
    found = fl.compare_models(pools)
    assert found.list_differences()[0].verdict == "not settled"
    assert "not settled" in found.sentence
    assert "more label" in found.sentence
    settled = fl.compare_models(make_models(n=2000)[0])
    assert settled.list_differences()[0].verdict == "above"
    assert settled.sentence == "m1 is higher than m0 by more than 0.01, with probability >0.99"


def test_no_worse_is_said_in_words():
    pools, _ = make_models(n=3000, labelled=0.4, skills=(0.7, 0.72))
    found = fl.compare_models(pools, rope=0.02)
    row = found.list_differences()[0]
    assert row.p_no_worse == pytest.approx(1 - row.p_below)
    assert ("no worse" in found.sentence) == (row.verdict == "not settled" and row.p_no_worse >= 0.95)


def test_the_best_of_several_models():
    found = fl.compare_models(make_models(n=2000, skills=(0.6, 0.7, 0.9))[0])
    assert found.choice.model == found.best.model == "m2"
    assert sum(row.p_best for row in found.list_figures()) == pytest.approx(1)
    assert found.choice.regret < 0.01
    assert "m2 is the best" in found.sentence


def test_models_that_never_disagree_differ_by_what_the_population_may_hold():
    pools, _ = make_models()
    pools["m1"] = {name: column for name, column in pools["m0"].items() if name != "label"} | {
        "score": pools["m1"]["score"]
    }
    found = fl.compare_models(pools)
    row = found.list_differences()[0]
    assert row.n_disagree == 0
    assert row.verdict == "equivalent"
    assert -0.01 < row.low <= 0 <= row.high < 0.01
    assert any("predict the same class for all 600 items" in warning for warning in found.warnings)
    exact = fl.compare_models(pools, finite_pool=True).list_differences()[0]
    assert exact.low == exact.mean == exact.high == 0


def test_a_group_without_disagreement_may_have_some_in_the_population():
    pools, _ = make_models(n=400, labelled=1.0)
    in_x = pools["m0"]["site"] == "x"
    pools["m1"]["predicted"] = np.where(in_x, pools["m0"]["predicted"], pools["m1"]["predicted"])
    row = fl.compare_models(pools, by="site").list_differences("x")[0]
    assert row.n_disagree == 0
    assert row.low < row.high
    assert fl.compare_models(pools, by="site", finite_pool=True).list_differences("x")[0].low == 0


def test_no_labels_give_no_verdict():
    pools, _ = make_models(labelled=0.0)
    found = fl.compare_models(pools)
    assert found.list_differences()[0].verdict == "not settled"
    assert any("no item is labelled" in warning for warning in found.warnings)


def test_a_model_without_scores_is_compared_without_them():
    pools, _ = make_models()
    del pools["m1"]["score"]
    found = fl.compare_models(pools)
    assert any("no scores of m1" in warning for warning in found.warnings)
    assert found.list_differences()[0].mean > 0.1
    del pools["m0"]["score"]
    assert fl.compare_models(pools).list_differences()[0].mean > 0.1


def test_items_that_only_some_models_have_are_left_out_and_counted():
    pools, _ = make_models()
    pools["m1"] = {name: column[:500] for name, column in pools["m1"].items()}
    found = fl.compare_models(pools)
    assert found.n_items == 500
    assert (
        "only 500 items have predictions of all models (m0 has 600, m1 has 500); the others are left out"
        in found.warnings
    )


def test_unpaired_tables_say_so():
    a, b = make_pool(0, n=400, skill=0.5), make_pool(1, n=400, skill=0.95)
    b["id"] = [f"x{i}" for i in b["id"]]
    found = fl.compare_models({"may": a, "june": b}, unpaired=True)
    assert not found.paired
    assert any("on different items" in warning for warning in found.warnings)
    row = found.list_differences()[0]
    assert row.verdict == "above"
    assert (found.n_items, found.n_labels) == (row.n_items, row.n_labels) == (800, 800)
    assert row.n_disagree is row.n_labels_disagree is None
    with pytest.raises(fl.InputError, match="ids do not match"):
        fl.compare_models({"may": a, "june": b})


def test_unpaired_tables_say_how_many_more_labels_they_need_and_count_their_own_groups():
    a, b = make_pool(0, n=300, labelled=0.2, skill=0.6), make_pool(1, n=300, labelled=0.2, skill=0.62)
    found = fl.compare_models({"may": a, "june": b}, unpaired=True, by="sex")
    assert "disagree" not in found.sentence
    assert sum(row.n_items for row in found.differences if row.group != "overall") == found.n_items == 600
    json.loads(found.to_json())


def test_an_earlier_assessment_is_a_prior_of_unpaired_tables_only():
    april, may, june = (make_pool(seed, n=300, labelled=0.3, skill=0.8) for seed in range(3))
    earlier = fl.assess(april, by="all")
    alone = fl.compare_models({"may": may, "june": june}, unpaired=True)
    carried = fl.compare_models({"may": may, "june": june}, unpaired=True, prior=fl.from_earlier(earlier))
    assert all(one.high - one.low < two.high - two.low for one, two in zip(carried.figures, alone.figures, strict=True))
    assert any("count for every model" in warning for warning in carried.warnings)
    with pytest.raises(fl.InputError, match="use it with unpaired"):
        fl.compare_models(make_models()[0], prior=fl.from_earlier(earlier))


def test_every_metric_and_prior_of_an_assessment_compares_unpaired_tables():
    pools = {name: make_pool(seed, n=200) for seed, name in enumerate(("may", "june"))}
    for choices in ({"metric": "recall", "by": "predicted"}, {"prior": "scores"}):
        assert fl.compare_models(pools, unpaired=True, **choices).figures


def test_gaps_between_groups_are_compared():
    """Of all labels and these items, gaps are those of direct counts; the smaller gap is the better one."""
    pools, truth = make_models(labelled=1.0)
    found = fl.compare_models(pools, by="site", reference="x", finite_pool=True)
    gaps = []
    for pool in pools.values():
        right = np.asarray(pool["predicted"]) == truth
        shares = {site: right[np.asarray(pool["site"]) == site].mean() for site in ("x", "y")}
        gaps.append(abs(shares["y"] - shares["x"]))
    rows = [row for row in found.figures if row.group == "|y − x|"]
    np.testing.assert_allclose([row.mean for row in rows], gaps, atol=1e-9)
    assert [row.p_best for row in rows] == [float(gap == min(gaps)) for gap in gaps]
    difference = next(row for row in found.differences if row.group == "|y − x|")
    assert difference.mean == pytest.approx(gaps[1] - gaps[0])
    assert difference.n_items == 600
    assert difference.p_no_worse == float(gaps[1] - gaps[0] <= 0.01)


@pytest.mark.parametrize(
    ("choices", "message"),
    [({"by": "site", "reference": "z"}, "there is no group 'z'"), ({"reference": "x"}, "at least two groups")],
)
def test_a_reference_is_one_of_several_groups(choices, message):
    with pytest.raises(fl.InputError, match=message):
        fl.compare_models(make_models()[0], **choices)


def test_groups_of_one_models_predictions_are_named():
    warnings = fl.compare_models(make_models()[0], by="predicted").warnings
    assert any("by what m0, the first model, predicts" in warning for warning in warnings)
    assert not any("first model" in warning for warning in fl.compare_models(make_models()[0], by="site").warnings)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"metric": "selection-rate"}, "needs no labels"),
        ({"metric": "confusion"}, "compared on one number"),
        ({"prior": "scores"}, "learns from its labels"),
        ({"metric": "tpr"}, "needs a positive class"),
        ({"metric": "recall", "by": "predicted"}, "do not depend on one model"),
        ({"rope": -1.0}, "cannot be negative"),
        ({"by": "stie"}, "did you mean 'site'"),
    ],
)
def test_what_has_no_answer_is_refused_with_what_to_use(choices, message):
    with pytest.raises(fl.InputError, match=message):
        fl.compare_models(make_models()[0], **choices)


def test_the_same_seed_gives_the_same_digits_and_json_has_its_schema():
    first, again = (fl.compare_models(make_models()[0], by="site") for _ in range(2))
    assert first.figures == again.figures
    assert first.differences == again.differences
    jsonschema_rs.validate(schema("compare-models"), first.to_dict())
    assert [row["group"] for row in first.to_dict()["figures"]][:4] == ["overall", "overall", "x", "x"]


def test_a_comparison_is_shown_in_every_form(tmp_path):
    found = fl.compare_models(make_models(skills=(0.6, 0.7, 0.9))[0], by="site")
    assert "| m1 − m0 | overall |" in found.to_markdown()
    assert "m2" in found._repr_html_()
    page = found.report(tmp_path / "r.html").read_text()
    assert "Labelled items on which the models disagree" in page
    assert len(found.to_frame()) == 9
    for kind in ("differences", "figures"):
        assert found.plot(kind).figure is not None
    with pytest.raises(fl.InputError, match="unknown kind"):
        found.plot("pie")


def test_more_labels_are_needed_for_smaller_differences():
    rng = np.random.default_rng(0)
    found = [
        forecast_difference(rng.normal(mean, 0.02, 4000), rope=0.0, confidence=0.95, n_labels=40, n_open=10**5)
        for mean in (0.03, 0.02, 0.01)
    ]
    assert found[0].n_more < found[1].n_more < found[2].n_more
    few = forecast_difference(rng.normal(0.001, 0.02, 4000), rope=0.0, confidence=0.95, n_labels=40, n_open=20)
    assert (few.n_more, few.high) == (None, None)


def test_the_forecast_is_that_of_labels_as_they_come():
    """Right or wrong with a flat prior, 30 labels seen: labels drawn from the posterior, and a look after each batch."""
    rng, (a, b), rope = np.random.default_rng(0), (19.0, 13.0), 0.02
    found = forecast_difference(2 * rng.beta(a, b, 4000) - 1, rope=rope, confidence=0.95, n_labels=30, n_open=4000)
    steps = [0]
    while steps[-1] < 4000:
        steps.append(min(4000, steps[-1] + max(5, steps[-1] // 10)))
    n, needed = np.array(steps[1:]), []
    for p in rng.beta(a, b, 400):
        right = rng.binomial(np.diff(steps), p).cumsum()
        edges = [scipy.stats.beta(a + right, b + n - right).cdf((1 + x) / 2) for x in (-rope, rope)]
        sure = np.maximum(np.maximum(edges[0], 1 - edges[1]), edges[1] - edges[0]) >= 0.95
        needed.append(n[sure.argmax()] if sure.any() else np.inf)
    low, middle, high = np.quantile(needed, [0.1, 0.5, 0.9], method="inverted_cdf")
    assert found.n_more == pytest.approx(middle, rel=0.4, abs=5)
    assert found.low <= low + 5
    assert (found.high or np.inf) >= 0.6 * min(high, 1500)


@pytest.mark.parametrize("seed", range(2))
def test_compare_status_and_plan_foresee_the_same(seed):
    """One forecast behind three doors: what each says is in the range that the others state, and not far from it.

    `compare` takes all items as one group, a session splits them by what the models predict: their posteriors differ a little.
    """
    pools, _ = make_models(seed, n=1500, labelled=0.06, skills=(0.72, 0.76))
    goal = fl.CompareModels(rope=0.01)
    row = fl.compare_models(pools, rope=0.01).list_differences()[0]
    status = fl.Session.create(None, pools, goal=goal).status()
    planned = fl.plan(pools, goal=goal)
    said = status["labels_left"]
    for n in (row.n_more, said["n_more"], status["answer"]["difference"]["n_more"]):
        assert n == pytest.approx(planned.n_more, rel=0.5, abs=10)
        assert planned.low <= n <= (planned.high or np.inf)
    assert f"about {said['n_more']:,} more labels" in said["sentence"]
    assert "eight in ten simulated futures" in fl.compare_models(pools, rope=0.01).sentence


def test_what_finds_the_best_of_two_is_at_most_what_tells_them_apart():
    """Within the rope of the best is a weaker claim than a difference beyond it, or within it."""
    drawn = np.random.default_rng(0).normal([0.80, 0.82], 0.02, (4000, 2))
    choices = {"rope": 0.01, "confidence": 0.95, "n_labels": 40, "n_open": 2000}
    best = forecast_best(drawn, **choices)
    apart = forecast_difference(drawn[:, 1] - drawn[:, 0], **choices)
    assert best.n_more <= (apart.n_more or np.inf)
    whole = forecast_best(drawn, **choices | {"n_open": 30}, finite_pool=True)
    assert None not in whole.needed, "all labels leave nothing uncertain"


def test_unpaired_tables_are_counted_together_and_said_to_need_labels_of_both():
    a, b = make_pool(0, n=300), make_pool(1, n=200)
    found = fl.compare_models({"may": a, "june": b}, unpaired=True)
    assert found.n_items == 500
    assert found.n_labels == sum(label is not None for pool in (a, b) for label in pool["label"])
    row = found.list_differences()[0]
    assert (row.n_items, row.n_labels, row.n_more) == (found.n_items, found.n_labels, None)
    assert "which they disagree" not in found.sentence


def test_unpaired_tables_have_no_verdict_unless_both_have_labels():
    n = 400
    old = {"id": list(range(n)), "predicted": ["a", "b"] * (n // 2), "label": ["b", "a"] * (n // 2)}
    new = {"id": list(range(n)), "predicted": ["a", "b"] * (n // 2), "label": [None] * n}
    found = fl.compare_models({"old": old, "new": new}, unpaired=True, confidence=0.5, rope=0.0)
    assert found.list_differences()[0].verdict == "not settled"


def test_groups_that_not_all_unpaired_tables_have_are_named():
    a, b = make_pool(0, n=300), make_pool(1, n=300)
    a["site"], b["site"] = ["x", "y"] * 150, ["elsewhere", "y"] * 150
    found = fl.compare_models({"may": a, "june": b}, unpaired=True, by="site")
    assert any("not all tables have are left out: 'x', 'elsewhere'" in warning for warning in found.warnings)
    both = fl.compare_models({"may": a, "june": a | {"id": b["id"]}}, unpaired=True, by="site")
    assert not any("left out" in warning for warning in both.warnings)


def test_groups_that_differ_between_the_tables_are_named():
    old = {"id": list(range(60)), "predicted": ["a", "b"] * 30, "label": ["a", "b", None] * 20, "site": ["x", "y"] * 30}
    new = {"id": list(range(60)), "predicted": ["a", "a"] * 30, "site": ["x"] * 10 + ["y", "x"] * 25}
    found = fl.compare_models({"old": old, "new": new}, by="site")
    assert any(
        "column 'site' differs in 55 items between old and new: groups are those of old" in one
        for one in found.warnings
    )
    for same in (new | {"site": old["site"]}, {name: new[name] for name in ("id", "predicted")}):
        assert not any("differs in" in one for one in fl.compare_models({"old": old, "new": same}, by="site").warnings)
    assert not any("differs in" in one for one in fl.compare_models({"old": old, "new": new}).warnings)


def test_models_that_hardly_ever_agree_may_be_of_different_items():
    rng = np.random.default_rng(0)
    classes = np.array([f"c{i}" for i in range(50)])
    one, other = ({"id": np.arange(400), "predicted": rng.choice(classes, 400), "label": [None] * 400} for _ in "ab")
    other["label"] = np.where(np.arange(400) < 40, other["predicted"], None)
    assert "do equal ids mean equal items" in " ".join(fl.compare_models({"a": one, "b": other}).warnings)
    near = one | {"label": other["label"]}
    assert "equal items" not in " ".join(fl.compare_models({"a": one, "b": near}).warnings)
