"""Format commands that users can paste: names of files, columns and classes, quoted for a shell."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fewlabels.data.groups import Column


def format_file(source: Any) -> str:
    """Return the argument of a command for a file; FILE where the source has no path.

    >>> format_file("my file.csv"), format_file("-x.csv"), format_file({})
    ("'my file.csv'", './-x.csv', 'FILE')
    """
    if not isinstance(source, str | Path) or source == "the table":
        return "FILE"
    text = str(source)
    return quote(f"./{text}" if text.startswith("-") else text)


def format_options(words: Mapping[str, Any]) -> str:
    """Format roles as options of a command to paste.

    >>> print(format_options({"positive_score": "my risk", "threshold": 0.3, "show": ["a,b", "c"], "label": "-x"}).strip())
    --positive-score 'my risk' --threshold 0.3 --show '"a,b",c' --label=-x
    """
    return "".join(f" {_format_option(name, value)}" for name, value in words.items() if _can_format(value))


def _can_format(value: Any) -> bool:
    """Whether a value can be given on a command line; a frame of labels cannot."""
    return isinstance(value, str | Path | int | float) or (isinstance(value, Sequence) and len(value) > 0)


def _format_option(name: str, value: Any) -> str:
    """Format one option of a command to paste."""
    text = ",".join(map(_quote_name, value)) if isinstance(value, tuple | list) else str(value)
    mark = "=" if text.startswith("-") else " "
    return f"--{name.replace('_', '-')}{mark}{quote(text)}"


def format_group(column: str) -> str | None:
    """Return the argument of --by in a command for a column; None for names that --by cannot express."""
    name = Column(column).name
    if not name or name != name.strip() or not name.isprintable() or name.startswith("-"):
        return None
    return quote(_quote_name(name))


def _quote_name(name: str) -> str:
    """Quote a name in a command for a comma-separated list."""
    return '"' + name.replace('"', '""') + '"' if "," in name or '"' in name else name


def quote(text: str) -> str:
    """Quote an argument of a command for a shell; control characters are escaped."""
    if text.isprintable():
        return shlex.quote(text)
    codes = (c if c.isprintable() and c not in "\\'" else "".join(f"\\x{b:02x}" for b in c.encode()) for c in text)
    return f"$'{''.join(codes)}'"
