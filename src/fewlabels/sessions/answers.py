"""Answers in and out: checked against the items and classes of a session, and listed from its events and its state."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fewlabels.data.names import to_name
from fewlabels.errors import InputError, choose_words, did_you_mean, end_sentence, join_names, quote_name
from fewlabels.sessions.journal.events import Event, Journal
from fewlabels.sessions.state import Action, SessionState

BOOLEAN_SPELLINGS = {"True": "1", "False": "0", "1": "True", "0": "False"}  # the other spelling of a boolean


def check_answers(
    labels: Mapping[Any, Any], journal: Journal, classes: Sequence[str] | None, *, new_classes: bool = False
) -> dict[str, str | None]:
    """Return answers by item id, with class names, or refuse them all; without classes they are grades."""
    named = {to_name(item): label for item, label in labels.items()}
    if len(named) < len(labels):
        raise InputError("tell: two ids name the same item (such as 7 and '7'); keep one answer per item")
    unknown = sorted(named.keys() - journal.find(named).keys())
    if unknown:
        raise InputError(
            f"tell: no item that could be asked about is called {join_names(map(repr, unknown))} (unknown, or labelled from the start); nothing was kept"
        )
    if classes is None:
        return {item: _check_grade(item, label) for item, label in named.items()}
    return {item: _check_class(item, label, classes, new_classes) for item, label in named.items()}


def list_answers(events: Iterable[Event], state: SessionState) -> list[dict[str, Any]]:
    """Return the counted answer of every item and who gave it last, ordered by last change."""
    found = sorted(_find_events(events, state), key=lambda pair: pair[0].decided)  # decisions last
    last = {action.item: event for action, event in found if event.label == state.voted_items[action.item].label}
    return [
        {"id": name, "label": item_votes.label, "asked": name in state.drawn, "who": last[name].who, "note": last[name].note, "at": last[name].at}
        for name, item_votes in state.voted_items.items()
    ]  # fmt: skip


def list_every_answer(events: Iterable[Event], state: SessionState) -> list[dict[str, Any]]:
    """Return the current answers of every annotator to every item, and decisions, in order."""
    return [
        {"id": action.item, "label": event.label, "who": action.who, "decided": action.decided, "note": event.note, "at": event.at}
        for action, event in _find_events(events, state)
    ]  # fmt: skip


def list_disputes(state: SessionState, most: int | None = None) -> list[dict[str, Any]]:
    """Return at most `most` undecided items on which annotators' answers disagree, with votes and notes."""
    disputed = [state.voted_items[name] for name in state.disputed[:most]]
    return [{"id": one.item.id, "votes": dict(one.votes), "notes": state.notes_on(one)} for one in disputed]


def find_last_answers(events: Iterable[Event]) -> dict[tuple[str, str], str | None]:
    """Return the last answer that each annotator gave to each item, also where another annotator's counts now."""
    found: dict[tuple[str, str], str | None] = {}
    for event in events:
        if event.kind in ("told", "skipped"):
            found[event.item.id, event.who] = event.label
        elif event.kind == "withdrawn":
            found.pop((event.item.id, event.who), None)
    return found


def _find_events(events: Iterable[Event], state: SessionState) -> list[tuple[Action, Event]]:
    """Return every current answer, a vote or a decision, with its event, in order."""
    kinds = {"told": False, "skipped": False, "decided": True}
    last = {Action(e.item.id, e.who, kinds[e.kind]): e for e in events if e.kind in kinds}
    return [(action, last[action]) for action in sorted(state.actions, key=lambda action: last[action].seq)]


def _check_class(item: str, label: Any, classes: Sequence[str], new_classes: bool) -> str | None:
    """Return the class that an answer names, None for cannot tell; refuse new classes unless they are allowed."""
    if _is_missing(label):
        return None
    name = to_name(label)
    if name not in classes and BOOLEAN_SPELLINGS.get(name) in classes:
        name = BOOLEAN_SPELLINGS[name]
    if not name.strip():
        raise InputError(
            f"tell: the label of item {quote_name(item)} is empty; leave it out, or give None for cannot tell"
        )
    if name not in classes and not new_classes:
        raise InputError(
            f"tell: {quote_name(name)} (item {quote_name(item)}) is no class of this session; {end_sentence(did_you_mean(name, classes))} "
            f"If it is a true class that the model never predicts, say so with {choose_words('--new-classes', 'new_classes=True')}. Nothing was kept"
        )
    return name


def _check_grade(item: str, label: Any) -> str | None:
    """Return an answer that is a grade; refuse it unless it is a number from 0 to 1."""
    if _is_missing(label):
        return None
    try:
        grade = float(label)
    except (TypeError, ValueError):
        grade = -1.0
    if not 0 <= grade <= 1:
        raise InputError(
            f"tell: {quote_name(label)} (item {quote_name(item)}) is no grade between 0 and 1; nothing was kept"
        )
    return repr(grade)


def _is_missing(label: Any) -> bool:
    """Is an answer None, NaN or the NA of pandas, whose comparison raises a TypeError?"""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True
