from collections import Counter

import numpy as np
import pytest
from makers import make_pool, make_tally

import fewlabels as fl
from fewlabels.labels import NONE, tally

POOL = make_pool(11, labelled=0.5)


def counted(by=fl.predicted, pool=POOL, **choices):
    return tally(fl.Predictions.read(pool), by, **choices)


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
