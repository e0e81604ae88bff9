"""Predictions of several models are joined by id, whatever they come in, and what does not fit is named."""

from collections import Counter

import ibis
import pandas as pd
import pyarrow as pa
import pytest

import fewlabels as fl
from fewlabels.data.aggregate import aggregate_pool
from fewlabels.data.groups import Bins, everything
from fewlabels.data.model_join import MAX_MODELS, join_models, read_long, read_wide
from fewlabels.data.tabulation import to_count_table

OLD = {
    "id": [1, 2, 3, 4],
    "predicted": ["a", "b", "a", "c"],
    "score": [0.9, 0.8, 0.7, 0.6],
    "site": ["x", "x", "y", "y"],
}
NEW = {
    "id": [4, 3, 2, 1],
    "predicted": ["c", "b", "b", "a"],
    "score": [0.5, 0.6, 0.7, 0.8],
    "label": [None, "b", None, "a"],
}
WIDE = {
    "id": [1, 2, 3, 4], "predicted_old": ["a", "b", "a", "c"], "score_old": [0.9, 0.8, 0.7, 0.6],
    "predicted_new": ["a", "b", "b", "c"], "score_new": [0.8, 0.7, 0.6, 0.5], "label": ["a", None, "b", None],
}  # fmt: skip
LONG = {
    "id": [1, 2, 3, 4] * 2, "model": ["new"] * 4 + ["old"] * 4, "predicted": ["a", "b", "b", "c", "a", "b", "a", "c"],
    "score": [0.8, 0.7, 0.6, 0.5, 0.9, 0.8, 0.7, 0.6], "label": ["a", None, "b", None] * 2,
}  # fmt: skip


def count_outcomes(pool):
    """Items by what the models predict and which is right."""
    tally = to_count_table(aggregate_pool(pool, everything, bins=Bins(1)))
    right = tally.models.find_right(tally.label)
    found = Counter()
    rows = zip(
        tally.models.first.tolist(), right.tolist(), tally.n_items.tolist(), tally.n_labels.tolist(), strict=True
    )
    for first, which, n, n_labels in rows:
        found[tuple(first), which if n_labels else None] += n
    return sorted(((*key, n) for key, n in found.items()), key=str)


def test_files_a_wide_table_and_a_long_one_count_alike(tmp_path):
    for name, table in (("old", OLD), ("new", NEW)):
        pd.DataFrame(table).to_parquet(tmp_path / f"{name}.parquet")
    files = join_models({"old": tmp_path / "old.parquet", "new": str(tmp_path / "new.parquet")})
    pools = [
        files,
        join_models({"old": pd.DataFrame(OLD), "new": ibis.memtable(pa.table(NEW))}),
        read_wide(WIDE, ("old", "new")),
    ]
    pools += [join_models({"old": fl.Predictions.read(OLD), "new": fl.Predictions.read(NEW)})]
    expected = sorted([((0, 0), 0, 1), ((0, 0), None, 2), ((0, 1), 1, 1)], key=str)
    for pool in pools:
        assert pool.n_items == 4
        assert count_outcomes(pool) == expected
        assert count_outcomes(pool.name_by_agreement()) == expected
    long = read_long(LONG, "model")
    assert long.models == ("new", "old")
    assert count_outcomes(long) == sorted([((0, 0), 0, 1), ((0, 0), None, 2), ((0, 1), 0, 1)], key=str)


def test_columns_of_any_table_can_be_grouped_by():
    pool = join_models({"new": NEW, "old": OLD})
    assert "site" in pool.attributes
    assert pool.classes == ("a", "b", "c")


def test_models_whose_names_begin_alike_have_their_own_columns():
    wide = {"id": [1, 2], "p_a_x": [0.9, 0.2], "p_a_y": [0.1, 0.8], "p_a_b_x": [0.3, 0.4], "p_a_b_y": [0.7, 0.6]}
    pool = read_wide(wide, ("a", "a_b"))
    found = pool.fetch(["1", "2"], {"a": pool.predicted_by(0), "b": pool.predicted_by(1)})
    assert found == {"1": {"a": "x", "b": "y"}, "2": {"a": "y", "b": "y"}}


@pytest.mark.parametrize(
    ("pools", "message"),
    {
        "other ids": ({"old": OLD, "new": NEW | {"id": [7, 8, 9, 10]}}, "ids do not match"),
        "no ids": ({"old": {k: v for k, v in OLD.items() if k != "id"}, "new": NEW}, "has no id column"),
        "one model": ({"old": OLD}, "at least two"),
        "the same frame": ({"old": OLD, "new": OLD}, "are the same predictions"),
        "thousands": ({str(i): OLD for i in range(3000)}, f"at most {MAX_MODELS}"),
        "contradiction": ({"old": OLD | {"label": ["b", None, None, None]}, "new": NEW}, "id '1' is 'b' in one table and 'a' in that of new"),
        "other classes": ({"old": OLD, "new": NEW | {"predicted": ["1", "2", "2", "1"], "label": [None] * 4}}, "no class in common"),
        "duplicate ids": ({"old": OLD | {"id": [1, 1, 3, 4]}, "new": NEW}, "id 1 occurs in rows 1, 2"),
        "a bad score": ({"old": OLD, "new": NEW | {"score": [0.5, 7.0, 0.7, 0.8]}}, "score"),
        "grades": ({"old": {"id": [1, 2], "agreement": [0.5, None]}, "new": NEW}, "grades of agreement"),
    }.values(),
    ids=lambda case: case if isinstance(case, str) else "",
)  # fmt: skip
def test_what_cannot_be_compared_is_named(pools, message):
    with pytest.raises(fl.InputError, match=message):
        fl.compare_models(pools)


def test_labels_that_are_given_decide_contradictions():
    pools = {"old": OLD | {"label": ["b", None, None, None]}, "new": NEW}
    found = fl.compare_models(pools, labels={"id": [1, 3], "label": ["a", "b"]}, finite_pool=True)
    assert found.n_labels == 2


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"models": ("old", "nwe")}, "there is no column|has no column"),
        ({"models": ("old", "old")}, "named twice"),
        ({"model": "modle"}, "there is no column 'modle'"),
        ({"models": ("old", "new"), "model": "site"}, "both models and model"),
        ({}, "expected several models"),
    ],
)
def test_one_table_needs_the_names_of_its_models(choices, message):
    with pytest.raises(fl.InputError, match=message):
        fl.compare_models(pd.DataFrame(WIDE), **choices)
