"""Comparisons of two systems a row: which systems, and verdicts that name the better one instead of its position."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import ibis

from fewlabels.data.grades.scale import PREFERENCES
from fewlabels.data.relation import Value
from fewlabels.data.role_table import RoleTable
from fewlabels.errors import InputError, count, did_you_mean, quote_name

MAX_SYSTEMS = 60
MAX_WORDS = 200
FIRST, SECOND = "a", "b"  # the words that verdicts by name become
POSITIONS = {word for words in PREFERENCES for word in words}


def read_verdicts(table: RoleTable, systems: Sequence[str], verdicts: Sequence[str]) -> RoleTable:
    """Read verdicts on two systems a row: return the table with positions, also where they name a system."""
    if len(systems) != 2:
        raise InputError(f"systems: name two columns, of the first and of the second system, got {len(systems)}")
    for column in systems:
        if column not in table.columns():
            raise InputError(f"systems: there is no column {column!r}; {did_you_mean(column, table.columns())}")
    first, second = (table.attribute(column) for column in systems)
    _require_pairs(table, first, second)
    named = {column: _name_positions(table, column, first, second) for column in verdicts if _is_text(table, column)}
    return replace(table, items=table.items.mutate(**named)) if named else table


def find_systems(table: RoleTable, columns: Sequence[str], verdicts: Sequence[str]) -> tuple[str, str] | None:
    """Return two of the columns that name the systems of every row, if verdicts are about them: most names are in both."""
    names = {column: _list_systems(table, column) for column in columns if _is_text(table, column)}
    for first, second in combinations(names, 2):
        shared, all_names = names[first] & names[second], names[first] | names[second]
        if 2 * len(shared) < len(all_names) or {name.lower() for name in all_names} <= POSITIONS:
            continue
        try:
            read_verdicts(table, (first, second), verdicts)
        except InputError:
            continue
        return first, second
    return None


def _list_systems(table: RoleTable, column: str) -> set[str]:
    """Return the names of systems in a column."""
    values = table.items.select(name=table.attribute(column)).distinct().limit(MAX_SYSTEMS + 1)
    return {name for name in table.fetch_rows(values)["name"] if name is not None}


def _require_pairs(table: RoleTable, first: Value, second: Value) -> None:
    """Raise if a row compares a system with itself or with none, or if systems are too few or too many."""
    blank = table.find(first.isnull() | second.isnull())["row"]
    if blank:
        raise InputError(f"systems: row {blank[0]:,} lacks a system; every row compares two")
    found = table.find(first == second, name=first)
    if found["row"]:
        raise InputError(f"systems: row {found['row'][0]:,} compares {quote_name(found['name'][0])} with itself; leave it out")  # fmt: skip
    n = table.count_distinct({"first": first, "second": second})
    if n > MAX_SYSTEMS**2:
        raise InputError(f"systems: {n:,} pairs of systems are too many; at most {MAX_SYSTEMS} systems are supported")


def _is_text(table: RoleTable, column: str) -> bool:
    """Is a column text, and so perhaps names of systems?"""
    return column in table.columns() and table.items[column].type().is_string()


def _name_positions(table: RoleTable, column: str, first: Value, second: Value) -> Value:
    """Return a column of verdicts as positions; a verdict that is neither a position, a tie nor a system is refused."""
    verdict = table.items[column].strip().nullif("")
    is_position = verdict.lower().isin(sorted(POSITIONS))
    strange = verdict.notnull() & ~is_position & (verdict != first) & (verdict != second)
    found = table.find(strange.fill_null(False), verdict=verdict, first=first, second=second)
    if found["row"]:
        one, other = (quote_name(found[name][0]) for name in ("first", "second"))
        raise InputError(f"column {column!r}: row {found['row'][0]:,} prefers {quote_name(found['verdict'][0])}, which is neither of its systems, {one} and {other}, nor a tie")  # fmt: skip
    return ibis.cases((verdict == first, FIRST), (verdict == second, SECOND), else_=verdict.lower())


def index_systems(pairs: Sequence[tuple[object, ...]]) -> tuple[tuple[str, ...], list[tuple[int, int]]]:
    """Return the names of all compared systems, sorted, and the systems of every pair.

    >>> index_systems([("b", "a"), ("a", "c")])
    (('a', 'b', 'c'), [(1, 0), (0, 2)])
    """
    names = tuple(sorted({str(name) for pair in pairs for name in pair}))
    if len(names) < 2:
        raise InputError(f"systems: {count(len(names), 'system')} cannot be compared")
    at = {name: i for i, name in enumerate(names)}
    return names, [(at[str(first)], at[str(second)]) for first, second in pairs]
