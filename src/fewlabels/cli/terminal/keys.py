"""Answers by single keys: show an item and wait for the key of a class or a command."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from fewlabels.cli.items import print_item
from fewlabels.cli.terminal.answers import Answer, Command
from fewlabels.cli.terminal.keyboard import BACKSPACE, END, ESCAPE, SPACE, Keyboard
from fewlabels.cli.terminal.line_editor import LineEditor
from fewlabels.data.names import ItemId
from fewlabels.errors import join_names
from fewlabels.sessions.shortcuts import TERMINAL_COMMANDS, Shortcuts, assign_shortcuts
from fewlabels.text import sanitize_line

MIN_ITEM_LINES, RESERVED_LINES = (
    6,
    9,
)  # minimum lines of an item; lines reserved for everything but the item and the class keys


class KeyAnswers:
    """Shows an item and reads its answer as a key."""

    def __init__(self, out: Console, keys: Keyboard, *, new_classes: bool = False) -> None:
        self._out, self._keys, self._new_classes = out, keys, new_classes

    def ask(self, id: ItemId, row: Mapping[str, Any], classes: tuple[str, ...]) -> Answer | Command:
        """Show an item and wait for an answer or a command."""
        shortcuts = assign_shortcuts(classes)
        commands = assign_command_keys(shortcuts, classes)
        was_typed_ahead = self._keys.discard_pending()  # keys typed before the item is shown cannot be its answer
        self._out.print()
        legend = wrap_parts(format_shortcuts(shortcuts), self._out.width, "   ")
        available = max(MIN_ITEM_LINES, self._out.height - RESERVED_LINES - len(legend))
        is_truncated = print_item(self._out, id, row, max_lines=available)
        self._print_legend(legend, list_commands(shortcuts, commands, is_graded=not classes, is_truncated=is_truncated))
        if was_typed_ahead:
            self._print_remark("keys typed before the item was shown are ignored")
        while True:
            key = self._keys.read()
            if key and key == commands["more"]:
                print_item(self._out, id, row)
                continue
            reply = self._interpret(key, shortcuts, commands, classes)
            if reply is not None:
                return reply

    def _interpret(
        self, key: str, shortcuts: Shortcuts, commands: Mapping[str, str], classes: tuple[str, ...]
    ) -> Answer | Command | None:
        """Return what a key means: an answer or a command; None if nothing."""
        if key in shortcuts.typed:
            return Answer(shortcuts.typed[key])
        if key == SPACE or (key and key == commands["skip"]):
            return Answer(None)
        if key == BACKSPACE or (key and key == commands["undo"]):
            return Command.UNDO
        if key in (ESCAPE, END) or (key and key == commands["stop"]):
            return Command.STOP
        return self._read_text(key, shortcuts, commands, classes) if key and key.isprintable() else None

    def _read_text(
        self, key: str, shortcuts: Shortcuts, commands: Mapping[str, str], classes: tuple[str, ...]
    ) -> Answer | None:
        """Read a class name or a grade that starts with this key, or say that the key has no meaning."""
        if key == commands["find"] or not shortcuts.shown:
            start = "" if key == commands["find"] else key
            typed = LineEditor(self._out, self._keys, classes, self._new_classes).read(start)
            return None if typed is None else Answer(typed)
        keys = join_names(shortcuts.shown.values(), most=12)
        by_name = f"; {commands['find']} finds a class by name" if commands["find"] else ""
        self._print_remark(f"no class has the key {key}: keys are {keys}{by_name}")
        return None

    def _print_legend(self, keys: Sequence[Text], commands: Sequence[str]) -> None:
        """Print the keys of the classes and the commands."""
        for line in keys:
            self._out.print(line)
        for line in wrap_parts([Text(word, "dim") for word in commands], self._out.width, " · "):
            self._out.print(line)

    def _print_remark(self, text: str) -> None:
        """Print a remark about a key."""
        self._out.print(text, style="dim", markup=False, highlight=False)


def assign_command_keys(shortcuts: Shortcuts, classes: Sequence[str]) -> dict[str, str]:
    """Return the keys of commands; if class names are typed, no key starts a name, and letters are no commands."""
    if shortcuts.shown:
        return shortcuts.assign_commands(TERMINAL_COMMANDS)
    assigned = shortcuts.assign_commands(TERMINAL_COMMANDS, {name[:1] for name in classes})
    return {**assigned, "skip": "", "undo": "", "stop": ""}


def format_shortcuts(shortcuts: Shortcuts) -> list[Text]:
    """Return the shortcut keys of the terminal, each with its class."""
    return [Text.assemble((key, "bold cyan"), f" {sanitize_line(name)}") for name, key in shortcuts.shown.items()]


def list_commands(
    shortcuts: Shortcuts, commands: Mapping[str, str], *, is_graded: bool, is_truncated: bool
) -> list[str]:
    """Return the other keys of the terminal, each with its command."""
    find, more = commands["find"], commands["more"]
    by_name = f"{find} class by name" if find and shortcuts.shown else ""
    if not shortcuts.shown:
        by_name = "type a number from 0 to 1" if is_graded else "type the start of a class"
    words = [by_name, "space cannot tell", "backspace undo", f"{more} show all" if is_truncated and more else ""]
    return [word for word in (*words, f"{commands['stop'] or 'esc'} stop") if word]


def wrap_parts(parts: Sequence[Text], width: int, between: str) -> list[Text]:
    """Join the help on keys into lines of at most this width, without breaking a part."""
    lines: list[Text] = []
    for part in parts:
        if lines and lines[-1].cell_len + len(between) + part.cell_len <= width:
            lines[-1] = Text.assemble(lines[-1], (between, "dim"), part)
        else:
            lines.append(part)
    return lines
