"""Sets of labels: every item becomes one yes-or-no question per label, and items are clusters of questions."""

from collections.abc import Sequence
from dataclasses import replace

import ibis
import pyarrow as pa

from fewlabels.data.column_names import RESERVED_PREFIX
from fewlabels.data.names import as_name, natural_order
from fewlabels.data.numbers import as_float
from fewlabels.data.relation import Value
from fewlabels.data.role_table import RoleTable
from fewlabels.data.roles import Roles
from fewlabels.errors import InputError, format_option

MAX_LABELS = 200
SEPARATOR, EMPTY = "|", "[]"  # of a set of labels written as text, and a set without labels
ITEM, LABEL_OF_SET, EXACT, SIZE = "item", "label", "exact", "n_predicted"
HUMAN_SET, JUDGE_SET = (RESERVED_PREFIX + name for name in ("human_set", "judge_set"))


def is_set(word: str) -> bool:
    """Is a text written as a set of several labels, or of none?

    >>> is_set("a|b"), is_set("[]"), is_set("a")
    (True, True, False)
    """
    return SEPARATOR in word or word.strip() == EMPTY


def expand_sets_by_label(table: RoleTable, grade: str, judge: str) -> RoleTable:
    """Expand sets to a row per item and label: is it in people's set (null where there is none), and in the judge's?"""
    items = _read_sets(table, grade, judge)
    names = _list_labels(items, grade, judge)
    labels = ibis.memtable(pa.table({LABEL_OF_SET: names}))
    pairs = items.items.cross_join(labels)
    human, predicted = (as_float(pairs[column].contains(pairs[LABEL_OF_SET])) for column in (HUMAN_SET, JUDGE_SET))  # fmt: skip
    rows = pairs.select(ITEM, LABEL_OF_SET, **{grade: human, judge: predicted})
    return replace(items, items=rows, roles=Roles())


def compare_sets_by_item(table: RoleTable, grade: str, judge: str) -> RoleTable:
    """Compare both sets of every item: are they the same (null without people's), and how large is the judge's?"""
    items = _read_sets(table, grade, judge)
    human, predicted = items.items[HUMAN_SET], items.items[JUDGE_SET]
    same = (human.length() == predicted.length()) & (human.intersect(predicted).length() == human.length())
    exact = human.isnull().ifelse(ibis.null("float64"), same.cast("float64"))
    return replace(items, items=items.items.select(ITEM, **{EXACT: exact, SIZE: predicted.length().cast("float64")}), roles=Roles())  # fmt: skip


def find_sets(table: RoleTable, human: str, others: Sequence[str]) -> tuple[str, int] | None:
    """Return the first of other columns that has a set of labels for every item, if people's does, and how many sets people gave."""
    if not _holds_sets(table, human):
        return None
    for name in others:
        try:
            sets = _read_sets(table, human, name) if _holds_sets(table, name) else None
        except InputError:
            continue
        if sets is not None:
            return name, int(sets.measure({"n": sets.items[HUMAN_SET].count()})["n"])
    return None


def _holds_sets(table: RoleTable, column: str) -> bool:
    """Does a column hold sets of labels, as lists or as text such as a|b?"""
    value = table.items[column]
    if not value.type().is_string():
        return bool(value.type().is_array())
    return bool(table.find(value.contains(SEPARATOR) | (value.strip() == EMPTY))["row"])


def _read_sets(table: RoleTable, grade: str, judge: str) -> RoleTable:
    """Read people's and the judge's sets of labels of every item."""
    for role, column in (("grade", grade), ("judge", judge)):
        if column not in table.columns():
            raise InputError(f"{role}: there is no column {column!r}")
    item = as_name(table.items[table.roles.id]) if table.roles.id else table.row().cast("string")
    found = table.items.select(**{ITEM: item, HUMAN_SET: _as_set(table, grade), JUDGE_SET: _as_set(table, judge)})
    sets = replace(table, items=found, roles=Roles())
    missing = sets.find(sets.items[JUDGE_SET].isnull())["row"]
    if missing:
        raise InputError(f"judge: column {judge!r} has no set of labels in row {missing[0]:,}; write {EMPTY} for a set without labels")  # fmt: skip
    n = sets.measure({"n": sets.items.count(), "ids": sets.items[ITEM].nunique()})
    if n["ids"] < n["n"]:
        raise InputError(f"sets: column {table.roles.id!r} does not name every item alone ({n['ids']:,} ids of {n['n']:,} items)")  # fmt: skip
    return sets


def _as_set(table: RoleTable, column: str) -> Value:
    """Return a column of lists, or of text such as a|b, as lists of different names."""
    value, kind = table.items[column], table.items[column].type()
    if kind.is_array():
        return value.map(lambda name: as_name(name).strip()).unique()
    if kind.is_null() or kind.is_unknown():
        return ibis.null("array<string>")
    if not kind.is_string():
        raise InputError(f"sets: column {column!r} holds {kind}, not sets of labels; write lists, or text such as a{SEPARATOR}b")  # fmt: skip
    text = value.strip().nullif("")
    names = text.split(SEPARATOR).map(lambda name: name.strip()).filter(lambda name: (name != "") & (name != EMPTY))
    return text.isnull().ifelse(ibis.null("array<string>"), names.unique())


def _list_labels(sets: RoleTable, grade: str, judge: str) -> Sequence[str]:
    """Return all labels of people's and the judge's sets."""
    both = [sets.items.select(name=sets.items[column].unnest()) for column in (HUMAN_SET, JUDGE_SET)]
    found = sets.fetch_rows(both[0].union(both[1]).distinct().limit(MAX_LABELS + 1))["name"]
    names = sorted((name for name in found if name is not None), key=natural_order)
    if not names:
        raise InputError(f"sets: columns {grade!r} and {judge!r} hold no labels")
    if len(names) > MAX_LABELS:
        raise InputError(f"sets: more than {MAX_LABELS} labels, for instance {names[0]!r}; are {grade!r} and {judge!r} sets of labels? If not, leave {format_option('sets')} out")  # fmt: skip
    return names
