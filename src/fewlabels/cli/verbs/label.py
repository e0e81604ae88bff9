"""`fewlabels label`: label items one by one, on the page or in the terminal."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pkgutil import resolve_name
from typing import Literal

from rich.console import Console

from fewlabels.cli.options import Columns, File, Flag
from fewlabels.cli.page_options import Page
from fewlabels.cli.session_files import Opened, Who, require_name, start_or_open
from fewlabels.cli.session_options import Start
from fewlabels.cli.session_tables import name_session, note_obstacle, print_next, print_progress, say
from fewlabels.cli.tables import printer, working
from fewlabels.cli.terminal.keyboard import HAS_KEYS, listening
from fewlabels.cli.terminal.keys import Terminal
from fewlabels.cli.terminal.lines import Lines
from fewlabels.cli.terminal.loop import Labelling
from fewlabels.errors import InputError, count, listing
from fewlabels.text import tame_line

PREPARE, SERVE = (
    "fewlabels.cli.page_server:prepare_page",
    "fewlabels.cli.page_server:run_page",
)  # imported only to serve the page


def label(
    file: File,
    /,
    *,
    session: File,
    terminal: Flag = False,
    who: Who = "",
    new_classes: Flag = False,
    show_prediction: Literal["never", "after"] = "never",
    page: Page = Page(),
    start: Start = Start(),
    columns: Columns = Columns(),
) -> int:
    """Label items one by one, chosen for a goal, and watch the estimate improve.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow; or a quoted glob.
    session: str
        File of the session; created if it does not exist.
    terminal: bool
        Label in the terminal; if standard input is not a terminal, answers are read line by line.
    who: str
        Name of the annotator, with --terminal. Different annotators get different items.
    new_classes: bool
        Accept labels that are not yet classes of the session.
    show_prediction: str
        When to show the prediction: never, or after the item is labelled. Showing it before would bias the label.
    """
    if terminal and page != Page():
        raise InputError("page options cannot be combined with --terminal")
    if not terminal and who:
        raise InputError("--as needs --terminal; on the page, annotators enter their own names")
    out, choices = printer(), {"new_classes": new_classes, "reveals": show_prediction == "after"}
    if not terminal:
        with resolve_name(PREPARE)(page, session) as taken, _opened(out, session, file, start, columns) as opened:
            resolve_name(SERVE)(opened, file, session, page, taken=taken, **choices)
        return 0
    require_name(start, who)
    with _opened(out, session, file, start, columns) as opened:
        work = Labelling(opened, out, who, **choices)
        try:
            _run(work, out, new_classes=new_classes)
        except KeyboardInterrupt:
            out.print()
        _say_goodbye(work, out, f"fewlabels label {shlex.quote(file)} {name_session(session, who)} --terminal", session)
    return 0


@contextmanager
def _opened(out: Console, session: str, file: str, start: Start, columns: Columns) -> Iterator[Opened]:
    """Open or start the session, and print which columns are shown."""
    with working("opening"):
        opened = start_or_open(session, file, start, columns)
    with opened.session:
        note_obstacle(opened)
        _say_what_is_shown(out, opened)
        yield opened


def _run(work: Labelling, out: Console, *, new_classes: bool) -> None:
    if HAS_KEYS and sys.stdin.isatty() and sys.stdout.isatty():
        with listening(sys.stdin.fileno()) as keys:
            work.run(Terminal(out, keys, new_classes=new_classes))
    else:
        work.run(Lines(out, iter(sys.stdin), new_classes=new_classes))


def _say_what_is_shown(out: Console, opened: Opened) -> None:
    assert opened.pool is not None
    shown = list(opened.pool.shown)
    if not shown:
        say(out, "only ids are shown: the predictions have no other columns; look items up by id")
    if opened.pool.withheld:
        say(out, f"hidden to avoid bias: {listing(map(tame_line, opened.pool.withheld))} (show them with --show)")


def _say_goodbye(work: Labelling, out: Console, again: str, session: str) -> None:
    say(out, f"{count(work.n_told, 'answer')} kept in {session}")
    with working("computing"):
        found = work.opened.session.status()
    print_progress(out, found)
    print_next(out, again, "to continue")
    print_next(out, f"fewlabels status {name_session(session)}")
