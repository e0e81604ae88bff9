"""A share of the items is drawn at random over the whole pool, known as such in the journal, and kept with the session."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.errors import InputError
from fewlabels.sessions.selection import choose_at_random, is_turn_of_random

SIZES = {"a": 600, "b": 300, "c": 100}
TABLE = {
    "id": list(range(1000)),
    "predicted": [name for name, n in SIZES.items() for _ in range(n)],
    "score": [0.9] * 1000,
}


def drawn_at_random(session):
    return [event.item.id for event in session._store.journal.read() if event.kind == "asked" and event.choice]


@pytest.mark.parametrize(("share", "n"), [(0.0, 0), (0.1, 10), (0.25, 25), (0.5, 50), (0.99, 99)])
def test_the_share_is_kept_at_any_number_of_labels(share, n):
    turns = [is_turn_of_random(k, share) for k in range(100)]
    assert sum(turns) == n
    assert turns[0] == (share > 0)


@pytest.mark.parametrize("batch", [1, 7, 40])
def test_a_tenth_of_the_items_is_drawn_at_random_by_default(batch):
    s = fl.Session.create(None, TABLE, goal="find-worst")
    while (n := len(s._store.state.drawn)) < 200:
        s.tell(dict.fromkeys(s.ask(min(batch, 200 - n)), "a"))
    assert len(drawn_at_random(s)) == 20
    assert list(s._store.state.at_random) == drawn_at_random(s)


def test_every_item_left_is_as_likely():
    rng, left = np.random.default_rng(0), np.array([600, 300, 100])
    found = Counter(choose_at_random(rng, left)[0] for _ in range(4000))
    assert [found[g] / 4000 for g in range(3)] == pytest.approx([0.6, 0.3, 0.1], abs=0.03)


def test_how_items_were_chosen_survives_closing(tmp_path: Path):
    with fl.Session.create(tmp_path / "s.db", TABLE, goal="find-worst", random_share=0.2) as s:
        s.tell(dict.fromkeys(s.ask(30), "a"))
        before = drawn_at_random(s)
    with fl.Session.open(tmp_path / "s.db") as s:
        assert (drawn_at_random(s), len(before)) == (before, 6)
        s.tell(dict.fromkeys(s.ask(10), "a"))
        assert len(drawn_at_random(s)) == 8


def test_labels_of_the_policy_random_are_all_at_random():
    s = fl.Session.create(None, TABLE, goal="estimate", policy="random", random_share=0.0)
    s.ask(25)
    assert len(drawn_at_random(s)) == 25
    pair = fl.Session.create(None, TABLE, goal=fl.Compare("a", "b"), policy="random", random_share=0.0)
    pair.ask(25)
    assert drawn_at_random(pair) == []  # none of c could be asked about


@pytest.mark.parametrize("share", [-0.1, 1.0, 1.5, float("nan")])
def test_a_share_that_is_none_or_everything_is_refused(share):
    with pytest.raises(InputError, match="random_share.*: must be at least 0 and less than 1"):
        fl.Session.create(None, TABLE, goal="estimate", random_share=share)


def test_labels_at_random_contradict_a_model_that_is_wrong():
    """All scores are 0.9. Class a, of which a fifth is right, is never chosen by a policy; a third of the items is random."""

    def only_c(rng, prospect):
        return [2]

    s = fl.Session.create(None, TABLE, goal="estimate", policy=only_c, random_share=0.4, prior=fl.from_scores(1e6))
    right = {i: i % 5 == 0 if i < 600 else True for i in TABLE["id"]}
    s.tell({i: TABLE["predicted"][i] if right[i] else "x" for i in s.ask(100)}, new_classes=True)
    found = s.assess()
    assert found.overall.low < 0.52 < found.overall.high
    assert any("contradicted by the 40 labels drawn at random over the whole pool" in said for said in found.warnings)


def test_an_overall_figure_that_rests_on_groups_without_labels_says_so():
    s = fl.Session.create(None, TABLE, goal="estimate", policy=lambda rng, prospect: [2], random_share=0.0)
    s.tell(dict.fromkeys(s.ask(10), "c"))
    assert any("the overall figure rests on them for 90% of the items" in said for said in s.assess().warnings)


def test_of_a_single_group_every_item_is_at_random():
    s = fl.Session.create(None, TABLE, goal="estimate", by="all")
    s.ask(12)
    assert len(drawn_at_random(s)) == 12
