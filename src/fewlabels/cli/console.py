"""The console: output to a terminal, with control and bidirectional characters escaped."""

import shlex
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from io import TextIOWrapper
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape as escape_markup
from rich.segment import Segment

from fewlabels.text import redact_passwords, sanitize, sanitize_line


class SafeConsole(Console):
    """A console that escapes every control character in what it prints."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Escape control characters in text segments; rich's own control segments pass unchanged."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=sanitize(segment.text))


def add_command(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Add the command line, as the console got it, to the provenance of a result, without passwords in URLs."""
    return {**plain, "provenance": {**plain["provenance"], "command": name_command()}}


def name_command() -> str:
    """Return the command line of this process for the console, without passwords in URLs."""
    return redact_passwords(shlex.join(["fewlabels", *sys.argv[1:]]))


def replace_unencodable() -> None:
    """Replace characters that the console's encoding lacks, on standard output, by a question mark."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def stdout_console(*, quiet: bool = False) -> Console:
    """Return a console on standard output, 120 columns wide in a pipe; a quiet one prints nothing."""
    replace_unencodable()
    return SafeConsole(width=None if sys.stdout.isatty() else 120, quiet=quiet)


def stderr_console(*, quiet: bool = False) -> Console:
    """Return a console on standard error; a quiet one prints nothing."""
    return SafeConsole(stderr=True, soft_wrap=True, quiet=quiet)


def escape(text: str) -> str:
    """Escape rich markup and control characters, for the console, in text that comes from a file."""
    return escape_markup(sanitize_line(text))


def spinner(what: str) -> AbstractContextManager[object]:
    """Show a spinner on the terminal's console while the block runs; nothing in a pipe."""
    stderr = stderr_console()
    return stderr.status(f"{what} …") if stderr.is_terminal else nullcontext()


def print_warnings(out: Console, warnings: tuple[str, ...]) -> None:
    """Print each warning on its own line of the console."""
    for warning in warnings:
        out.print(f"[yellow]warning[/]: {escape(warning)}", soft_wrap=not out.is_terminal)
