"""`fewlabels ask`: which items to label next?"""

import sys
from pathlib import Path as FilePath
from typing import Annotated, Any

from cyclopts import Parameter

from fewlabels.cli.options import Columns, Path
from fewlabels.cli.printing import complainer, printer, working
from fewlabels.cli.reading import Line
from fewlabels.cli.sessions import Opened, Who, start_or_open
from fewlabels.cli.sheets import kind_of, lay_out, render_sheet
from fewlabels.cli.showing import note_obstacle, print_asked
from fewlabels.cli.starting import Start
from fewlabels.cli.targets import check_target, read_earlier, refuse_to_lose
from fewlabels.errors import InputError, count
from fewlabels.files import write_whole
from fewlabels.session import ItemId
from fewlabels.summary import write_json
from fewlabels.text import as_plain

Shown = dict[ItemId, dict[str, Any]]


def ask(
    file: str | None = None,
    /,
    *,
    session: str,
    n: Annotated[int, Parameter(name=("--n", "-n"))] = 5,
    who: Who = "",
    out: Path = None,
    json: Path = None,
    start: Start = Start(),
    columns: Columns = Columns(),
) -> int:
    """Say which items to label next; the same ones until they are told.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow. Needed to start a session, and to show what the items are.
    session: str
        File of the session; started if it is not there yet.
    n: int
        How many items.
    who: str
        Who asks. People with different names get different items.
    out: str
        Write a sheet to fill in (.csv or .jsonl): id, what there is to see, and an empty label.
    json: str
        Write JSON to this file; - for standard output.
    """
    earlier = _check(session, file, n, out, json)
    with working("opening"):
        opened = start_or_open(session, file, start, columns)
    with opened.session:
        refuse_to_lose(out, earlier, opened.session)
        note_obstacle(opened)
        with working("asking"):
            shown = opened.session.show(opened.session.ask(n, who=who))
        if out:
            _deliver(out, render_sheet(*lay_out(shown), kind_of(out)))
        if json:
            _deliver(json, write_json(_as_plain(opened, shown), None) + "\n")
        if "-" not in (out, json):
            print_asked(printer(), opened, shown, session=session, who=who, sheet=out)
    if 0 < len(shown) < n:
        complainer().print(f"{count(len(shown), 'item')} instead of {n:,}: that is all there is left to ask")
    for path in (out, json):
        if path and path != "-":
            complainer().print(f"written: {path}", markup=False)
    return 0


def _check(session: str, file: str | None, n: int, out: str | None, json: str | None) -> list[Line]:
    """Refuse what cannot be done before a session is started; return what the sheet to be written holds now."""
    if n < 1:
        raise InputError(f"ask: {n} items make no sense; ask for one or more")
    for path in (out, json):
        check_target(path, session, file)
    if out:
        kind_of(out)
    earlier = read_earlier(out)
    if not FilePath(session).exists():
        refuse_to_lose(out, earlier, None)
    return earlier


def _as_plain(opened: Opened, shown: Shown) -> dict[str, Any]:
    items = [{"id": i, "show": {name: as_plain(value) for name, value in row.items()}} for i, row in shown.items()]
    return {"items": items, "classes": list(opened.session.classes)}


def _deliver(path: str, text: str) -> None:
    if path == "-":
        sys.stdout.write(text)
    else:
        write_whole(path, text)
