"""Sanitize untrusted text for terminals, spreadsheets, JSON and logs: control characters become visible."""

import json
import re
from typing import Any

# Control characters (except tab and newline), bidirectional controls, and lone surrogates.
CONTROL_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
FORMULA = "[=+\\-@＝＋－＠\\t\\r\\n]"  # first characters that make a spreadsheet evaluate a cell
ESCAPED = f"^'+{FORMULA}"
PASSWORD = re.compile(r"(://[^/:@\s]+):[^/@\s]+@")
NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")


def escape_formula(cell: str) -> str:
    """Prefix a cell that a spreadsheet would evaluate with an apostrophe; numbers stay as they are.

    >>> escape_formula("=1+1"), escape_formula("-1"), escape_formula("'=1")
    ("'=1+1", '-1', "''=1")
    """
    return f"'{cell}" if re.match(f"'*{FORMULA}", cell) and not NUMBER.fullmatch(cell) else cell


def unescape_formula(cell: str) -> str:
    """Remove the apostrophe that `escape_formula` added.

    >>> unescape_formula("'=1+1"), unescape_formula("'tis"), unescape_formula("''=1")
    ('=1+1', "'tis", "'=1")
    """
    return cell[1:] if re.match(ESCAPED, cell) else cell


def sanitize(text: str) -> str:
    """Replace control characters with visible ones, so that a terminal does not interpret them.

    >>> sanitize("red: \\x1b[31m")
    'red: ␛[31m'
    """
    return CONTROL_CHARACTERS.sub(_to_visible, text)


def sanitize_line(text: object) -> str:
    """Sanitize a name for one line: newlines and tabs become visible too."""
    return sanitize(str(text)).replace("\n", "␊").replace("\t", "␉")


def dump_json(value: Any, indent: int | None = None) -> str:
    """Serialize to JSON with control characters written as \\u escapes.

    >>> print(dump_json({"name": "\\x1b[31m é \\u202e"}))
    {"name": "\\u001b[31m é \\u202e"}
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    return CONTROL_CHARACTERS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shorten(text: str, most: int = 900) -> str:
    """Join a message into one line, and remove the middle if it is too long.

    >>> shorten("one\\n  two"), shorten("abcdefgh", most=5)
    ('one two', 'ab … gh')
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most // 2]} … {line[-(most // 2) :]}"


def redact_passwords(text: str) -> str:
    """Mask passwords in the URLs of a text.

    >>> redact_passwords("postgresql://kim:secret@host/db?table=x")
    'postgresql://kim:***@host/db?table=x'
    """
    return PASSWORD.sub(r"\1:***@", text)


def format_probability(p: float | None) -> str:
    """Format a probability with two digits, which is what draws resolve; never 0 or 1.

    >>> [format_probability(p) for p in (0.0, 0.004, 0.25, 0.9999, None)]
    ['<0.01', '<0.01', '0.25', '>0.99', '–']
    """
    if p is None or p != p:
        return "–" if p is None else ""
    return "<0.01" if p < 0.01 else ">0.99" if p > 0.99 else f"{p:.2f}"


def as_text(value: Any) -> str:
    """Format a table value for display."""
    if value is None or value != value:
        return ""
    if isinstance(value, bytes):
        return f"({len(value):,} bytes)"
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def to_json_value(value: Any) -> Any:
    """Convert a table value to one that JSON can represent."""
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else as_text(value)


def _to_visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"\\u{code:04x}"
