"""Assign columns to roles (id, predicted, score, label, ...): given by the user, or recognised by name.

The rules are pure functions of column names and kinds, without data or engine. Given roles override recognised ones,
with one exception: a recognised `predicted` column overrides classes derived from scores, unless a threshold is given.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fewlabels.errors import InputError, did_you_mean, format_option

Kind = Literal["number", "text", "boolean", "list", "other"]

# The first name is the role's own; the others count only if it is missing and exactly one of them is present.
RECOGNISED: dict[str, tuple[str, ...]] = {
    "id": ("id", "item_id", "uid"),
    "predicted": ("predicted", "prediction", "pred", "y_pred"),
    "score": ("score", "confidence"),
    "label": ("label", "y_true", "true_label", "ground_truth"),
    "agreement": ("agreement",),
    "propensity": ("propensity", "inclusion_probability"),
}
# Names that attributes may have too: used only if no other column has the role and the values fit (`suggestions`).
SUGGESTED: dict[str, tuple[str, ...]] = {"score": ("proba", "prob"), "label": ("target", "gold")}
SCORES_PREFIX = "p_"
PREFIXES = (SCORES_PREFIX, "prob_", "proba_")
NUMBERS = ("score", "positive_score", "agreement", "propensity")  # roles of numeric columns
# Names of columns that may leak predictions or labels, and would bias annotators.
LEAKING = re.compile(
    r"(pred|predicted|predictions?|scores?|proba?|probability|p|conf|confidence|logits?|labels?|y|true|truth|ground|gold)([_\W\d]|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Roles:
    """The column of each role; None if a role has no column."""

    id: str | None = None
    predicted: str | None = None
    score: str | None = None
    scores: Mapping[str, str] = field(default_factory=dict)  # class -> column
    scores_list: str | None = None  # one list column instead of a column per class
    positive_score: str | None = None
    positive: str | None = None
    threshold: float = 0.5
    label: str | None = None
    agreement: str | None = None
    propensity: str | None = None
    show: tuple[str, ...] = ()
    set_aside: Mapping[str, str] = field(default_factory=dict)  # role -> recognised column that a given role replaces
    notes: tuple[str, ...] = ()

    def used(self) -> dict[str, str]:
        """Return role -> column, for display."""
        names = ("id", "predicted", "score", "positive_score", "label", "agreement", "propensity")
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
    threshold: float | None = None,
    label: str | None = None,
    agreement: str | None = None,
    propensity: str | None = None,
    show: Sequence[str] = (),
) -> Roles:
    """Assign a column to each role: the given one, else one recognised by name.

    >>> resolve_roles({"id": "number", "pred": "text", "label": "text"}).predicted
    'pred'
    """
    asked = {"id": id, "predicted": predicted, "score": score, "positive_score": positive_score,
             "label": label, "agreement": agreement, "propensity": propensity}  # fmt: skip
    for role, column in asked.items():
        if column is not None:
            _require_column(columns, role, column)
    for column in show:
        _require_column(columns, "show", column)
    _refuse_contradictions(predicted, scores, positive_score, threshold)
    taken = {name for name in asked.values() if name}
    many, one = _find_scores(columns, scores, positive_score, taken)
    is_derived = positive_score is not None or scores is not None
    found_predicted = predicted or _recognise_column(columns, "predicted", taken)
    found_score = score or _recognise_column(columns, "score", taken, strict=not is_derived)
    found_agreement = agreement or (None if label else _recognise_column(columns, "agreement", taken))
    found_label = label or (
        None if agreement else _recognise_column(columns, "label", taken, exact=bool(found_agreement))
    )
    aside = {}
    if threshold is not None and positive_score and not predicted and found_predicted:
        aside["predicted"], found_predicted = found_predicted, None
    if is_derived and not score and found_score:
        aside["score"], found_score = found_score, None
    return Roles(
        id=id or _recognise_column(columns, "id", taken),
        predicted=found_predicted,
        score=found_score,
        scores=many,
        scores_list=one,
        positive_score=positive_score,
        positive=None if positive is None else str(positive),
        threshold=0.5 if threshold is None else threshold,
        label=found_label,
        agreement=found_agreement,
        propensity=propensity or _recognise_column(columns, "propensity", taken),
        show=tuple(show),
        set_aside=aside,
    )


def _refuse_contradictions(
    predicted: str | None, scores: str | None, positive_score: str | None, threshold: float | None
) -> None:
    """Refuse roles that exclude each other, such as scores and positive_score."""
    if positive_score is not None and scores is not None:
        raise InputError("both scores and positive_score are given; give the one that holds the model's probabilities")
    if threshold is None:
        return
    if not 0 < threshold < 1:
        raise InputError(f"threshold is {threshold}; it must lie between 0 and 1")
    if positive_score is None:
        raise InputError("threshold goes with positive_score, the probability that it is compared with; give both")
    if predicted is not None:
        raise InputError(f"both predicted and threshold are given; predictions come from column {predicted!r} or from the threshold")  # fmt: skip


def _require_column(columns: Mapping[str, Kind], role: str, column: str) -> None:
    """Raise if the column given for a role does not exist."""
    if column not in columns:
        raise InputError(f"{role}: there is no column {column!r}; {did_you_mean(column, columns)}")


def _recognise_column(
    columns: Mapping[str, Kind], role: str, taken: set[str], *, strict: bool = True, exact: bool = False
) -> str | None:
    """Find the column named like a role; `exact` ignores the other spellings, `strict` refuses two of them."""
    first, *others = RECOGNISED[role]
    free = [name for name in columns if name not in taken and (columns[name] == "number" or role not in NUMBERS)]
    if first in free:
        return first
    same = [name for name in free if name.lower() == first]
    found = same or [name for name in free if name.lower() in others and not exact]
    if len(found) > 1 and strict:
        raise InputError(
            f"{role} is ambiguous: columns {' and '.join(map(repr, found))} could all be it; say which with {format_option(role)}"
        )
    return found[0] if found else None


def _find_scores(
    columns: Mapping[str, Kind], scores: str | None, positive_score: str | None, taken: set[str]
) -> tuple[dict[str, str], str | None]:
    """Return (class -> column, list column) for the role of the scores: of the given prefix or column, else of `p_*`."""
    if positive_score is not None:
        return {}, None
    if scores is None:
        return _list_recognised(columns, taken), None
    if columns.get(scores) == "list":
        return {}, scores
    named = [name for name in columns if name.startswith(scores) and len(name) > len(scores) and name not in taken]
    found = {name[len(scores) :]: name for name in named if columns[name] == "number"}
    if scores in columns and columns[scores] == "number" and len(found) < 2:
        raise InputError(f"scores: column {scores!r} holds one number; is it the score of the predicted class (score) or of the positive class (positive_score)?")  # fmt: skip
    if len(found) < 2:
        raise InputError(f"scores: no two number columns start with {scores!r}; {did_you_mean(scores, columns)}")
    if len(found) < len(named):
        wrong = next(name for name in named if columns[name] != "number")
        raise InputError(f"scores: column {wrong!r} starts with {scores!r} but does not hold numbers")
    return found, None


def is_recognised(role: str, *columns: str) -> bool:
    """Return whether columns of these names are recognised for a role.

    >>> is_recognised("label", "y_true"), is_recognised("label", "gt"), is_recognised("scores", "p_a", "p_b")
    (True, False, True)
    """
    if role == "scores":
        return all(name.lower().startswith(PREFIXES) for name in columns)
    return all(name.lower() in (*RECOGNISED.get(role, ()), *SUGGESTED.get(role, ())) for name in columns)


def list_prefixed(columns: Mapping[str, Kind], prefix: str, taken: set[str]) -> list[str]:
    """List the columns with a prefix (ignoring case) that have no other role."""
    n = len(prefix)
    return [name for name in columns if name[:n].lower() == prefix and len(name) > n and name not in taken]


def _list_recognised(columns: Mapping[str, Kind], taken: set[str]) -> dict[str, str]:
    """List the columns named `p_CLASS` if all are numbers: they are recognised for the role of the scores."""
    n = len(SCORES_PREFIX)
    named = [name for name in columns if name.startswith(SCORES_PREFIX) and len(name) > n and name not in taken]
    is_whole = len(named) >= 2 and all(columns[name] == "number" for name in named)
    return {name[n:]: name for name in named} if is_whole else {}
