"""A one-line editor for a class name, with completion, or for a grade."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console

from fewlabels.cli.terminal.completion import complete, find_class, list_prefix_matches
from fewlabels.cli.terminal.keyboard import BACKSPACE, END, ENTER, ESCAPE, TAB, Keyboard
from fewlabels.errors import join_names
from fewlabels.sessions.exchange.names import is_grade
from fewlabels.text import sanitize_line

CLEAR = "\r\x1b[K"
MAX_SHOWN = 12
NO_MATCH = "no class has this prefix"


@dataclass
class LineEditor:
    """A one-line editor."""

    out: Console
    keys: Keyboard
    classes: Sequence[str]  # empty: read a grade
    new_classes: bool = False

    def read(self, start: str = "") -> str | None:
        """Read a class or a grade; None if cancelled."""
        text = start
        while True:
            self._draw(text)
            key = self.keys.read()
            if key in (ESCAPE, END) or (key == BACKSPACE and not text):
                self._write(CLEAR)
                return None
            if key == ENTER:
                self._write(CLEAR)
                answer, remark = self._parse(text)
                if answer is not None:
                    return answer
                self.out.print(remark, style="dim", markup=False, highlight=False)
            else:
                text = self._edit(text, key)

    def _edit(self, text: str, key: str) -> str:
        """Return the text of the line after a key: erase, complete or insert."""
        if key == BACKSPACE:
            return text[:-1]
        if key == TAB:
            return complete(text, self.classes)
        return text + key if key.isprintable() else text

    def _parse(self, text: str) -> tuple[str | None, str]:
        """Return the answer, or None and what is wrong with it."""
        if not self.classes:
            return (text, "") if is_grade(text) else (None, "a grade is a number between 0 and 1")
        found = find_class(text, self.classes) if text else []
        if len(found) == 1:
            return found[0], ""
        if found:
            return None, f"{len(found):,} classes have this prefix; type more, tab completes"
        if text.strip() and self.new_classes:
            return text.strip(), ""
        return None, NO_MATCH

    def _draw(self, text: str) -> None:
        """Draw the line with its text, the cursor and a hint."""
        head = "class: " if self.classes else "grade from 0 to 1: "
        width = self.out.width - 1
        line = f"{head}{_truncate_left(sanitize_line(text), max(8, width - len(head) - 1))}_   {self._hint(text)}"
        self._write(CLEAR + set_cell_size(line, width).rstrip())

    def _hint(self, text: str) -> str:
        """Return the classes with this prefix as a hint."""
        if not self.classes:
            return ""
        found = list_prefix_matches(text, self.classes)
        if not found:
            return "a new class" if self.new_classes else NO_MATCH
        longer = "   (tab completes)" if complete(text, self.classes) != text else ""
        return join_names(map(sanitize_line, found), most=MAX_SHOWN) + longer

    def _write(self, text: str) -> None:
        """Write the line to the terminal at once."""
        self.out.file.write(text)
        self.out.file.flush()


def _truncate_left(text: str, width: int) -> str:
    """Truncate the editor's line on the left, so that the end stays visible."""
    if cell_len(text) <= width:
        return text
    text = text[-width:]  # an upper bound first: measuring a long paste at every key would take minutes
    while cell_len(text) > width - 1:
        text = text[1:]
    return f"…{text}"
