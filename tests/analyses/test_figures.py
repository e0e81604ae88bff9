"""Figures that must hold whatever the data are: intervals that labels support, and means inside of them."""

import json
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fewlabels as fl
from fewlabels.errors import InputError


def make_pool(*groups, extra=1):
    """A pool of groups, each (predicted, score, labels right, labels wrong, items without a label)."""
    rows = [
        (name, score, label)
        for name, score, right, wrong, rest in groups
        for label in [name] * right + ["other"] * wrong + [None] * rest
    ] + [("other", 0.5, None)] * extra
    columns = zip(*rows, strict=True)
    return dict(zip(("predicted", "score", "label"), map(list, columns), strict=True))


OTHERS = {
    "alone": (),
    "half-right": (("b", 0.6, 20, 20, 100),),
    "right": (("b", 1.0, 90, 0, 100),),
    "wrong": (("b", 1.0, 0, 90, 100),),
    "low scores": (("b", 0.0, 90, 0, 100),),
    "unlabelled": (("b", 0.6, 0, 0, 100),),
}


@pytest.mark.parametrize("finite_pool", [False, True])
@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("score", [1.0, 0.9999, 0.99, 0.9, 0.0])
def test_ninety_of_ninety_right_are_known_to_be_right_whatever_the_score(score, others, finite_pool):
    """Jeffreys' prior alone puts the low end at 0.973; a score that saturates must not lose it."""
    a = fl.assess(make_pool(("a", score, 90, 0, 110), *OTHERS[others]), finite_pool=finite_pool)
    assert a.row("a").low > 0.94
    assert a.row("a").high > 0.99


@pytest.mark.parametrize("finite_pool", [False, True])
@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize(("n", "least"), [(13, 0.6), (90, 0.87)])
def test_labels_all_right_are_not_ruled_out_by_effects_of_attributes(n, least, others, finite_pool):
    """Jeffreys' prior alone puts the low ends at 0.83 and 0.973."""
    pool = fl.Predictions.read(make_pool(("a", 1.0, n, 0, 110), *OTHERS[others]))
    arm = fl.surface(pool, attributes=(fl.predicted,), finite_pool=finite_pool).arms[0]
    row = fl.assess(pool, by=fl.predicted, prior=fl.smooth(), finite_pool=finite_pool).row("a")
    assert arm.arm == {"predicted": "a"}
    assert arm.low > least
    assert row.low > least


@pytest.mark.parametrize("score", [1.0, 0.99, 0.0])
def test_ninety_of_ninety_wrong_are_known_to_be_wrong_whatever_the_score(score):
    row = fl.assess(make_pool(("a", score, 0, 90, 110))).row("a")
    assert row.high < 0.08
    assert row.low < 0.01


@pytest.mark.parametrize("by", [fl.bins(10), fl.predicted])
@pytest.mark.parametrize("n_labels", [0, 300])
def test_the_curve_of_other_scores_does_not_decide_how_often_scores_of_1_are_right(by, n_labels):
    """Ninety right of ninety do not tell 0.99 from 1, however well the curve of other scores is known."""
    score = np.linspace(0.5, 0.9, 300)
    right = np.random.default_rng(0).random(300) < score
    label = np.where(np.arange(300) < n_labels, np.where(right, "b", "a"), None)
    pool = {
        "predicted": ["a"] * 200 + ["b"] * 300,
        "score": [1.0] * 200 + list(score),
        "label": ["a"] * 90 + [None] * 110 + list(label),
    }
    row = fl.assess(pool, by=by).row("[0.9, 1]" if by is not fl.predicted else "a")
    assert 0.95 < row.low < 0.99
    assert row.high > 0.999


def test_intervals_of_scores_of_1_hold_the_truth():
    """95 % intervals, truth 0.97, 20 labels at a score of 1: of 40 pools, 5 or more misses have a chance of about 0.05."""
    misses = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        score = np.r_[np.ones(100), rng.uniform(0.5, 0.9, 200)]
        right = rng.random(300) < np.where(score == 1, 0.97, score)
        label = np.where(np.arange(300) % 5 == 0, np.where(right, "a", "b"), None)
        found = fl.assess({"predicted": ["a"] * 300, "score": score, "label": label}, by=fl.bins(10)).groups[-1]
        misses += not found.low <= 0.97 <= found.high
    assert misses < 5


def test_scores_of_one_and_joint_draws_agree_with_the_interval():
    a = fl.assess(make_pool(("a", 1.0, 90, 0, 110), ("b", 0.7, 20, 10, 100)), finite_pool=False)
    drawn = np.quantile(a.draws[:, [row.group for row in a.groups].index("a")], 0.025)
    assert drawn == pytest.approx(a.row("a").low, abs=0.01)


# -- whatever the data ------------------------------------------------------------------------------------------

METRICS = (fl.accuracy, fl.ece, fl.recall, fl.precision, fl.f1, fl.tpr, fl.fpr, fl.npv, fl.mcc, fl.confusion)
PRIORS = (fl.flat(), fl.from_scores(), fl.calibrated())
ROWS = st.lists(
    st.tuples(
        st.sampled_from("01"),
        st.sampled_from([0.0, 0.5, 0.9, 1.0]) | st.floats(0, 1),
        st.sampled_from(["0", "1", None]),
        st.sampled_from("xyz"),
    ),
    min_size=2,
    max_size=25,
)


def require_figures(result, low=0.0, high=1.0):
    """Every row of a result: ends and mean in order, within the metric's range, and JSON without NaN."""
    plain = json.loads(result.to_json(), parse_constant=pytest.fail)
    rows = [plain["overall"]] if "overall" in plain else []
    for row in [*rows, *plain.get("groups", ()), *plain.get("arms", ()), *plain.get("matrix", ())]:
        if row["mean"] is not None:
            assert low - 1e-9 <= row["low"] <= row["mean"] <= row["high"] <= high + 1e-9, row


def read(rows):
    predicted, score, label, group = (list(column) for column in zip(*rows, strict=True))
    return {"predicted": predicted, "score": score, "label": label, "g": group}


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    ROWS, st.sampled_from(METRICS), st.sampled_from(PRIORS), st.booleans(), st.sampled_from(["g", "predicted", "all"])
)
def test_every_assessment_has_its_means_inside_its_intervals(rows, metric, prior, finite_pool, by):
    groups = {"g": fl.column("g"), "predicted": fl.predicted, "all": fl.everything}[by]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            pool = fl.Predictions.read(read(rows), positive="1")
            found = fl.assess(pool, by=groups, metric=metric, prior=prior, finite_pool=finite_pool, n_draws=500)
        except InputError:
            return
        require_figures(found, low=-1.0 if metric is fl.mcc else 0.0)


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(ROWS, st.sampled_from(["smooth", "beta-i", "constant"]), st.booleans())
def test_every_surface_has_its_means_inside_its_intervals(rows, model, finite_pool):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            found = fl.surface(read(rows), attributes=("g",), model=model, finite_pool=finite_pool)
        except InputError:
            return
        require_figures(found)


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(ROWS, st.sampled_from(["beta-binomial", "frequency"]))
def test_every_gap_has_its_mean_inside_its_interval(rows, method):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            pool = fl.Predictions.read(read(rows), positive="1")
            found = fl.fairness(pool, by=fl.column("g"), method=method)
        except InputError:
            return
        require_figures(found)
        for gap in json.loads(found.to_json(), parse_constant=pytest.fail)["gaps"]:
            assert gap["mean"] is None or -1 <= gap["low"] <= gap["mean"] <= gap["high"] <= 1


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: prior.name)
def test_the_last_item_without_a_label_keeps_the_mean_inside_the_interval(prior, right):
    """The mode of the share is 1 (or 0) with probability above the level, and its mean is not."""
    pool = make_pool(("a", 0.9, *((20, 0) if right else (0, 20)), 1))
    require_figures(fl.assess(pool, prior=prior, finite_pool=True))
    attributes = {"g": ["x", "y"] * 11}
    require_figures(fl.surface(pool | attributes, attributes=("g",), finite_pool=True))


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("finite_pool", [True, False])
def test_arms_by_themselves_have_numbers_where_all_labels_agree(right, finite_pool):
    pool = {"predicted": ["1"] * 40, "label": ["1" if right else "0"] * 20 + [None] * 20, "g": list("xy") * 20}
    pool = {name: [*column, last] for (name, column), last in zip(pool.items(), ("0", None, "x"), strict=True)}
    found = fl.surface(pool, attributes=("g",), model="beta-i", finite_pool=finite_pool)
    require_figures(found)
    assert all(arm.high - arm.low > 0.05 for arm in found.arms)


N_EQUAL = 21


def make_equal_groups(right):
    """Two groups with the same labels of every item, and predictions of both classes."""
    said = ["1"] * (N_EQUAL - 1) + ["0"]
    label = ["1"] * right + ["0"] * (N_EQUAL - right)
    groups = ["x"] * N_EQUAL + ["y"] * N_EQUAL
    return {"predicted": said * 2, "label": label * 2, "g": groups, "score": [0.7] * (2 * N_EQUAL)}


@pytest.mark.parametrize("right", [1, 7, 20])
@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: prior.name)
def test_a_difference_that_is_known_to_be_zero_is_inside_its_interval(prior, right):
    """The mean of draws was -0.0001, outside of [0, 0]."""
    found = fl.compare(make_equal_groups(right), ("x", "y"), by=fl.column("g"), prior=prior, finite_pool=True)
    assert found.low <= found.mean <= found.high
    assert (found.low, found.mean, found.high) == pytest.approx((0, 0, 0), abs=1e-12)


@pytest.mark.parametrize("right", [1, 7, 20])
def test_a_surface_of_items_that_are_all_labelled_is_exact(right):
    found = fl.surface(make_equal_groups(right), attributes=("g",), finite_pool=True)
    require_figures(found)
    for row in (*found.arms, found.overall):
        assert row.low <= row.mean <= row.high
        assert (row.low, row.mean, row.high) == pytest.approx((found.overall.mean,) * 3)
    assert all(row.low <= row.mean <= row.high for row in (*found.marginals("g"), found.query()))


def test_gaps_between_items_that_are_all_labelled_are_exact_and_blame_no_chains():
    pool = fl.Predictions.read(make_equal_groups(7), positive="1")
    found = fl.fairness(pool, by=fl.column("g"), metrics=("accuracy", "tpr"), finite_pool=True)
    assert [(gap.low, gap.mean, gap.high) for gap in found.gaps] == [(0, 0, 0)] * 2
    assert not any("chain" in text for text in found.warnings)


# -- what is refused, and what takes no part ----------------------------------------------------------------------


def test_a_group_without_a_rate_takes_no_part_in_ranks():
    pool = fl.Predictions.read(
        {"predicted": ["1"] * 8 + ["0"] * 8, "label": ["1", "0"] * 8, "g": ["x"] * 8 + ["y"] * 4 + ["z"] * 4},
        positive="1",
    )
    found = fl.assess(pool, by=fl.column("g"), metric=fl.ppv, prior=fl.flat())
    assert [(row.p_worst, row.rank_low) for row in found.groups if row.group != "x"] == [(None, None)] * 2
    assert (found.row("x").p_worst, found.row("x").rank_high) == (1.0, 1)
    assert any("is left out of P(worst)" in text for text in found.warnings)
    assert found.to_markdown()


def test_more_worst_groups_than_groups_are_refused():
    with pytest.raises(InputError, match="m is 7, but there are only 2 groups"):
        fl.assess({"predicted": ["a", "b"] * 4, "label": ["a", "b"] * 4}, m=7)


def test_an_attribute_named_twice_is_refused():
    with pytest.raises(InputError, match="named twice"):
        fl.cross(fl.predicted, fl.predicted)


FAIR = {"predicted": ["1", "0"] * 20, "label": ["1"] * 11 + ["0"] * 19 + [None] * 10, "g": ["x"] * 20 + ["y"] * 20}


@dataclass(frozen=True)
class ShareRight:
    """A metric of a user's own: the share of right decisions, squared."""

    name: str = "squared"
    splits: tuple[str, ...] = ()
    reads: str = "right"
    worst: str = "lowest"
    needs: tuple[str, ...] = ()
    is_share: bool = True
    is_cell_accuracy: bool = False

    def value(self, sample):
        """Square the accuracy."""
        return fl.accuracy.value(sample) ** 2


def test_a_fairness_metric_of_ones_own_is_used_and_a_namesake_refused():
    own = fl.fairness(FAIR, by=fl.column("g"), metrics=(ShareRight(), "accuracy"), method="frequency", finite_pool=True)
    rows = {(row.metric, row.group): row.mean for row in own.groups}
    assert rows["squared", "x"] == pytest.approx(rows["accuracy", "x"] ** 2)
    assert own.to_markdown()
    with pytest.raises(InputError, match="your metric is called 'tpr'"):
        fl.fairness(FAIR, by=fl.column("g"), metrics=(ShareRight("tpr"),), method="beta-binomial")
    with pytest.raises(InputError, match="needs groups split by bin"):
        fl.fairness(FAIR, by=fl.column("g"), metrics=(ShareRight(splits=("bin",)),), method="beta-binomial")
    with pytest.raises(InputError, match="two different metrics are called 'squared'"):
        fl.fairness(
            FAIR, by=fl.column("g"), metrics=(ShareRight(), ShareRight(worst="highest")), method="beta-binomial"
        )
    assert fl.fairness(FAIR, by=fl.column("g"), metrics=(fl.tpr,), method="beta-binomial").gaps
    prices = fl.cost({"0": {"0": 0.0, "1": 1.0}, "1": {"0": 5.0, "1": 0.0}})
    pool = fl.Predictions.read(FAIR, positive="1")
    assert fl.fairness(pool, by=fl.column("g"), metrics=(prices,), method="beta-binomial").groups[0].mean > 0


def test_a_fairness_figure_that_rests_on_a_handful_of_labels_says_so():
    found = fl.fairness(FAIR, by=fl.column("g"), metrics=("tpr",), method="beta-binomial")
    assert any("fewer than 5 labels '1' in y (0)" in text for text in found.warnings)


def test_a_rate_of_a_group_with_three_positives_says_so():
    label = ["1"] * 30 + ["0"] * 30 + ["1"] * 3 + ["0"] * 57
    pool = {"predicted": ["1", "0"] * 60, "label": label, "g": ["x"] * 60 + ["y"] * 60}
    found = fl.fairness(pool, by=fl.column("g"), metrics=("tpr", "accuracy"), method="beta-binomial")
    labels, expected = (text for text in found.warnings if "fewer than 5" in text)
    assert labels.startswith("tpr: fewer than 5 labels '1' in y (3)")
    assert "in y (3.0); one of them moves it far" in expected


def test_a_negative_seed_is_refused():
    for call in (
        lambda: fl.fairness(FAIR, by=fl.column("g"), seed=-1),
        lambda: list(fl.simulate(FAIR, goal=fl.Estimate(), seed=-1)),
        lambda: fl.plan(FAIR, goal=fl.Estimate(), seed=-1),
    ):
        with pytest.raises(InputError, match="seed is -1"):
            call()


@pytest.mark.parametrize("n", [300, 3000])
def test_many_labels_of_one_group_say_what_they_say_alone(n):
    """The curve of a single group is hardly known, and its accuracy is: no doubt is reported about the latter."""
    rng = np.random.default_rng(0)
    said, right = np.array(["a", "b"])[rng.integers(0, 2, n)], rng.random(n) < 0.6
    pool = {"predicted": said, "label": np.where(right, said, np.where(said == "a", "b", "a"))}
    learned, alone = (fl.assess(pool, by=fl.everything, prior=prior) for prior in (fl.calibrated(), fl.flat()))
    width = alone.overall.high - alone.overall.low
    assert learned.overall.low == pytest.approx(alone.overall.low, abs=0.05 * width)
    assert learned.overall.high == pytest.approx(alone.overall.high, abs=0.05 * width)
    assert not any("rough" in warning for warning in learned.warnings)


def test_rough_intervals_are_reported(monkeypatch):
    monkeypatch.setattr("fewlabels.models.logit.importance_sampling.N_POINTS", 4)
    a = fl.assess(make_pool(("a", 0.9999, 90, 0, 110), ("b", 0.6, 0, 0, 100)))
    assert a.posterior.trust.fit.is_sampled
    assert any("intervals are approximate" in warning for warning in a.warnings)
