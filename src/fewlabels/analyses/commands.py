"""Commands that run as they are printed: names of files, columns and classes, quoted for a shell."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fewlabels.data.groups import Column


def name_file(source: Any) -> str:
    """Return what to type for a file; FILE for what is none.

    >>> name_file("my file.csv"), name_file("-x.csv"), name_file({})
    ("'my file.csv'", './-x.csv', 'FILE')
    """
    if not isinstance(source, str | Path) or source == "the table":
        return "FILE"
    text = str(source)
    return quote(f"./{text}" if text.startswith("-") else text)


def type_options(words: Mapping[str, Any]) -> str:
    """Return roles as one types them after the file.

    >>> print(type_options({"positive_score": "my risk", "threshold": 0.3, "show": ["a,b", "c"], "label": "-x"}).strip())
    --positive-score 'my risk' --threshold 0.3 --show '"a,b",c' --label=-x
    """
    return "".join(f" {_type_option(name, value)}" for name, value in words.items() if _is_typed(value))


def _is_typed(value: Any) -> bool:
    """Tell what a command line can say; a frame of labels has no name."""
    return isinstance(value, str | Path | int | float) or (isinstance(value, Sequence) and len(value) > 0)


def _type_option(name: str, value: Any) -> str:
    text = ",".join(map(_join_safe, value)) if isinstance(value, tuple | list) else str(value)
    mark = "=" if text.startswith("-") else " "
    return f"--{name.replace('_', '-')}{mark}{quote(text)}"


def type_group(column: str) -> str | None:
    """Return what to type after --by for the groups of a column; None for a name that cannot be typed there."""
    name = Column(column).name
    if not name or name != name.strip() or not name.isprintable() or name.startswith("-"):
        return None
    return quote(_join_safe(name))


def _join_safe(name: str) -> str:
    """Quote a name that stands among others joined by commas."""
    return '"' + name.replace('"', '""') + '"' if "," in name or '"' in name else name


def quote(text: str) -> str:
    """Quote for a shell; characters that a terminal would obey are written as codes."""
    if text.isprintable():
        return shlex.quote(text)
    codes = (c if c.isprintable() and c not in "\\'" else "".join(f"\\x{b:02x}" for b in c.encode()) for c in text)
    return f"$'{''.join(codes)}'"
