"""Labels kept apart from predictions, joined by id."""

from collections.abc import Mapping
from typing import Any

import ibis.expr.types as ir
from ibis.backends import BaseBackend

from fewlabels.errors import InputError
from fewlabels.table.derivation import kinds
from fewlabels.table.names import as_name
from fewlabels.table.roles import resolve_roles
from fewlabels.table.sources import open_source

Joined = tuple[ir.Table, tuple[str, ...]]


def join_labels(table: ir.Table, source: Any, engine: BaseBackend, given: dict[str, Any]) -> Joined:
    """Return the predictions with the labels of another source, and what its owner should know.

    The joined column takes the place of the label (or agreement) column, so `given` is told its name.
    """
    answers, _, _ = open_source(source, engine)
    role, column = _answer_column(answers, given)
    roles = resolve_roles(kinds(table), **{k: v for k, v in given.items() if k not in ("label", "agreement")})
    answer_id = resolve_roles(kinds(answers)).id
    if roles.id is None or answer_id is None:
        where = "predictions" if roles.id is None else "labels"
        raise InputError(f"labels are matched by id, but the {where} have no id column; name it id, or give --id")
    answers = _one_per_id(answers, answer_id, column, engine)
    notes = _check_ids(table, roles.id, answers, engine)
    return _join(table, roles.id, answers, role, given), notes


def _answer_column(answers: ir.Table, given: Mapping[str, Any]) -> tuple[str, str]:
    asked = {role: given[role] for role in ("label", "agreement") if given.get(role) in answers.columns}
    found = resolve_roles(kinds(answers), **asked)
    if found.agreement:
        return "agreement", found.agreement
    if found.label:
        return "label", found.label
    raise InputError(
        f"the labels have no column called label or agreement; their columns: {', '.join(answers.columns)}"
    )


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
        raise InputError(f"none of the {total:,} labelled ids is among the predictions: labels have {counts['example']!r}, predictions have {example[0] if example else 'no rows'!r}")  # fmt: skip
    if counts["lost"]:
        return (f"{counts['lost']:,} of {total:,} labels have ids that are not among the predictions (for instance {counts['example']!r}); they were left out",)  # fmt: skip
    return ()


def _join(table: ir.Table, id: str, answers: ir.Table, role: str, given: dict[str, Any]) -> ir.Table:
    """Where both have an answer, the separate source wins: it is the newer one."""
    before = given.get(role) or (role if role in table.columns else None)
    before = before if before in table.columns else None
    keyed = table.mutate(__key=as_name(table[id]))
    joined = keyed.left_join(answers, "__key")
    answer = as_name(joined["__answer"]) if role == "label" else joined["__answer"].cast("float64")
    if before:
        old = as_name(joined[before]) if role == "label" else joined[before].cast("float64")
        answer = answer.fill_null(old)
    name = before or role
    given[role] = name
    return joined.mutate(**{name: answer}).drop("__key", "__answer", *[c for c in joined.columns if c == "__key_right"])
