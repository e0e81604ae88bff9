"""Assign roles to columns whose names only suggest one, such as target or prob_cat; attributes may have such names too.

They get the role only if no other column has it and their values fit, with a note. Other columns stay attributes, with
a note on how to name them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import ibis
import ibis.expr.types as ir
from ibis.backends import BaseBackend

from fewlabels.data.names import as_name
from fewlabels.data.numbers import as_float
from fewlabels.data.roles import PREFIXES, SUGGESTED, Kind, Roles, list_prefixed
from fewlabels.data.tolerances import ROUNDING, SUM_TOLERANCE
from fewlabels.errors import format_option, join_names

MAX_CLASSES = 10_000  # maximum number of classes that are compared
NOT_SCORE_PATTERN = re.compile(
    r".*[_\W](dates?|day|month|year|time|timestamp|dt|at|updated|created|level|rank|std|sd|diff|versions?|ids?|names?|types?|source|count|n|model|threshold)$",
    re.IGNORECASE,
)  # names that start like a score but describe something else
ROLE_PATTERNS = {  # names similar to the recognised ones
    "score": re.compile(
        r"(scores?|conf|confidences?|proba?s?|probability|probabilities|softmax|logits?)([_\W\d]|$)|.*[_\W](score|conf|confidence|proba?|probability)$",
        re.IGNORECASE,
    ),
    "agreement": re.compile(r"(is_?|was_?)?(correct|right)(ness)?", re.IGNORECASE),
    "label": re.compile(
        r"(labels?|true|truth|y_?true|gold|ground|actual|annotation|reference)([_\W\d]|$)|.*[_\W](label|labels|truth|true|gold|actual)$",
        re.IGNORECASE,
    ),
}


@dataclass(frozen=True)
class SuggestedColumns:
    """The columns of a table, their kinds, and the roles assigned so far."""

    table: ir.Table
    engine: BaseBackend
    kinds: Mapping[str, Kind]
    roles: Roles

    @property
    def taken(self) -> set[str]:
        """The columns with a role, which are not suggested for another."""
        return {*self.roles.used().values(), *self.roles.scores.values()}

    def list_suggested(self, role: str) -> list[str]:
        """List the columns without a role whose names suggest this one, most likely first."""
        free = {name.lower(): name for name in self.kinds if name not in self.taken}
        return [free[name] for name in SUGGESTED[role] if name in free]

    @cached_property
    def classes(self) -> set[str] | None:
        """The predicted classes, which a suggested label must hold; None if only the labels define them."""
        if self.roles.predicted:
            return self.list_names(self.roles.predicted)
        return set(self.roles.scores) or None

    def list_names(self, column: str) -> set[str]:
        """List the classes in a column whose name suggests a role; booleans are named 1 and 0."""
        names = self.table.select(name=as_name(self.table[column], booleans=("0", "1"))).distinct().limit(MAX_CLASSES)
        return {name for name in self.engine.to_pyarrow(names)["name"].to_pylist() if name is not None}

    def find_range(self, value: ir.Value) -> tuple[float, float, int]:
        """Return minimum, maximum and the number of missing values of a suggested column."""
        number = as_float(value)
        gaps = (number.isnull() | number.isnan()).ifelse(1, 0).sum()
        kept = number.nullif(float("nan"))
        found = self.engine.to_pyarrow(self.table.aggregate(low=kept.min(), high=kept.max(), gaps=gaps)).to_pylist()[0]
        bounds = (float("nan") if found[name] is None else float(found[name]) for name in ("low", "high"))
        return (*bounds, int(found["gaps"] or 0))  # type: ignore[return-value]

    def holds_probabilities(self, column: str) -> bool:
        """Return whether a suggested score fits: all its values are in [0, 1], with none missing."""
        if self.kinds[column] != "number":
            return False
        low, high, gaps = self.find_range(self.table[column])
        return low >= -ROUNDING and high <= 1 + ROUNDING and not gaps

    def holds_grades(self, column: str) -> bool:
        """Return whether a suggested column of grades fits: its numbers are in [0, 1], and some are present."""
        if self.kinds[column] != "number":
            return False
        low, high, _ = self.find_range(self.table[column])
        return low >= -ROUNDING and high <= 1 + ROUNDING

    def holds_classes(self, column: str) -> bool:
        """Return whether a suggested label fits: all its values are predicted classes."""
        return self.kinds[column] in ("text", "number", "boolean") and self.find_unknown_class(column) is None

    def find_unknown_class(self, column: str) -> str | None:
        """Return a value of a suggested label that is no predicted class, or None; '' if the column is empty."""
        names = self.list_names(column)
        if self.roles.scores_list and not self.roles.predicted:  # classes are list indices
            return min((name for name in names if not name.isdecimal()), default=None) if names else ""
        if self.classes is None:  # a positive score alone: any two classes, one of them positive
            wanted = {self.roles.positive} if self.roles.positive else {"1", "True"}
            return None if len(names) <= 2 and names & wanted else min(names, default="")
        return min(names - self.classes, default=None) if names else ""


def assign_suggested(columns: SuggestedColumns, given: Mapping[str, Any]) -> Roles:
    """Assign unfilled roles to columns whose names suggest them and whose values fit; note the others' suggestions."""
    notes: list[str] = []
    for take in (_assign_scores, _assign_score, _assign_label):
        roles, more = take(columns, given)
        notes += more
        columns = replace(columns, roles=roles)
    return replace(columns.roles, notes=(*columns.roles.notes, *notes, *_note_likely(columns, notes)))


def _assign_scores(columns: SuggestedColumns, given: Mapping[str, Any]) -> tuple[Roles, list[str]]:
    """Assign probability columns of every class if their names suggest them and they fit."""
    roles = columns.roles
    notes: list[str] = []
    if given.get("scores") or roles.scores or roles.positive_score or roles.agreement:
        return roles, []
    for prefix in PREFIXES:
        named = list_prefixed(columns.kinds, prefix, columns.taken)
        found = {name[len(prefix) :]: name for name in named if columns.kinds[name] == "number"}
        if len(found) < 2 or len(found) < len(named):
            continue
        is_known = columns.classes is not None and columns.classes <= set(found)
        if roles.predicted and roles.score and not is_known:
            continue
        reason = _find_misfit(columns, found, is_known=is_known or not roles.predicted)
        if reason is None:
            return replace(roles, scores=found), [*notes, f"columns {join_names(named)} are read as the probabilities of the classes"]  # fmt: skip
        notes.append(f"columns {join_names(named)} are not used as probabilities: {reason}")
    return roles, notes


def _find_misfit(columns: SuggestedColumns, found: Mapping[str, str], *, is_known: bool) -> str | None:
    """Return why columns whose names suggest class probabilities cannot be that; None if they can."""
    if not is_known:
        return "their names are not those of the predicted classes"
    low, high, gaps = columns.find_range(reduce(add, (as_float(columns.table[name]) for name in found.values())))
    if gaps or not (low >= 1 - SUM_TOLERANCE and high <= 1 + SUM_TOLERANCE):
        return (
            "some are missing" if gaps else f"the sum of a row should be 1, and lies between {low:.3g} and {high:.3g}"
        )
    least, _, _ = columns.find_range(ibis.least(*(columns.table[name] for name in found.values())))
    return None if least >= -ROUNDING else "some are below 0"


def _assign_score(columns: SuggestedColumns, given: Mapping[str, Any]) -> tuple[Roles, list[str]]:
    """Assign the score to a column whose name suggests it and whose values fit."""
    roles, found = columns.roles, columns.list_suggested("score")
    if not found or not roles.predicted or roles.agreement or "score" in given:
        return roles, []
    if _has_scores(roles):
        return roles, _note_unused(columns, "score") if roles.score else []
    fit = next((name for name in found if columns.holds_probabilities(name)), None)
    others = [f"column {name!r} is not used as score: it does not hold numbers between 0 and 1 in every row" for name in found if name != fit]  # fmt: skip
    if fit is None:
        return roles, others
    return replace(roles, score=fit), [f"column {fit!r} is read as the score, the confidence in the predicted class"]


def _assign_label(columns: SuggestedColumns, given: Mapping[str, Any]) -> tuple[Roles, list[str]]:
    """Assign the label to a column whose name suggests it and whose values fit."""
    roles, found = columns.roles, columns.list_suggested("label")
    if not found or roles.agreement or "label" in given or "agreement" in given:
        return roles, []
    if roles.label:
        return roles, _note_unused(columns, "label")
    notes = []
    for name in found:
        if columns.holds_classes(name):
            return replace(roles, label=name), [f"column {name!r} is read as the label, the true class"]
        unknown = columns.find_unknown_class(name)
        if unknown:
            notes.append(f"column {name!r} is not used as label: it holds {unknown[:40]!r}, which is never predicted (to use it, say {format_option('label', name)})")  # fmt: skip
    return roles, notes


def _note_unused(columns: SuggestedColumns, role: str) -> list[str]:
    """Note suggested columns that fit a role but are not used, if the role's column is not named exactly like the role."""
    used = str(getattr(columns.roles, role))
    if used.lower() == role:
        return []
    fits = columns.holds_probabilities if role == "score" else columns.holds_classes
    left = [name for name in columns.list_suggested(role) if fits(name)]
    return [f"column {name!r} is not used: the {role} comes from column {used!r} (to use it instead, say {format_option(role, name)})" for name in left]  # fmt: skip


def _has_scores(roles: Roles) -> bool:
    """Do the roles have scores already, so that none need be suggested?"""
    return bool(roles.score or roles.scores or roles.scores_list or roles.positive_score)


def _note_likely(columns: SuggestedColumns, notes: list[str]) -> Iterator[str]:
    """Note columns whose names suggest a role that they do not have."""
    roles = columns.roles
    free = [name for name in columns.kinds if name not in columns.taken and not any(repr(name) in note for note in notes)]  # fmt: skip
    if roles.label and roles.agreement:
        yield f"column {roles.label!r} is not used: outputs are graded by column {roles.agreement!r} (to use the label instead, say {format_option('label', roles.label)})"  # fmt: skip
    if not _has_scores(roles):
        likely = [name for name in free if _looks_like_score(columns, name)]
        if likely:
            yield f"no scores are used, though the name of column {join_names(map(repr, likely))} suggests some: say {format_option('score')} (confidence in the predicted class), {format_option('positive_score')} (probability of the positive class) or {format_option('scores')} (one per class)"  # fmt: skip
    if not (roles.label or roles.agreement):
        likely = [name for name in free if ROLE_PATTERNS["label"].match(name) and columns.holds_classes(name)]
        if likely:
            yield f"no labels are used, though the name of column {join_names(map(repr, likely))} suggests some: say {format_option('label')} with the column of the true class"  # fmt: skip
        graded = [name for name in free if ROLE_PATTERNS["agreement"].fullmatch(name) and columns.holds_grades(name)]
        if graded and not likely:
            yield f"no labels are used; if column {join_names(map(repr, graded))} says whether each prediction is right (1) or wrong (0), say {format_option('agreement', graded[0])}"  # fmt: skip


def _looks_like_score(columns: SuggestedColumns, name: str) -> bool:
    """Return whether a column's name suggests a score; after a probability prefix it must end with a class."""
    prefix = next((one for one in PREFIXES if name.lower().startswith(one)), None)
    if prefix is not None:
        is_one = columns.classes is not None and name[len(prefix) :] in columns.classes
    else:
        is_one = ROLE_PATTERNS["score"].match(name) is not None and not NOT_SCORE_PATTERN.match(name)
    return is_one and (columns.kinds[name] == "list" or columns.holds_probabilities(name))
