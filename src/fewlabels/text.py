"""Sanitize untrusted text for terminals, spreadsheets, JSON and logs: control characters become visible."""

import json
import re
import unicodedata
from math import ceil
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
    """Escape the text of a cell that a spreadsheet would evaluate by an apostrophe; numbers stay as they are.

    >>> escape_formula("=1+1"), escape_formula("-1"), escape_formula("'=1")
    ("'=1+1", '-1', "''=1")
    """
    return f"'{cell}" if re.match(f"'*{FORMULA}", cell) and not NUMBER.fullmatch(cell) else cell


def unescape_formula(cell: str) -> str:
    """Remove from text the apostrophe that `escape_formula` added.

    >>> unescape_formula("'=1+1"), unescape_formula("'tis"), unescape_formula("''=1")
    ('=1+1', "'tis", "'=1")
    """
    return cell[1:] if re.match(ESCAPED, cell) else cell


def sanitize(text: str) -> str:
    """Sanitize text: replace control characters with visible ones, so that a terminal does not interpret them.

    >>> sanitize("red: \\x1b[31m")
    'red: ␛[31m'
    """
    return CONTROL_CHARACTERS.sub(_to_visible, text)


def sanitize_line(text: object) -> str:
    """Sanitize text for one line, such as a name: newlines and tabs become visible too."""
    return sanitize(str(text)).replace("\n", "␊").replace("\t", "␉")


def dump_json(value: Any, indent: int | None = None) -> str:
    """Serialize to JSON text with control characters written as \\u escapes.

    >>> print(dump_json({"name": "\\x1b[31m é \\u202e"}))
    {"name": "\\u001b[31m é \\u202e"}
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    return CONTROL_CHARACTERS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shorten(text: str, most: int = 900) -> str:
    """Shorten the text of a message to one line, removing the middle if it is too long.

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
    """Format a probability as text with two digits, which is what draws resolve; never 0 or 1.

    >>> [format_probability(p) for p in (0.0, 0.004, 0.25, 0.9999, None)]
    ['<0.01', '<0.01', '0.25', '>0.99', '–']
    """
    if p is None or p != p:
        return "–" if p is None else ""
    return "<0.01" if p < 0.01 else ">0.99" if p > 0.99 else f"{p:.2f}"


def as_text(value: Any) -> str:
    """Format a table value as text for display."""
    if value is None or value != value:
        return ""
    if isinstance(value, bytes):
        return f"({len(value):,} bytes)"
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def to_json_value(value: Any) -> Any:
    """Convert a table value, such as text or a number, to one that JSON can represent."""
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else as_text(value)


def _to_visible(found: re.Match[str]) -> str:
    """Return visible text for a control character."""
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"\\u{code:04x}"


def normalize_name(text: str) -> str:
    """Normalize the text of a name so that its spellings are equal: NFKC, stripped, casefolded.

    >>> normalize_name(" Ｃat ")
    'cat'
    """
    return unicodedata.normalize("NFKC", text).strip().casefold()


def format_share(share: float) -> str:
    """Format a share as text in percent; never 0 % or 100 % of a share between them.

    >>> [format_share(share) for share in (0.0, 0.004, 0.25, 0.999, 1.0)]
    ['0%', 'less than 1%', '25%', 'more than 99%', '100%']
    """
    return "less than 1%" if 0 < share < 0.01 else "more than 99%" if 0.99 < share < 1 else f"{share:.0%}"


def round_up_count(n: int | float) -> int:
    """Round a number of labels up to two significant digits for a text, as forecasts are not more exact.

    >>> round_up_count(247), round_up_count(7.2)
    (250, 8)
    """
    whole = ceil(n)
    unit = 10 ** max(0, len(str(whole)) - 2)
    return -(-whole // unit) * unit


def display_width(text: str) -> int:
    """Return how many columns of a terminal a text takes; Chinese, Japanese and Korean characters take two.

    >>> display_width("cat"), display_width("猫")
    (3, 2)
    """
    return sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in text)
