"""`fewlabels import`: a sheet of answers comes back."""

from collections.abc import Mapping
from typing import Annotated, Any

from cyclopts import Parameter

from fewlabels.cli.naming import explain_unknown, find_items, is_mark, match_class, read_grade, require_class
from fewlabels.cli.options import Flag
from fewlabels.cli.printing import printer
from fewlabels.cli.reading import Line, read_sheet
from fewlabels.cli.sessions import Who, open_session
from fewlabels.cli.showing import print_session, say
from fewlabels.errors import InputError, count
from fewlabels.session import Session
from fewlabels.table import spell
from fewlabels.table.joining import CANNOT_TELL


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
        print_session(out, opened)
    return 0


def _check(
    sheet: str, path: str, lines: list[Line], classes: tuple[str, ...], new_classes: bool, cannot_tell: str
) -> dict[str, str | None]:
    """Return the answers by item; the first that cannot be kept is named by line and column."""
    items = find_items(path, [line.id for line in lines])
    found: dict[str, Line] = {}
    for line in lines:
        if line.id not in items:
            raise InputError(f"{sheet}, line {line.number}, column id: {explain_unknown([line.id])}; nothing was kept")
        first = found.setdefault(items[line.id], line)
        if first.label != line.label:  # the same item in two spellings
            raise InputError(
                f"{sheet}, lines {first.number} and {line.number}, column label: item {items[line.id]!r} has two "
                f"answers, {first.label!r} and {line.label!r}; keep one"
            )
    return {item: _check_label(sheet, line, classes, new_classes, cannot_tell) for item, line in found.items()}


def _check_label(sheet: str, line: Line, classes: tuple[str, ...], new_classes: bool, cannot_tell: str) -> str | None:
    label, where = spell(line.label), f"{sheet}, line {line.number}, column label: "
    if is_mark(label, classes, cannot_tell):
        return None
    if not classes:
        return read_grade(label, about=where, kept="nothing was kept")
    label = match_class(label, classes)
    if not new_classes:
        require_class(label, classes, about=where, kept="Nothing was kept")
    return label


def _report(sheet: str, session: Session, labels: Mapping[str, str | None], before: Mapping[str, Any]) -> str:
    asked = {str(row["id"]): row["asked"] for row in session.answers()}
    changed = sum(item in before and before[item] != label for item, label in labels.items())
    unchanged = sum(item in before and before[item] == label for item, label in labels.items())
    strange = sum(not asked[item] for item in labels)
    said = f"{sheet}: {count(len(labels) - changed - unchanged, 'new answer')}, {changed:,} changed, {unchanged:,} unchanged"
    return said + (f"; {strange:,} of them not asked for: they count once their turn comes" if strange else "")
