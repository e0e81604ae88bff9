"""A progress bar, shown on a terminal only and removed at the end."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from fewlabels.cli.console import SafeConsole

ProgressCallback = Callable[[int, int], None]


@contextmanager
def progress_bar(what: str) -> Iterator[ProgressCallback | None]:
    """Show a progress bar and yield its callback (done, total), or yield None if standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=SafeConsole(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
