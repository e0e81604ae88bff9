"""Schema of logs of Inspect: a header, and samples with scores."""

from typing import Any

from fewlabels.data.documents.parsing import Name, Schema


class InspectScore(Schema):
    """The score of a sample by one scorer."""

    value: Any = None
    answer: Any = None


class InspectMessage(Schema):
    """A message of the model: text, or a list of parts."""

    content: Any = None


class InspectChoice(Schema):
    """One output of the model."""

    message: InspectMessage | None = None


class InspectOutput(Schema):
    """The response of the model."""

    completion: Any = None
    choices: tuple[InspectChoice, ...] | None = None


class InspectSample(Schema):
    """A question, its target and its scores."""

    id: Name
    input: Any = None
    target: Any = None
    choices: tuple[Any, ...] | None = None
    metadata: dict[str, Any] | None = None
    output: InspectOutput | None = None
    scores: dict[str, InspectScore] | None = None


class InspectTask(Schema):
    """The evaluated task and model."""

    task: Name | None = None
    model: Name | None = None


class InspectHeader(Schema):
    """The header of a log."""

    status: Name | None = None
    eval: InspectTask | None = None


class InspectLog(InspectHeader):
    """A log in one JSON document."""

    samples: tuple[InspectSample, ...] | None = None
