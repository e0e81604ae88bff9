from collections import Counter

import numpy as np
import pytest
from makers import make_pool, make_tally

import fewlabels as fl
from fewlabels.data.counts import NONE
from fewlabels.data.tabulation import count_pool

POOL = make_pool(11, labelled=0.5)


def counted(by=fl.predicted, pool=POOL, **choices):
    return count_pool(fl.Predictions.read(pool), by, **choices)


def rows(*columns):
    return list(zip(*(POOL[c] for c in columns), strict=True))


def test_items_and_labels_are_counted_per_group():
    counts = counted(fl.column("sex"))
    items = Counter(POOL["sex"])
    labels = Counter(sex for sex, y in rows("sex", "label") if y is not None)
    assert counts.count("n_items").tolist() == [items["f"], items["m"]]
    assert counts.count("n_labels").tolist() == [labels["f"], labels["m"]]


@pytest.mark.parametrize("splits", [(), ("predicted",), ("bin",), ("predicted", "bin")])
def test_cells_partition_the_pool_however_finely_it_is_split(splits):
    cells = counted(fl.column("sex")).cells(splits)
    known = [y is not None for y in POOL["label"]]
    assert cells.n_items.sum() == 60
    assert cells.n_labels.sum() == cells.labels.sum() == sum(known)
    assert cells.right.sum() == sum(p == y for p, y in rows("predicted", "label"))
    assert cells.score @ cells.n_items == pytest.approx(sum(POOL["score"]), abs=1e-9)
    assert len(set(cells.names)) == cells.n
    assert np.all(cells.n_items > 0)
    assert np.all((cells.predicted == NONE) == ("predicted" not in splits))
    assert np.all((cells.bin == NONE) == ("bin" not in splits))


def test_a_cell_holds_what_hand_counting_finds_in_it():
    cells = counted(fl.column("sex")).cells(("predicted", "bin"))
    for c in range(cells.n):
        sex, said, b = "fm"[cells.group[c]], "abc"[cells.predicted[c]], cells.bin[c]
        mine = [
            (y, score)
            for s, p, score, y in rows("sex", "predicted", "score", "label")
            if (s, p, min(int(score * 10 + 1e-9), 9)) == (sex, said, b)
        ]
        assert cells.n_items[c] == len(mine)
        assert cells.labels[c].tolist() == [sum(y == name for y, _ in mine) for name in "abc"]
        assert cells.outcomes[c].tolist() == [
            sum(y == said for y, _ in mine),
            sum(y not in (said, None) for y, _ in mine),
        ]
        assert cells.score[c] == pytest.approx(np.mean([s for _, s in mine]), abs=1e-12)


def test_cells_are_named_by_what_they_are():
    assert counted().cells().names == ("a", "b", "c")
    assert counted(fl.everything).cells(("predicted",)).names == ("all\x1fa", "all\x1fb", "all\x1fc")
    assert "f\x1fb\x1f[0.9, 1]" in counted(fl.column("sex")).cells(("predicted", "bin")).names


def test_merging_groups_keeps_every_count():
    one = counted().merged()
    assert (one.by, one.groups) == ("all", ("all",))
    assert one.count("n_items").tolist() == [60]
    assert np.array_equal(one.cells(("predicted",)).labels, counted(fl.everything).cells(("predicted",)).labels)


def test_the_same_counts_by_bin_are_those_of_a_pool_cut_into_bins():
    direct, turned = counted(fl.bins(10)), counted(fl.column("sex")).by_bin()
    assert turned.groups == direct.groups
    for field in ("n_items", "n_labels", "right", "score"):
        assert getattr(turned.cells(), field) == pytest.approx(getattr(direct.cells(), field), abs=1e-12)


def test_without_scores_there_are_no_bins():
    pool = {k: v for k, v in POOL.items() if k != "score"}
    counts = counted(pool=pool)
    assert counts.bins == ()
    assert np.isnan(counts.cells().score).all()
    with pytest.raises(fl.InputError, match="need scores"):
        counts.by_bin()


def test_agreement_is_summed_and_what_is_not_judged_is_not_counted():
    pool = {"id": range(5), "g": list("xxyyy"), "agreement": [0.5, None, 1.0, 0.25, 0.0]}
    cells = counted(fl.column("g"), pool).cells()
    assert cells.n_labels.tolist() == [1, 3]
    assert cells.outcomes.tolist() == [[0.5, 0.5], [1.25, 1.75]]


def test_mean_probabilities_are_carried_only_when_asked_for():
    pool = {"id": [1, 2, 3], "p_a": [0.9, 0.6, 0.2], "p_b": [0.1, 0.4, 0.8], "label": ["a", None, "b"]}
    assert counted(pool=pool).cells().probability is None
    cells = counted(pool=pool, probabilities=True).cells()
    assert cells.probability == pytest.approx(np.array([[0.75, 0.25], [0.2, 0.8]]), abs=1e-12)


def test_a_pool_without_labels_counts_none():
    pool = POOL | {"label": [None] * 60}
    cells = counted(pool=pool).cells()
    assert cells.n_labels.sum() == cells.right.sum() == cells.labels.sum() == 0


def test_labels_never_predicted_are_classes_too():
    pool = {"id": [1, 2], "predicted": list("aa"), "label": ["a", "z"]}
    counts = counted(pool=pool)
    assert counts.classes == ("a", "z")
    assert counts.cells().labels.tolist() == [[1, 1]]


def test_an_empty_pool_is_refused():
    with pytest.raises(fl.InputError, match="no rows"):
        counted(pool={"predicted": np.array([], str), "label": np.array([], str)})


def test_counts_may_be_made_without_a_pool():
    counts = make_tally(group=[0, 0, 1], n_items=[2, 3, 4], n_labels=[1, 0, 4], right=[1, 0, 2])
    assert counts.cells().outcomes.tolist() == [[1, 0], [2, 2]]


def test_cells_of_different_groups_and_classes_never_share_a_name():
    """Names join group, class and bin: a bar inside a name must not make two cells one."""
    pool = {"id": [1, 2], "g": ["x", "x|a"], "predicted": ["a|b", "b"], "label": ["a|b", "b"]}
    names = counted(fl.column("g"), pool).cells(("predicted",)).names
    assert len(set(names)) == 2


# -- more labels on the same items ----------------------------------------------------------------------------


def without_labels(**choices):
    return counted(fl.column("sex"), {k: v for k, v in POOL.items() if k != "label"}, **choices)


def entry_of(counts, sex, predicted, score):
    key = (counts.groups.index(sex), counts.classes.index(predicted), min(int(score * 10 + 1e-9), 9))
    entries = list(zip(counts.group, counts.predicted, counts.bin, counts.label, strict=True))
    return entries.index((*key, NONE))


def stick_all(counts):
    """Put the labels of the pool on counts that had none, one by one."""
    told = [row for row in rows("sex", "predicted", "score", "label") if row[-1] is not None]
    entry = np.array([entry_of(counts, *row[:3]) for row in told])
    label = np.array([counts.classes.index(y) for *_, y in told])
    return counts.add_labels(entry, label, np.ones_like(entry), (label == counts.predicted[entry]).astype(float))


@pytest.mark.parametrize("splits", [(), ("predicted",), ("bin",), ("predicted", "bin")])
def test_labels_stuck_on_one_by_one_count_like_those_of_a_pool(splits):
    found, expected = stick_all(without_labels()).cells(splits), counted(fl.column("sex")).cells(splits)
    assert (found.names, found.classes) == (expected.names, expected.classes)
    for field in ("group", "predicted", "bin", "n_items", "n_labels", "right", "labels"):
        assert np.array_equal(getattr(found, field), getattr(expected, field)), field
    assert found.score == pytest.approx(expected.score, abs=1e-12)


def test_sticking_labels_on_keeps_items_and_scores_and_leaves_the_old_counts_alone():
    before = without_labels()
    after = stick_all(before)
    assert before.n_labels.sum() == 0
    assert after.n_items.sum() == before.n_items.sum() == 60
    assert np.all(after.n_items >= 0)
    assert after.score.sum() == pytest.approx(before.score.sum(), abs=1e-12)
    assert np.array_equal(after.group[: len(before.group)], before.group)  # entries keep their places


def test_several_labels_may_be_stuck_on_one_entry_at_once():
    counts = make_tally(group=[0, 1], predicted=[0, 1], n_items=[5, 4], n_labels=[0, 0])
    some = counts.add_labels(np.array([0, 0]), np.array([0, 1]), np.array([2, 1]), np.array([2.0, 0.0]))
    cells = some.cells()
    assert cells.n_items.tolist() == [5, 4]
    assert cells.labels.tolist() == [[2, 1], [0, 0]]
    assert cells.outcomes.tolist() == [[2, 1], [0, 0]]
    more = some.add_labels(np.array([0]), np.array([1]), np.array([2]), np.array([0.0]))
    assert more.cells().labels.tolist() == [[2, 3], [0, 0]]


def test_grades_are_stuck_on_without_a_class():
    counts = make_tally(group=[0, 0], n_items=[6, 2], n_labels=[2, 0], right=[0.5, 0])
    more = counts.add_labels(np.array([0, 1]), np.array([NONE, NONE]), np.array([2, 1]), np.array([0.5, 0.75]))
    assert more.cells().outcomes.tolist() == [[1.75, 3.25]]
    assert more.cells().labels.sum() == 0


def test_no_labels_change_nothing():
    before, nothing = without_labels(), np.array([], dtype=np.int64)
    after = before.add_labels(nothing, nothing, nothing, np.array([]))
    for split in ((), ("predicted", "bin")):
        assert np.array_equal(after.cells(split).labels, before.cells(split).labels)
        assert np.array_equal(after.cells(split).n_items, before.cells(split).n_items)


def test_mean_probabilities_stay_those_of_all_items_when_labels_are_stuck_on():
    pool = {"id": [1, 2, 3], "p_a": [0.9, 0.6, 0.2], "p_b": [0.1, 0.4, 0.8]}
    before = counted(pool=pool, probabilities=True)
    entry = np.array([before.predicted.tolist().index(0)])
    after = before.add_labels(entry, np.array([1]), np.array([1]), np.array([0.0])).add_classes(["z"])
    assert after.cells().probability == pytest.approx(np.array([[0.75, 0.25, 0], [0.2, 0.8, 0]]), abs=1e-12)


def test_more_classes_come_after_those_there_are():
    before = counted(fl.column("sex"))
    after = before.add_classes(["z", "ü"])
    assert after.classes == ("a", "b", "c", "z", "ü")
    assert np.array_equal(after.cells(("predicted",)).labels[:, :3], before.cells(("predicted",)).labels)
    assert not after.cells().labels[:, 3:].any()
    assert before.add_classes([]).classes == before.classes


@pytest.mark.parametrize("splits", [(), ("predicted",), ("bin",), ("predicted", "bin")])
@pytest.mark.parametrize("change", [lambda counts: counts, stick_all, lambda counts: counts.add_classes(["z"])])
def test_every_entry_has_a_place_in_a_cell(splits, change):
    counts = change(without_labels())
    key, where = counts.assign_cells(splits)
    cells = counts.cells(splits)
    assert np.array_equal(key[:, :3], np.stack([cells.group, cells.predicted, cells.bin], axis=1))
    assert np.array_equal(key[where, 0], counts.group)
    for column, split in enumerate(("predicted", "bin"), start=1):
        assert np.array_equal(
            key[where, column], getattr(counts, split) if split in splits else counts.group * 0 + NONE
        )
    assert np.array_equal(np.bincount(where, weights=counts.n_items), cells.n_items)


def test_places_stay_apart_where_there_are_no_classes_or_bins():
    counts = make_tally(group=[0, 1, 1], n_items=[1, 2, 3], k=0)
    key, where = counts.assign_cells(("predicted", "bin"))
    assert key.tolist() == [[0, NONE, NONE, NONE], [1, NONE, NONE, NONE]]
    assert where.tolist() == [0, 1, 1]
