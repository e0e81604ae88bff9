"""Other people's text, made fit for a screen: nothing in it is obeyed, and nothing of it is hidden."""

import json
import re
from typing import Any

# Controls (but tab and newline), marks that turn the direction of writing around, and halves of characters.
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def tame(text: str) -> str:
    """Make every character that a terminal would obey visible instead.

    >>> tame("red: \\x1b[31m")
    'red: ␛[31m'
    """
    return HARMFUL.sub(_picture, text)


def tame_line(text: object) -> str:
    """The same on one line: names of items and classes."""
    return tame(str(text)).replace("\n", "␊").replace("\t", "␉")


def shorten(text: str, most: int = 900) -> str:
    """Put a message on one line, and cut what is too long for one out of its middle.

    >>> shorten("one\n  two"), shorten("abcdefgh", most=5)
    ('one two', 'ab … gh')
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most // 2]} … {line[-(most // 2) :]}"


def as_text(value: Any) -> str:
    """Return what a person reads of a table's value."""
    if value is None or value != value:
        return ""
    if isinstance(value, bytes):
        return f"({len(value):,} bytes)"
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def as_plain(value: Any) -> Any:
    """Return what JSON can hold of a table's value."""
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else as_text(value)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"\\u{code:04x}"
