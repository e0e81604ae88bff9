from collections import Counter

import numpy as np
import pytest
from makers import make_pool

import fewlabels as fl
from fewlabels.data import aggregate as aggregated
from fewlabels.data.aggregate import MAX_GROUPS
from fewlabels.data.names import bin_names
from fewlabels.data.tabulation import count_pool


def groups(pool, by):
    """Name and size of every group, in order."""
    counts = count_pool(fl.Predictions.read(pool), by)
    return dict(zip(counts.groups, counts.count("n_items").tolist(), strict=True))


def pool_with(**columns):
    n = len(next(iter(columns.values())))
    return {"id": list(range(n)), "predicted": ["a"] * n, "label": ["a"] * n, **columns}


def test_everything_is_one_group():
    assert groups(make_pool(1), fl.everything) == {"all": 60}


def test_predicted_classes_and_columns_partition_the_pool():
    pool = make_pool(1)
    assert groups(pool, fl.predicted) == dict(sorted(Counter(pool["predicted"]).items()))
    assert groups(pool, fl.column("sex")) == dict(sorted(Counter(pool["sex"]).items()))


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([10, 9, 100, 9], ["9", "10", "100"]),
        (["10", "9", "b", "a"], ["9", "10", "a", "b"]),
        ([1.0, 2.5, np.nan, 1.0], ["1", "2.5", "(missing)"]),
        ([True, False, True, None], ["(missing)", "False", "True"]),
        (["x", None, "x", ""], ["", "(missing)", "x"]),
        ([-1, 1, 0, -10], ["-10", "-1", "0", "1"]),
    ],
)
def test_groups_have_the_names_and_the_order_people_expect(values, names):
    assert list(groups(pool_with(g=values), fl.column("g"))) == names


def test_rows_without_a_value_are_a_group_of_their_own():
    assert groups(pool_with(g=["x", None, None]), fl.column("g")) == {"(missing)": 2, "x": 1}


# -- bins -----------------------------------------------------------------------------------------------------


def test_bins_are_closed_below_and_the_last_one_on_both_sides():
    pool = pool_with(score=[0.0, 0.24, 0.25, 0.5, 0.74999, 0.75, 1.0])
    assert groups(pool, fl.bins(4)) == {"[0, 0.25)": 2, "[0.25, 0.5)": 1, "[0.5, 0.75)": 2, "[0.75, 1]": 2}


def test_every_tenth_lies_in_the_bin_it_opens():
    """0.3 and 0.7 are no sums of 0.1 in floating point; a border still belongs above itself."""
    found = groups(pool_with(score=[i / 10 for i in range(10)]), fl.bins(10))
    assert list(found.values()) == [1] * 10


def test_bins_without_items_are_left_out():
    assert list(groups(pool_with(score=[0.05, 0.95]), fl.bins(10))) == ["[0, 0.1)", "[0.9, 1]"]


@pytest.mark.parametrize("n", [1, 4, 7])
def test_equal_mass_bins_share_the_items_evenly(n):
    scores = np.random.default_rng(0).permutation(np.linspace(0.01, 0.99, 84))
    found = groups(pool_with(score=scores), fl.bins(n, equal_mass=True))
    assert list(found.values()) == [84 // n] * n


def test_ties_leave_fewer_equal_mass_bins_and_lose_no_item():
    found = groups(pool_with(score=[0.5] * 50 + [0.9] * 3 + [1.0] * 47), fl.bins(10, equal_mass=True))
    assert sum(found.values()) == 100
    assert sorted(found.values()) in ([3, 97], [47, 53], [3, 47, 50], [50, 50])
    assert len(groups(pool_with(score=[1.0] * 5), fl.bins(3, equal_mass=True))) == 1


def test_no_two_bins_share_a_name():
    """An overconfident model: every score within 0.0001 of 1, every bin distinct."""
    scores = 1 - 10.0 ** -np.linspace(4, 8, 40)
    found = groups(pool_with(score=scores), fl.bins(5, equal_mass=True))
    assert len(found) == 5
    assert len(set(bin_names([0.0, 0.99991, 0.99993, 1.0]))) == 3


@pytest.mark.parametrize("n", [0, -1, 1001])
def test_a_strange_number_of_bins_is_refused(n):
    with pytest.raises(fl.InputError, match="1 to 1000"):
        fl.bins(n)


def test_bins_need_scores():
    with pytest.raises(fl.InputError, match="score"):
        groups(pool_with(g=["x"]), fl.bins())


# -- crosses --------------------------------------------------------------------------------------------------


def test_a_cross_holds_every_combination_that_occurs_in_the_order_of_its_parts():
    pool = make_pool(1)
    found = groups(pool, fl.cross(fl.column("sex"), fl.column("age")))
    expected = Counter(zip(pool["sex"], pool["age"], strict=True))
    assert found == {f"{sex} × {age}": n for (sex, age), n in sorted(expected.items())}
    assert list(found) == [f"{sex} × {age}" for sex, age in sorted(expected)]


def test_a_cross_mixes_all_kinds_of_partitions():
    pool = pool_with(g=["x", None, "x"], score=[0.1, 0.9, 0.9])
    by = fl.cross(fl.predicted, fl.everything, fl.bins(2), fl.column("g"))
    assert groups(pool, by) == {
        "a × [0, 0.5) × x": 1,
        "a × [0.5, 1] × (missing)": 1,
        "a × [0.5, 1] × x": 1,
    }
    assert by.name == "predicted,all,bins:2,g"


def test_a_cross_with_a_column_called_like_a_part_keeps_them_apart():
    pool = pool_with(bin=["x", "y", "x"], score=[0.1, 0.9, 0.9])
    assert groups(pool, fl.cross(fl.column("bin"), fl.bins(2))) == {
        "x × [0, 0.5)": 1,
        "x × [0.5, 1]": 1,
        "y × [0.5, 1]": 1,
    }


def test_a_cross_of_two_kinds_of_bins_keeps_them_apart():
    pool = pool_with(score=[0.1, 0.6, 0.9])
    assert len(groups(pool, fl.cross(fl.bins(2), fl.bins(4)))) == 3


# -- columns named like our own words -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["predicted", "all", "bins", "label"])
@pytest.mark.parametrize("metric", [fl.accuracy, fl.recall, fl.confusion], ids=lambda m: m.name)
def test_a_column_may_be_called_like_one_of_our_words(name, metric):
    pool = {"id": [1, 2, 3, 4], "said": list("abab"), "truth": list("abba"), name: list("xxyy")}
    found = fl.assess(fl.Predictions.read(pool, predicted="said", label="truth"), by=fl.column(name), metric=metric)
    assert [row.group for row in found.groups] == ["x", "y"]


# -- what is refused ------------------------------------------------------------------------------------------


def test_a_column_that_is_not_there_is_refused_with_the_nearest_name():
    with pytest.raises(fl.InputError, match="did you mean 'sex'"):
        groups(make_pool(1), fl.column("sexe"))


@pytest.mark.parametrize("by", [fl.column("label"), fl.cross(fl.predicted, fl.column("label"))])
def test_grouping_by_the_label_is_refused(by):
    with pytest.raises(fl.InputError, match="holds the labels"):
        groups(make_pool(1), by)


def test_grouping_by_the_agreement_is_refused():
    with pytest.raises(fl.InputError, match="holds the labels"):
        groups({"id": [1, 2], "agreement": [0.5, 1.0]}, fl.column("agreement"))


@pytest.mark.parametrize(
    "by",
    [
        fl.column("id"),
        fl.cross(fl.everything, fl.column("id")),
        fl.cross(fl.bins(2), fl.column("id")),
        fl.column("bins_of"),
    ],
)
def test_too_many_groups_are_refused(by):
    n = MAX_GROUPS + 1
    pool = {"id": range(n), "bins_of": range(n), "predicted": ["a"] * n, "score": [0.5] * n, "label": ["a"] * n}
    with pytest.raises(fl.InputError, match="5,001 groups"):
        groups(pool, by)


def test_many_groups_are_refused_even_if_the_first_rows_show_few(monkeypatch):
    monkeypatch.setattr(aggregated, "HEAD_ROWS", 100)
    n = MAX_GROUPS + 1
    pool = {"user": [*[0] * 200, *range(n)], "predicted": ["a"] * (n + 200)}
    with pytest.raises(fl.InputError, match="5,001 groups"):
        groups(pool, fl.column("user"))


def test_more_kinds_of_items_than_can_be_fetched_are_refused(monkeypatch):
    monkeypatch.setattr(aggregated, "MAX_ENTRIES", 20)
    with pytest.raises(fl.InputError, match="more than 20 kinds of items"):
        groups(make_pool(1, n=200), fl.cross(fl.column("sex"), fl.column("age")))


# -- ranges and axes ------------------------------------------------------------------------------------------


def test_ranges_hold_about_as_many_items_each_and_missing_values_come_last():
    age = [*range(20, 60), None, float("nan")]
    found = groups(pool_with(age=age), fl.ranges("age", 4))
    assert list(found.values()) == [10, 10, 10, 10, 2]
    assert list(found)[-1] == "(missing)"


def test_ranges_of_few_values_are_fewer():
    assert groups(pool_with(x=[1.0] * 8 + [2.0] * 2), fl.ranges("x", 4)) == {"[1, 2]": 10}
    assert groups(pool_with(x=[1, 2, 2, 2, 3, 3, 3, 3]), fl.ranges("x", 4)) == {"[1, 2)": 1, "[2, 2.5)": 3, "[3, 3]": 4}


def test_ranges_need_numbers():
    with pytest.raises(fl.InputError, match="holds no numbers"):
        groups(pool_with(x=["a", "b"]), fl.ranges("x"))
    with pytest.raises(fl.InputError, match="every value of 'x' is missing"):
        groups(pool_with(x=np.array([np.nan, np.nan])), fl.ranges("x"))


def test_values_come_in_the_order_one_gives_them():
    pool = pool_with(size=["L", "S", "XL", "M"])
    assert list(groups(pool, fl.column("size", order=["S", "M", "L"]))) == ["S", "M", "L", "XL"]


def test_a_tally_knows_by_what_its_groups_differ():
    pool = pool_with(sex=["f", "m", "f"], age=[30, 41, 25])
    counts = count_pool(fl.Predictions.read(pool), fl.cross(fl.column("sex"), fl.column("age")))
    sex, age = counts.axes
    assert (sex.levels, sex.ordered) == (("f", "m"), False)
    assert (age.levels, age.ordered) == (("25", "30", "41"), True)
    assert counts.level.tolist() == [[0, 0], [0, 1], [1, 2]]
    assert [axis.levels for axis in counts.cells().axes] == [sex.levels, age.levels]
    assert counts.merged().cells().axes[0].levels == ("all",)
