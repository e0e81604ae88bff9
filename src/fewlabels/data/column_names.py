"""Names of columns that cannot be told apart, or that are ours.

Engines ignore case, and rename a column whose name is taken: `Label` beside `label` becomes `label_1`, so that neither
is found under its own name. Such tables are refused.
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from fewlabels.errors import InputError

OURS = "__fl_"  # how the columns begin that are added beside the owner's
HEAD = 1 << 20  # bytes of a text file in which a name shows itself


def require_distinct(names: Iterable[object], where: str) -> None:
    """Refuse names that are equal but for case; empty ones are given names, see `name_unnamed`."""
    seen: dict[str, str] = {}
    for name in name_unnamed(names):
        if seen.get(name.casefold()) == name:
            raise InputError(f"{where}: column {name!r} stands twice; rename one")
        if name.casefold() in seen:
            other = seen[name.casefold()]
            raise InputError(f"{where}: columns {other!r} and {name!r} differ only in upper and lower case; rename one")
        seen[name.casefold()] = name


def name_unnamed(names: Iterable[object]) -> list[str]:
    """Call columns without a name, such as the index that pandas writes, by their place."""
    return [str(name) or f"column{i}" for i, name in enumerate(names)]


def note_unnamed(names: Iterable[object]) -> tuple[str, ...]:
    """Say which columns had no name."""
    return tuple(f"a column without a name is called column{i}" for i, name in enumerate(names) if not str(name))


def require_own_names(columns: Sequence[str], path: str, head: bytes) -> None:
    """Refuse a table whose engine had to rename a column: a name like label_1 that stands nowhere in the file."""
    names = {name.casefold(): name for name in columns}
    for name in columns:
        found = re.fullmatch(r"(.+)_\d+", name, re.DOTALL)
        if found and found[1].casefold() in names and not _stands_in(name, head):
            first = names[found[1].casefold()]
            raise InputError(
                f"{path}: column {first!r} stands twice, or in upper and in lower case; engines cannot tell them apart; rename one"
            )


def _stands_in(name: str, head: bytes) -> bool:
    """Does a file name a column so: as it is, with doubled quotes (CSV), or escaped (JSON)?"""
    spellings = (name, name.replace('"', '""'), json.dumps(name)[1:-1], json.dumps(name, ensure_ascii=False)[1:-1])
    return any(spelling.encode().lower() in head.lower() for spelling in spellings)


def refuse_ours(columns: Iterable[str]) -> None:
    """Refuse names that begin like the columns we add."""
    taken = next((name for name in columns if name.casefold().startswith(OURS)), None)
    if taken is not None:
        raise InputError(f"column {taken!r}: names that begin with {OURS} are used inside fewlabels; rename it")


def read_head(path: str) -> bytes:
    """Return the beginning of a file."""
    with Path(path).open("rb") as file:
        return file.read(HEAD)
