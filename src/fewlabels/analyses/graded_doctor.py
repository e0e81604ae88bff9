"""Diagnose a table of graded outputs: columns of people's and judges' grades, recognised by name, and how to rate them."""

from dataclasses import replace
from typing import Any

from fewlabels.analyses.commands import format_file, format_group, format_options
from fewlabels.analyses.diagnosis import Diagnosis, GroupSize
from fewlabels.analyses.provenance import record
from fewlabels.data.conflicts import Finding
from fewlabels.data.grades.columns import GradedItems, find_grades, recognize_columns
from fewlabels.data.grades.reading import open_graded
from fewlabels.data.grades.scale import Scale
from fewlabels.data.grades.sets import find_sets
from fewlabels.data.grades.systems import find_systems, read_verdicts
from fewlabels.data.role_table import RoleTable
from fewlabels.data.tables import read_columns
from fewlabels.errors import InputError

MAX_GROUPS = 50
BAR_LEVELS = 3  # from as many levels on, a bar is suggested


def is_graded(source: Any) -> bool:
    """Whether to diagnose a table as graded: some columns are named like grades of people or of judges."""
    try:
        human, judges = recognize_columns(open_graded(source).columns())
    except InputError:
        return False
    return human is not None or bool(judges)


def diagnose_graded(source: Any) -> Diagnosis:
    """Diagnose a graded table: return the columns of grades, their scales, and how to rate the outputs."""
    table = open_graded(source)
    human, judges = recognize_columns(table.columns())
    roles = ({"grade": human} if human else {}) | ({"judge": ", ".join(judges)} if judges else {})
    roles |= {"id": table.roles.id} if table.roles.id else {}
    n = int(table.measure({"n": table.items.count()})["n"])
    attributes = _count_attributes(table, n, {*roles.values(), *judges})
    blank = Diagnosis(table.source, read_columns(table.items), roles, 0, 0, (), {}, (), (), (), record(table.source, inputs=table.inputs))  # fmt: skip
    verdicts = [name for name in (human, *judges) if name]
    systems = find_systems(table, list(attributes), verdicts)
    try:
        items = find_grades(read_verdicts(table, systems, verdicts) if systems else table, human, judges)
    except InputError as error:
        others = [name for name in (*judges, *table.columns()) if name not in (human, table.roles.id)]
        sets = find_sets(table, human, others) if human else None
        return _diagnose_sets(blank, n, *sets) if sets else replace(blank, findings=(Finding("error", str(error)),))
    n_grades = items.human.n if items.human else 0
    systems = systems if _get_scale(items).is_preference else None
    free = (name for name in attributes if name not in (systems or ()))
    column = next((text for text in map(format_group, free) if text is not None), None)
    return replace(
        blank, n_items=n, n_labels=n_grades, attributes=attributes,
        findings=tuple(_find_missing_grades(n_grades)), can=_list_rateable(items, systems), next=_suggest_rating_commands(table.source, items, column, systems),
        frame=table.frame, role_of={name: role for role, name in roles.items()} | dict.fromkeys(judges, "judge"),
        sizes=(GroupSize("all items", n, n_grades),),
    )  # fmt: skip


def _diagnose_sets(blank: Diagnosis, n: int, predicted: str, n_labelled: int) -> Diagnosis:
    """Return the diagnosis of sets of labels, of people and predicted."""
    roles = {**blank.roles, "judge": predicted}
    typed = format_options({name: roles[name] for name in ("grade", "judge")})
    return replace(
        blank, roles=roles, n_items=n, n_labels=n_labelled, findings=tuple(_find_missing_grades(n_labelled)),
        can=("sets of labels: precision, recall and F1 of every label, micro and macro; subset accuracy; Hamming loss",),
        next=(f"fewlabels rate {format_file(blank.source)} --sets{typed} --html report.html",),
        role_of={name: role for role, name in roles.items()}, sizes=(GroupSize("all items", n, n_labelled),),
    )  # fmt: skip


def suggest_rating(pool: RoleTable, column: str | None) -> tuple[str, ...]:
    """Suggest to rate a table of predictions that also has a judge's grades and people's."""
    taken = set(pool.roles.used().values())
    human, judges = recognize_columns([name for name in pool.columns() if name not in taken])
    if human is None or not judges:
        return ()
    by = f" --by {column}" if column else ""
    return (f"fewlabels rate {format_file(pool.source)}{format_options({'grade': human, 'judge': judges})}{by}",)


def _count_attributes(table: RoleTable, n: int, taken: set[str]) -> dict[str, int]:
    """Return the columns of a graded table to group by, and their number of values."""
    kinds = {name: table.items[name].type() for name in table.columns() if name not in taken}
    counted = {name: kind for name, kind in kinds.items() if kind.is_string() or kind.is_integer() or kind.is_boolean()}
    if not counted:
        return {}
    found = table.measure({f"n{i}": table.items[name].nunique() for i, name in enumerate(counted)})
    sizes = dict(zip(counted, found.values(), strict=True))
    return {name: int(size) for name, size in sizes.items() if 1 < size <= min(MAX_GROUPS, max(n // 2, 2))}


def _find_missing_grades(n_grades: int) -> list[Finding]:
    """Diagnose that no item of a graded table has a grade of people."""
    if n_grades:
        return []
    return [Finding("warning", "no item is graded by people: rate needs a few of their grades, drawn at random, to say how good the outputs are by their standard")]  # fmt: skip


def _get_scale(items: GradedItems) -> Scale:
    """Return the scale of the grades in a graded table: people's, else a judge's."""
    return items.human.scale if items.human else items.judges[0].scale


def _list_rateable(items: GradedItems, systems: tuple[str, str] | None) -> tuple[str, ...]:
    """Return by what the outputs of a graded table can be rated."""
    scale = _get_scale(items)
    figures = "win rate of the first output and distribution of verdicts" if scale.is_preference else "pass rate, mean grade and distribution of grades"  # fmt: skip
    can = [f"{figures} by people's standard (grades: {scale.words})"]
    can += [f"ranking of the systems in {systems[0]} and {systems[1]}"] if systems else []
    can += [f"how far {judge.name} agrees with people (grades: {judge.scale.words})" for judge in items.judges]
    return tuple(can)


def _suggest_rating_commands(
    source: str, items: GradedItems, column: str | None, systems: tuple[str, str] | None
) -> tuple[str, ...]:
    """Suggest the commands to rate a graded table."""
    words = {"grade": items.human.name} if items.human else {}
    typed = format_options({**words, **({"judge": [judge.name for judge in items.judges]} if items.judges else {})})
    by = f" --by {column}" if column else ""
    ranks = [f"fewlabels rate {format_file(source)}{typed}{format_options({'systems': systems})} --html report.html"] if systems else []  # fmt: skip
    lines = [*ranks, f"fewlabels rate {format_file(source)}{typed}{by}{'' if systems else ' --html report.html'}"]
    levels = items.human.scale.levels if items.human and not items.human.scale.is_preference else ()
    if len(levels) >= BAR_LEVELS:
        lines.append(f"fewlabels rate {format_file(source)}{typed}{by} --bar {levels[-2]:g}")
    return tuple(lines)
