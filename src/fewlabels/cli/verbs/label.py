"""`fewlabels label`: label items one by one, on the page or in the terminal."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pkgutil import resolve_name
from typing import Literal

from rich.console import Console

from fewlabels.cli.console import spinner, stdout_console
from fewlabels.cli.model_files import ModelOptions
from fewlabels.cli.options import Columns, File, Flag
from fewlabels.cli.page_options import PageOptions
from fewlabels.cli.session_files import OpenedSession, Who, require_annotator_name, start_or_open
from fewlabels.cli.session_options import SessionOptions, format_session_options
from fewlabels.cli.session_tables import (
    print_next_command,
    print_progress,
    print_session_line,
)
from fewlabels.cli.terminal.keyboard import HAS_KEYS, cbreak_mode
from fewlabels.cli.terminal.keys import KeyAnswers
from fewlabels.cli.terminal.lines import LineAnswers
from fewlabels.cli.terminal.loop import LabellingLoop
from fewlabels.errors import InputError, count, join_names
from fewlabels.text import sanitize_line

PREPARE_PAGE, RUN_PAGE = (
    "fewlabels.cli.page_server:prepare_page",
    "fewlabels.cli.page_server:run_page",
)  # imported only to serve the page


def label(
    file: File,
    /,
    *more: File,
    session: File,
    terminal: Flag = False,
    who: Who = "",
    new_classes: Flag = False,
    show_prediction: Literal["never", "after"] = "never",
    page: PageOptions = PageOptions(),
    start: SessionOptions = SessionOptions(),
    columns: Columns = Columns(),
    models: ModelOptions = ModelOptions(),
) -> int:
    """Label items one by one, chosen for a goal, and watch the estimate improve.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow; or a quoted glob.
    more: str
        Predictions of further models on the same items, for the goals compare-models and best-model.
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
    if terminal and page != PageOptions():
        raise InputError("page options cannot be combined with --terminal")
    if not terminal and who:
        raise InputError("--as needs --terminal; on the page, annotators enter their own names")
    out, choices = stdout_console(), {"new_classes": new_classes, "reveals": show_prediction == "after"}
    if not terminal:
        with (
            resolve_name(PREPARE_PAGE)(page, session) as listening_socket,
            _open_to_label(out, session, file, start, columns, more, models) as opened,
        ):
            resolve_name(RUN_PAGE)(opened, file, session, page, listening_socket=listening_socket, **choices)
        return 0
    require_annotator_name(start, who)
    with _open_to_label(out, session, file, start, columns, more, models) as opened:
        work = LabellingLoop(opened, out, who, **choices)
        try:
            _label_at_terminal(work, out, new_classes=new_classes)
        except KeyboardInterrupt:
            out.print()
        _print_summary(
            work, out, f"fewlabels label {shlex.quote(file)} {format_session_options(session, who)} --terminal", session
        )
    return 0


@contextmanager
def _open_to_label(
    out: Console,
    session: str,
    file: str,
    start: SessionOptions,
    columns: Columns,
    more: Sequence[str],
    models: ModelOptions,
) -> Iterator[OpenedSession]:
    """Open or start the session, and print which columns are shown."""
    with spinner("opening"):
        opened = start_or_open(session, file, start, columns, more, models)
    with opened.session:
        _print_shown_columns(out, opened)
        yield opened


def _label_at_terminal(work: LabellingLoop, out: Console, *, new_classes: bool) -> None:
    """Label at the terminal, by single keys if it has them, else line by line."""
    if HAS_KEYS and sys.stdin.isatty() and sys.stdout.isatty():
        with cbreak_mode(sys.stdin.fileno()) as keys:
            work.run(KeyAnswers(out, keys, new_classes=new_classes))
    else:
        work.run(LineAnswers(out, iter(sys.stdin), new_classes=new_classes))


def _print_shown_columns(out: Console, opened: OpenedSession) -> None:
    """Print which columns are shown while labelling, and which are hidden."""
    assert opened.pool is not None
    shown = list(opened.pool.shown)
    if not shown:
        print_session_line(out, "only ids are shown: the predictions have no other columns; look items up by id")
    if opened.pool.withheld:
        print_session_line(
            out, f"hidden to avoid bias: {join_names(map(sanitize_line, opened.pool.withheld))} (show them with --show)"
        )


def _print_summary(work: LabellingLoop, out: Console, again: str, session: str) -> None:
    """Print, after labelling, how many answers were kept, the progress and the next command."""
    print_session_line(out, f"{count(work.n_told, 'answer')} kept in {session}")
    with spinner("computing"):
        found = work.opened.session.status()
    print_progress(out, found)
    print_next_command(out, again, "to continue")
    print_next_command(out, f"fewlabels status {format_session_options(session)}")
