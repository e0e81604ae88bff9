"""Write tasks and the labelling config for Label Studio.

Columns are written as plain text or image URLs, so that no markup in an item is interpreted. The item's id is stored as
text under a key that every export of Label Studio keeps (its `id` is its own number).
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from xml.etree import ElementTree as Xml

from fewlabels.errors import InputError
from fewlabels.sessions.shortcuts import assign_shortcuts
from fewlabels.text import as_text, sanitize_line

ID = "fewlabels_id"  # in the data of every task
CONTROL = "label"  # name of the control that holds the answer
RESERVED = {ID, CONTROL, "id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"}
KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
IMAGE = re.compile(
    r"data:image/|(?:(?:https?|s3|gs|azure-blob)://|/data/)\S+\.(?:png|jpe?g|gif|webp|bmp|svg)(?:[?#]\S*)?$",
    re.IGNORECASE,
)
INVALID_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
STYLE = ".htx-text { white-space: pre-wrap; font-family: monospace; }"  # keep line breaks and alignment
SELECT_ABOVE = 30  # classes; beyond this they are shown as a searchable list

Shown = Mapping[Any, Mapping[str, Any]]


@dataclass(frozen=True)
class Field:
    """A column as an object tag of Label Studio."""

    column: str
    key: str
    kind: Literal["Text", "Image"] = "Text"


@dataclass(frozen=True)
class ModelPrediction:
    """The model's prediction for an item."""

    label: str
    score: float | None
    model: str


@dataclass(frozen=True)
class LabelingForm:
    """The columns to show and the possible labels; without classes the answer is a grade."""

    fields: tuple[Field, ...]
    classes: tuple[str, ...]

    @classmethod
    def fit(cls, shown: Shown, classes: Sequence[str]) -> "LabelingForm":
        """Return the form of Label Studio's tasks for these items; without columns to show, it shows the id."""
        wrong = next((name for name in classes if INVALID_XML.search(name)), None)
        if wrong is not None:
            raise InputError(
                f"class {sanitize_line(wrong)!r} has a character that Label Studio's config cannot hold; use .csv or .jsonl"
            )
        columns = list(dict.fromkeys(name for row in shown.values() for name in row))
        keys = _name_keys(columns)
        fields = tuple(
            Field(name, keys[name], _find_kind([row.get(name) for row in shown.values()])) for name in columns
        )
        return cls(fields or (Field("id", ID),), tuple(classes))

    def render_config(self) -> str:
        """Return the labelling config of Label Studio's tasks, as XML."""
        view = Xml.Element("View")
        Xml.SubElement(view, "Style").text = STYLE
        for field in self.fields:
            Xml.SubElement(view, "Header", value=_as_header(field.column), size="6")
            about = {"name": field.key, "value": f"${field.key}"}
            if field.kind == "Text":
                about["valueType"] = "text"  # do not fetch text that looks like a URL
            Xml.SubElement(view, field.kind, about)
        self._add_control(view)
        Xml.indent(view)
        return Xml.tostring(view, encoding="unicode") + "\n"

    def to_task(self, id: object, row: Mapping[str, Any], prediction: ModelPrediction | None = None) -> dict[str, Any]:
        """Return an item as a task of Label Studio."""
        seen = {field.key: as_text(row.get(field.column)) for field in self.fields if field.key != ID}
        task: dict[str, Any] = {"data": {ID: str(id), **seen}}
        return task if prediction is None else {**task, "predictions": [self._predict(prediction)]}

    def _predict(self, prediction: ModelPrediction) -> dict[str, Any]:
        """Return a model's prediction as Label Studio shows it in a task."""
        answer = {
            "from_name": CONTROL, "to_name": self.fields[0].key, "type": "choices", "value": {"choices": [prediction.label]},
        }  # fmt: skip
        score = {} if prediction.score is None else {"score": prediction.score}
        return {"model_version": prediction.model, **score, "result": [answer]}

    def _add_control(self, view: Xml.Element) -> None:
        """Add the control of the answer, classes or a number, to Label Studio's labelling config."""
        about = {"name": CONTROL, "toName": self.fields[0].key, "required": "true"}
        if not self.classes:
            Xml.SubElement(view, "Number", about, min="0", max="1", step="0.01")
            return
        about |= {"choice": "single"} | ({"layout": "select"} if len(self.classes) > SELECT_ABOVE else {})
        choices = Xml.SubElement(view, "Choices", about)
        keys = _list_hotkeys(self.classes)
        for name in self.classes:
            Xml.SubElement(choices, "Choice", {"value": name, **({"hotkey": keys[name]} if name in keys else {})})


def render_tasks(form: LabelingForm, shown: Shown, predictions: Mapping[Any, ModelPrediction] | None = None) -> str:
    """Return items as a JSON list of tasks for Label Studio, one per line."""
    tasks = (form.to_task(i, row, (predictions or {}).get(i)) for i, row in shown.items())
    return "[" + ",\n ".join(json.dumps(task) for task in tasks) + "]\n"  # ASCII: UTF-8 has no lone surrogates


def _name_keys(columns: Sequence[str]) -> dict[str, str]:
    """Return a valid variable name in tasks of Label Studio for every column that is no reserved key of exports."""
    plain = {name: name for name in columns if KEY.fullmatch(name) and name not in RESERVED}
    free = (key for i in range(2 * len(columns) + 1) if (key := f"column_{i + 1}") not in plain)
    return {name: plain.get(name) or next(free) for name in columns}


def _list_hotkeys(classes: Sequence[str]) -> dict[str, str]:
    """Return the shortcuts of our page that Label Studio supports: letters and digits, in one case.

    Without them it assigns digits by position: 1 to a first class called 0.
    """
    keys = {name: key.lower() for name, key in assign_shortcuts(tuple(classes)).shown.items()}
    shared = Counter(keys.values())
    return {name: key for name, key in keys.items() if key.isascii() and key.isalnum() and shared[key] == 1}


def _find_kind(values: Sequence[Any]) -> Literal["Text", "Image"]:
    """Return whether Label Studio shows a column of its tasks as text or as images."""
    said = [value for value in values if value is not None and value != ""]
    is_image = bool(said) and all(isinstance(value, str) and IMAGE.match(value) for value in said)
    return "Image" if is_image else "Text"


def _as_header(name: str) -> str:
    """Escape a column's name for Label Studio's config, so that it is not read as a variable or markup."""
    return INVALID_XML.sub("", sanitize_line(name)).replace("$", "＄")
