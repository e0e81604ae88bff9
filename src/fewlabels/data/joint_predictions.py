"""Predictions of several models on the same items: one table with the columns of every model.

It is a table of predictions of its first model, whose roles, groups and ids it has; what the other models predict stands
beside it. `model_join` makes it from files, a wide table or a long one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import ibis

from fewlabels.data.column_names import LABEL, PREDICTED, RESERVED_PREFIX, SCORE
from fewlabels.data.names import natural_order
from fewlabels.data.predictions import Predictions
from fewlabels.data.relation import Value

LABELS_DIFFER = f"{RESERVED_PREFIX}labels_differ"
NONE_RIGHT = "none"  # canonical class of items on which no model is right


@dataclass(frozen=True, eq=False)
class JointPredictions(Predictions):
    """The predictions of several models on the same items, some of them labelled."""

    models: tuple[str, ...] = ()
    parts: tuple[Predictions, ...] = ()  # the tables that were joined
    is_named_by_agreement: bool = False

    def predicted_by(self, model: int) -> Value:
        """The class that a model predicts, as text."""
        return self.items[column_of(PREDICTED, model)]

    def scored_by(self, model: int) -> Value:
        """The score of a model; null where it has none."""
        return self.items[column_of(SCORE, model)]

    def has_score_of(self, model: int) -> bool:
        """Return whether a model has scores."""
        return column_of(SCORE, model) in self.items.columns

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """All classes that any model predicts or that are used as a label, in natural order."""
        if self.is_named_by_agreement:
            return (*map(str, range(len(self.models))), NONE_RIGHT)
        return tuple(sorted({name for part in self.parts for name in part.classes}, key=natural_order))

    def conflicts(self) -> dict[str, Value]:
        """Conditions under which columns contradict each other, and labels of an item differ."""
        differ = {LABELS_DIFFER: self.items[LABELS_DIFFER]} if LABELS_DIFFER in self.items.columns else {}
        return super().conflicts() | differ

    @property
    def has_further_scores(self) -> bool:
        """Whether a model but the first has scores."""
        return any(self.has_score_of(i) for i in range(1, len(self.models)))

    def list_further_keys(self, place_score: Callable[[Value], Value] | None) -> dict[str, Value]:
        """Return the GROUP BY keys of the other models: predicted classes, and where their scores are placed."""
        others = range(1, len(self.models))
        slots = {f"slot_{i}": place_score(self.scored_by(i)) for i in others if place_score and self.has_score_of(i)}
        return {f"predicted_{i}": self.predicted_by(i) for i in others} | slots

    def sum_further_scores(self) -> dict[str, Value]:
        """Return the summed scores of the other models."""
        return {f"score_{i}": self.scored_by(i).sum() for i in range(1, len(self.models)) if self.has_score_of(i)}

    def name_by_agreement(self) -> "JointPredictions":
        """Return the same items with classes named by agreement: by the first model that predicts the class.

        Which models agree, and which of them are right, is all that accuracy needs; and it takes far fewer kinds of items
        than classes do.
        """
        said = [self.predicted_by(i) for i in range(len(self.models))]
        new = {column_of(PREDICTED, i): _name_first(said[: i + 1], said[i]) for i in range(len(said))}
        is_labelled = self.label.notnull()
        new[LABEL] = is_labelled.ifelse(_name_first(said, self.label, NONE_RIGHT), ibis.null("string"))
        return replace(self, items=self.items.mutate(**new), scored_classes=(), is_named_by_agreement=True)


def column_of(role: str, model: int) -> str:
    """Return the column of joint predictions that holds a role of a model; the first model has the usual columns."""
    return role if model == 0 else f"{role}_{model}"


def _name_first(said: Sequence[Value], name: Value, otherwise: str | None = None) -> Value:
    """Return the number of the first of these predictions that equals a class; the last one if none is asked for."""
    last = str(len(said) - 1) if otherwise is None else otherwise
    cases = [(one == name, str(i)) for i, one in enumerate(said if otherwise else said[:-1])]
    return ibis.cases(*cases, else_=last) if cases else ibis.literal(last)
