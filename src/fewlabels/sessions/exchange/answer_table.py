"""The answers of a session as the rows and columns of a table, for files and for the page."""

from collections.abc import Sequence
from typing import Any

from fewlabels.data.label_join import CANNOT_TELL

OTHER_COLUMNS = ("asked", "who", "note", "at")


def tabulate_answers(answers: list[dict[str, Any]], classes: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the table of answers, a row each, and its columns: the label is named as other verbs read it."""
    answer = "label" if classes else "agreement"
    rows = [{**row, answer: row["label"]} for row in mark_cannot_tell(answers, classes)]
    return rows, ["id", answer, *OTHER_COLUMNS]


def mark_cannot_tell(rows: list[dict[str, Any]], classes: Sequence[str]) -> list[dict[str, Any]]:
    """Replace missing labels in the table of answers by the mark for cannot tell, unless a class has that name."""
    cannot_tell_mark = "" if CANNOT_TELL in classes else CANNOT_TELL
    return [{**row, "label": cannot_tell_mark if row["label"] is None else row["label"]} for row in rows]
