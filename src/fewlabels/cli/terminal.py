"""Labelling at a terminal: one item at a time, one key per class."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from fewlabels.cli.choices import assign_keys
from fewlabels.cli.entry import Entry
from fewlabels.cli.items import print_item
from fewlabels.cli.keys import BACKSPACE, END, ESCAPE, SPACE, Keys
from fewlabels.cli.labelling import Told, Wish
from fewlabels.cli.text import tame_line
from fewlabels.session import ItemId

LEAST_LINES, FRAME = 6, 10  # of an item; and of what stands around it


class Terminal:
    """Shows an item and hears keys."""

    def __init__(self, out: Console, keys: Keys, *, new_classes: bool = False) -> None:
        self._out, self._keys, self._new_classes = out, keys, new_classes

    def ask(self, id: ItemId, row: Mapping[str, Any], classes: tuple[str, ...]) -> Told | Wish:
        """Show an item and wait until a key answers it."""
        by_key = assign_keys(classes)
        self._keys.forget()  # what was typed before the item is here cannot be about it
        self._out.print()
        is_cut = print_item(self._out, id, row, most_lines=max(LEAST_LINES, self._out.height - FRAME))
        self._print_legend(by_key, is_graded=not classes, is_cut=is_cut)
        while True:
            key = self._keys.read()
            if key == "+":
                print_item(self._out, id, row)
                continue
            heard = self._understand(key, by_key, classes)
            if heard is not None:
                return heard

    def _understand(self, key: str, by_key: Mapping[str, str], classes: tuple[str, ...]) -> Told | Wish | None:
        name = by_key.get(key, by_key.get(key.lower()))
        if name is not None:
            return Told(name)
        if key == SPACE:
            return Told(None)
        if key == BACKSPACE:
            return Wish.UNDO
        if key in (ESCAPE, END) or (key == "q" and by_key):
            return Wish.STOP
        if key == "/" or (not by_key and key.isprintable() and key):
            typed = Entry(self._out, self._keys, classes, self._new_classes).read("" if key == "/" else key)
            return None if typed is None else Told(typed)
        if key.isprintable() and key:
            self._out.print(f"no class has the key {key}", style="dim", markup=False, highlight=False)
        return None

    def _print_legend(self, by_key: Mapping[str, str], *, is_graded: bool, is_cut: bool) -> None:
        parts = [Text.assemble((key, "bold cyan"), f" {tame_line(name)}") for key, name in by_key.items()]
        if parts:
            self._out.print(Text("   ").join(parts))
        by_name = (
            "a number from 0 to 1" if is_graded else "the beginning of a class" if not by_key else "/ class by name"
        )
        words = [by_name, "space cannot tell", "backspace undo", "+ all of it" if is_cut else ""]
        stop = "esc stop" if not by_key or "q" in by_key else "q stop"
        self._out.print(" · ".join(word for word in (*words, stop) if word), style="dim", highlight=False)
