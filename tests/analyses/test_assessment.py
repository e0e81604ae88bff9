import json
import subprocess
import sys
from dataclasses import fields, replace

import numpy as np
import pytest
from makers import VANISHING, make_pool, outcome_pool, take

import fewlabels as fl
from fewlabels.analyses.assessment_spec import AssessmentSpec
from fewlabels.distributions.ranking import rank_groups
from fewlabels.metrics.metric import METRICS

GROUP = fl.column("group")
UNEVEN = outcome_pool(a=(6, 4, 90), b=(9, 1, 30), c=(2, 3, 10), d=(0, 0, 5))
SHOWN = ("share", "n_items", "n_labels", "mean", "low", "high", "p_worst", "p_best", "rank_low", "rank_high")


def assess(pool=UNEVEN, **choices):
    return fl.assess(pool, **({"by": GROUP, "prior": fl.flat()} | choices))


# -- ranks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lowest_is_best", [False, True])
def test_ranks_are_those_of_sorting(lowest_is_best):
    draws = np.random.default_rng(0).random((200, 5))
    ranks = rank_groups(np.random.default_rng(1), draws, lowest_is_best=lowest_is_best)
    for draw, rank in zip(draws, ranks, strict=True):
        best_first = sorted(draw, reverse=not lowest_is_best)
        assert [best_first[r - 1] for r in rank] == draw.tolist()


def test_ties_are_split_evenly():
    """Three equal groups, 6,000 draws: each first in a third of them, within 5 standard errors."""
    ranks = rank_groups(np.random.default_rng(0), np.ones((6000, 3)), lowest_is_best=True)
    assert np.all(np.sort(ranks, axis=1) == [1, 2, 3])
    assert (ranks == 1).mean(axis=0) == pytest.approx(1 / 3, abs=5 * np.sqrt(2 / 9 / 6000))


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_chance_of_being_worst_is_counted_over_an_independent_simulation(m):
    """400,000 draws against 10,000: 5 standard errors of the smaller."""
    rng = np.random.default_rng(3)
    theta = rng.beta([7, 10, 3, 1], [5, 2, 4, 1], (400_000, 4))
    place = theta.argsort(axis=1).argsort(axis=1)
    found = assess(m=m)
    for g, row in enumerate(found.groups):
        p = (place[:, g] < m).mean()
        assert row.p_worst == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / 10_000))
        best = (place[:, g] == 3).mean()
        assert row.p_best == pytest.approx(best, abs=5 * np.sqrt(best * (1 - best) / 10_000))
    assert sum(row.p_worst for row in found.groups) == pytest.approx(m, abs=1e-9)
    assert sum(row.p_best for row in found.groups) == pytest.approx(1, abs=1e-9)


def test_rank_intervals_hold_the_mass_they_promise():
    rng = np.random.default_rng(4)
    theta = rng.beta([7, 10, 3, 1], [5, 2, 4, 1], (100_000, 4))
    rank = 4 - theta.argsort(axis=1).argsort(axis=1)
    for g, row in enumerate(assess(level=0.8).groups):
        assert 1 <= row.rank_low <= row.rank_high <= 4
        assert ((rank[:, g] >= row.rank_low) & (rank[:, g] <= row.rank_high)).mean() > 0.79


@pytest.mark.parametrize("finite_pool", [False, True])
def test_where_high_is_bad_the_highest_is_the_worst(finite_pool):
    pool = outcome_pool(bad=(1, 30, 2), good=(30, 1, 2))
    prices = {"yes": {"yes": 0.0, "no": 1.0}, "no": {"yes": 1.0, "no": 0.0}}
    for metric in (fl.accuracy, fl.cost(prices)):
        found = assess(pool, metric=metric, finite_pool=finite_pool)
        assert found.row("bad").p_worst > 0.999
        assert found.row("good").rank_low == found.row("good").rank_high == 1
        assert found.worst_first[0].group == "bad"


def test_equal_groups_of_a_labelled_pool_share_the_last_place():
    found = assess(outcome_pool(a=(2, 2, 0), b=(2, 2, 0)), finite_pool=True)
    assert [row.p_worst for row in found.groups] == pytest.approx([0.5, 0.5], abs=5 * 0.005)


# -- overall --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("finite_pool", [False, True])
@pytest.mark.parametrize("strength", [2.0, 10.0])
def test_overall_accuracy_is_the_sum_of_shares_and_means(finite_pool, strength):
    found = assess(finite_pool=finite_pool, prior=replace(fl.flat(strength), guesses_level=False))
    assert found.overall.mean == pytest.approx(sum(row.share * row.mean for row in found.groups), abs=1e-12)
    assert found.overall.low < found.overall.mean < found.overall.high
    assert sum(row.share for row in found.groups) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("finite_pool", [False, True])
def test_where_the_level_of_the_prior_is_learned_overall_sums_what_was_learned(finite_pool):
    """The closed mean against 20,000 draws: 5 standard errors."""
    found = assess(prior=fl.flat(4.0), finite_pool=finite_pool, n_draws=20_000)
    share = np.array([row.share for row in found.groups])
    assert found.overall.mean == pytest.approx(share @ found.posterior.pooled_cells.mean(), abs=1e-12)
    draws = found.posterior.overall.samples[:, 0]
    assert found.overall.mean == pytest.approx(draws.mean(), abs=5 * draws.std() / np.sqrt(20_000))


def test_a_prior_worth_a_handful_of_labels_is_left_as_it_is():
    found = fl.assess({"id": range(30), "predicted": ["a", "a", "b"] * 10, "label": ["a", "b", "b"] * 10})
    assert found.posterior.pooled_cells is None
    assert found.overall.mean == pytest.approx(sum(row.share * row.mean for row in found.groups), abs=1e-12)


def test_overall_of_one_group_is_that_group():
    found = assess(by=fl.everything)
    row = found.groups[0]
    assert (found.overall.mean, found.overall.low, found.overall.high) == (row.mean, row.low, row.high)


# -- what must not matter -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["accuracy", "ece", "confusion", "recall", "tpr", "mcc", "selection-rate"])
@pytest.mark.parametrize("finite_pool", [False, True])
def test_the_order_of_rows_does_not_matter(name, finite_pool):
    pool = make_pool(5, classes="01", labelled=0.6)
    order = np.random.default_rng(1).permutation(60)
    choices = {"by": fl.column("sex"), "metric": METRICS[name], "finite_pool": finite_pool, "n_draws": 500}
    one, other = (fl.assess(p, **choices) for p in (pool, take(pool, order)))
    for a, b in zip(one.groups, other.groups, strict=True):
        assert a.group == b.group
        assert [getattr(a, x) for x in SHOWN] == pytest.approx([getattr(b, x) for x in SHOWN], abs=1e-9)
    assert one.overall.mean == pytest.approx(other.overall.mean, abs=1e-9)


@pytest.mark.parametrize("metric", [fl.accuracy, fl.ece], ids=lambda m: m.name)
@pytest.mark.parametrize("finite_pool", [False, True])
def test_agreement_of_nought_and_one_is_accuracy(metric, finite_pool):
    pool = make_pool(6, labelled=0.7)
    agreement = [None if y is None else float(p == y) for p, y in zip(pool["predicted"], pool["label"], strict=True)]
    judged = {k: v for k, v in pool.items() if k != "label"} | {"agreement": agreement}
    one, other = (fl.assess(p, by=fl.column("sex"), metric=metric, finite_pool=finite_pool) for p in (pool, judged))
    for a, b in zip(one.groups, other.groups, strict=True):
        assert [getattr(a, x) for x in SHOWN] == pytest.approx([getattr(b, x) for x in SHOWN], abs=1e-12)


def test_agreement_between_nought_and_one_counts_in_part():
    pool = {"id": range(4), "group": list("aabb"), "agreement": [0.25, 0.5, 1.0, None]}
    found = assess(pool)
    assert [row.mean for row in found.groups] == pytest.approx([(1 + 0.75) / 4, 2 / 3], abs=1e-12)
    labelled = assess(take(pool, [0, 1, 2]), finite_pool=True)
    assert [row.mean for row in labelled.groups] == pytest.approx([0.375, 1.0], abs=1e-12)


def test_metrics_of_classes_cannot_be_had_from_agreement():
    with pytest.raises(fl.InputError, match="needs true classes"):
        fl.assess({"id": [1], "predicted": ["a"], "agreement": [0.5]}, metric=fl.recall)


# -- what is shown --------------------------------------------------------------------------------------------


def test_a_labelled_finite_pool_is_a_point():
    found = assess(outcome_pool(a=(3, 1, 0), b=(1, 1, 0)), finite_pool=True)
    assert [(row.low, row.mean, row.high) for row in found.groups] == [(0.75,) * 3, (0.5,) * 3]
    assert (found.overall.low, found.overall.mean, found.overall.high) == pytest.approx((4 / 6,) * 3, abs=1e-12)


def test_an_interval_is_wider_at_a_higher_level_and_narrower_on_exactly_these_items():
    def width(a):
        return [row.high - row.low for row in a.groups]

    assert np.all(np.array(width(assess(level=0.99))) > width(assess(level=0.9)))
    nearly_all = outcome_pool(a=(60, 40, 5), b=(90, 10, 5))
    assert np.all(np.array(width(assess(nearly_all, finite_pool=True))) < width(assess(nearly_all)))


def test_a_row_is_found_by_name_or_refused_with_the_nearest_one():
    assert assess().row("b").n_labels == 10
    with pytest.raises(fl.InputError, match="no group 'e'"):
        assess().row("e")


def test_the_mean_score_of_a_group_is_shown_where_there_is_one():
    pool = make_pool(1)
    mean = np.mean([s for s, sex in zip(pool["score"], pool["sex"], strict=True) if sex == "f"])
    assert fl.assess(pool, by=fl.column("sex")).row("f").score == pytest.approx(mean, abs=1e-12)
    assert assess().row("a").score is None


def test_the_json_keeps_the_contract():
    plain = json.loads(assess(metric=fl.confusion).to_json())
    assert {"metric", "by", "prior", "level", "n_items", "n_labels", "overall", "groups", "warnings", "matrix"} <= set(
        plain
    )
    keys = {"group", "share", "n_items", "n_labels", "mean", "low", "high", "p_worst", "rank_low", "rank_high"}
    assert keys <= set(plain["groups"][0])
    assert {"predicted", "label", "mean", "low", "high"} <= set(plain["matrix"][0])
    assert (plain["n_items"], plain["n_labels"]) == (160, 25)


def test_entries_of_a_confusion_matrix_name_their_group_only_where_groups_are_not_classes():
    pool = make_pool(1)
    assert {entry.group for entry in fl.assess(pool, metric=fl.confusion).matrix} == {None}
    assert {entry.group for entry in fl.assess(pool, by=fl.everything, metric=fl.confusion).matrix} == {None}
    assert {entry.group for entry in fl.assess(pool, by=fl.column("sex"), metric=fl.confusion).matrix} == {"f", "m"}


@pytest.mark.parametrize("by", [fl.predicted, fl.everything, fl.column("sex")], ids=["predicted", "all", "sex"])
def test_each_column_of_a_confusion_matrix_adds_up_to_one(by):
    found = fl.assess(make_pool(1, labelled=0.4), by=by, metric=fl.confusion)
    total = {}
    for entry in found.matrix:
        total[entry.group, entry.predicted] = total.get((entry.group, entry.predicted), 0) + entry.mean
        assert 0 <= entry.low <= entry.mean <= entry.high <= 1
    assert list(total.values()) == pytest.approx([1] * len(total), abs=1e-12)


# -- the same counts, another question ------------------------------------------------------------------------

PRICES = {j: {k: float(2 * (j > k) + (j < k)) for k in "abc"} for j in "abc"}


def same(one, other):
    assert [row.group for row in one.groups] == [row.group for row in other.groups]
    for a, b in zip(one.groups, other.groups, strict=True):
        assert [getattr(a, x) for x in SHOWN] == pytest.approx([getattr(b, x) for x in SHOWN], abs=1e-9)


@pytest.mark.parametrize(
    "metric", [fl.ece, fl.confusion, fl.recall, fl.tpr, fl.selection_rate, fl.cost(PRICES)], ids=lambda m: m.name
)
@pytest.mark.parametrize("prior", [fl.flat(), fl.from_scores()], ids=["flat", "scores"])
def test_asking_the_same_counts_about_another_metric_is_assessing_it(metric, prior):
    pool = fl.Predictions.read(make_pool(1, labelled=0.5), positive="b")
    choices = {"by": fl.column("sex"), "prior": prior}
    same(fl.assess(pool, **choices).about(metric), fl.assess(pool, metric=metric, **choices))


def test_asking_about_classes_after_accuracy_keeps_the_probabilities_of_the_prior():
    rng = np.random.default_rng(2)
    p = rng.dirichlet([1, 1, 1], 30)
    pool = {"id": list(range(30)), **{f"p_{c}": p[:, i] for i, c in enumerate("abc")}, "label": list("abc") * 10}
    pool = fl.Predictions.read(pool)
    later = fl.assess(pool, prior=fl.from_scores()).about(fl.confusion)
    direct = fl.assess(pool, prior=fl.from_scores(), metric=fl.confusion)
    assert [e.mean for e in later.matrix] == pytest.approx([e.mean for e in direct.matrix], abs=1e-9)


def test_reliability_is_accuracy_by_score_bin():
    pool = make_pool(1, labelled=0.5)
    same(fl.assess(pool, by=fl.column("sex")).reliability(), fl.assess(pool, by=fl.bins(10)))


def test_reliability_can_be_shown_of_an_assessment_that_began_with_an_earlier_one():
    pool = make_pool(1, labelled=0.5)
    found = fl.assess(pool, prior=fl.from_earlier(fl.assess(pool)))
    assert len(found.reliability().groups) > 1


def test_merging_asks_about_the_whole_pool():
    pool = make_pool(1, labelled=0.5)
    same(fl.assess(pool).merged(fl.accuracy), fl.assess(pool, by=fl.everything))


# -- what is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "words"),
    [({"level": 0.0}, "level"), ({"level": 1.0}, "level"), ({"m": 0}, "at least 1"), ({"n_draws": 99}, "too few")],
)
def test_a_question_that_makes_no_sense_is_refused(choice, words):
    with pytest.raises(fl.InputError, match=words):
        assess(**choice)


def test_what_was_asked_is_kept():
    found = assess(m=2, level=0.9, seed=3)
    assert {f.name: getattr(found.spec, f.name) for f in fields(AssessmentSpec)} == {
        "metric": fl.accuracy, "prior": fl.flat(), "level": 0.9, "finite_pool": False, "m": 2, "seed": 3,
        "n_draws": 10_000,
    }  # fmt: skip


# -- warnings -------------------------------------------------------------------------------------------------


def test_groups_without_labels_and_groups_with_too_few_are_named():
    text = " ".join(assess().warnings)
    assert "1 of 4 groups have no label" in text
    assert ": d" in text
    assert "too few labels for a conclusion" in text


def test_a_pool_without_labels_says_so_and_nothing_else():
    pool = outcome_pool(a=(0, 0, 5), b=(0, 0, 5)) | {"label": [None] * 10}
    assert any("no item is labelled" in warning for warning in assess(pool).warnings)


def test_the_overall_figure_is_called_the_prior_s_where_it_is():
    def leans(pool, strength=None, learned=False):
        found = assess(pool, prior=replace(fl.flat(strength), guesses_level=learned))
        return any("depends on the prior" in warning for warning in found.warnings)

    assert leans(UNEVEN)
    assert not leans(UNEVEN, 4.0, learned=True)
    assert not leans(UNEVEN, VANISHING)
    assert not leans(outcome_pool(a=(600, 400, 0), b=(900, 100, 0)))


def test_averages_over_two_classes_are_called_so():
    rng = np.random.default_rng(0)
    table = {"predicted": rng.choice(["0", "1"], 300), "label": np.where(np.arange(300) < 60, "1", None)}
    said = " ".join(fl.assess(table, by="all", metric="f1", prior="flat").warnings)
    assert "f1 is the mean over both classes (macro average), whatever the positive class is" in said
    assert "macro" not in " ".join(fl.assess(table, metric="f1", by="predicted", prior="flat").warnings)
    assert "macro" not in " ".join(
        fl.assess(table | {"label": table["predicted"]}, by="all", metric="accuracy", prior="flat").warnings
    )


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"level": "95%"}, "level is 95%"),
        ({"m": 1.5}, "m is 1.5; it must be a whole number"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"finite_pool": "no"}, "finite_pool is 'no'; it must be True or False"),
    ],
)
def test_choices_of_another_type_are_refused(choices: dict, said: str) -> None:
    table = {"id": [1, 2], "predicted": ["a", "b"], "label": ["a", None]}
    code = f"import fewlabels as fl; fl.assess({table!r}, **{choices!r})"  # in a process of its own: here types are checked
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"fewlabels.errors.InputError: {said}" in run.stderr
