"""`fewlabels import`: a sheet of answers comes back."""

from collections.abc import Mapping
from typing import Annotated, Any

from cyclopts import Parameter

from fewlabels.answers import check_answers
from fewlabels.cli.options import Flag
from fewlabels.cli.printing import printer, working
from fewlabels.cli.reading import Line, read_sheet
from fewlabels.cli.sessions import CANNOT_TELL, Who, open_session
from fewlabels.cli.showing import print_standing, say
from fewlabels.cli.text import count
from fewlabels.errors import InputError
from fewlabels.journal import SqliteJournal
from fewlabels.session import Session


def import_answers(
    sheet: str,
    /,
    *,
    session: str,
    who: Who = "",
    new_classes: Flag = False,
    cannot_tell: Annotated[str, Parameter(show_default=True)] = CANNOT_TELL,
) -> int:
    """Read a sheet of answers into a session: all rows or none.

    Parameters
    ----------
    sheet: str
        A file (.csv or .jsonl) with the columns id and label; rows without a label are not answered yet.
    session: str
        File of the session.
    who: str
        Who answered.
    new_classes: bool
        Accept labels that are no class of the session yet.
    cannot_tell: str
        The label that means: nobody can tell.
    """
    lines = read_sheet(sheet)
    out = printer()
    with open_session(session) as opened:
        told = [line for line in lines if line.label is not None]
        labels = _check(sheet, session, told, opened.classes, new_classes, cannot_tell)
        before = {str(row["id"]): row["label"] for row in opened.answers()}
        news = {item: label for item, label in labels.items() if item not in before or before[item] != label}
        if news:
            opened.tell(news, who=who, new_classes=new_classes)
        say(out, _report(sheet, opened, labels, before))
        if len(told) < len(lines):
            say(out, f"{count(len(lines) - len(told), 'row')} without a label: not answered yet, and left out")
        with working("reckoning"):
            standing = opened.standing()
        print_standing(out, standing)
    return 0


def _check(
    sheet: str, path: str, lines: list[Line], classes: tuple[str, ...], new_classes: bool, cannot_tell: str
) -> dict[str, str | None]:
    """Return the answers by item; the first that cannot be kept is named by line and column."""
    journal = SqliteJournal.open(path, read_only=True)
    try:
        known = journal.find(line.id for line in lines)
        for line in lines:
            if line.id not in known:
                raise InputError(
                    f"{sheet}, line {line.number}, column id: no item that could be asked about is called {line.id!r} "
                    "(unknown, or labelled from the start); nothing was kept"
                )
        return {line.id: _check_label(sheet, line, journal, classes, new_classes, cannot_tell) for line in lines}
    finally:
        journal.close()


def _check_label(
    sheet: str, line: Line, journal: SqliteJournal, classes: tuple[str, ...], new_classes: bool, cannot_tell: str
) -> str | None:
    label = line.label
    if isinstance(label, str):
        if label.strip() == cannot_tell and label not in classes:
            return None
        label = label if label in classes else label.strip()
    try:
        return check_answers({line.id: label}, journal, classes or None, new_classes=new_classes)[line.id]
    except InputError as error:
        said = str(error).removeprefix("tell: ")
        raise InputError(f"{sheet}, line {line.number}, column label: {said}") from None


def _report(sheet: str, session: Session, labels: Mapping[str, str | None], before: Mapping[str, Any]) -> str:
    asked = {str(row["id"]): row["asked"] for row in session.answers()}
    changed = sum(item in before and before[item] != label for item, label in labels.items())
    unchanged = sum(item in before and before[item] == label for item, label in labels.items())
    strange = sum(not asked[item] for item in labels)
    said = f"{sheet}: {count(len(labels) - changed - unchanged, 'new answer')}, {changed:,} changed, {unchanged:,} unchanged"
    return said + (f"; {strange:,} of them not asked for: they count once their turn comes" if strange else "")
