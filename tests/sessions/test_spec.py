"""What a session is made from: every item once, in its group, in random order; and all of it comes back from a file."""

import json
from collections import Counter
from dataclasses import fields, is_dataclass, replace
from functools import cache

import numpy as np
import pytest
from makers import make_pool, outcome_pool, take
from scipy import stats

import fewlabels as fl
from fewlabels.active.goals.identification import FindWorst
from fewlabels.active.study_design import StudyDesign
from fewlabels.data.counts import CountTable
from fewlabels.errors import InputError
from fewlabels.sessions import queue
from fewlabels.sessions.creation import create_spec
from fewlabels.sessions.pool_fingerprint import describe_difference
from fewlabels.sessions.spec_file import read_spec, write_spec

POOL = make_pool(7, n=80, labelled=0.3)


@cache
def read_pool():
    return fl.Predictions.read(POOL)


@cache
def plain():
    return lay()


@pytest.fixture(scope="module", autouse=True)
def tidy_up():
    """Let go of the engine behind the table."""
    yield
    read_pool.cache_clear()


def lay(pool=None, by=fl.predicted, classes=(), **choices):
    usual = {
        "goal": FindWorst(),
        "policy": fl.thompson,
        "prior": fl.flat(),
    }
    pool = read_pool() if pool is None else fl.Predictions.read(pool)
    return create_spec(pool, StudyDesign(by=by, **usual | choices), classes=classes)


def written(spec):
    about, blobs = write_spec(spec)
    return read_spec(json.loads(json.dumps(about)), blobs)


def same(one, other):
    if is_dataclass(one):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=True) and one.dtype == other.dtype
    return one == other


# -- the line of items ----------------------------------------------------------------------------------------


def score_bin(score, n=10):
    return min(int(score * n + 1e-9), n - 1)


PARTITIONS = {
    "predicted": (fl.predicted, lambda row: row["predicted"]),
    "column": (fl.column("sex"), lambda row: row["sex"]),
    "numbers": (fl.column("age"), lambda row: str(row["age"])),
    "all": (fl.everything, lambda row: "all"),
    "bins": (fl.bins(2), lambda row: ["[0, 0.5)", "[0.5, 1]"][score_bin(row["score"], 2)]),
    "cross": (fl.cross(fl.column("age"), fl.predicted), lambda row: f"{row['age']} × {row['predicted']}"),
    "cross with bins": (
        fl.cross(fl.bins(2), fl.column("sex")),
        lambda row: f"{['[0, 0.5)', '[0.5, 1]'][score_bin(row['score'], 2)]} × {row['sex']}",
    ),
}


@pytest.mark.parametrize(("by", "name"), PARTITIONS.values(), ids=PARTITIONS)
def test_every_unlabelled_item_is_lined_up_once_where_it_belongs(by, name):
    spec, items = lay(by=by)
    tally = spec.tally
    rows = {str(row["id"]): row for row in (dict(zip(POOL, values, strict=True)) for values in zip(*POOL.values(), strict=True))}  # fmt: skip
    unlabelled = {id_ for id_, row in rows.items() if row["label"] is None}
    assert sorted(item.id for item in items) == sorted(unlabelled)
    for item in items:
        row, entry = rows[item.id], item.entry
        assert tally.groups[item.group] == name(row)
        assert tally.group[entry] == item.group
        assert tally.classes[tally.predicted[entry]] == row["predicted"]
        assert tally.bin[entry] == score_bin(row["score"])
        assert tally.label[entry] == -1
    assert Counter(item.entry for item in items) == {e: n for e, n in enumerate(tally.n_items) if tally.label[e] == -1}
    assert spec.n_askable.tolist() == [sum(item.group == g for item in items) for g in range(len(tally.groups))]


def test_places_in_a_group_have_no_gaps():
    _, items = plain()
    for group in {item.group for item in items}:
        places = [item.place for item in items if item.group == group]
        assert sorted(places) == list(range(len(places)))


def test_the_line_follows_from_the_seed_whatever_the_order_of_the_rows():
    order = np.random.default_rng(0).permutation(80).tolist()
    assert lay(take(POOL, order))[1] == plain()[1]
    assert lay(seed=5)[1] != plain()[1]


def test_any_item_of_a_group_may_come_at_any_place():
    """4,000 shuffles of seven items in two groups; chi-square, wrong once in 100,000 per group and place."""
    group = [0, 1, 0, 1, 0, 0, 1]
    seen = np.zeros((7, 7), int)
    for seed in range(4000):
        for item in queue.shuffle([*"abcdefg"], np.array(group), np.zeros(7, int), np.arange(7.0), seed):
            seen["abcdefg".index(item.id), item.place] += 1
    for g in range(2):
        mine = np.equal(group, g)
        table = seen[mine][:, : mine.sum()]
        assert table.sum() == 4000 * mine.sum()
        assert all(stats.chisquare(column).pvalue > 1e-5 for column in table.T)


def test_a_group_that_is_labelled_to_the_last_item_has_nothing_to_ask():
    spec, items = lay(outcome_pool(a=(3, 2, 0), b=(1, 0, 4)), fl.column("group"))
    assert spec.n_askable.tolist() == [0, 4]
    assert {item.group for item in items} == {1}


def test_a_pool_that_is_all_labelled_is_refused():
    with pytest.raises(
        InputError,
        match="every item of the table is labelled: there is nothing to ask; assess it, or try pool.hide_labels",
    ):
        lay(outcome_pool(a=(3, 2, 0)))


def test_an_unsound_pool_is_refused():
    with pytest.raises(InputError, match="id 1 occurs in rows 1, 2"):
        lay({"id": [1, 1], "predicted": ["a", "b"]})


def test_of_a_large_pool_a_random_few_of_every_group_are_lined_up(monkeypatch):
    monkeypatch.setattr(queue, "MAX_ITEMS", 60)
    pool = outcome_pool(a=(1, 1, 300), b=(0, 0, 300), c=(0, 0, 3))
    spec, items = lay(pool, fl.column("group"))
    assert spec.n_askable.tolist() == [25, 25, 3]  # ten to each, and a twentieth of every group
    assert spec.tally.n_items.sum() == 605  # what is not lined up still counts
    assert len({item.id for item in items}) == 53
    assert all(
        pool["group"][int(item.id)] == "abc"[item.group] and pool["label"][int(item.id)] is None for item in items
    )
    other = {item.id for item in lay(pool, fl.column("group"), seed=1)[1]}
    assert len(other & {item.id for item in items}) < 20
    assert lay(pool, fl.column("group"))[1] == items


def test_the_random_few_are_not_the_first_ones(monkeypatch):
    """Forty of 2,000 ids: their mean strays 5 standard errors once in 1.7 million."""
    monkeypatch.setattr(queue, "MAX_ITEMS", 40)
    ids = [int(item.id) for item in lay(outcome_pool(a=(0, 0, 2000)), fl.everything)[1]]
    assert len(ids) == 40
    assert abs(np.mean(ids) - 999.5) < 5 * 2000 / np.sqrt(12 * 40)


# -- what else is fixed ---------------------------------------------------------------------------------------


def test_labels_at_the_start_are_counted():
    spec, _ = plain()
    known = [p == y for p, y in zip(POOL["predicted"], POOL["label"], strict=True) if y is not None]
    assert (spec.tally.n_labels.sum(), spec.tally.right.sum()) == (len(known), sum(known))


def test_classes_nobody_predicts_can_be_named_beforehand():
    spec, _ = lay(classes=["zebra", "a", "zebra", "ü"])
    assert spec.tally.classes == ("a", "b", "c", "zebra", "ü")


def test_what_is_odd_about_the_table_is_noted():
    spec, _ = lay({"predicted": ["a", "b"]})
    assert "row numbers serve as ids" in spec.notes[0]


@pytest.mark.parametrize(
    ("table", "graded", "whole_ids"),
    [
        ({"id": [1, 2], "predicted": ["a", "b"]}, False, True),
        ({"id": ["01", "2"], "predicted": ["a", "b"]}, False, False),
        ({"predicted": ["a", "b"]}, False, True),
        ({"id": [1, 2], "agreement": [0.5, None]}, True, True),
    ],
)
def test_the_kind_of_labels_and_ids_is_told(table, graded, whole_ids):
    spec, _ = lay(table, fl.everything)
    assert (spec.graded, spec.whole_ids) == (graded, whole_ids)


CHANCES = {"id": [1, 2, 3], "p_a": [0.9, 0.6, 0.2], "p_b": [0.1, 0.4, 0.8]}


@pytest.mark.parametrize(
    ("metric", "prior", "kept"),
    [(fl.confusion, fl.from_scores(), True), (fl.confusion, fl.flat(), False), (fl.accuracy, fl.flat(), False)],
)
def test_mean_probabilities_are_kept_for_those_who_read_them(metric, prior, kept):
    spec, _ = lay(CHANCES, goal=FindWorst(metric), prior=prior)
    assert (spec.tally.probability is not None) == kept


# -- to a file and back ---------------------------------------------------------------------------------------

GROUNDS = {
    "plain": {},
    "without scores": {"pool": {"id": ["x", "ü"], "predicted": ["a", "b"]}},
    "probabilities": {"pool": CHANCES, "goal": FindWorst(fl.confusion), "prior": fl.from_scores(3.0)},
    "cross": {"by": fl.cross(fl.column("sex"), fl.bins(3)), "level": 0.9, "finite_pool": True, "seed": 2**40},
    "grades": {"pool": {"id": [1, 2, 3], "agreement": [0.1, None, None]}, "by": fl.everything},
    "positive": {"pool": {"id": [1, 2], "predicted": [0, 1], "score": [0.5, 1 / 3]}},
}


@pytest.mark.parametrize("choices", GROUNDS.values(), ids=GROUNDS)
def test_a_ground_comes_back_from_a_file_to_the_last_bit(choices):
    spec, _ = lay(**choices)
    found = written(spec)
    assert same(found.tally, spec.tally)
    assert same(replace(found, tally=spec.tally), spec)


def test_what_comes_back_is_counted_as_before():
    spec, _ = plain()
    found = written(spec).tally
    assert isinstance(found, CountTable)
    assert same(found.cells(("predicted", "bin")), spec.tally.cells(("predicted", "bin")))


# -- which predictions it was made from -----------------------------------------------------------------------

FINGERPRINT = {
    "n_items": 3, "first": "a", "last": "c", "length": 3, "score": 2.5, "predicted": {"x": 2, "y": 1},
    "said": {"x": 12, "y": 5}, "placed": {"left": 3, "right": 14},
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n_items": 4}, "items: 3 then, 4 now"),
        ({"first": "A"}, "first id: a then, A now"),
        ({"last": "d"}, "last id: c then, d now"),
        ({"length": 4}, "length of ids: 3 then, 4 now"),
        ({"score": 2.6}, "sum of scores: 2.5 then, 2.6 now"),
        ({"score": None}, "sum of scores: 2.5 then, None now"),
        ({"predicted": {"x": 1, "y": 2}}, "how often x, y is predicted"),
        ({"predicted": {"x": 2, "z": 1}}, "how often y, z is predicted"),
        ({"predicted": {}}, "how often x, y is predicted"),
        ({"said": {"x": 10, "y": 7}}, "which items get which prediction"),
        ({"placed": {"left": 4, "right": 13}}, "which items are in which group"),
        ({"predicted": {str(i): 1 for i in range(9)}}, "how often 0, 1, 2 and 8 more is predicted"),
    ],
)
def test_other_predictions_are_told_apart(change, says):
    assert describe_difference(FINGERPRINT, FINGERPRINT | change) == says


def test_the_same_predictions_are_not_told_apart():
    assert describe_difference(FINGERPRINT, dict(FINGERPRINT)) is None
    assert (
        describe_difference(FINGERPRINT, FINGERPRINT | {"score": 2.5 * (1 + 1e-9)}) is None
    )  # added up in another order
    assert describe_difference({"n_items": 3}, {"n_items": 3}) is None


def test_a_large_table_is_told_apart_by_a_part_of_it():
    large = {"n_items": 3, "part": "ab"}
    assert (
        describe_difference(large, {"n_items": 3, "part": "cd"}) == "which items get which prediction, score or group"
    )
    assert describe_difference(large, dict(large)) is None
    assert describe_difference(FINGERPRINT, large) is None  # made by a version that looked at all of it
    assert describe_difference(FINGERPRINT, large | {"n_items": 4}) == "items: 3 then, 4 now"


def test_scores_that_appear_or_vanish_are_told_apart():
    without = {k: v for k, v in FINGERPRINT.items() if k != "score"}
    assert describe_difference(without, FINGERPRINT) == "sum of scores: None then, 2.5 now"
    assert describe_difference(FINGERPRINT, without) == "sum of scores: 2.5 then, None now"
