"""Names of columns that cannot be told apart, or that are ours.

Engines ignore case, and rename a column whose name is taken: `Label` beside `label` becomes `label_1`, so that neither
is found under its own name. Such tables are refused.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from fewlabels.errors import InputError

OURS = "__fl_"  # how the columns begin that are added beside the owner's
HEAD = 1 << 20  # bytes of a text file in which a name shows itself


def require_distinct(names: Iterable[object], where: str) -> None:
    """Refuse names that are equal but for case, and empty ones."""
    seen: dict[str, str] = {}
    for number, name in enumerate(map(str, names), start=1):
        if not name.strip():
            raise InputError(f"{where}: column {number} has no name; give it one, or drop it")
        if seen.get(name.casefold()) == name:
            raise InputError(f"{where}: column {name!r} stands twice; rename one")
        if name.casefold() in seen:
            other = seen[name.casefold()]
            raise InputError(f"{where}: columns {other!r} and {name!r} differ only in upper and lower case; rename one")
        seen[name.casefold()] = name


def require_own_names(columns: Sequence[str], path: str, head: bytes) -> None:
    """Refuse a table whose engine had to rename a column: a name like label_1 that stands nowhere in the file."""
    names = {name.casefold(): name for name in columns}
    for name in columns:
        found = re.fullmatch(r"(.+)_\d+", name, re.DOTALL)
        if found and found[1].casefold() in names and name.encode() not in head:
            first = names[found[1].casefold()]
            raise InputError(
                f"{path}: column {first!r} stands twice, or in upper and in lower case; engines cannot tell them apart; rename one"
            )


def refuse_ours(columns: Iterable[str]) -> None:
    """Refuse names that begin like the columns we add."""
    taken = next((name for name in columns if name.casefold().startswith(OURS)), None)
    if taken is not None:
        raise InputError(f"column {taken!r}: names that begin with {OURS} are used inside fewlabels; rename it")


def read_head(path: str) -> bytes:
    """Return the beginning of a file."""
    with Path(path).open("rb") as file:
        return file.read(HEAD)
