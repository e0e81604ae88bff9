"""The fold of a journal, against one that remembers every event and counts them all again."""

from collections import Counter
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabels.journal import Event, Item
from fewlabels.ledger import Ledger

ITEMS = [Item(f"{group}{place}", group, place, 10 * group + place % 2) for group in range(2) for place in range(4)]
BY_NAME = {item.id: item for item in ITEMS}


def fold(*happened):
    """A ledger of (kind, item, who), or ("told", item, label, who)."""
    ledger = Ledger()
    for seq, (kind, name, *more) in enumerate(happened, start=1):
        told, who = (more[0], more[-1] if more[1:] else "") if kind == "told" else (None, more[0] if more else "")
        ledger.take(Event(seq, kind, BY_NAME[name], told, who, "", ""))
    return ledger


def names(items):
    return [item.id for item in items]


def asked(*items):
    return [("asked", name) for name in items]


def test_an_empty_ledger_knows_nothing():
    ledger = fold()
    assert (ledger.seq, ledger.n_asked, ledger.n_labels) == (0, 0, 0)
    assert ledger.waiting == ledger.skipped == ledger.pending_with("") == []


def test_what_was_asked_is_pending_oldest_first_until_it_is_answered():
    ledger = fold(*asked("01", "10", "00"), ("told", "10", "cat"))
    assert names(ledger.pending_with("")) == ["01", "00"]
    assert ledger.counted == {(10, "cat"): 1}
    assert (ledger.seq, ledger.n_asked) == (4, 3)


def test_everyone_has_their_own_pending_items():
    ledger = fold(("asked", "00", "ann"), ("asked", "01", "bob"), ("asked", "02", "ann"))
    assert names(ledger.pending_with("ann")) == ["00", "02"]
    assert names(ledger.pending_with("bob")) == ["01"]
    assert ledger.pending_with("") == []


def test_what_one_leaves_lying_is_handed_on():
    ledger = fold(("asked", "00", "ann"), ("asked", "01", "bob"), ("asked", "00", "bob"))
    assert (names(ledger.pending_with("ann")), names(ledger.pending_with("bob"))) == ([], ["00", "01"])
    assert (ledger.place[0], ledger.n_asked) == (2, 3)


def test_what_is_answered_is_not_handed_on():
    assert fold(("asked", "00", "ann"), ("told", "00", "cat"), ("asked", "00", "bob")).pending == {}


def test_only_what_others_were_asked_long_ago_is_overdue():
    ledger = Ledger()
    for seq, (name, who, at) in enumerate([("00", "ann", "10:00"), ("01", "ann", "10:05"), ("02", "bob", "10:00")]):
        ledger.take(Event(seq + 1, "asked", BY_NAME[name], None, who, "", at))
    assert names(ledger.overdue("bob", "10:03")) == ["00"]
    assert names(ledger.overdue("cleo", "10:06")) == ["00", "01", "02"]
    assert ledger.overdue("bob", "09:00") == []


def test_anyone_may_answer_what_another_was_asked():
    assert fold(("asked", "00", "ann"), ("told", "00", "cat")).pending_with("ann") == []


def test_the_place_in_a_group_is_after_the_last_item_drawn():
    assert fold(*asked("00", "01", "10")).place == {0: 2, 1: 1}


def test_a_later_answer_takes_the_place_of_the_earlier_one():
    ledger = fold(*asked("00"), ("told", "00", "cat"), ("told", "00", "dog"))
    assert +ledger.counted == {(0, "dog"): 1}
    assert ledger.n_labels == 1


def test_a_label_may_become_a_skip_and_a_skip_a_label():
    ledger = fold(
        *asked("00", "01"), ("told", "00", "cat"), ("skipped", "00"), ("skipped", "01"), ("told", "01", "dog")
    )
    assert ledger.skipped == ["00"]
    assert +ledger.counted == {(1, "dog"): 1}
    assert ledger.pending == {}


def test_an_answer_nobody_asked_for_waits_for_its_turn():
    ledger = fold(("told", "02", "cat"), ("skipped", "03"), *asked("00"))
    assert (ledger.waiting, ledger.skipped, ledger.n_labels) == (["02"], ["03"], 0)
    assert names(ledger.pending_with("")) == ["00"]


def test_an_answer_counts_when_its_turn_comes_and_its_item_is_not_pending():
    ledger = fold(("told", "00", "cat"), ("skipped", "01"), *asked("00", "01"))
    assert (ledger.waiting, ledger.pending, ledger.n_labels) == ([], {}, 1)
    assert ledger.place[0] == 2


def test_what_is_withdrawn_is_pending_again_before_all_others_with_whoever_withdrew_it():
    ledger = fold(("asked", "00", "ann"), ("asked", "01", "bob"), ("asked", "02", "bob"), ("told", "02", "cat"), ("withdrawn", "02", "bob"))  # fmt: skip
    assert names(ledger.pending_with("bob")) == ["02", "01"]
    assert (ledger.n_labels, list(ledger.history)) == (0, [])


def test_withdrawing_what_nobody_asked_for_leaves_nothing():
    ledger = fold(("told", "00", "cat"), ("withdrawn", "00"))
    assert (ledger.waiting, ledger.pending, ledger.answers, ledger.drawn) == ([], {}, {}, {})


def test_withdrawing_what_was_not_answered_changes_nothing():
    assert names(fold(*asked("00", "01"), ("withdrawn", "01")).pending_with("")) == ["00", "01"]


def test_answers_are_remembered_in_the_order_they_were_last_given():
    ledger = fold(*asked("00", "01", "02"), ("told", "00", "a"), ("told", "01", "a"), ("skipped", "02"), ("told", "00", "b"))  # fmt: skip
    assert list(ledger.history) == ["01", "02", "00"]


def test_everyone_has_a_last_answer_of_their_own():
    ledger = fold(("told", "00", "a", "ann"), ("told", "01", "a", "bob"), ("skipped", "02", "ann"), ("told", "00", "b", "bob"))  # fmt: skip
    assert [ledger.last_of(who) for who in ("ann", "bob", "")] == ["02", "00", None]


def test_what_was_withdrawn_is_no_longer_the_last_answer():
    ledger = fold(("told", "00", "a", "ann"), ("told", "01", "a", "ann"), ("withdrawn", "01", "ann"))
    assert ledger.last_of("ann") == "00"


@pytest.mark.parametrize("then", [("told", "00", "cat"), ("skipped", "00"), ("withdrawn", "00")], ids=lambda e: e[0])
def test_a_label_that_no_longer_stands_was_a_slip(then):
    assert "dgo" not in +fold(*asked("00"), ("told", "00", "dgo"), then).seen


def test_an_item_that_is_drawn_twice_counts_once():
    assert fold(("told", "00", "cat"), *asked("00", "00")).n_labels == 1


# -- any history at all ---------------------------------------------------------------------------------------

answering = st.tuples(st.sampled_from(["told", "skipped", "withdrawn"]), st.sampled_from(sorted(BY_NAME)), st.sampled_from("xy"))  # fmt: skip
asking = st.tuples(st.just("asked"), st.sampled_from([0, 1]), st.sampled_from(["ann", "bob"]))


def in_turn(steps):
    """Turn 'ask in this group' into its next item: items are drawn in the order of their places."""
    turn = {group: count() for group in range(2)}
    for kind, what, more in steps:
        if kind != "asked":
            yield kind, what, more
        elif (place := next(turn[what])) < 4:
            yield kind, f"{what}{place}", more


def recount(events):
    """Everything a ledger should know, from all events at once."""
    drawn, answers = {}, {}
    for kind, name, more in events:
        if kind == "asked":
            drawn[name] = more
        elif kind == "withdrawn":
            answers.pop(name, None)
        else:
            answers.pop(name, None)
            answers[name] = more if kind == "told" else None
    labels = {name: label for name, label in answers.items() if label is not None}
    return {
        "n_asked": len(drawn),
        "pending": {name for name in drawn if name not in answers},
        "answers": answers,
        "history": list(answers),
        "counted": dict(Counter((BY_NAME[name].entry, labels[name]) for name in drawn if name in labels)),
        "waiting": {name for name in labels if name not in drawn},
        "skipped": {name for name in answers if name not in labels},
        "place": dict(Counter(BY_NAME[name].group for name in drawn)),
    }


@given(st.lists(asking | answering, max_size=40))
@settings(max_examples=200, deadline=None)
def test_whatever_happens_the_fold_is_what_a_recount_finds(steps):
    events = list(in_turn(steps))
    ledger = fold(*events)
    found = {
        "n_asked": ledger.n_asked,
        "pending": set(ledger.pending),
        "answers": ledger.answers,
        "history": list(ledger.history),
        "counted": dict(+ledger.counted),
        "waiting": set(ledger.waiting),
        "skipped": set(ledger.skipped),
        "place": {group: n for group, n in ledger.place.items() if n},
    }
    assert found == recount(events)
    assert all(n >= 0 for n in ledger.counted.values())
    assert ledger.n_labels == sum(found["counted"].values())
    assert sorted(names(ledger.pending_with("ann") + ledger.pending_with("bob") + ledger.pending_with("x") + ledger.pending_with("y"))) == sorted(ledger.pending)  # fmt: skip
