"""Names of the columns that fewlabels adds; refuse ambiguous and reserved names of others.

Engines ignore case and rename duplicates: `Label` beside `label` becomes `label_1`, so neither is found under its own
name.
"""

import json
import re
from collections.abc import Iterable, Sequence

from fewlabels.errors import InputError

RESERVED_PREFIX = "__fl_"  # prefix of the columns that fewlabels adds
# Columns derived from the user's; prefixed, because the user may group by a column called score.
ID, PREDICTED, SCORE, LABEL, AGREEMENT, PROPENSITY, PROBABILITY, MAX_PROBABILITY = (
    RESERVED_PREFIX + name for name in ("id", "predicted", "score", "label", "agreement", "propensity", "p", "top")
)


def require_distinct(names: Iterable[object], where: str) -> None:
    """Refuse column names that are equal or differ only in case, once `name_unnamed` has filled empty ones."""
    seen: dict[str, str] = {}
    for name in name_unnamed(names):
        if seen.get(name.casefold()) == name:
            raise InputError(f"{where}: column {name!r} occurs twice; rename one")
        if name.casefold() in seen:
            other = seen[name.casefold()]
            raise InputError(f"{where}: columns {other!r} and {name!r} differ only in upper and lower case; rename one")
        seen[name.casefold()] = name


def name_unnamed(names: Iterable[object]) -> list[str]:
    """Give names to columns without one, such as the index that pandas writes, by position."""
    return [str(name) or f"column{i}" for i, name in enumerate(names)]


def note_unnamed(names: Iterable[object]) -> tuple[str, ...]:
    """Return a note for every column without a name."""
    return tuple(f"a column without a name is called column{i}" for i, name in enumerate(names) if not str(name))


def refuse_renamed(columns: Sequence[str], path: str, head: bytes) -> None:
    """Refuse column names that the engine made for duplicates: a name like label_1 that the file does not contain."""
    names = {name.casefold(): name for name in columns}
    for name in columns:
        found = re.fullmatch(r"(.+)_\d+", name, re.DOTALL)
        if found and found[1].casefold() in names and not _occurs_in(name, head):
            first = names[found[1].casefold()]
            raise InputError(
                f"{path}: column {first!r} occurs twice, or in upper and in lower case; engines cannot distinguish them; rename one"
            )


def _occurs_in(name: str, head: bytes) -> bool:
    """Return whether a file contains a name: verbatim, with doubled quotes (CSV), or escaped (JSON)."""
    spellings = (name, name.replace('"', '""'), json.dumps(name)[1:-1], json.dumps(name, ensure_ascii=False)[1:-1])
    return any(spelling.encode().lower() in head.lower() for spelling in spellings)


def refuse_reserved(columns: Iterable[str]) -> None:
    """Refuse column names with the reserved prefix."""
    taken = next((name for name in columns if name.casefold().startswith(RESERVED_PREFIX)), None)
    if taken is not None:
        raise InputError(
            f"column {taken!r}: names that begin with {RESERVED_PREFIX} are reserved for fewlabels; rename it"
        )
