"""The fold of a journal, against one that remembers every event and counts them all again."""

from collections import Counter
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabels.sessions.journal.events import Event, Item
from fewlabels.sessions.state import SessionState

ITEMS = [Item(f"{group}{place}", group, place, 10 * group + place % 2) for group in range(2) for place in range(4)]
BY_NAME = {item.id: item for item in ITEMS}


def replay(*happened, wanted=1):
    """A ledger of (kind, item, who), or ("told", item, label, who)."""
    state = SessionState(wanted)
    for seq, (kind, name, *more) in enumerate(happened, start=1):
        speaks = kind in ("told", "decided")
        told, who = (more[0], more[-1] if more[1:] else "") if speaks else (None, more[0] if more else "")
        state.apply(Event(seq, kind, BY_NAME[name], told, who, "", ""))
    return state


def names(items):
    return [item.id for item in items]


def asked(*items):
    return [("asked", name) for name in items]


def test_an_empty_ledger_knows_nothing():
    state = replay()
    assert (state.seq, state.n_asked, state.n_labels) == (0, 0, 0)
    assert state.waiting == state.skipped == state.pending_with("") == []


def test_what_was_asked_is_pending_oldest_first_until_it_is_answered():
    state = replay(*asked("01", "10", "00"), ("told", "10", "cat"))
    assert names(state.pending_with("")) == ["01", "00"]
    assert state.counted == {(10, "cat"): 1}
    assert (state.seq, state.n_asked) == (4, 3)


def test_everyone_has_their_own_pending_items():
    state = replay(("asked", "00", "ann"), ("asked", "01", "bob"), ("asked", "02", "ann"))
    assert names(state.pending_with("ann")) == ["00", "02"]
    assert names(state.pending_with("bob")) == ["01"]
    assert state.pending_with("") == []


def test_what_one_leaves_lying_is_handed_on():
    state = replay(("asked", "00", "ann"), ("asked", "01", "bob"), ("asked", "00", "bob"))
    assert (names(state.pending_with("ann")), names(state.pending_with("bob"))) == ([], ["00", "01"])
    assert (state.n_drawn[0], state.n_asked) == (2, 3)


def test_what_is_answered_is_not_handed_on():
    assert replay(("asked", "00", "ann"), ("told", "00", "cat"), ("asked", "00", "bob")).pending == {}


def test_what_others_have_open_is_known_with_the_event_that_asked():
    state = replay(("asked", "00", "ann"), ("asked", "01", "ann"), ("asked", "02", "bob"), ("asked", "00", "ann"))
    assert [(one.item.id, one.seq) for one in state.pending_with_others("bob")] == [("00", 4), ("01", 2)]
    assert names(one.item for one in state.pending_with_others("cleo")) == ["00", "01", "02"]


def test_anyone_may_answer_what_another_was_asked():
    assert replay(("asked", "00", "ann"), ("told", "00", "cat")).pending_with("ann") == []


def test_the_place_in_a_group_is_after_the_last_item_drawn():
    assert replay(*asked("00", "01", "10")).n_drawn == {0: 2, 1: 1}


def test_a_later_answer_takes_the_place_of_the_earlier_one():
    state = replay(*asked("00"), ("told", "00", "cat"), ("told", "00", "dog"))
    assert +state.counted == {(0, "dog"): 1}
    assert state.n_labels == 1


def test_a_label_may_become_a_skip_and_a_skip_a_label():
    state = replay(
        *asked("00", "01"), ("told", "00", "cat"), ("skipped", "00"), ("skipped", "01"), ("told", "01", "dog")
    )
    assert state.skipped == ["00"]
    assert +state.counted == {(1, "dog"): 1}
    assert state.pending == {}


def test_an_answer_nobody_asked_for_waits_for_its_turn():
    state = replay(("told", "02", "cat"), ("skipped", "03"), *asked("00"))
    assert (state.waiting, state.skipped, state.n_labels) == (["02"], ["03"], 0)
    assert names(state.pending_with("")) == ["00"]


def test_an_answer_counts_when_its_turn_comes_and_its_item_is_not_pending():
    state = replay(("told", "00", "cat"), ("skipped", "01"), *asked("00", "01"))
    assert (state.waiting, state.pending, state.n_labels) == ([], {}, 1)
    assert state.n_drawn[0] == 2


def test_what_is_withdrawn_is_pending_again_before_all_others_with_whoever_withdrew_it():
    state = replay(("asked", "00", "ann"), ("asked", "01", "bob"), ("asked", "02", "bob"), ("told", "02", "cat"), ("withdrawn", "02", "bob"))  # fmt: skip
    assert names(state.pending_with("bob")) == ["02", "01"]
    assert (state.n_labels, list(state.voted_items)) == (0, [])


def test_withdrawing_what_nobody_asked_for_leaves_nothing():
    state = replay(("told", "00", "cat"), ("withdrawn", "00"))
    assert (state.waiting, state.pending, state.answers, state.drawn) == ([], {}, {}, {})


def test_withdrawing_what_was_not_answered_changes_nothing():
    assert names(replay(*asked("00", "01"), ("withdrawn", "01")).pending_with("")) == ["00", "01"]


def test_answers_are_remembered_in_the_order_they_were_last_given():
    state = replay(*asked("00", "01", "02"), ("told", "00", "a"), ("told", "01", "a"), ("skipped", "02"), ("told", "00", "b"))  # fmt: skip
    assert list(state.voted_items) == ["01", "02", "00"]


def test_everyone_has_a_last_answer_of_their_own():
    state = replay(("told", "00", "a", "ann"), ("told", "01", "a", "bob"), ("skipped", "02", "ann"), ("told", "00", "b", "bob"))  # fmt: skip
    assert [state.last_item_of(who) for who in ("ann", "bob", "")] == ["02", "00", None]


def test_what_was_withdrawn_is_no_longer_the_last_answer():
    state = replay(("told", "00", "a", "ann"), ("told", "01", "a", "ann"), ("withdrawn", "01", "ann"))
    assert state.last_item_of("ann") == "00"


@pytest.mark.parametrize("then", [("told", "00", "cat"), ("skipped", "00"), ("withdrawn", "00")], ids=lambda e: e[0])
def test_a_label_that_no_longer_stands_was_a_slip(then):
    assert "dgo" not in +replay(*asked("00"), ("told", "00", "dgo"), then).label_counts


def test_an_item_that_is_drawn_twice_counts_once():
    assert replay(("told", "00", "cat"), *asked("00", "00")).n_labels == 1


# -- several people answer each item --------------------------------------------------------------------------

ANN = [("asked", "00", "ann"), ("told", "00", "cat", "ann")]
BOB = [("asked", "00", "bob"), ("told", "00", "dog", "bob")]


def votes(*happened, wanted=2):
    return replay(*happened, wanted=wanted)


def test_an_item_goes_out_to_another_person_until_it_has_its_votes():
    state = votes(*ANN)
    assert (names(state.short_of_vote_from("bob")), state.short_of_vote_from("ann"), state.pending) == (["00"], [], {})
    state = votes(*ANN, BOB[0])
    assert (names(state.pending_with("bob")), state.short_of_vote_from("cleo")) == (["00"], [])
    assert names(one.item for one in state.pending_with_others("cleo")) == ["00"]
    assert state.pending_with_others("ann") == state.pending_for("ann") == []
    state = votes(*ANN, *BOB)
    assert (state.short_of_votes, state.pending, state.short_of_vote_from("cleo")) == ({}, {}, [])


def test_an_item_counts_once_however_many_vote():
    state = votes(*ANN, *BOB, ("told", "00", "dog", "cleo"))
    assert +state.counted == {(0, "dog"): 1}
    assert state.label_counts == {"cat": 1, "dog": 2}


def test_people_who_disagree_are_noticed_once_all_were_heard():
    assert votes(*ANN, *BOB).disputed == ["00"]
    assert votes(*ANN, *BOB, wanted=3).disputed == []
    assert votes(*ANN, ("told", "00", "cat", "bob")).disputed == []
    assert votes(*ANN, ("skipped", "00", "bob")).disputed == []  # who cannot tell does not disagree


def test_what_was_decided_counts_whoever_votes_afterwards():
    state = votes(*ANN, *BOB, ("decided", "00", "cow", "kim"), ("told", "00", "dog", "cleo"))
    assert (+state.counted, state.disputed, state.voted_items["00"].decision.who) == ({(0, "cow"): 1}, [], "kim")
    assert votes(*ANN, ("decided", "00", "cow", "kim")).short_of_vote_from("bob") == []
    assert votes(*ANN, *BOB, ("decided", "00", None, "kim")).skipped == ["00"]


def test_everyone_takes_back_their_own_word():
    state = votes(*ANN, *BOB, ("withdrawn", "00", "ann"))
    assert (+state.counted, names(state.pending_with("ann"))) == ({(0, "dog"): 1}, ["00"])
    assert (state.last_item_of("ann"), state.last_item_of("bob")) == (None, "00")
    state = votes(*ANN, *BOB, ("decided", "00", "cow", "ann"), ("withdrawn", "00", "ann"))
    assert (state.disputed, state.last_item_of("ann"), state.pending) == (["00"], "00", {})
    assert votes(*ANN, ("withdrawn", "00", "bob")).answers == {"00": "cat"}


def test_undoing_does_not_take_an_item_from_whoever_is_at_it():
    state = votes(*ANN, BOB[0], ("withdrawn", "00", "ann"), ("told", "00", "dog", "bob"))
    assert names(state.pending_with("ann")) == ["00"]
    assert state.answers == {"00": "dog"}


def test_a_second_vote_of_the_same_person_replaces_the_first():
    state = votes(*ANN, ("told", "00", "dog", "ann"))
    assert (+state.counted, names(state.short_of_vote_from("bob"))) == ({(0, "dog"): 1}, ["00"])


people = st.sampled_from(["ann", "bob", "cleo"])
voting = st.tuples(
    st.sampled_from(["told", "decided"]), st.sampled_from(["00", "01", "02"]), st.sampled_from("xy"), people
)
retracting = st.tuples(st.sampled_from(["skipped", "withdrawn", "asked"]), st.sampled_from(["00", "01", "02"]), people)


@given(st.lists(voting | retracting, max_size=30))
@settings(max_examples=200, deadline=None)
def test_whatever_happens_every_vote_stands_until_its_owner_changes_it(events):
    state = votes(*events)
    votes_of, decided, done, drawn = {}, {}, {}, set()
    for at, (kind, name, *more) in enumerate(events):
        who = more[-1]
        if kind == "asked":
            drawn.add(name)
        elif kind == "decided":
            decided[name] = (more[0], who)
            done = {key: when for key, when in done.items() if key[0] != name or key[2] != "decided"}
            done[name, who, "decided"] = at
        elif kind != "withdrawn":
            votes_of.setdefault(name, {})[who] = more[0] if kind == "told" else None
            done[name, who, "told"] = at
        else:
            mine = {key: when for key, when in done.items() if key[:2] == (name, who)}
            if mine:
                last = max(mine, key=mine.get)
                del done[last]
                if last[2] == "decided":
                    del decided[name]
                else:
                    del votes_of[name][who]
    assert {name: dict(b.votes) for name, b in state.voted_items.items() if b.votes} == {
        n: v for n, v in votes_of.items() if v
    }
    assert {name: tuple(b.decision) for name, b in state.voted_items.items() if b.decision} == decided
    labelled = [name for name, label in state.answers.items() if label is not None and name in drawn]
    assert state.n_labels == len(labelled)
    assert Counter(state.answers[name] for name in labelled) == Counter(dict(_by_label(state)))
    assert not set(state.pending) & set(decided)
    for who in ("ann", "bob", "cleo"):
        assert not {item.id for item in state.short_of_vote_from(who)} & {
            name for name, said in votes_of.items() if who in said
        }
        mine = {key: when for key, when in done.items() if key[1] == who}
        assert state.last_item_of(who) == (max(mine, key=mine.get)[0] if mine else None)


def _by_label(state):
    found = Counter()
    for (_, label), n in state.counted.items():
        found[label] += n
    return +found


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
    state = replay(*events)
    found = {
        "n_asked": state.n_asked,
        "pending": set(state.pending),
        "answers": state.answers,
        "history": list(state.voted_items),
        "counted": dict(+state.counted),
        "waiting": set(state.waiting),
        "skipped": set(state.skipped),
        "place": {group: n for group, n in state.n_drawn.items() if n},
    }
    assert found == recount(events)
    assert all(n >= 0 for n in state.counted.values())
    assert state.n_labels == sum(found["counted"].values())
    assert sorted(names(state.pending_with("ann") + state.pending_with("bob") + state.pending_with("x") + state.pending_with("y"))) == sorted(state.pending)  # fmt: skip
