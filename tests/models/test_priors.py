import json

import numpy as np
import pytest
from makers import make_pool, outcome_pool, stack, take
from scipy import stats

import fewlabels as fl
from fewlabels.data.tabulation import count_pool
from fewlabels.errors import InputError
from fewlabels.models.priors import EDGE, pseudo_counts

SEX = fl.column("sex")


def before(pool, prior, reads, splits=("predicted",), by=fl.everything):
    """Pseudo-counts of a prior on a pool, cell by cell."""
    pool = fl.Predictions.read(pool)
    counts = count_pool(pool, by, probabilities=pool.has("probabilities"))
    return pseudo_counts(prior.before(counts.cells(splits), reads))


# -- flat -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("strength", "half"), [(None, 1.0), (1.0, 0.5), (7.0, 3.5)])
def test_a_flat_prior_on_being_right_is_even(strength, half):
    assert before(make_pool(1), fl.flat(strength), "right").tolist() == [[half, half]] * 3


@pytest.mark.parametrize(("strength", "each"), [(None, 1 / 3), (6.0, 2.0)])
def test_a_flat_prior_on_the_label_is_even_over_the_classes(strength, each):
    assert before(make_pool(1), fl.flat(strength), "label") == pytest.approx(np.full((3, 3), each), abs=1e-12)


# -- from scores ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("strength", "n"), [(None, 2.0), (10.0, 10.0)])
def test_a_scores_prior_on_being_right_has_the_mean_score_of_each_cell(strength, n):
    pool = make_pool(1)
    found = before(pool, fl.from_scores(strength), "right")
    for row, name in zip(found, "abc", strict=True):
        mean = np.mean([s for s, p in zip(pool["score"], pool["predicted"], strict=True) if p == name])
        assert row == pytest.approx([n * mean, n * (1 - mean)], abs=1e-9)


def probability_pool():
    rng = np.random.default_rng(2)
    p = rng.dirichlet([1, 1, 1], 30)
    label = rng.choice(list("abc"), 30).tolist()
    return {"id": list(range(30)), "p_a": p[:, 0], "p_b": p[:, 1], "p_c": p[:, 2], "label": label}, p


@pytest.mark.parametrize(("strength", "n"), [(None, 1.0), (10.0, 10.0)])
def test_a_scores_prior_on_the_label_has_the_mean_probabilities_of_each_cell(strength, n):
    pool, p = probability_pool()
    found = before(pool, fl.from_scores(strength), "label")
    for k, row in enumerate(found):
        assert row == pytest.approx(n * p[p.argmax(axis=1) == k].mean(axis=0), abs=1e-9)


def test_an_assessment_of_labels_uses_the_mean_probabilities():
    pool, p = probability_pool()
    found = fl.assess(pool, metric=fl.confusion, prior=fl.from_scores(5.0))
    said_a = p.argmax(axis=1) == 0
    seen = [sum(y == name for y, hit in zip(pool["label"], said_a, strict=True) if hit) for name in "abc"]
    expected = (5 * p[said_a].mean(axis=0) + seen) / (5 + said_a.sum())
    assert [entry.mean for entry in found.matrix[:3]] == pytest.approx(expected, abs=1e-9)


def test_without_probabilities_the_rest_of_the_score_is_spread_evenly():
    pool = {"id": [1, 2, 3], "predicted": list("abc"), "score": [0.7, 0.4, 0.9], "label": list("abc")}
    assert before(pool, fl.from_scores(1.0), "label") == pytest.approx(
        np.array([[0.7, 0.15, 0.15], [0.3, 0.4, 0.3], [0.05, 0.05, 0.9]]), abs=1e-9
    )


@pytest.mark.parametrize("score", [0.0, 1.0])
@pytest.mark.parametrize("reads", ["right", "label"])
def test_a_mean_score_of_exactly_nought_or_one_leaves_room_for_surprise(score, reads):
    pool = {"id": [1, 2, 3], "predicted": list("aab"), "score": [score] * 3, "label": list("aab")}
    found = before(pool, fl.from_scores(2.0), reads)
    assert np.all(found > 0)
    assert found.sum(axis=1) == pytest.approx(2, abs=1e-9)
    assert found.min() == pytest.approx(2 * EDGE, rel=1e-3)


def test_a_perfectly_confident_model_that_errs_is_believed_to_err():
    pool = {"id": list(range(10)), "predicted": ["a"] * 5 + ["b"] * 5, "score": [1.0] * 10, "label": list("aabbb") * 2}
    row = fl.assess(pool, prior=fl.from_scores()).row("a")
    assert row.mean == pytest.approx((2 + 2) / 7, abs=1e-5)
    assert (row.low, row.high) == pytest.approx(stats.beta(4, 3).ppf([0.025, 0.975]), abs=1e-4)


# -- from an earlier assessment -------------------------------------------------------------------------------

POOL = make_pool(9, n=160)
FIRST, SECOND = take(POOL, range(80)), take(POOL, range(80, 160))
COARSE = fl.bins(3)  # so that both halves have items in every bin


def both_ways(metric, tmp_path, by=fl.predicted, prior=None):
    path, prior = tmp_path / "first.json", prior or fl.flat()
    fl.assess(FIRST, by=by, metric=metric, bins=COARSE, prior=prior).to_json(path)
    return (
        fl.assess(SECOND, by=by, metric=metric, bins=COARSE, prior=fl.from_earlier(path)),
        fl.assess(stack(FIRST, SECOND), by=by, metric=metric, bins=COARSE, prior=prior),
    )


@pytest.mark.parametrize("by", [fl.predicted, SEX, fl.everything], ids=["predicted", "sex", "all"])
@pytest.mark.parametrize("metric", [fl.accuracy, fl.ece, fl.confusion, fl.recall], ids=lambda m: m.name)
def test_two_halves_one_after_the_other_are_the_whole(metric, by, tmp_path):
    one, whole = both_ways(metric, tmp_path, by)
    assert one.posterior.cells.names == whole.posterior.cells.names
    assert pseudo_counts(one.posterior.belief) == pytest.approx(pseudo_counts(whole.posterior.belief), abs=1e-9)


def test_two_halves_one_after_the_other_say_what_the_whole_says(tmp_path):
    one, whole = both_ways(fl.accuracy, tmp_path)
    for a, b in zip(one.groups, whole.groups, strict=True):
        assert (a.mean, a.low, a.high) == pytest.approx((b.mean, b.low, b.high), abs=1e-9)
    one, whole = both_ways(fl.confusion, tmp_path, prior=fl.flat(1.0))  # a stated strength is not learned
    for a, b in zip(one.matrix, whole.matrix, strict=True):
        assert (a.predicted, a.label) == (b.predicted, b.label)
        assert (a.mean, a.low, a.high) == pytest.approx((b.mean, b.low, b.high), abs=1e-9)


def test_an_earlier_assessment_may_be_an_object_a_dict_or_a_file(tmp_path):
    earlier = fl.assess(FIRST, prior=fl.flat())
    earlier.to_json(tmp_path / "e.json")
    forms = (earlier, earlier.to_dict(), json.loads(earlier.to_json()), tmp_path / "e.json", str(tmp_path / "e.json"))
    found = [fl.assess(SECOND, prior=fl.from_earlier(form)).overall.mean for form in forms]
    assert len(set(found)) == 1


@pytest.mark.parametrize("weight", [1.0, 0.25, 0.0])
def test_a_weight_discounts_what_was_known(weight):
    earlier = fl.assess(outcome_pool(a=(5, 3, 0), b=(1, 1, 0)), by=fl.column("group"), prior=fl.flat())
    found = fl.assess(
        outcome_pool(a=(1, 0, 0), b=(0, 1, 0)), by=fl.column("group"), prior=fl.from_earlier(earlier, weight)
    )
    known = weight * np.array([[6, 4], [2, 2]]) + (1 - weight)  # the rest is a flat prior
    assert pseudo_counts(found.posterior.prior) == pytest.approx(known, abs=1e-12)
    assert found.prior == "earlier"


def test_a_group_the_earlier_assessment_did_not_know_starts_flat():
    earlier = fl.assess(outcome_pool(a=(5, 3, 0)), by=fl.column("group"), prior=fl.flat())
    found = fl.assess(outcome_pool(a=(1, 0, 0), new=(0, 1, 0)), by=fl.column("group"), prior=fl.from_earlier(earlier))
    assert pseudo_counts(found.posterior.prior).tolist() == [[6, 4], [1, 1]]


def test_classes_of_an_earlier_confusion_are_matched_by_name():
    """The earlier pool knew b and c, this one a, b and c: what was seen of b must not be taken for a."""
    earlier = fl.assess({"id": [1, 2], "predicted": list("bc"), "label": list("bc")}, metric=fl.confusion)
    pool = {"id": [1, 2, 3], "predicted": list("abc"), "label": ["a", "b", "c"]}
    found = fl.assess(pool, metric=fl.confusion, prior=fl.from_earlier(earlier))
    b_is_b = next(entry for entry in found.matrix if (entry.predicted, entry.label) == ("b", "b"))
    assert b_is_b.mean > 0.5


def test_classes_only_the_earlier_one_knew_are_refused():
    earlier = fl.assess({"id": [1, 2], "predicted": list("ab"), "label": list("ab")}, metric=fl.confusion)
    with pytest.raises(InputError, match="lack: a"):
        fl.assess(
            {"id": [1, 2], "predicted": list("bc"), "label": ["b", "c"]},
            metric=fl.confusion,
            prior=fl.from_earlier(earlier),
        )


def test_an_earlier_confusion_may_know_fewer_classes():
    earlier = fl.assess({"id": [1, 2], "predicted": list("ab"), "label": list("ab")}, metric=fl.confusion)
    pool = {"id": [1, 2, 3], "predicted": list("abc"), "label": list("abc")}
    found = fl.assess(pool, metric=fl.confusion, prior=fl.from_earlier(earlier))
    assert next(entry.mean for entry in found.matrix if entry.predicted == "a") > 0.5


def test_bins_whose_names_read_alike_keep_their_own_counts():
    """Equal-mass bins of an overconfident model crowd near 1."""
    scores = 1 - 10.0 ** -np.linspace(4, 8, 40)
    pool = {"id": list(range(40)), "predicted": list("ab") * 20, "score": scores, "label": list("ab") * 15 + ["a"] * 10}
    by = fl.bins(5, equal_mass=True)
    earlier = fl.assess(pool, by=by, prior=fl.flat())
    found = fl.assess(pool, by=by, prior=fl.from_earlier(earlier))
    assert pseudo_counts(found.posterior.prior) == pytest.approx(pseudo_counts(earlier.posterior.belief), abs=1e-9)


# -- what is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strength", [0.0, -1.0, float("nan")])
@pytest.mark.parametrize("prior", [fl.flat, fl.from_scores])
def test_a_strength_must_be_positive(prior, strength):
    with pytest.raises(fl.InputError, match="counted in labels"):
        prior(strength)


@pytest.mark.parametrize("discount", [1.5, -0.1, float("nan")])
def test_a_discount_must_lie_between_nought_and_one(discount):
    with pytest.raises(fl.InputError, match="discount"):
        fl.from_earlier(fl.assess(FIRST), discount)


def test_an_earlier_assessment_of_something_else_is_refused():
    earlier = fl.from_earlier(fl.assess(FIRST, prior=fl.flat()))
    for choices in ({"by": SEX}, {"metric": fl.confusion}):
        with pytest.raises(fl.InputError, match="other groups or another kind"):
            fl.assess(SECOND, prior=earlier, **choices)
    with pytest.raises(fl.InputError, match="other groups"):
        fl.assess(SECOND, prior=fl.from_earlier(fl.assess(FIRST)), by=SEX)


def test_what_is_no_assessment_is_refused(tmp_path):
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "torn.json").write_text('{"belief": ')
    for source, words in (
        ({"metric": "accuracy"}, "no 'belief'"),
        (tmp_path / "list.json", "no 'belief'"),
        (tmp_path / "torn.json", "not a JSON file"),
        (tmp_path / "none.json", "neither a file nor a known prior"),
    ):
        with pytest.raises(fl.InputError, match=words):
            fl.from_earlier(source)


def test_a_scores_prior_needs_scores():
    with pytest.raises(fl.InputError, match="needs a score"):
        fl.assess(outcome_pool(a=(1, 1, 0)), prior=fl.from_scores())
