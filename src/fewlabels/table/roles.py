"""Which column plays which role: CONTRACT's words, recognised by name or given.

Knows names and kinds of columns only, no data and no engine, so every rule here is a pure function.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fewlabels.errors import InputError, did_you_mean

Kind = Literal["number", "text", "boolean", "list", "other"]

# The first name is the contract's; the others are taken only where it is missing and exactly one of them is there.
RECOGNISED: dict[str, tuple[str, ...]] = {
    "id": ("id", "item_id", "uid"),
    "predicted": ("predicted", "prediction", "pred", "y_pred"),
    "score": ("score", "confidence"),
    "label": ("label", "y_true", "true_label", "ground_truth"),
    "agreement": ("agreement",),
}
SCORES_PREFIX = "p_"
# Columns that tell what some model said, or the truth: whoever sees them first labels differently.
TELLING = re.compile(
    r"(pred|predicted|predictions?|scores?|proba?|probability|p|conf|confidence|logits?|labels?|y|true|truth|ground|gold)([_\W\d]|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Roles:
    """The columns that play a role; None where nothing does."""

    id: str | None = None
    predicted: str | None = None
    score: str | None = None
    scores: Mapping[str, str] = field(default_factory=dict)  # class -> column
    scores_list: str | None = None  # one list column instead
    positive_score: str | None = None
    positive: str | None = None
    threshold: float = 0.5
    label: str | None = None
    agreement: str | None = None
    show: tuple[str, ...] = ()

    def used(self) -> dict[str, str]:
        """Return role -> column, for people."""
        names = ("id", "predicted", "score", "positive_score", "label", "agreement")
        found = {name: getattr(self, name) for name in names if getattr(self, name)}
        if self.scores_list:
            found["scores"] = self.scores_list
        elif self.scores:
            first, *_, last = self.scores.values()
            found["scores"] = f"{first} … {last} ({len(self.scores)} columns)"
        return found


def resolve_roles(
    columns: Mapping[str, Kind],
    *,
    id: str | None = None,
    predicted: str | None = None,
    score: str | None = None,
    scores: str | None = None,
    positive_score: str | None = None,
    positive: str | None = None,
    threshold: float = 0.5,
    label: str | None = None,
    agreement: str | None = None,
    show: Sequence[str] = (),
) -> Roles:
    """Give each role its column: the one asked for, else the one with a telling name.

    >>> resolve_roles({"id": "number", "pred": "text", "label": "text"}).predicted
    'pred'
    """
    asked = {"id": id, "predicted": predicted, "score": score, "positive_score": positive_score,
             "label": label, "agreement": agreement}  # fmt: skip
    for role, column in asked.items():
        if column is not None:
            _require(columns, role, column)
    for column in show:
        _require(columns, "show", column)
    if positive_score is not None and scores is not None:
        raise InputError("both scores and positive_score are given; give the one that holds the model's probabilities")
    if not 0 < threshold < 1:
        raise InputError(f"threshold is {threshold}; it must lie between 0 and 1")
    taken = {name for name in asked.values() if name}
    derived = positive_score is not None or scores not in (None, SCORES_PREFIX)
    many, one = _find_scores(columns, scores, positive_score, taken)
    return Roles(
        id=id or _recognise(columns, "id", taken),
        # An explicit source of predictions outranks a column that merely has the right name.
        predicted=predicted or (None if derived else _recognise(columns, "predicted", taken)),
        score=score or (None if derived else _recognise(columns, "score", taken)),
        scores=many,
        scores_list=one,
        positive_score=positive_score,
        positive=None if positive is None else str(positive),
        threshold=threshold,
        label=label or (None if agreement else _recognise(columns, "label", taken)),
        agreement=agreement or (None if label else _recognise(columns, "agreement", taken)),
        show=tuple(show),
    )


def _require(columns: Mapping[str, Kind], role: str, column: str) -> None:
    if column not in columns:
        raise InputError(f"{role}: there is no column {column!r}; {did_you_mean(column, columns)}")


def _recognise(columns: Mapping[str, Kind], role: str, taken: set[str]) -> str | None:
    exact, *others = RECOGNISED[role]
    numbers = role in ("score", "agreement")  # an empty column of that name is read as text, and plays no role
    free = [name for name in columns if name not in taken and (columns[name] == "number" or not numbers)]
    if exact in free:
        return exact
    same = [name for name in free if name.lower() == exact]
    found = same or [name for name in free if name.lower() in others]
    if len(found) > 1:
        option = role.replace("_", "-")
        raise InputError(
            f"{role} is ambiguous: columns {' and '.join(map(repr, found))} could all be it; say which with --{option} (Python: {role}=)"
        )
    return found[0] if found else None


def _find_scores(
    columns: Mapping[str, Kind], scores: str | None, positive_score: str | None, taken: set[str]
) -> tuple[dict[str, str], str | None]:
    """Return (class -> column, list column): of the prefix or column asked for, else of `p_*`."""
    if positive_score is not None:
        return {}, None
    if scores is not None and columns.get(scores) == "list":
        return {}, scores
    prefix = SCORES_PREFIX if scores is None else scores
    named = [name for name in columns if name.startswith(prefix) and len(name) > len(prefix) and name not in taken]
    found = {name[len(prefix) :]: name for name in named if columns[name] == "number"}
    if scores is None:
        return (found, None) if len(found) >= 2 and len(found) == len(named) else ({}, None)
    if scores in columns and columns[scores] == "number" and len(found) < 2:
        raise InputError(f"scores: column {scores!r} holds one number; is it the score of the predicted class (score) or of the positive class (positive_score)?")  # fmt: skip
    if len(found) < 2:
        raise InputError(f"scores: no two number columns start with {scores!r}; {did_you_mean(scores, columns)}")
    if len(found) < len(named):
        wrong = next(name for name in named if columns[name] != "number")
        raise InputError(f"scores: column {wrong!r} starts with {scores!r} but does not hold numbers")
    return found, None
