"""`fewlabels tell`: record answers, or take the last one back."""

from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from fewlabels.cli.options import Flag
from fewlabels.cli.printing import printer, working
from fewlabels.cli.sessions import CANNOT_TELL, Who, open_session
from fewlabels.cli.showing import print_standing, say
from fewlabels.cli.text import tame_line
from fewlabels.cli.undoing import undo_last
from fewlabels.errors import InputError
from fewlabels.journal import SqliteJournal
from fewlabels.session import Session


def tell(
    *answers: Annotated[str, Parameter(allow_leading_hyphen=True)],
    session: str,
    who: Who = "",
    note: Annotated[str, Parameter(show_default=False)] = "",
    new_classes: Flag = False,
    undo: Flag = False,
) -> int:
    """Record answers, or take the last one back.

    Parameters
    ----------
    answers: str
        ID=LABEL for each item; ID= where nobody can tell.
    session: str
        File of the session.
    who: str
        Who answers.
    note: str
        A remark to keep with these answers.
    new_classes: bool
        Accept labels that are no class of the session yet.
    undo: bool
        Take the last answer back, so that its item is asked again.
    """
    if undo == bool(answers):
        raise InputError(
            "tell: say ID=LABEL for each item, for instance 12=cat, or --undo to take the last answer back"
        )
    out = printer()
    with open_session(session) as opened:
        if undo:
            say(out, undo_last(opened, who))
        else:
            _record(out, opened, _read(answers, session, opened.classes), who, note, new_classes)
        with working("reckoning"):
            standing = opened.standing()
        print_standing(out, standing)
    return 0


def _read(words: tuple[str, ...], path: str, classes: tuple[str, ...]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for item, label in _split(words, path):
        if found.setdefault(item, label) != label:
            raise InputError(f"tell: item {item!r} has two answers, {found[item]!r} and {label!r}; say one")
    return {
        item: None if label == "" or (label == CANNOT_TELL and label not in classes) else label
        for item, label in found.items()
    }


def _split(words: tuple[str, ...], path: str) -> list[tuple[str, str]]:
    """Split each at the last =, or at an earlier one where that is what makes an item of this session."""
    tries = [[(word[:i], word[i + 1 :]) for i in range(len(word) - 1, 0, -1) if word[i] == "="] for word in words]
    for word, pairs in zip(words, tries, strict=True):
        if not pairs:
            raise InputError(f"tell: {word!r} is not ID=LABEL; write for instance 12=cat, or 12= where nobody can tell")
    journal = SqliteJournal.open(path, read_only=True)
    try:
        known = journal.find(item for pairs in tries for item, _ in pairs)
    finally:
        journal.close()
    return [next((pair for pair in pairs if pair[0] in known), pairs[0]) for pairs in tries]


def _record(
    out: Console, session: Session, labels: dict[str, str | None], who: str, note: str, new_classes: bool
) -> None:
    before = {str(row["id"]): row for row in session.answers()}
    session.tell(labels, who=who, note=note, new_classes=new_classes)
    after = {str(row["id"]): row for row in session.answers()}
    for item in labels:
        say(out, f"kept: {tame_line(item)}: {_say_answer(after[item])}{_say_change(before.get(item), after[item])}")


def _say_answer(row: dict[str, Any]) -> str:
    return "nobody can tell" if row["label"] is None else tame_line(row["label"])


def _say_change(before: dict[str, Any] | None, after: dict[str, Any]) -> str:
    changed = f" (before: {_say_answer(before)})" if before and before["label"] != after["label"] else ""
    return changed + ("" if after["asked"] else " (not asked for: it counts once its turn comes)")
