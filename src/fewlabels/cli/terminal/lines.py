"""Answers line by line, from a pipe, a file or a terminal without single keys."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from fewlabels.cli.items import print_item
from fewlabels.cli.session_tables import say, say_classes
from fewlabels.cli.terminal.loop import Told, Wish
from fewlabels.data.joins import CANNOT_TELL
from fewlabels.errors import InputError
from fewlabels.sessions.exchange.names import match_class, read_grade, require_class
from fewlabels.sessions.session import ItemId

UNDO = "undo"


class Lines:
    """Reads one answer per line: a class, an empty line for cannot tell, or `undo`."""

    def __init__(self, out: Console, lines: Iterator[str], *, new_classes: bool = False) -> None:
        self._out, self._lines, self._new_classes = out, lines, new_classes
        self._number = 0

    def ask(self, id: ItemId, row: Mapping[str, Any], classes: tuple[str, ...]) -> Told | Wish:
        """Show an item and read a line."""
        if not self._number:
            undo = f"; {UNDO}" if _is_command(UNDO, classes) else ""
            say(self._out, f"one answer per line; labels: {say_classes(classes)}; empty: cannot tell{undo}")
        print_item(self._out, id, row)
        line = self._read()
        if not line:
            return Wish.STOP
        return self._understand(line.rstrip("\r\n"), classes)

    def _read(self) -> str:
        self._number += 1
        try:
            return next(self._lines, "")
        except UnicodeDecodeError:
            raise InputError(
                f"line {self._number} of the answers is not UTF-8; the answers before it are kept"
            ) from None

    def _understand(self, text: str, classes: tuple[str, ...]) -> Told | Wish:
        if text in classes:
            return Told(text)
        text = text.strip()
        if text in ("", CANNOT_TELL):
            return Told(None)
        if text == UNDO and _is_command(UNDO, classes):
            return Wish.UNDO
        where = f"line {self._number} of the answers: "
        if not classes:
            return Told(read_grade(text, about=where, kept="the answers before it are kept"))
        name = match_class(text, classes)
        if not self._new_classes:
            require_class(name, classes, about=where, kept="The answers before it are kept")
        return Told(name)


def _is_command(word: str, classes: tuple[str, ...]) -> bool:
    """Return whether a word is a command: not if a class has this name, in any case."""
    return word not in (name.strip().casefold() for name in classes)
