"""The terminal: whatever is printed there shows control characters and marks of direction instead of obeying them."""

import shlex
import sys
from collections.abc import Iterable, Mapping
from io import TextIOWrapper
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from fewlabels.files import STDOUT, write_whole
from fewlabels.text import hide_passwords, tame


class Screen(Console):
    """A console that makes every character visible that a terminal would obey, whatever is printed and how."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as any console does; rich's own control codes stay as they are."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=tame(segment.text))


def sign(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Add the command that was typed to the provenance of a result; passwords in addresses are left out."""
    command = shlex.join(["fewlabels", *sys.argv[1:]])
    return {**plain, "provenance": {**plain["provenance"], "command": hide_passwords(command)}}


def write_text(path: str, text: str) -> None:
    """Write text to a file, or to standard output: exactly in a pipe, harmless on a terminal."""
    if path != STDOUT:
        write_whole(path, text)
        return
    accept_all_letters()
    sys.stdout.write(tame(text) if sys.stdout.isatty() else text)


def accept_all_letters() -> None:
    """Show a question mark for a character that standard output cannot encode."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
