"""The items of an evaluation log, and their conversion to columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fewlabels.data.roles import PREFIXES, RECOGNISED, SCORES_PREFIX, SUGGESTED

# Other names for a label do no harm: converted logs always have a column label or agreement.
ROLES = {name for role, names in RECOGNISED.items() if role != "label" for name in names} | {*SUGGESTED["score"]}
Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class Log:
    """The columns of logs, and notes for the user."""

    columns: Mapping[str, list[Any]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Item:
    """One question: the model's answer, its grade in the log, and all other fields."""

    id: str
    task: str
    predicted: str | None
    grade: float | None  # the grade of the harness, from 0 to 1
    label: str | None = None  # of a multiple-choice question
    probabilities: Mapping[str, float] = field(default_factory=dict)  # probabilities of the choices
    others: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_consistent(self) -> bool:
        """Whether predicted = label agrees with the grade in this row of the log."""
        return self.grade is None or (self.label is not None and (self.predicted == self.label) == (self.grade == 1))


def are_classes(items: Sequence[Item]) -> bool:
    """Return whether the answers in rows of a log are classes: some have a label, and grades agree with them."""
    return any(item.label is not None for item in items) and all(item.is_consistent for item in items)


def make_ids_unique(items: Sequence[Item], places: Sequence[object]) -> list[Item]:
    """Append the log to ids of rows if several logs hold the same questions, for example of several models."""
    if len({item.id for item in items}) == len(items):
        return list(items)
    return [replace(item, id=f"{item.id} ({place})") for item, place in zip(items, places, strict=True)]


def to_log_columns(items: Sequence[Item], *, classes: bool) -> dict[str, list[Any]]:
    """Convert the rows of a log to columns, as classes or as graded outputs."""
    columns: dict[str, list[Any]] = {"id": [item.id for item in items], "task": [item.task for item in items]}
    if any(item.predicted is not None for item in items):
        columns["predicted"] = [item.predicted for item in items]
    if classes:
        columns |= {"label": [item.label for item in items]} | _list_confidences(items)
    else:
        columns["agreement"] = [item.grade for item in items]
    return columns | attribute_columns([item.others for item in items], taken={*columns, "score", "label", "agreement"})


def _list_confidences(items: Sequence[Item]) -> dict[str, list[Any]]:
    """Return a probability column per choice if all rows of a language model's log share the choices, else the score of the predicted one."""
    names = list(items[0].probabilities)
    if len(names) > 1 and all(list(item.probabilities) == names for item in items):
        return {f"{SCORES_PREFIX}{name}": [item.probabilities[name] for item in items] for name in names}
    score = [item.probabilities.get(item.predicted or "") for item in items]
    return {"score": score} if any(p is not None for p in score) else {}


def attribute_columns(records: Sequence[Mapping[str, Any]], taken: set[str]) -> dict[str, list[Any]]:
    """Convert other fields of a log's rows to columns: plain values only, renamed if named like a role."""
    names = dict.fromkeys(name for record in records for name in record)
    found = {name: [record.get(name) for record in records] for name in names}
    plain = {name: _one_type(values) for name, values in found.items() if _are_plain(values)}
    return {_free_name(name, taken): values for name, values in plain.items()}


def _free_name(name: str, taken: set[str]) -> str:
    """Rename a field of a log's rows if its name is that of a role or taken."""
    plays = name.lower() in ROLES | taken or name.lower().startswith(PREFIXES)
    return f"doc_{name}" if plays else name


def _are_plain(values: Iterable[Any]) -> bool:
    """Does a field hold only plain values in the rows of a log: text, numbers and booleans?"""
    return all(value is None or isinstance(value, str | int | float | bool) for value in values)


def _one_type(values: Sequence[Scalar]) -> list[Scalar]:
    """Convert a field's mixed values in the rows of a log to text, because a column has one type."""
    there = [value for value in values if value is not None]
    flags = [isinstance(value, bool) for value in there]
    words = [isinstance(value, str) or _is_long(value) for value in there]
    if all(flags) or all(isinstance(value, str) for value in there) or not (any(flags) or any(words)):
        return list(values)
    return [None if value is None else str(value) for value in values]


def _is_long(value: Scalar) -> bool:
    """Does an integer in a row of a log exceed 64 bits?"""
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def as_unit_float(value: Any) -> float | None:
    """Return a number from 0 to 1 in a log's row as float; None for anything else."""
    if isinstance(value, bool | int | float) and 0 <= value <= 1:
        return float(value)
    return None
