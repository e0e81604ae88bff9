"""A class, or a grade, typed by name on a single line of the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import set_cell_size
from rich.console import Console

from fewlabels.cli.choices import complete, find_class
from fewlabels.cli.keys import BACKSPACE, END, ENTER, ESCAPE, TAB, Keys
from fewlabels.cli.text import tame_line
from fewlabels.errors import listing

CLEAR = "\r\x1b[K"
SHOWN = 12


@dataclass
class Entry:
    """A line being typed."""

    out: Console
    keys: Keys
    classes: Sequence[str]  # none: a grade is typed
    new_classes: bool = False

    def read(self, start: str = "") -> str | None:
        """Read a class or a grade; None where the typing was given up."""
        text, remark = start, ""
        while True:
            self._draw(text, remark)
            key = self.keys.read()
            remark = ""
            if key in (ESCAPE, END) or (key == BACKSPACE and not text):
                self._write(CLEAR)
                return None
            if key == ENTER:
                answer, remark = self._accept(text)
                if answer is not None:
                    self._write(CLEAR)
                    return answer
            else:
                text = self._edit(text, key)

    def _edit(self, text: str, key: str) -> str:
        if key == BACKSPACE:
            return text[:-1]
        if key == TAB:
            return complete(text, self.classes)
        return text + key if key.isprintable() else text

    def _accept(self, text: str) -> tuple[str | None, str]:
        """Return the answer, or what is the matter with it."""
        if not self.classes:
            return (text, "") if _is_grade(text) else (None, "a grade is a number between 0 and 1")
        found = find_class(text, self.classes) if text else []
        if len(found) == 1:
            return found[0], ""
        if found:
            return None, f"{len(found):,} classes begin so"
        if text.strip() and self.new_classes:
            return text.strip(), ""
        return None, "no class begins so"

    def _draw(self, text: str, remark: str) -> None:
        what = "class" if self.classes else "grade from 0 to 1"
        found = find_class(text, self.classes)
        hint = remark or (listing(map(tame_line, found), most=SHOWN) if found else "")
        line = f"{what}: {tame_line(text)}_   {hint}"
        width = self.out.width - 1
        self._write(CLEAR + set_cell_size(line, width).rstrip())

    def _write(self, text: str) -> None:
        self.out.file.write(text)
        self.out.file.flush()


def _is_grade(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False
