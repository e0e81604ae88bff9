"""Parse words for groups and score bins, as written on the command line and in Python; objects are returned unchanged."""

import csv
import re
from collections.abc import Sequence

from fewlabels.data.groups import Bins, Cross, Groups, column, everything, predicted, ranges
from fewlabels.errors import InputError, require_instance


def resolve_groups(by: Groups | str | Sequence[Groups | str]) -> Groups:
    """Parse groups given as words; objects are returned unchanged, and several are crossed.

    >>> resolve_groups("site").name, resolve_groups(predicted).name, resolve_groups(("site", "bins:4")).name
    ('site', 'predicted', 'site,bins:4')
    """
    if isinstance(by, str):
        return parse_groups(by)
    if isinstance(by, Sequence):
        parts = [resolve_groups(part) for part in by] or [parse_groups("")]
        return parts[0] if len(parts) == 1 else Cross(tuple(parts))
    return require_instance("by", by, "cut", "fl.predicted or fl.column('site')")


def resolve_bins(bins: Bins | str | int | None) -> Bins | None:
    """Parse score bins given as a number or as words such as `equal-mass:10`; an object is returned unchanged.

    >>> resolve_bins("equal-mass:5"), resolve_bins(4), resolve_bins(None)
    (Bins(n=5, equal_mass=True), Bins(n=4, equal_mass=False), None)
    """
    if isinstance(bins, int):
        return Bins(bins)
    if bins is None:
        return None
    return parse_bins(bins) if isinstance(bins, str) else require_instance("bins", bins, "edges", "fl.bins(10)")


def cross(*parts: Groups | str) -> Cross:
    """Group by every combination of several partitions, which are parsed if given as words.

    Parameters
    ----------
    *parts: Groups or str
        The partitions, as words (`"sex"`, `"bins:4"`) or objects (`fl.column("sex")`, `fl.bins(4)`).

    >>> cross("sex", "bins:4").name
    'sex,bins:4'
    """
    return Cross(tuple(map(resolve_groups, parts)))


def parse_groups(text: str) -> Groups:
    """Parse `all`, `predicted`, `bins:20`, `ranges:age`, a column, or several separated by commas (their cross).

    >>> parse_groups("sex,bins:4").name
    'sex,bins:4'
    """
    parts = [parse_group(word) for word in split_names(text)]
    if not parts:
        raise InputError("by: name the groups: all, predicted, bins, or a column")
    return parts[0] if len(parts) == 1 else Cross(tuple(parts))


def parse_group(word: str) -> Groups:
    """Parse one word for groups."""
    if word == "all":
        return everything
    if word == "predicted":
        return predicted
    if word == "bins":
        return Bins()
    if word.startswith("bins:"):
        return parse_bins(word.removeprefix("bins:"))
    if word.startswith("ranges:"):
        return _parse_ranges(word)
    return column(word.removeprefix("column:"))


def parse_bins(text: str) -> Bins:
    """Parse score bins such as `10` or `equal-mass:10`."""
    found = re.fullmatch(r"(equal-mass:)?(\d+)", text)
    if not found:
        raise InputError(f"bins: cannot parse {text!r}; write a number (equal width) or equal-mass:NUMBER")
    return Bins(int(found[2]), equal_mass=bool(found[1]))


def parse_pair(text: str) -> tuple[str, str]:
    """Parse two names separated by a comma."""
    names = split_names(text)
    if len(names) != 2:
        raise InputError(
            f"groups: expected two, separated by a comma, got {len(names)}; quote a name that contains a comma: '\"a,b\",c'"
        )
    return names[0], names[1]


def split_names(text: str) -> list[str]:
    """Parse names separated by commas; a name that contains a comma is written in double quotes.

    >>> split_names('"a,b",c')
    ['a,b', 'c']
    """
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), []) if name.strip()]


def _parse_ranges(word: str) -> Groups:
    """Parse ranges:COLUMN or ranges:COLUMN:NUMBER; the column name may contain colons."""
    found = re.fullmatch(r"ranges:(.+?)(?::(\d+))?", word)
    if not found:
        raise InputError("by: ranges: needs a column; write ranges:COLUMN or ranges:COLUMN:NUMBER")
    return ranges(found[1], int(found[2])) if found[2] else ranges(found[1])
