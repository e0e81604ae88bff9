"""`fewlabels tell`: record answers, or undo the last one."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from fewlabels.cli.console import stdout_console
from fewlabels.cli.options import File, Flag
from fewlabels.cli.session_files import Who, open_session
from fewlabels.cli.session_tables import print_session, print_session_line
from fewlabels.cli.undo import undo_last
from fewlabels.errors import InputError
from fewlabels.sessions.exchange.names import (
    adding_nothing_kept,
    explain_unknown,
    find_items,
    is_cannot_tell,
    match_class,
    require_class,
)
from fewlabels.sessions.exchange.sheets import FORMATS
from fewlabels.sessions.session import Session
from fewlabels.text import sanitize_line

NOT_ASKED = " (not asked for: it counts once the session asks for it)"


def tell(
    *answers: Annotated[str, Parameter(allow_leading_hyphen=True)],
    session: File,
    who: Who = "",
    note: Annotated[str, Parameter(show_default=False)] = "",
    new_classes: Flag = False,
    decide: Flag = False,
    undo: Flag = False,
    quiet: Flag = False,
) -> int:
    """Record answers, or undo the last one.

    Parameters
    ----------
    answers: str
        ID=LABEL for each item; ID= if you cannot tell.
    session: str
        File of the session.
    who: str
        Name of the annotator.
    note: str
        A note to save with these answers.
    new_classes: bool
        Accept labels that are not yet classes of the session.
    decide: bool
        Resolve disagreements: these labels are taken as true, whatever the votes.
    undo: bool
        Undo the last answer or decision, so that its item is pending again.
    quiet: bool
        Print nothing but errors.
    """
    if undo and decide:
        raise InputError("tell: --undo undoes answers and decisions alike; leave --decide out")
    if undo and answers:
        raise InputError("tell: --undo cannot be combined with ID=LABEL; use one of them")
    if not undo and not answers:
        raise InputError("tell: give ID=LABEL for each item, for instance 12=cat, or --undo to undo the last answer")
    out = stdout_console(quiet=quiet)
    with open_session(session) as opened:
        if undo:
            print_session_line(out, undo_last(opened, who))
        else:
            labels = _read_answers(answers, session, opened.classes, new_classes)
            with adding_nothing_kept():
                if decide:
                    opened.decide(labels, who=who, note=note, new_classes=new_classes)
                    _print_decisions(out, opened, labels, who)
                else:
                    _record_and_print(out, opened, labels, who, note, new_classes)
        print_session(out, opened)
    return 0


def _read_answers(
    words: tuple[str, ...], path: str, classes: tuple[str, ...], new_classes: bool
) -> dict[str, str | None]:
    """Read the answers to tell, ID=LABEL each; refuse two for one item."""
    found: dict[str, str] = {}
    for item, label in _split_answer_words(words, path):
        if found.setdefault(item, label) != label:
            raise InputError(f"tell: item {item!r} has two answers, {found[item]!r} and {label!r}; give one")
    return {item: _read_typed_label(item, label, classes, new_classes) for item, label in found.items()}


def _read_typed_label(item: str, label: str, classes: tuple[str, ...], new_classes: bool) -> str | None:
    """Return the class of a label to tell; None for cannot tell."""
    if not label.strip() or is_cannot_tell(label, classes):
        return None
    label = match_class(label, classes)
    if classes and not new_classes:
        require_class(label, classes, about=f"tell: item {item!r}: ", kept="Nothing was kept")
    return label


def _split_answer_words(words: tuple[str, ...], path: str) -> list[tuple[str, str]]:
    """Split each word to tell at the last = whose left side is the id of an item of this session."""
    tries = [[(word[:i], word[i + 1 :]) for i in range(len(word) - 1, 0, -1) if word[i] == "="] for word in words]
    items = find_items(path, [item for pairs in tries for item, _ in pairs])
    found = [next(((items[item], label) for item, label in pairs if item in items), None) for pairs in tries]
    for word, pair in zip(words, found, strict=True):
        if pair is None and (word.startswith("--") or "=" not in word[1:]):
            raise InputError(f"tell: {_explain_bad_answer(word, words, path)}")
    unknown = [pairs[0][0] for pairs, pair in zip(tries, found, strict=True) if pair is None]
    if unknown:
        raise InputError(f"tell: {explain_unknown(unknown)}; nothing was kept")
    return [pair for pair in found if pair is not None]


def _explain_bad_answer(word: str, words: Sequence[str], path: str) -> str:
    """Return what is wrong with a word to tell that is not ID=LABEL; files of answers are read by `import`."""
    names = (said.removeprefix(word.partition("=")[0] + "=") for said in words)
    sheets = [name for name in names if "=" not in name and Path(name).suffix.lower() in FORMATS]
    if not sheets and not word.startswith("--"):
        return f"{word!r} is not ID=LABEL; write for instance 12=cat, or 12= if you cannot tell"
    wrong = f"there is no option {word.partition('=')[0]}" if word.startswith("--") else f"{word!r} is not ID=LABEL"
    sheet = shlex.quote(sheets[0]) if sheets else "SHEET"
    return f"{wrong}; to read a file of answers: fewlabels import {sheet} --session {shlex.quote(path)}"


def _record_and_print(
    out: Console, session: Session, labels: dict[str, str | None], who: str, note: str, new_classes: bool
) -> None:
    """Record the told answers, and print what each one changed."""
    before = _list_replaced_answers(session, who)
    session.tell(labels, who=who, note=note, new_classes=new_classes)
    after = _list_replaced_answers(session, who)
    asked = _list_asked(session)
    for item in labels:
        changed = _format_change(before.get(item), after[item], asked=item in asked)
        print_session_line(out, f"kept: {sanitize_line(item)}: {_format_answer(after[item])}{changed}")


def _list_asked(session: Session) -> set[str]:
    """Return the items that were asked for, to remark on told answers to others."""
    return {str(row["id"]) for row in session.answers() if row["asked"]}


def _list_replaced_answers(session: Session, who: str) -> dict[str, dict[str, Any]]:
    """Return the answers that a told one would replace: all, or only this annotator's if answers are votes."""
    rows = [row for row in session.votes() if session.wanted == 1 or (row["who"] == who and not row["decided"])]
    return {str(row["id"]): row for row in rows}


def _print_decisions(out: Console, session: Session, labels: dict[str, str | None], who: str) -> None:
    """Print the decisions that were told."""
    asked = _list_asked(session)
    for item, label in labels.items():
        said = "cannot tell" if label is None else sanitize_line(label)
        print_session_line(
            out, f"decided by {sanitize_line(who)}: {sanitize_line(item)}: {said}{'' if item in asked else NOT_ASKED}"
        )


def _format_answer(row: dict[str, Any]) -> str:
    """Format a told label, or that the annotator cannot tell."""
    return "cannot tell" if row["label"] is None else sanitize_line(row["label"])


def _format_change(before: dict[str, Any] | None, after: dict[str, Any], *, asked: bool) -> str:
    """Format what a told answer changed: the label before, and whether the item was asked for."""
    changed = f" (before: {_format_answer(before)})" if before and before["label"] != after["label"] else ""
    return changed + ("" if asked else NOT_ASKED)
