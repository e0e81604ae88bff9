"""A progress bar for long work: on a terminal only, and gone when the work is done."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from fewlabels.cli.console import Screen

Tick = Callable[[int, int], None]


@contextmanager
def counting(what: str) -> Iterator[Tick | None]:
    """Lend a function to call with how much is done and how much there is; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Screen(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
