"""Answers line by line, from a pipe, a file or a terminal without single keys."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from fewlabels.cli.items import print_item
from fewlabels.cli.session_tables import format_classes, print_session_line
from fewlabels.cli.terminal.answers import Answer, Command
from fewlabels.data.label_join import CANNOT_TELL
from fewlabels.data.names import ItemId
from fewlabels.errors import InputError
from fewlabels.sessions.exchange.names import match_class, read_grade, require_class

UNDO = "undo"


class LineAnswers:
    """Reads one answer per line: a class, an empty line for cannot tell, or `undo`."""

    def __init__(self, out: Console, lines: Iterator[str], *, new_classes: bool = False) -> None:
        self._out, self._lines, self._new_classes = out, lines, new_classes
        self._number = 0

    def ask(self, id: ItemId, row: Mapping[str, Any], classes: tuple[str, ...]) -> Answer | Command:
        """Show an item and read a line."""
        if not self._number:
            undo = f"; {UNDO}" if _is_command(UNDO, classes) else ""
            print_session_line(
                self._out, f"one answer per line; labels: {format_classes(classes)}; empty: cannot tell{undo}"
            )
        print_item(self._out, id, row)
        line = self._read()
        if not line:
            return Command.STOP
        return self._interpret(line.rstrip("\r\n"), classes)

    def _read(self) -> str:
        """Read the next line of answers; empty at the end."""
        self._number += 1
        try:
            return next(self._lines, "")
        except UnicodeDecodeError:
            raise InputError(
                f"line {self._number} of the answers is not UTF-8; the answers before it are kept"
            ) from None

    def _interpret(self, text: str, classes: tuple[str, ...]) -> Answer | Command:
        """Return what a line means: an answer or a command."""
        if text in classes:
            return Answer(text)
        text = text.strip()
        if text in ("", CANNOT_TELL):
            return Answer(None)
        if text == UNDO and _is_command(UNDO, classes):
            return Command.UNDO
        where = f"line {self._number} of the answers: "
        if not classes:
            return Answer(read_grade(text, about=where, kept="the answers before it are kept"))
        name = match_class(text, classes)
        if not self._new_classes:
            require_class(name, classes, about=where, kept="The answers before it are kept")
        return Answer(name)


def _is_command(word: str, classes: tuple[str, ...]) -> bool:
    """Is the word on a line typed in the terminal a command? Not if a class has this name, in any case."""
    return word not in (name.strip().casefold() for name in classes)
