"""Logs of Inspect: a header, and samples with the scores that scorers gave."""

from typing import Any

from fewlabels.data.documents.parsing import Name, Schema


class InspectScore(Schema):
    """What one scorer says of a sample."""

    value: Any = None
    answer: Any = None


class InspectMessage(Schema):
    """What a model said: text, or parts of it."""

    content: Any = None


class InspectChoice(Schema):
    """One of the outputs of a model."""

    message: InspectMessage | None = None


class InspectOutput(Schema):
    """What the model answered."""

    completion: Any = None
    choices: tuple[InspectChoice, ...] | None = None


class InspectSample(Schema):
    """A question, the right answer and the scores."""

    id: Name
    input: Any = None
    target: Any = None
    choices: tuple[Any, ...] | None = None
    metadata: dict[str, Any] | None = None
    output: InspectOutput | None = None
    scores: dict[str, InspectScore] | None = None


class InspectTask(Schema):
    """What was evaluated."""

    task: Name | None = None
    model: Name | None = None


class InspectHeader(Schema):
    """What a log says of itself."""

    status: Name | None = None
    eval: InspectTask | None = None


class InspectLog(InspectHeader):
    """A log in one document."""

    samples: tuple[InspectSample, ...] | None = None
