"""Record answers, decisions and withdrawals as events; callers are inside a block of writing of the store."""

from collections.abc import Mapping
from typing import Any

from fewlabels.errors import InputError, choose_words
from fewlabels.sessions.answers import check_answers
from fewlabels.sessions.journal.events import NewEvent
from fewlabels.sessions.spec import SessionSpec
from fewlabels.sessions.state import Action
from fewlabels.sessions.store import EventStore


def require_name(spec: SessionSpec, who: str) -> None:
    """Raise if answers to record are votes and the annotator has no name."""
    if spec.design.votes > 1 and not who.strip():
        raise InputError(
            f"this session has {spec.design.votes} annotators per item: say who you are ({choose_words('--as NAME', 'who=')})"
        )


def require_several_votes(spec: SessionSpec) -> None:
    """Raise if recorded answers are no votes, so that there is nothing to decide."""
    if spec.design.votes == 1:
        raise InputError("decide: this session has one vote per item, and the last answer counts; use tell instead")


def record_answers(
    spec: SessionSpec, store: EventStore, labels: Mapping[Any, Any], *, who: str, note: str, new_classes: bool
) -> None:
    """Record answers, or refuse them all."""
    answers = _check_labels(spec, store, labels, new_classes)
    store.append(
        NewEvent("skipped" if label is None else "told", name, label, who, note) for name, label in answers.items()
    )


def record_decisions(
    spec: SessionSpec, store: EventStore, labels: Mapping[Any, Any], *, who: str, note: str, new_classes: bool
) -> None:
    """Record decisions, or refuse them all."""
    decisions = _check_labels(spec, store, labels, new_classes)
    store.append(NewEvent("decided", name, label, who, note) for name, label in decisions.items())


def withdraw_last(store: EventStore, who: str, only: Action | None, *, decisions: bool) -> str | None:
    """Record that a last answer or decision is withdrawn, `only` this one if it is the last; return its item.

    If `only` is withdrawn already and its item is still open, return the item again; else None.
    """
    state = store.state
    last = state.last_action(who, decisions=decisions)
    wanted = last if only is None else only
    if wanted is None:
        return None
    if wanted != last:
        return wanted.item if wanted.item in state.drawn and state.is_undone(wanted) else None
    store.append([NewEvent("withdrawn", wanted.item, who=who)])
    return wanted.item


def _check_labels(
    spec: SessionSpec, store: EventStore, labels: Mapping[Any, Any], new_classes: bool
) -> dict[str, str | None]:
    """Check the labels to record, with the classes or grades that the session has."""
    classes = spec.list_choices(store.state)
    is_number, is_new_allowed = spec.graded and not spec.grades, new_classes and not spec.graded
    answers = check_answers(labels, store.journal, None if is_number else classes, new_classes=is_new_allowed)
    if not spec.graded:
        spec.require_costs(classes, answers.values())
    return answers
