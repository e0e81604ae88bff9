"""Keyboard shortcuts of classes and commands, the same for the labelling page and the terminal.

A class whose name is one character has that key. Other classes get a digit or a letter that is no other class's name;
where names contain numbers, a digit is used only for the class whose name contains it. Commands get keys that are left.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from fewlabels.text import normalize_name

DIGITS = "123456789"
LETTERS = "abcefghijkmoprtvwxyz"  # without d, l, n, q, s and u, which are commands
INITIALS = {"yes": "y", "no": "n", "true": "t", "false": "f"}  # words with a usual short form
NUMBER = re.compile(r"(?:(?<!\w)[-+−])?\d+(?:[.,]\d+)*")
WORD = re.compile(r"[^\W\d_]+")
NUMBER_WORDS = {
    word: str(n)
    for n, word in enumerate(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
}
ROMAN_NUMERALS = {
    word: str(n) for n, word in enumerate(["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"], start=1)
}
PAGE_COMMANDS = {"skip": "s?_", "undo": "u<~", "note": "n'\"", "later": "l>^", "disputes": "d!%", "search": "/:\\"}
TERMINAL_COMMANDS = {
    **{name: PAGE_COMMANDS[name] for name in ("skip", "undo")},
    "find": "/:\\",
    "more": "+*=",
    "stop": "q",
}


@dataclass(frozen=True)
class Shortcuts:
    """The keys of classes; empty if there are more classes than keys."""

    shown: dict[str, str]  # class -> the key shown beside it
    typed: dict[str, str]  # key -> class; in both cases where that is unambiguous
    names: frozenset[str]  # one-character class names, in both cases

    def assign_commands(self, commands: Mapping[str, str], taken: Collection[str] = ()) -> dict[str, str]:
        """Assign each command the first of its keys that no class has, or an empty string.

        >>> assign_shortcuts(("s", "cat")).assign_commands({"skip": "s?", "undo": "u<"})
        {'skip': '?', 'undo': 'u'}
        """
        unavailable = self.typed.keys() | self.names | set(taken)
        return {name: next((key for key in keys if key not in unavailable), "") for name, keys in commands.items()}


@lru_cache
def assign_shortcuts(classes: tuple[str, ...]) -> Shortcuts:
    """Assign a shortcut key to every class, or none if there are too many.

    >>> assign_shortcuts(("0", "1")).shown, assign_shortcuts(("cat", "dog")).shown
    ({'0': '0', '1': '1'}, {'cat': '1', 'dog': '2'})
    >>> assign_shortcuts(("1", "10", "2")).shown, assign_shortcuts(("no", "yes", "unsure")).shown
    ({'1': '1', '10': 'a', '2': '2'}, {'no': 'n', 'yes': 'y', 'unsure': '1'})
    """
    singles = {name: name for name in classes if _is_character(name)}
    names = frozenset(form for name in singles for form in _both_cases(name))
    shown = _assign_class_keys(classes, {name: name for name in singles if _is_on_keyboards(name)})
    if shown is None:
        return Shortcuts({}, {}, names)
    return Shortcuts(shown, _accept_both_cases(singles | {key: name for name, key in shown.items()}), names)


def _assign_class_keys(classes: Sequence[str], own: Mapping[str, str]) -> dict[str, str] | None:
    """Return the shortcut of every class: its own key, one suggested by its name, or the next free one."""
    name_counts = Counter(map(normalize_name, classes))
    keys = {**own, **_read_hints([name for name in classes if name not in own], name_counts)}
    used = {normalize_name(key) for key in keys.values()}
    initials = Counter(normalize_name(name)[:1] for name in classes)
    digits = "" if any(map(_read_number_names, classes)) else DIGITS
    for name in classes:
        if name not in keys:
            free = [key for key in digits + LETTERS if key not in used and not name_counts[key]]
            if not free:
                return None
            keys[name] = _choose_key(name, free, initials)
            used.add(keys[name])
    return {name: keys[name] for name in classes}


def _choose_key(name: str, free: Sequence[str], initials: Mapping[str, int]) -> str:
    """Choose the shortcut of a class: a digit, then the initial, then a letter that is no other name's initial."""
    initial = normalize_name(name)[:1]
    distinctive = [key for key in free if initials[key] == (key == initial)]
    digits = [key for key in distinctive if key in DIGITS]
    return [*digits, *(key for key in distinctive if key == initial), *distinctive, *free][0]


def _read_hints(names: Sequence[str], name_counts: Mapping[str, int]) -> dict[str, str]:
    """Return the shortcuts suggested by names, such as 3 for "3 stars", if unique and not the name of a class."""
    hints = {name: hint for name in names if (hint := _read_hint(name))}
    shared = Counter(hints.values())
    return {name: hint for name, hint in hints.items() if shared[hint] == 1 and not name_counts[hint]}


def _read_hint(name: str) -> str:
    """Return the shortcut that a name suggests: its only number if that is one digit, or the usual short form of yes, no, true and false."""
    numbers = _read_number_names(name)
    if len(numbers) == 1 and len(numbers[0]) == 1:
        return numbers[0]
    return INITIALS.get(normalize_name(name), "")


def _read_number_names(name: str) -> list[str]:
    """Return the numbers in a name, for its shortcut: digits, English words, or a Roman numeral at its end."""
    plain = unicodedata.normalize("NFKC", name)
    words = WORD.findall(plain)
    named = [NUMBER_WORDS[word.lower()] for word in words if word.lower() in NUMBER_WORDS]
    return NUMBER.findall(plain) + named + [ROMAN_NUMERALS[word] for word in words[-1:] if word in ROMAN_NUMERALS]


def _accept_both_cases(by_key: Mapping[str, str]) -> dict[str, str]:
    """Add the other case of every shortcut, unless it is one itself or ambiguous."""
    others = {(form, name) for key, name in by_key.items() for form in _both_cases(key) if form not in by_key}
    shared = Counter(form for form, _ in others)
    return {**by_key, **{form: name for form, name in sorted(others) if shared[form] == 1}}


def _both_cases(key: str) -> set[str]:
    """Return a shortcut in lower and upper case."""
    return {form for form in (key, key.lower(), key.upper()) if len(form) == 1}


def _is_character(name: str) -> bool:
    """Is a name a single character, which can be its own shortcut?"""
    return len(name) == 1 and name.isprintable() and not name.isspace()


def _is_on_keyboards(character: str) -> bool:
    """Whether one key types a shortcut; East Asian characters and emoji need an input method."""
    return unicodedata.east_asian_width(character) not in ("W", "F") and unicodedata.category(character)[0] in "LNPS"
