"""Open graded outputs, and join grades that people gave in a file of their own."""

from collections.abc import Iterable
from typing import Any

import ibis
import ibis.expr.types as ir
from ibis.backends import BaseBackend

from fewlabels.data.addresses import list_inputs
from fewlabels.data.engine_errors import explain_engine_errors, name_source
from fewlabels.data.grades.columns import recognize_columns
from fewlabels.data.names import as_name
from fewlabels.data.role_table import RoleTable
from fewlabels.data.roles import RECOGNISED, Roles
from fewlabels.data.sources import open_source, open_table
from fewlabels.errors import InputError, count, did_you_mean, format_option, join_names, quote_name


def open_graded(source: Any, *, labels: Any = None, grade: str | None = None, id: str | None = None) -> RoleTable:
    """Read a table of graded outputs, with people's grades of a second table joined by id."""
    name = name_source(source)
    table, engine, frame, notes = open_source(source)
    with explain_engine_errors(name):
        found = id or _find_id(table.columns)
        if id is not None and id not in table.columns:
            raise InputError(f"id: there is no column {id!r}; {did_you_mean(id, table.columns)}")
        if labels is not None:
            table, more = _join_grades(table, open_table(labels, engine), engine, found, grade)
            notes += more
    inputs = list_inputs(source, labels)
    return RoleTable(table, engine, name, Roles(id=found), frame, (), notes, inputs)


def _find_id(columns: Iterable[str]) -> str | None:
    """Find the id column of a table of grades that is read."""
    known = {column.lower(): column for column in columns}
    return next((known[name] for name in RECOGNISED["id"] if name in known), None)


def _join_grades(
    table: ir.Table, answers: ir.Table, engine: BaseBackend, id: str | None, grade: str | None
) -> tuple[ir.Table, tuple[str, ...]]:
    """Join the table of people's grades by id to the outputs read; grades there stay where people's table has none."""
    theirs = id if id in answers.columns else _find_id(answers.columns)
    if id is None or theirs is None:
        where = "outputs" if id is None else "labels"
        raise InputError(f"grades are matched by id, but the {where} have no id column; name it id, or give {format_option('id')}")  # fmt: skip
    column = grade if grade in answers.columns else recognize_columns([c for c in answers.columns if c != theirs])[0]
    if column is None:
        raise InputError(f"the labels have no column of grades; name it with {format_option('grade')}; their columns: {join_names(answers.columns)}")  # fmt: skip
    given = answers.select(__fl_key=as_name(answers[theirs]), __fl_answer=answers[column]).filter(lambda t: t["__fl_answer"].notnull())  # fmt: skip
    _refuse_duplicates(given, engine)
    keyed = table.mutate(__fl_key=as_name(table[id]))
    _refuse_repeated_outputs(keyed.semi_join(given, "__fl_key"), engine, id)
    known = keyed.select("__fl_key").distinct()
    strange = given.anti_join(known, "__fl_key")
    n_lost = int(engine.to_pyarrow(strange.aggregate(n=strange.count()))["n"][0].as_py())
    joined = keyed.left_join(given, "__fl_key").drop("__fl_key", "__fl_key_right")
    name = grade or column
    value = joined["__fl_answer"]
    if name in table.columns:
        value = ibis.coalesce(value, joined[name].cast(value.type()))
    notes = (f"{count(n_lost, 'grade')} of {join_names([column])} left out: no item has {'its' if n_lost == 1 else 'their'} id",)  # fmt: skip
    return joined.mutate(**{name: value}).drop("__fl_answer"), notes if n_lost else ()


def _refuse_repeated_outputs(graded: ir.Table, engine: BaseBackend, id: str) -> None:
    """Refuse to read outputs that share the id of a grade, which would count once for each of them."""
    groups = graded.group_by("__fl_key").aggregate(n=graded.count())
    twice = engine.to_pyarrow(groups.filter(groups["n"] > 1).order_by("__fl_key").limit(1)).to_pylist()
    if twice:
        raise InputError(f"column {id!r}: {twice[0]['n']} outputs have the id {quote_name(twice[0]['__fl_key'])}, and a grade that is given for it would count for each; give every output an id of its own")  # fmt: skip


def _refuse_duplicates(given: ir.Table, engine: BaseBackend) -> None:
    """Refuse to read two grades of the same output."""
    groups = given.group_by("__fl_key").aggregate(n=given.count())
    twice = engine.to_pyarrow(groups.filter(groups["n"] > 1).order_by("__fl_key").limit(1)).to_pylist()
    if twice:
        raise InputError(f"the labels grade id {quote_name(twice[0]['__fl_key'])} {twice[0]['n']} times; keep one grade for every item")  # fmt: skip
