"""Schema of Label Studio's exports: tasks with annotations (JSON), or one record per task (JSON-MIN)."""

from typing import Any

from pydantic import ConfigDict, RootModel, field_validator, model_validator

from fewlabels.data.documents.parsing import Schema


class TaskList(RootModel[tuple[dict[str, Any], ...]]):
    """All tasks, with unchecked contents."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _require_objects(cls, tasks: Any) -> Any:
        """Refuse Label Studio's tasks unless they are a list of objects."""
        _require_list("Label Studio's tasks are a list of objects, and this is something else", tasks)
        return tuple(tasks)


class Result(Schema):
    """The value of one control of the labelling config."""

    type: Any = None
    from_name: Any = None
    value: Any = None


class Annotation(Schema):
    """One annotator's answers to a task."""

    result: tuple[Result, ...] | None = None
    was_cancelled: bool | None = None
    completed_by: Any = None
    created_at: Any = None
    updated_at: Any = None

    @field_validator("result", mode="before")
    @classmethod
    def _require_objects(cls, result: Any) -> Any:
        """Refuse the result of Label Studio's annotation unless it is a list of objects."""
        _require_list("its result is no list of objects", result or [])
        return tuple(result or [])


class Task(Schema):
    """A full task."""

    annotations: tuple[Annotation, ...] | None = None

    @field_validator("annotations", mode="before")
    @classmethod
    def _require_objects(cls, annotations: Any) -> Any:
        """Refuse annotations of Label Studio unless they are a list of objects."""
        _require_list("its annotations are not there in full", annotations or [])
        return tuple(annotations or [])


def _require_list(words: str, value: Any) -> None:
    """Raise unless a value in Label Studio's export is a list of objects."""
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ValueError(words)
