"""Output to a terminal, with control and bidirectional characters escaped, and to files."""

import shlex
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from io import TextIOWrapper
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape as escape_markup
from rich.segment import Segment

from fewlabels.files import STDOUT, write_atomic
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
    """Add the command line to the provenance of a result, without passwords in URLs."""
    command = shlex.join(["fewlabels", *sys.argv[1:]])
    return {**plain, "provenance": {**plain["provenance"], "command": redact_passwords(command)}}


def write_text(path: str, text: str) -> None:
    """Write text to a file or standard output; control characters are escaped on a terminal, unchanged in a pipe."""
    if path != STDOUT:
        write_atomic(path, text)
        return
    replace_unencodable()
    sys.stdout.write(sanitize(text) if sys.stdout.isatty() else text)


def replace_unencodable() -> None:
    """Replace characters that standard output cannot encode by a question mark."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def stdout_console() -> Console:
    """Return a console on standard output, 120 columns wide in a pipe."""
    replace_unencodable()
    return SafeConsole(width=None if sys.stdout.isatty() else 120)


def stderr_console() -> Console:
    """Return a console on standard error."""
    return SafeConsole(stderr=True, soft_wrap=True)


def escape(text: str) -> str:
    """Escape rich markup and control characters in text that comes from a file."""
    return escape_markup(sanitize_line(text))


def spinner(what: str) -> AbstractContextManager[object]:
    """Show a spinner on a terminal while the block runs; nothing in a pipe."""
    stderr = stderr_console()
    return stderr.status(f"{what} …") if stderr.is_terminal else nullcontext()


def print_warnings(out: Console, warnings: tuple[str, ...]) -> None:
    """Print each warning on its own line."""
    for warning in warnings:
        out.print(f"[yellow]warning[/]: {escape(warning)}", soft_wrap=not out.is_terminal)
