import numpy as np
import pandas as pd
import pytest
from makers import make_pool
from scipy import stats

import fewlabels as fl
from fewlabels.metrics.cost_table import Costs, read_costs

TABLE = {"cat": {"cat": 0.0, "dog": 1.0}, "dog": {"cat": 5.0, "dog": 0.5}}
CSV = "true,cat,dog\ncat,0,1\ndog,5,0.5\n"


def write(tmp_path, text):
    path = tmp_path / "costs.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_are_true_classes_and_columns_predicted_ones():
    assert Costs(TABLE).matrix(["cat", "dog"]).tolist() == [[0, 1], [5, 0.5]]
    assert Costs(TABLE).matrix(["dog", "cat"]).tolist() == [[0.5, 5], [1, 0]]


def test_classes_the_pool_lacks_are_ignored():
    assert Costs(TABLE).matrix(["dog"]).tolist() == [[0.5]]


def test_costs_read_the_same_from_a_file_a_frame_and_dicts(tmp_path):
    frame = pd.DataFrame({"cat": [0, 5], "dog": [1, 0.5]}, index=["cat", "dog"])
    for source in (write(tmp_path, CSV), str(write(tmp_path, "\ufeff" + CSV)), frame, TABLE):
        assert read_costs(source).matrix(["cat", "dog"]).tolist() == [[0, 1], [5, 0.5]]


def test_class_names_that_are_numbers_are_read_as_names():
    assert read_costs({0: {0: 0, 1: 1}, 1: {0: 2, 1: 0}}).matrix(["0", "1"]).tolist() == [[0, 1], [2, 0]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("true,cat,dog\ncat,0\n", "line 2: 1 costs for 2"),
        ("true,cat,dog\ncat,0,x\n", "line 2, column 'dog': 'x' is not a number"),
        ("true,cat,dog\ncat,0,inf\n", "must be finite"),
        ("true,cat,dog\ncat,0,nan\n", "must be finite"),
        ("", "not a CSV table"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path, text, words):
    with pytest.raises(fl.InputError, match=words):
        read_costs(write(tmp_path, text))


@pytest.mark.parametrize("cost", [float("nan"), float("inf")])
def test_a_cost_that_is_no_number_is_refused_from_dicts_too(cost):
    with pytest.raises(fl.InputError, match="finite"):
        read_costs({"a": {"a": 0.0, "b": cost}, "b": {"a": 1.0, "b": 0.0}})


def test_what_holds_no_costs_is_refused(tmp_path):
    with pytest.raises(fl.InputError, match="no such file"):
        read_costs(tmp_path / "none.csv")
    with pytest.raises(fl.InputError, match="not list"):
        read_costs([[0, 1], [1, 0]])


def test_a_class_without_a_row_or_a_column_is_named():
    with pytest.raises(fl.InputError, match="no row for true class fox"):
        Costs(TABLE).matrix(["cat", "fox"])
    with pytest.raises(fl.InputError, match="no column for predicted class fox"):
        Costs({"cat": {"cat": 0.0}, "fox": {"cat": 1.0}}).matrix(["cat", "fox"])


def test_a_cost_of_one_for_every_mistake_is_one_minus_accuracy():
    ones = {j: {k: float(j != k) for k in "abc"} for j in "abc"}
    pool = make_pool(1, labelled=0.5)
    found = fl.assess(pool, metric=fl.cost(ones), n_draws=20_000, prior=fl.flat())
    right = fl.assess(pool, metric=fl.confusion, prior=fl.flat())
    for row, other in zip(found.groups, right.groups, strict=True):
        error = found.draws.std() / np.sqrt(20_000)
        assert row.mean == pytest.approx(1 - other.mean, abs=5 * error)
        assert row.low == pytest.approx(1 - other.high, abs=0.02)


def test_an_expected_cost_has_the_mean_and_variance_of_its_dirichlet():
    """Σ_j c_j θ_j for θ ~ Dirichlet(α): mean c·m, variance (Σ c² m − (c·m)²) / (Σα + 1); 5 standard errors."""
    pool = make_pool(1, labelled=0.5)
    prices = {j: {k: float(ord(j) % 5 * (j != k)) for k in "abc"} for j in "abc"}
    draws = fl.assess(pool, metric=fl.cost(prices), n_draws=20_000, prior=fl.flat(1.0)).draws[:, 0]
    seen = [sum((p, y) == ("a", j) for p, y in zip(pool["predicted"], pool["label"], strict=True)) for j in "abc"]
    alpha, c = np.array(seen) + 1 / 3, np.array([prices[j]["a"] for j in "abc"])
    m = alpha / alpha.sum()
    variance = (c**2 @ m - (c @ m) ** 2) / (alpha.sum() + 1)
    assert draws.mean() == pytest.approx(c @ m, abs=5 * np.sqrt(variance / 20_000))
    assert draws.var() == pytest.approx(variance, rel=5 * np.sqrt((stats.kurtosis(draws) + 2) / 20_000))
