"""Outputs that people grade in a session: their grades and a judge's as numbers from 0 to 1, in the roles of predictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ibis

from fewlabels.data.column_names import AGREEMENT, ID, LABEL, SCORE
from fewlabels.data.grades.columns import GradedItems, find_grades, require_columns
from fewlabels.data.grades.reading import open_graded
from fewlabels.data.grades.scale import Scale, parse_scale
from fewlabels.data.relation import Value
from fewlabels.data.role_table import RoleTable
from fewlabels.data.roles import Roles
from fewlabels.errors import InputError, format_option, join_names

Grades = tuple[tuple[str, float], ...]  # the possible grades, lowest first, and their place from 0 to 1


@dataclass(frozen=True, eq=False)
class GradedPool:
    """A table with grades in the roles of predictions, and the possible grades; none if any number from 0 to 1 is."""

    table: RoleTable
    grades: Grades


def make_graded_pool(
    source: Any,
    *,
    grade: str | None = None,
    judge: str | None = None,
    scale: str | Sequence[object] | None = None,
    labels: Any = None,
    id: str | None = None,
    show: Sequence[str] = (),
    **others: Any,
) -> GradedPool:
    """Make a pool of outputs that people grade: their grades become the agreement, and a judge's grades the score."""
    if others:
        raise InputError(f"{', '.join(map(format_option, others))}: graded outputs have no such role; with {format_option('grade')} and {format_option('judge')}, name id and show at most")  # fmt: skip
    opened = open_graded(source, labels=labels, grade=grade, id=id)
    grade, judges = require_columns(opened.columns(), grade, () if judge is None else (judge,))
    if len(judges) > 1:
        raise InputError(f"judge: {join_names(judges)} are grades of judges; a session takes one: name it with {format_option('judge')}")  # fmt: skip
    items = find_grades(opened, grade, judges, None, scale)
    human = _choose_pool_scale(items, scale)
    new = {LABEL: ibis.null("string"), AGREEMENT: _place_on_scale(items.grade, human)}
    new |= {ID: items.items[items.roles.id]} if items.roles.id else {}
    new |= {SCORE: _place_on_scale(items.judge(0), items.judges[0].scale)} if judges else {}
    roles = Roles(id=items.roles.id, agreement=grade, score=judges[0] if judges else None, show=tuple(show))
    table = RoleTable(items.items.mutate(**new), items.engine, items.source, roles, items.frame, (), (*items.notes, _note_scale(human)), items.inputs)  # fmt: skip
    return GradedPool(table, tuple((name, human.place(level)) for name, level in zip(human.names, human.levels, strict=True)))  # fmt: skip


def _choose_pool_scale(items: GradedItems, stated: str | Sequence[object] | None) -> Scale:
    """Return the scale of a pool's grades by people: before the first grade the stated one, else the judge's."""
    if items.human is not None:
        return items.human.scale
    return items.judges[0].scale if stated is None and items.judges else parse_scale(stated or "0-1")


def _place_on_scale(value: Value, scale: Scale) -> Value:
    """Return a grade of the pool as its place on the scale, from 0 to 1."""
    return (value - scale.low) / (scale.high - scale.low)


def _note_scale(scale: Scale) -> str:
    """Return the note that says on which scale the pool is graded."""
    lowest, highest = (scale.describe(value) for value in (scale.low, scale.high))
    return f"grades are {scale.words}; figures are mean grades from 0 (grade {lowest}) to 1 (grade {highest})"
