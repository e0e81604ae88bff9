"""Labelling at a terminal: one item at a time, one key per class."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from fewlabels.cli.choices import assign_keys
from fewlabels.cli.entry import Entry
from fewlabels.cli.items import print_item
from fewlabels.cli.keys import BACKSPACE, END, ESCAPE, SPACE, Keys
from fewlabels.cli.labelling import Told, Wish
from fewlabels.errors import listing
from fewlabels.session import ItemId
from fewlabels.text import tame_line

LEAST_LINES, FRAME = 6, 9  # of an item; and of what stands around it, beside the keys of the classes


class Terminal:
    """Shows an item and hears keys."""

    def __init__(self, out: Console, keys: Keys, *, new_classes: bool = False) -> None:
        self._out, self._keys, self._new_classes = out, keys, new_classes

    def ask(self, id: ItemId, row: Mapping[str, Any], classes: tuple[str, ...]) -> Told | Wish:
        """Show an item and wait until a key answers it."""
        by_key = assign_keys(classes)
        was_early = self._keys.forget()  # what was typed before the item is here cannot be about it
        self._out.print()
        legend = flow(list_keys(by_key), self._out.width, "   ")
        room = max(LEAST_LINES, self._out.height - FRAME - len(legend))
        is_cut = print_item(self._out, id, row, most_lines=room)
        self._print_legend(legend, list_commands(by_key, is_graded=not classes, is_cut=is_cut))
        if was_early:
            self._remark("keys typed ahead were ignored: nobody labels what they have not seen")
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
            self._remark(f"no class has the key {key}: keys are {listing(by_key, most=12)}; / finds a class by name")
        return None

    def _print_legend(self, keys: Sequence[Text], commands: Sequence[str]) -> None:
        for line in keys:
            self._out.print(line)
        for line in flow([Text(word, "dim") for word in commands], self._out.width, " · "):
            self._out.print(line)

    def _remark(self, text: str) -> None:
        self._out.print(text, style="dim", markup=False, highlight=False)


def list_keys(by_key: Mapping[str, str]) -> list[Text]:
    """Return each key with its class."""
    return [Text.assemble((key, "bold cyan"), f" {tame_line(name)}") for key, name in by_key.items()]


def list_commands(by_key: Mapping[str, str], *, is_graded: bool, is_cut: bool) -> list[str]:
    """Return what else one may press."""
    by_name = "a number from 0 to 1" if is_graded else "the beginning of a class" if not by_key else "/ class by name"
    words = [by_name, "space cannot tell", "backspace undo", "+ all of it" if is_cut else ""]
    stop = "esc stop" if not by_key or "q" in by_key else "q stop"
    return [word for word in (*words, stop) if word]


def flow(parts: Sequence[Text], width: int, between: str) -> list[Text]:
    """Set parts one after the other in lines of this width, and break none that fits a line."""
    lines: list[Text] = []
    for part in parts:
        if lines and lines[-1].cell_len + len(between) + part.cell_len <= width:
            lines[-1] = Text.assemble(lines[-1], (between, "dim"), part)
        else:
            lines.append(part)
    return lines
