"""Derive our columns from the user's: id, predicted, score, label, agreement and a probability per class.

All are lazy Ibis expressions added to the table; a query evaluates them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir
from ibis.backends import BaseBackend

from fewlabels.data.column_names import (
    AGREEMENT,
    ID,
    LABEL,
    MAX_PROBABILITY,
    PREDICTED,
    PROBABILITY,
    PROPENSITY,
    SCORE,
)
from fewlabels.data.names import as_name, natural_order
from fewlabels.data.numbers import as_float
from fewlabels.data.query_results import fetch_arrow
from fewlabels.data.roles import NUMBERS, PREFIXES, RECOGNISED, SUGGESTED, Kind, Roles, resolve_roles
from fewlabels.data.suggestions import SuggestedColumns, assign_suggested
from fewlabels.data.text_numbers import Numerals, read_numerals
from fewlabels.errors import InputError, format_option, join_names, quote_name
from fewlabels.text import shorten

USUAL_NEGATIVES = frozenset({"0", "-1", "False"})  # beside a positive class 1 or True
NUMERALS = ("score", "agreement", "propensity")  # roles recognised by name whose numbers may be stored as text
Derived = tuple[ir.Table, Roles, tuple[str, ...]]


def derive_columns(table: ir.Table, engine: BaseBackend, given: Mapping[str, Any]) -> Derived:
    """Return the table with the derived columns, the roles, and the classes that have a probability."""
    table, roles = _find_roles(table, engine, given)
    _require_predictions(table, roles)
    _refuse_nested(table, roles)
    booleans = _boolean_names(table, roles)
    new: dict[str, ir.Value] = {ID: _read_id(table[roles.id])} if roles.id else {}
    new[LABEL] = as_name(table[roles.label], booleans=booleans) if roles.label else ibis.null("string")
    if roles.agreement:
        agreement = _cast_agreement(table, roles.agreement, engine)
        new[AGREEMENT] = agreement.isnan().ifelse(ibis.null("float64"), agreement)
    if roles.propensity:
        chance = _cast_to_number(table, "propensity", roles.propensity)
        new[PROPENSITY] = chance.isnan().ifelse(ibis.null("float64"), chance)
    if roles.positive_score:
        roles, scored, columns = _derive_binary(table, roles, engine, booleans)
        return table.mutate(**new, **columns), roles, scored
    table, scored = _derive_multiclass(table.mutate(**new), roles, engine, booleans)
    return table, roles, scored


def _read_id(column: ir.Value) -> ir.Value:
    """Return the ids from the user's column; NaN is a missing one."""
    return column.isnan().ifelse(ibis.null(column.type()), column) if column.type().is_floating() else column


def _find_roles(table: ir.Table, engine: BaseBackend, given: Mapping[str, Any]) -> tuple[ir.Table, Roles]:
    """Assign a column to each role; numbers stored as text are parsed if their column has a role."""
    texts = [name for name, kind in column_kinds(table).items() if kind == "text"]
    asked = {given[role]: role for role in NUMBERS if given.get(role)}
    likely = [name for name in texts if name in asked or _may_hold_numbers(name, given.get("scores"))]
    read = read_numerals(table, engine, likely)
    for column, row, text in read.words:
        if column in asked:
            raise InputError(f"{asked[column]}: column {column!r} holds string, not numbers (row {row:,} has {text!r}); name the column that holds numbers between 0 and 1")  # fmt: skip
    scores = given.get("scores")
    named = [name for name in read.numbers if name in asked or (scores and name.startswith(scores))]
    numeric = table.mutate(**read.numbers) if read.numbers else table
    fit = [name for name in read.fitting if any(name.lower() in RECOGNISED[role] for role in NUMERALS)]
    roles = resolve_roles(column_kinds(table) | dict.fromkeys((*named, *fit), "number"), **given)
    roles = _drop_unfit_predicted(table, roles, engine, given)
    roles = assign_suggested(SuggestedColumns(numeric, engine, column_kinds(numeric), roles), given)
    played = {*roles.used().values(), *roles.scores.values(), *roles.set_aside.values()}
    used = {name: number for name, number in read.numbers.items() if name in played}
    notes = (f"text read as numbers (such as 93% or 0,93) in column {join_names(used)}",) if used else ()
    unread = tuple(_note_unread(read, roles))
    return table.mutate(**used) if used else table, replace(roles, notes=(*notes, *unread, *roles.notes))


def _note_unread(read: Numerals, roles: Roles) -> Iterator[str]:
    """Note the columns that are named like a score or a propensity but hold something else."""
    named = () if roles.score else (*RECOGNISED["score"], *SUGGESTED["score"])
    named += () if roles.propensity else RECOGNISED["propensity"]
    for column, row, text in read.words:
        if column.lower() in named:
            yield f"column {column!r} is not used: row {row:,} has {shorten(text, most=60)!r}, which is no number"
    for column in read.numbers:
        if column.lower() in named and column.lower() not in SUGGESTED["score"] and column not in read.fitting:
            yield f"column {column!r} is not used: it holds text, and not only numbers between 0 and 1"


def _drop_unfit_predicted(table: ir.Table, roles: Roles, engine: BaseBackend, given: Mapping[str, Any]) -> Roles:
    """Drop a recognised predicted column that does not fit two classes if a positive score is given."""
    if not roles.positive_score or not roles.predicted or given.get("predicted"):
        return roles
    booleans = _boolean_names(table, roles)
    labels = _class_names(table, replace(roles, predicted=None), engine, booleans)
    seen = _class_names(table, roles, engine, booleans)
    if len(labels) > 2 or len(seen) <= 2:
        return roles
    note = f"column {roles.predicted!r} is not used: its values do not fit two classes (for instance {min(seen)[:20]!r}); the predicted class comes from column {roles.positive_score!r} with {format_option('threshold', roles.threshold)}"  # fmt: skip
    return replace(roles, predicted=None, notes=(*roles.notes, note))


def _may_hold_numbers(name: str, scores: str | None) -> bool:
    """Return whether a column of this name would get a role if it held numbers."""
    plain = name.lower()
    is_score = plain in SUGGESTED["score"] or any(plain in RECOGNISED[role] for role in NUMERALS)
    return is_score or (name.startswith(scores) if scores else plain.startswith(PREFIXES))


def column_kinds(table: ir.Table) -> dict[str, Kind]:
    """Return the kind of data in each column, from which ours are derived."""
    return {name: _column_kind(kind) for name, kind in table.schema().items()}


def _column_kind(kind: dt.DataType) -> Kind:
    """Return the kind of data in a column, by its type in the engine."""
    if kind.is_boolean():
        return "boolean"
    if kind.is_numeric():
        return "number"
    if kind.is_array():
        return "list"
    return "text" if kind.is_string() else "other"


def _boolean_names(table: ir.Table, roles: Roles) -> tuple[str, str]:
    """Return the class names of boolean columns: False and True if predictions and labels are both boolean, else 0 and 1."""
    columns = [c for c in (roles.predicted, roles.label) if c]
    return ("False", "True") if all(table[c].type().is_boolean() for c in columns) else ("0", "1")


def _derive_multiclass(
    table: ir.Table, roles: Roles, engine: BaseBackend, booleans: tuple[str, str]
) -> tuple[ir.Table, tuple[str, ...]]:
    """Derive predicted class, score and probabilities from a column of classes, a column per class, or both."""
    probability = _list_probability_columns(table, roles, engine)
    table = table.mutate(**{f"{PROBABILITY}{i}": value for i, value in enumerate(probability.values())})
    columns = {name: table[f"{PROBABILITY}{i}"] for i, name in enumerate(probability)}
    if roles.predicted:
        table = table.mutate(**{PREDICTED: as_name(table[roles.predicted], booleans=booleans)})
    elif probability:
        # In two steps: the maximum of K columns inside each of K comparisons would make a query of length K².
        table = table.mutate(**{MAX_PROBABILITY: ibis.greatest(*columns.values())})
        cases = [(table[value.get_name()] == table[MAX_PROBABILITY], name) for name, value in columns.items()]
        table = table.mutate(**{PREDICTED: ibis.cases(*cases, else_=ibis.null("string"))})
    if roles.score:
        table = table.mutate(**{SCORE: _cast_to_number(table, "score", roles.score)})
    elif probability:
        cases = [(name, table[value.get_name()]) for name, value in columns.items()]
        score = (
            table[PREDICTED].cases(*cases, else_=ibis.null("float64")) if roles.predicted else table[MAX_PROBABILITY]
        )
        table = table.mutate(**{SCORE: score})
    return table, tuple(probability)


def _list_probability_columns(table: ir.Table, roles: Roles, engine: BaseBackend) -> dict[str, ir.Value]:
    """Return the user's probability columns by class, also of a column of lists."""
    if roles.scores_list is None:
        return {name: as_float(table[column]) for name, column in roles.scores.items()}
    column = table[roles.scores_list]
    shortest, longest = fetch_arrow(engine,
        table.aggregate(low=column.length().min(), high=column.length().max())
    ).to_pylist()[0].values()  # fmt: skip
    if shortest != longest or not longest:
        raise InputError(f"scores: the lists in column {roles.scores_list!r} have {shortest} to {longest} numbers; every row needs one per class")  # fmt: skip
    return {str(i): column[i].cast("float64") for i in range(longest)}


def _derive_binary(
    table: ir.Table, roles: Roles, engine: BaseBackend, booleans: tuple[str, str]
) -> tuple[Roles, tuple[str, ...], dict[str, ir.Value]]:
    """Derive predicted class, score and probabilities from the column with the positive class's score."""
    positive, negative = _two_classes(table, roles, engine, booleans)
    positive_probability = _cast_to_number(table, "positive_score", str(roles.positive_score))
    if roles.predicted:
        predicted = as_name(table[roles.predicted], booleans=booleans)
    else:
        predicted = (positive_probability >= roles.threshold).ifelse(positive, negative)
    new = {PREDICTED: predicted, SCORE: (predicted == positive).ifelse(positive_probability, 1 - positive_probability),
           f"{PROBABILITY}0": 1 - positive_probability, f"{PROBABILITY}1": positive_probability}  # fmt: skip
    if roles.score:
        new[SCORE] = _cast_to_number(table, "score", roles.score)
    notes = () if roles.positive or negative in USUAL_NEGATIVES else (f"class {quote_name(positive)} is taken as the positive one, whose probability is in column {roles.positive_score!r}, and {quote_name(negative)} as the negative one; if it is the other way round, say {format_option('positive', negative)}",)  # fmt: skip
    return replace(roles, positive=positive, notes=(*roles.notes, *notes)), (negative, positive), new


def _two_classes(table: ir.Table, roles: Roles, engine: BaseBackend, booleans: tuple[str, str]) -> tuple[str, str]:
    """Derive the positive and the other class from a column with the positive class's score."""
    seen = sorted(_class_names(table, roles, engine, booleans), key=natural_order)
    positive = roles.positive or next((name for name in ("1", "True") if name in seen), "1")
    others = [name for name in seen if name != positive]
    is_guess = not roles.positive and positive not in seen and not USUAL_NEGATIVES.issuperset(others)
    if len(others) > 1 or is_guess:
        labels = _class_names(table, replace(roles, predicted=None), engine, booleans)
        is_misled = roles.predicted and len(labels - {positive}) <= 1
        how = f"; to predict from the score alone, say {format_option('threshold', roles.threshold)} instead of {format_option('predicted')}" if is_misled else ""  # fmt: skip
        raise InputError(f"positive_score is for models of two classes, and {quote_name(positive)} is the positive one; but the classes are {join_names(seen)}. Say which is positive with {format_option('positive')}, or give one score column per class with {format_option('scores')}{how}")  # fmt: skip
    fallback = {"1": "0", "0": "1", "True": "False", "False": "True"}.get(positive, f"not {positive}")
    return positive, others[0] if others else fallback


def _class_names(table: ir.Table, roles: Roles, engine: BaseBackend, booleans: tuple[str, str]) -> set[str]:
    """Return up to a hundred classes that occur in the label or the predicted column."""
    found: set[str] = set()
    for column in filter(None, (roles.label, roles.predicted)):
        names = table.select(name=as_name(table[column], booleans=booleans)).distinct().limit(100)
        found |= {name for name in fetch_arrow(engine, names)["name"].to_pylist() if name is not None}
    return found


def _cast_to_number(table: ir.Table, role: str, column: str) -> ir.Value:
    """Return the user's column as numbers; refuse other columns."""
    kind = table[column].type()
    if kind.is_null() or kind.is_unknown():  # an empty column
        return ibis.null("float64")
    if not kind.is_numeric():
        raise InputError(
            f"{role}: column {column!r} holds {kind}, not numbers; name the column that holds numbers between 0 and 1"
        )
    return table[column].cast("float64")


def _cast_agreement(table: ir.Table, column: str, engine: BaseBackend) -> ir.Value:
    """Return the agreement column as numbers; an empty CSV column is read as text and becomes null."""
    if table[column].type().is_string():
        filled = table[column].strip().nullif("")
        if not fetch_arrow(engine, table.aggregate(any=filled.notnull().any()))["any"][0].as_py():
            return ibis.null("float64")
    return _cast_to_number(table, "agreement", column)


def _refuse_nested(table: ir.Table, roles: Roles) -> None:
    """Refuse lists and records in predicted and label columns, unless outputs are graded by agreement."""
    for role, column in (("predicted", roles.predicted), ("label", roles.label)):
        kind = table[column].type() if column and not roles.agreement else None
        if kind is not None and (kind.is_array() or kind.is_struct() or kind.is_map() or kind.is_json()):
            raise InputError(f"{role}: column {column!r} holds {'lists' if kind.is_array() else 'records'}, not one class per row; write one row per item (in pandas: explode, or to_json(path, orient='records', lines=True))")  # fmt: skip


def _require_predictions(table: ir.Table, roles: Roles) -> None:
    """Raise if the columns of a table hold no predictions: neither a predicted class nor scores nor grades."""
    if roles.predicted or roles.scores or roles.scores_list or roles.positive_score or roles.agreement:
        return
    one = next((name for name, kind in table.schema().items() if kind.is_floating()), None)
    many = next((name for name, kind in table.schema().items() if kind.is_array()), None)
    hint = (
        f"; if {one!r} is the probability of the positive class, with {format_option('positive_score', one)}"
        if one
        else ""
    )
    hint += (
        f"; if {many!r} lists the probabilities of all classes, with {format_option('scores', many)}" if many else ""
    )
    notes = f" ({'; '.join(roles.notes)})" if roles.notes else ""
    raise InputError(
        "no predictions found: no column is called predicted or p_<class>. "
        f"Name one with {format_option('predicted')}{hint}. Columns: {join_names(table.columns, most=20)}{notes}"
    )
