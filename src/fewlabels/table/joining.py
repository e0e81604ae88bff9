"""Labels kept apart from predictions, joined by id."""

from collections.abc import Mapping
from typing import Any

import ibis
import ibis.expr.types as ir
from ibis.backends import BaseBackend

from fewlabels.errors import InputError
from fewlabels.table.derivation import kinds
from fewlabels.table.names import as_name
from fewlabels.table.roles import Roles, resolve_roles
from fewlabels.table.sources import open_source

Joined = tuple[ir.Table, dict[str, Any], tuple[str, ...]]


def join_labels(table: ir.Table, source: Any, engine: BaseBackend, given: Mapping[str, Any]) -> Joined:
    """Return the predictions with the labels of another source, the roles as they are now, and what to tell the owner."""
    answers = _open(source, engine)
    role, column = _answer_column(answers, given)
    elsewhere = {name for name in ("label", "agreement") if name in given and given[name] not in table.columns}
    roles = resolve_roles(kinds(table), **{k: v for k, v in given.items() if k not in elsewhere})
    answer_id = roles.id if roles.id in answers.columns else resolve_roles(kinds(answers)).id
    if roles.id is None or answer_id is None:
        where = "predictions" if roles.id is None else "labels"
        raise InputError(f"labels are matched by id, but the {where} have no id column; name it id, or give --id")
    answers = _one_per_id(answers, answer_id, column, engine)
    notes = _check_ids(table, roles.id, answers, engine)
    joined, name = _join(table, roles, answers, role)
    return joined, {**{k: v for k, v in given.items() if k not in elsewhere}, role: name}, notes


def _open(source: Any, engine: BaseBackend) -> ir.Table:
    """Open the labels in the predictions' own engine; where that reads no files, carry them along."""
    if engine.name == "duckdb" or isinstance(source, ir.Table):
        return open_source(source, engine)[0]
    table, own, _ = open_source(source)
    return ibis.memtable(own.to_pyarrow(table))


def _answer_column(answers: ir.Table, given: Mapping[str, Any]) -> tuple[str, str]:
    asked = {role: given[role] for role in ("label", "agreement") if given.get(role) in answers.columns}
    found = resolve_roles(kinds(answers), **asked)
    if found.agreement:
        return "agreement", found.agreement
    if found.label:
        return "label", found.label
    known = ", ".join(answers.columns)
    raise InputError(f"the labels have no column called label or agreement; their columns: {known}")


def _one_per_id(answers: ir.Table, id: str, column: str, engine: BaseBackend) -> ir.Table:
    value = answers[column]
    answers = answers.filter(value.notnull()).select(__key=as_name(answers[id]), __answer=value).distinct()
    repeated = answers.group_by("__key").having(answers.count() > 1).aggregate(n=answers.count()).limit(1)
    found = engine.to_pyarrow(repeated).to_pylist()
    if found:
        raise InputError(f"the labels give id {found[0]['__key']!r} {found[0]['n']} different answers; keep one")
    return answers


def _check_ids(table: ir.Table, id: str, answers: ir.Table, engine: BaseBackend) -> tuple[str, ...]:
    lost = answers.anti_join(table.select(__key=as_name(table[id])), "__key")
    counts = engine.to_pyarrow(lost.aggregate(lost=lost.count(), example=lost["__key"].min())).to_pylist()[0]
    total = engine.to_pyarrow(answers.aggregate(n=answers.count()))["n"][0].as_py()
    if total and counts["lost"] == total:
        example = engine.to_pyarrow(table.select(x=as_name(table[id])).limit(1))["x"].to_pylist()
        theirs = repr(example[0]) if example else "no rows"
        raise InputError(
            f"none of the {total:,} labelled ids is among the predictions: "
            f"labels have {counts['example']!r}, predictions have {theirs}"
        )
    if counts["lost"]:
        return (
            f"{counts['lost']:,} of {total:,} labels have ids that are not among the predictions "
            f"(for instance {counts['example']!r}); they were left out",
        )
    return ()


def _join(table: ir.Table, roles: Roles, answers: ir.Table, role: str) -> tuple[ir.Table, str]:
    """Where both have an answer, the separate source wins: it is the newer one."""
    before = getattr(roles, role)
    joined = table.mutate(__key=as_name(table[roles.id])).left_join(answers, "__key")
    answer = joined["__answer"]
    if before:  # the two may differ in type, so they meet as names, or as numbers
        answer, old = (as_name(v) if role == "label" else v.cast("float64") for v in (answer, joined[before]))
        answer = answer.fill_null(old)
    name = before or role
    extra = [column for column in joined.columns if column in ("__key", "__answer", "__key_right")]
    return joined.mutate(**{name: answer}).drop(*extra), name
