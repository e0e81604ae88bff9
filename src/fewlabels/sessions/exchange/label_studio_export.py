"""Read exports of Label Studio (JSON and JSON-MIN), with any number of annotations per task."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from fewlabels.data.documents.parsing import check, parse, read_file
from fewlabels.data.names import to_name
from fewlabels.errors import InputError, join_names, quote_name
from fewlabels.sessions.exchange.label_studio_schema import Annotation, Result, Task, TaskList
from fewlabels.sessions.exchange.label_studio_tasks import CONTROL, ID
from fewlabels.sessions.exchange.sheet_reader import AnswerRow

VALUES = {"choices": "choices", "number": "number", "rating": "rating"}  # type of result -> key of its value
EXPORT_AS_JSON = "export the project as JSON or JSON-MIN"


@dataclass(frozen=True)
class Export:
    """The annotations in an export, one line each, and the number of tasks that are not ours."""

    rows: tuple[AnswerRow, ...]
    n_foreign: int  # tasks without our id: they belong to other projects


def read_export(path: str) -> Export:
    """Read an export of Label Studio: tasks and annotations; a task without one has a line without an answer."""
    rows: list[AnswerRow] = []
    n_foreign = 0
    for number, task in enumerate(_read_tasks(path), start=1):
        id = _find_id(task)
        if id is None:
            n_foreign += 1
        else:
            rows += _read_task(f"{path}, task {number}, item {quote_name(id)}", number, id, task)
    return Export(tuple(rows), n_foreign)


def _read_tasks(path: str) -> Sequence[dict[str, Any]]:
    """Read the tasks of an export of Label Studio."""
    return parse(TaskList, read_file(Path(path)), path, EXPORT_AS_JSON).root


def _find_id(task: Mapping[str, Any]) -> str | None:
    """Return the item id of a task in an export of Label Studio; None if the task is not one of ours."""
    data = task["data"] if _is_full_task(task) else task
    id = data.get(ID)
    return to_name(id) if isinstance(id, str | int | float) and not isinstance(id, bool) and id == id else None


def _is_full_task(task: Mapping[str, Any]) -> bool:
    """Is this a full task of Label Studio, rather than a record of JSON-MIN?"""
    return isinstance(task.get("data"), dict)


def _read_task(where: str, number: int, id: str, task: Mapping[str, Any]) -> Iterator[AnswerRow]:
    """Yield the answers in one task of an export of Label Studio."""
    if not _is_full_task(task):
        label, at = (
            _read_json_min(where, task.get(CONTROL)),
            _read_export_time(task.get("updated_at") or task.get("created_at")),
        )
        yield AnswerRow(number, id, label, name_annotator(task.get("annotator")), at=at)
        return
    annotations = check(Task, {"annotations": task.get("annotations")}, where, EXPORT_AS_JSON).annotations
    if not annotations:
        yield AnswerRow(number, id, None)
    for one in annotations or ():
        label = None if one.was_cancelled else _read_results(where, one)
        at = _read_export_time(one.updated_at or one.created_at)
        yield AnswerRow(number, id, label, name_annotator(one.completed_by), bool(one.was_cancelled), at)


def _read_results(where: str, annotation: Annotation) -> Any:
    """Return the answer among the results of an exported annotation, which may have results of other controls."""
    answers = [one for one in annotation.result or () if isinstance(one.type, str) and one.type in VALUES]
    named = [one for one in answers if one.from_name == CONTROL] or answers
    controls = list(dict.fromkeys(str(one.from_name) for one in named))
    if len(controls) > 1:
        raise InputError(
            f"{where}: answers in {join_names(controls)}; call the one that is meant {CONTROL} in the labelling config"
        )
    return _require_single(where, [value for one in named for value in _list_result_values(where, one)])


def _list_result_values(where: str, result: Result) -> list[Any]:
    """Return the chosen values of one result of an exported annotation."""
    value, name = result.value, VALUES[result.type]
    if not isinstance(value, dict) or name not in value:
        raise InputError(f"{where}: a result of type {result.type} without {name}; {EXPORT_AS_JSON}")
    return value[name] if isinstance(value[name], list) else [value[name]]


def _read_json_min(where: str, value: Any) -> Any:
    """Return the answer of a record of JSON-MIN: a plain value, or the results it could not shorten."""
    parts = value if isinstance(value, list) else [value]
    found: list[Any] = []
    for part in parts:
        inner = next((part[name] for name in VALUES.values() if name in part), None) if isinstance(part, dict) else part
        found += inner if isinstance(inner, list) else [inner]
    return _require_single(where, [one for one in found if one is not None])


def _require_single(where: str, values: list[Any]) -> Any:
    """Return the only class that an exported annotation chose; refuse several."""
    names = list(dict.fromkeys(values)) if all(isinstance(one, str | int | float) for one in values) else None
    if names is None:
        raise InputError(f"{where}: its answer is neither a class nor a number; {EXPORT_AS_JSON}")
    if len(names) > 1:
        raise InputError(
            f'{where}: {len(names)} choices, {join_names(map(repr, names))}; an item has one class: say choice="single" in '
            "the labelling config, and annotate it again; nothing was kept"
        )
    return names[0] if names and str(names[0]).strip() else None


def name_annotator(who: Any) -> str:
    """Return the name of an annotator in a Label Studio export: e-mail address, else user name or number.

    >>> name_annotator(7), name_annotator("kim@example.org"), name_annotator({"id": 7, "email": "kim@example.org"})
    ('user 7', 'kim@example.org', 'kim@example.org')
    """
    if isinstance(who, dict):
        known = (who.get(name) for name in ("email", "username", "id"))
        return name_annotator(next((one for one in known if one not in (None, "")), None))
    if isinstance(who, int) and not isinstance(who, bool):
        return f"user {who}"
    return who if isinstance(who, str) and who != "None" else ""


def _read_export_time(at: Any) -> float:
    """Return the time of an exported annotation in seconds; 0 if it has none."""
    try:
        return datetime.fromisoformat(str(at)).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
