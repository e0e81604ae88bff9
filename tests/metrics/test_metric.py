from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from makers import (
    DENOMINATOR,
    MACRO,
    ONE_CLASS,
    VANISHING,
    accuracy_by_hand,
    cost_by_hand,
    ece_by_hand,
    macro,
    make_pool,
    mcc_by_hand,
    take,
)
from scipy.stats import ks_2samp
from sklearn import metrics as sk

import fewlabels as fl
from fewlabels.analyses.assessment import assess_counts
from fewlabels.analyses.assessment_spec import AssessmentSpec
from fewlabels.data.tabulation import count_pool
from fewlabels.metrics.metric import METRICS

RATES = ("tpr", "fpr", "tnr", "fnr", "ppv", "npv", "fdr", "for", "selection-rate")
PRICES = {p: {q: float(abs(ord(p) - ord(q)) * (1 + (p < q))) for q in "01abcxyz"} for p in "01abcxyz"}
WIDTHS = np.arange(11) / 10

# What scikit-learn says of (label, predicted), each a whole-group number.
SKLEARN = {
    "accuracy": sk.accuracy_score,
    "confusion": sk.accuracy_score,
    "precision": lambda y, p: sk.precision_score(y, p, average="macro", zero_division=0),
    "recall": lambda y, p: sk.recall_score(y, p, average="macro", zero_division=0),
    "f1": lambda y, p: sk.f1_score(y, p, average="macro", zero_division=0),
    "mcc": sk.matthews_corrcoef,
    "cost": lambda y, p: cost_by_hand(PRICES, p, y, np.ones(len(y))),
}


def metric_called(name):
    return fl.cost(PRICES) if name == "cost" else METRICS[name]


def exact(pool, **choices):
    """Assess a fully labelled pool with a prior that says nothing: plain counting."""
    return fl.assess(pool, prior=fl.flat(VANISHING), finite_pool=True, n_draws=100, **choices)


def bin_of(score, n):
    return min(int(np.searchsorted(np.arange(1, n) / n, score, side="right")), n - 1)


# Partitions, and the same done by hand: the name of each row's group.
PARTITIONS = {
    "everything": (fl.everything, lambda p, i: "all"),
    "column": (fl.column("sex"), lambda p, i: p["sex"][i]),
    "bins": (
        fl.bins(4),
        lambda p, i: ["[0, 0.25)", "[0.25, 0.5)", "[0.5, 0.75)", "[0.75, 1]"][bin_of(p["score"][i], 4)],
    ),
    "cross": (fl.cross(fl.column("sex"), fl.column("age")), lambda p, i: f"{p['sex'][i]} × {p['age'][i]}"),
    "cross of predicted": (
        fl.cross(fl.predicted, fl.column("sex")),
        lambda p, i: f"{p['predicted'][i]} × {p['sex'][i]}",
    ),
}


def split(pool, name_of):
    """Rows of each group, by hand."""
    groups = {}
    for i in range(len(pool["id"])):
        groups.setdefault(name_of(pool, i), []).append(i)
    return {name: take(pool, rows) for name, rows in groups.items()}


def uneven_pool(seed=0):
    """`y` is predicted but never true, `z` is true but never predicted, and group m lacks class c."""
    pool = make_pool(seed, n=80)
    pool["predicted"][:3], pool["label"][:4] = ["y"] * 3, ["a", "b", "c", "z"]
    for column in ("predicted", "label"):
        pool[column] = [
            "a" if value == "c" and sex == "m" else value for value, sex in zip(pool[column], pool["sex"], strict=True)
        ]
    return pool


POOLS = {
    "three": make_pool(1),
    "uneven": uneven_pool(),
    "two": make_pool(2, n=50, classes="01"),
    "scored": make_pool(3),
}
BINS = {"width": fl.bins(10), "mass": fl.bins(5, equal_mass=True)}


@cache
def counts_of(pool, partition, bins="width"):
    """Counts of one of the pools above: many metrics ask about the same ones."""
    return count_pool(fl.Predictions.read(POOLS[pool]), PARTITIONS[partition][0], bins=BINS[bins])


def judged(counts, name):
    """What `assess` says of a fully labelled pool, with a prior that says nothing."""
    metric = fl.cost(PRICES) if name == "cost" else METRICS[name]
    return assess_counts(counts, AssessmentSpec(metric, fl.flat(VANISHING), finite_pool=True, n_draws=100))


# -- everything labelled, nothing assumed: counting -----------------------------------------------------------


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("name", SKLEARN)
@pytest.mark.parametrize("kind", ["three", "uneven", "two"])
def test_a_metric_of_a_labelled_pool_is_what_scikit_learn_counts(kind, name, partition):
    if name == "mcc" and "predicted" in partition:
        pytest.skip("refused: tested below")
    pool, found = POOLS[kind], judged(counts_of(kind, partition), name)
    for group, part in split(pool, PARTITIONS[partition][1]).items():
        assert found.row(group).mean == pytest.approx(SKLEARN[name](part["label"], part["predicted"]), abs=1e-9), group
    assert found.overall.mean == pytest.approx(SKLEARN[name](pool["label"], pool["predicted"]), abs=1e-9)


@pytest.mark.parametrize("name", SKLEARN)
def test_assessing_is_counting_and_judging(name):
    direct = exact(POOLS["three"], by=fl.column("sex"), metric=metric_called(name))
    assert direct.groups == judged(counts_of("three", "column"), name).groups


@pytest.mark.parametrize("partition", ["everything", "column", "bins"])
@pytest.mark.parametrize("pool", [make_pool(1), make_pool(2, n=50, classes="01")], ids=["3", "2"])
def test_balanced_accuracy_of_a_labelled_pool_is_what_scikit_learn_counts(pool, partition):
    by, name_of = PARTITIONS[partition]
    found = exact(pool, by=by, metric=fl.balanced_accuracy)
    for group, part in split(pool, name_of).items():
        if set(part["predicted"]) <= set(part["label"]):
            assert found.row(group).mean == pytest.approx(
                sk.balanced_accuracy_score(part["label"], part["predicted"]), abs=1e-9
            )
    assert found.overall.mean == pytest.approx(sk.balanced_accuracy_score(pool["label"], pool["predicted"]), abs=1e-9)


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true:UserWarning")
def test_balanced_accuracy_averages_over_true_classes_only():
    """A class that is predicted but never true has no recall to average."""
    pool = {"id": [1, 2, 3, 4], "predicted": list("abay"), "label": list("abba")}
    expected = sk.balanced_accuracy_score(pool["label"], pool["predicted"])
    assert exact(pool, by=fl.everything, metric=fl.balanced_accuracy).overall.mean == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", MACRO)
@pytest.mark.parametrize("pool", [make_pool(1), uneven_pool()], ids=["even", "uneven"])
def test_by_predicted_class_a_rate_is_that_of_the_class_and_overall_their_mean(pool, name):
    found = exact(pool, by=fl.predicted, metric=METRICS[name])
    classes = [row.group for row in found.groups]
    scores = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score}[name](
        pool["label"], pool["predicted"], labels=classes, average=None, zero_division=0
    )
    assert [row.mean for row in found.groups] == pytest.approx(scores, abs=1e-9)
    assert found.overall.mean == pytest.approx(SKLEARN[name](pool["label"], pool["predicted"]), abs=1e-9)


@pytest.mark.parametrize("name", RATES)
def test_by_predicted_class_a_one_class_rate_takes_each_class_as_the_positive_one(name):
    pool = uneven_pool()
    found = exact(pool, by=fl.predicted, metric=METRICS[name])
    for row in found.groups:
        if name in DENOMINATOR and not DENOMINATOR[name](pool["predicted"], pool["label"], np.ones(80), row.group):
            continue
        expected = ONE_CLASS[name](pool["predicted"], pool["label"], np.ones(80), row.group)
        assert row.mean == pytest.approx(expected, abs=1e-9), row.group


@pytest.mark.parametrize("name", MACRO)
def test_a_model_that_only_ever_says_one_class_is_averaged_over_the_classes_it_misses(name):
    pool = {"id": list(range(6)), "predicted": ["a"] * 6, "label": list("aabbab")}
    found = exact(pool, by=fl.predicted, metric=METRICS[name])
    assert found.overall.mean == pytest.approx(SKLEARN[name](pool["label"], pool["predicted"]), abs=1e-9)


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("name", RATES)
def test_a_rate_of_the_positive_class_is_counted_by_hand(name, partition):
    pool, found = POOLS["two"], judged(counts_of("two", partition), name)
    for group, part in {**split(pool, PARTITIONS[partition][1]), "overall": pool}.items():
        ones = np.ones(len(part["id"]))
        if name in DENOMINATOR and not DENOMINATOR[name](part["predicted"], part["label"], ones, "1"):
            continue
        mean = found.overall.mean if group == "overall" else found.row(group).mean
        assert mean == pytest.approx(ONE_CLASS[name](part["predicted"], part["label"], ones, "1"), abs=1e-9), group


@pytest.mark.parametrize("name", DENOMINATOR)
def test_a_rate_of_nothing_could_be_anything(name):
    """Group m has no positive label, group f none that is negative; both make one kind of prediction only."""
    pool = {"id": [1, 2, 3, 4], "predicted": list("1100"), "label": list("1100"), "sex": list("ffmm")}
    found = exact(pool, by=fl.column("sex"), metric=METRICS[name])
    for group, part in split(pool, PARTITIONS["column"][1]).items():
        ones, row = np.ones(2), found.row(group)
        if DENOMINATOR[name](part["predicted"], part["label"], ones, "1"):
            assert row.mean == pytest.approx(ONE_CLASS[name](part["predicted"], part["label"], ones, "1"), abs=1e-9)
        else:
            assert row.high - row.low > 0.8
            assert any(f"{name} is not defined in {group}" in warning for warning in found.warnings)


def test_the_positive_class_is_the_one_that_was_named():
    pool = fl.Predictions.read(make_pool(1), positive="b")
    found = exact(pool, by=fl.everything, metric=fl.tpr)
    plain = make_pool(1)
    assert found.overall.mean == pytest.approx(ONE_CLASS["tpr"](plain["predicted"], plain["label"], np.ones(60), "b"))


@pytest.mark.parametrize("pool", [make_pool(1), uneven_pool()], ids=["even", "uneven"])
def test_a_confusion_matrix_is_what_scikit_learn_counts(pool):
    found = exact(pool, by=fl.predicted, metric=fl.confusion)
    classes = sorted({*pool["predicted"], *pool["label"]})
    with np.errstate(invalid="ignore"):
        counts = sk.confusion_matrix(pool["label"], pool["predicted"], labels=classes).astype(float)
    for entry in found.matrix:
        j, k = classes.index(entry.label), classes.index(entry.predicted)
        assert entry.mean == pytest.approx(counts[j, k] / counts[:, k].sum(), abs=1e-9)
        assert entry.low == entry.high == pytest.approx(entry.mean, abs=1e-9)
    assert len(found.matrix) == len(set(pool["predicted"])) * len(classes)


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("bins", BINS)
def test_calibration_error_is_counted_by_hand(bins, partition):
    pool, found = POOLS["scored"], judged(counts_of("scored", partition, bins), "ece")
    edges = WIDTHS if bins == "width" else [0, *np.quantile(pool["score"], np.arange(1, 5) / 5), 1]
    for group, part in {**split(pool, PARTITIONS[partition][1]), "overall": pool}.items():
        right = np.equal(part["predicted"], part["label"])
        estimate = found.overall if group == "overall" else found.row(group)
        assert estimate.mean == pytest.approx(ece_by_hand(right, part["score"], edges), abs=1e-9), group


def test_calibration_error_by_predicted_class_bins_within_the_class():
    pool = make_pool(3)
    found = exact(pool, by=fl.predicted, metric=fl.ece)
    for group, part in split(pool, lambda p, i: p["predicted"][i]).items():
        expected = ece_by_hand(np.equal(part["predicted"], part["label"]), part["score"], WIDTHS)
        assert found.row(group).mean == pytest.approx(expected, abs=1e-9)


def test_mcc_of_a_predicted_class_is_refused():
    for by in (fl.predicted, fl.cross(fl.predicted, fl.column("sex"))):
        with pytest.raises(fl.InputError, match="mcc is not defined"):
            fl.assess(make_pool(1), by=by, metric=fl.mcc)


def test_every_metric_knows_its_name_and_its_bad_end():
    assert {name for name, metric in METRICS.items() if metric.worst == "highest"} == {
        "ece",
        "brier",
        "log-loss",
        "fpr",
        "fnr",
        "fdr",
        "for",
    }
    assert all(metric.name == name for name, metric in METRICS.items())
    assert fl.cost(PRICES).worst == "highest"


# -- the same, for pools nobody would think of ----------------------------------------------------------------

rows = st.tuples(
    st.sampled_from("01"), st.sampled_from("01"), st.sampled_from("fm"), st.sampled_from([0.1, 0.5, 0.95, 1.0])
)
many = st.tuples(
    st.sampled_from("abx"), st.sampled_from("aby"), st.sampled_from("fm"), st.sampled_from([0.1, 0.5, 0.95, 1.0])
)


def pool_of(rows):
    predicted, label, sex, score = map(list, zip(*rows, strict=True))
    assume(set(predicted) & set(label))
    return {"id": list(range(len(rows))), "predicted": predicted, "label": label, "sex": sex, "score": score}


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.lists(rows, min_size=1, max_size=8))
def test_every_binary_rate_is_a_count(rows):
    pool = pool_of(rows)
    assume({*pool["predicted"], *pool["label"]} == {"0", "1"})
    counts = count_pool(fl.Predictions.read(pool), fl.column("sex"))
    for name in RATES:
        found = judged(counts, name)
        for group, part in split(pool, PARTITIONS["column"][1]).items():
            ones = np.ones(len(part["id"]))
            if name == "selection-rate" or DENOMINATOR[name](part["predicted"], part["label"], ones, "1"):
                expected = ONE_CLASS[name](part["predicted"], part["label"], ones, "1")
                assert found.row(group).mean == pytest.approx(expected, abs=1e-9)


def count_by_hand(name, part):
    ones = np.ones(len(part["id"]))
    if name in MACRO:
        return macro(name, part["predicted"], part["label"], ones)
    if name == "cost":
        return cost_by_hand(PRICES, part["predicted"], part["label"], ones)
    if name == "ece":
        return ece_by_hand(np.equal(part["predicted"], part["label"]), part["score"], WIDTHS)
    return accuracy_by_hand(part["predicted"], part["label"], ones)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.lists(many, min_size=1, max_size=8))
def test_every_multi_class_metric_is_a_count(rows):
    pool = pool_of(rows)
    assume(len({*pool["predicted"], *pool["label"]}) > 1)
    counts = count_pool(fl.Predictions.read(pool), fl.column("sex"))
    for name in ("accuracy", "confusion", "precision", "recall", "f1", "cost", "ece"):
        found = judged(counts, name)
        for group, part in split(pool, PARTITIONS["column"][1]).items():
            assert found.row(group).mean == pytest.approx(count_by_hand(name, part), abs=1e-9)


@pytest.mark.parametrize("finite_pool", [False, True])
@pytest.mark.parametrize("name", ["confusion", "precision", "recall", "f1", "accuracy", "cost"])
def test_a_pool_of_a_single_class_is_assessed_like_any_other(name, finite_pool):
    pool = {"id": [1, 2, 3], "predicted": list("aaa"), "label": ["a", "a", None]}
    found = fl.assess(pool, metric=metric_called(name), finite_pool=finite_pool)
    assert np.isfinite(found.overall.mean)


@pytest.mark.parametrize("name", ["confusion", "precision", "recall"])
def test_a_model_whose_probabilities_are_all_nought_or_one_is_assessed_like_any_other(name):
    """A decision tree, or one-hot scores: under the scores prior, no other class is possible until it is seen."""
    pool = {"id": [1, 2, 3], "p_a": [1.0, 1.0, 0.0], "p_b": [0.0, 0.0, 1.0], "label": ["a", None, "b"]}
    found = fl.assess(pool, metric=METRICS[name], prior=fl.from_scores())
    assert found.row("a").high == pytest.approx(1)


# -- the population: when everything is labelled and nothing assumed, the posterior is the Bayesian bootstrap ---


def bootstrap(statistic, n_rows, n=3000):
    weights = np.random.default_rng(7).standard_exponential((n, n_rows))
    return np.array([statistic(w) for w in weights])


POPULATION = {
    **{
        name: lambda part, w, name=name: ONE_CLASS[name](part["predicted"], part["label"], w, "1")
        for name in RATES[:-1]
    },
    **{name: lambda part, w, name=name: macro(name, part["predicted"], part["label"], w) for name in MACRO},
    "accuracy": lambda part, w: accuracy_by_hand(part["predicted"], part["label"], w),
    "confusion": lambda part, w: accuracy_by_hand(part["predicted"], part["label"], w),
    "balanced-accuracy": lambda part, w: macro("recall", part["predicted"], part["label"], w),
    "mcc": lambda part, w: mcc_by_hand(part["predicted"], part["label"], w),
    "cost": lambda part, w: cost_by_hand(PRICES, part["predicted"], part["label"], w),
    "ece": lambda part, w: ece_by_hand(np.equal(part["predicted"], part["label"]), part["score"], WIDTHS, w),
}


@pytest.mark.parametrize("name", POPULATION)
def test_draws_for_the_population_are_those_of_the_bayesian_bootstrap(name):
    """Two samples of 3,000 from one distribution: Kolmogorov-Smirnov calls them different once in 100,000."""
    pool = make_pool(4, n=40, classes="01")
    part = split(pool, PARTITIONS["column"][1])["f"]
    found = fl.assess(
        pool, by=fl.column("sex"), metric=metric_called(name), prior=fl.flat(VANISHING), n_draws=3000, seed=1
    )
    for draws, rows in (
        (found.draws[:, 0], part),
        (found.posterior.overall.draw(np.random.default_rng(0), 3000)[:, 0], pool),
    ):
        expected = bootstrap(lambda w, rows=rows: POPULATION[name](rows, w), len(rows["id"]))
        assert ks_2samp(draws.round(9), expected.round(9)).pvalue > 1e-5


@pytest.mark.parametrize("name", [*MACRO, "tpr", "fpr", "for"])
def test_draws_by_predicted_class_are_those_of_the_bayesian_bootstrap(name):
    pool = make_pool(5, n=40)
    found = fl.assess(pool, by=fl.predicted, metric=METRICS[name], prior=fl.flat(VANISHING), n_draws=3000, seed=2)
    expected = bootstrap(lambda w: ONE_CLASS[name](pool["predicted"], pool["label"], w, "b"), 40)
    assert ks_2samp(found.draws[:, 1], expected).pvalue > 1e-5


def test_the_selection_rate_of_the_population_needs_no_label():
    pool = make_pool(2, n=50, classes="01", labelled=0.1)
    found = fl.assess(pool, by=fl.column("sex"), metric=fl.selection_rate)
    for group, part in split(pool, PARTITIONS["column"][1]).items():
        chosen, n = part["predicted"].count("1"), len(part["id"])
        assert found.row(group).mean == pytest.approx((chosen + 0.5) / (n + 1), abs=1e-12)
    assert found.overall.low < np.mean(np.equal(pool["predicted"], "1")) < found.overall.high


@pytest.mark.parametrize("name", ["ppv", "fdr"])
def test_a_rate_of_predictions_never_made_is_not_a_certainty(name):
    """Nobody in group m is predicted positive: no data can say how precise that prediction is there."""
    pool = make_pool(2, n=50, classes="01")
    pool["predicted"] = ["0" if s == "m" else p for p, s in zip(pool["predicted"], pool["sex"], strict=True)]
    found = fl.assess(pool, by=fl.column("sex"), metric=METRICS[name])
    row = found.row("m")
    assert row.high - row.low > 0.5
