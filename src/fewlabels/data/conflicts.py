"""Find columns that contradict each other, such as predictions and probabilities, and scores that are no confidences.

The aggregate query counts contradictions, so valid data cost no further query. `checks` reports the findings.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fewlabels.data.groups import Cut
from fewlabels.data.name_twins import describe_twins, find_twins
from fewlabels.data.predictions import Predictions
from fewlabels.data.relation import Columns
from fewlabels.errors import format_option, truncate_name

NEARLY_ALL, NOTABLE_SHARE = 0.9, 0.05  # fractions of rows: nearly all, and too many for noise
MIN_ROWS = 10
SIGNIFICANT, KAPPA = 3, 0.2  # standard deviations and Cohen's kappa above which two columns agree beyond chance
WEIGHTS = re.compile(
    "((sample|survey|case|item|sampling|design)_?)?weights?|ipw", re.IGNORECASE
)  # names of weights of items
MODEL_COLUMN = re.compile("pred|model|argmax|guess", re.IGNORECASE)  # columns with the classes of another model


@dataclass(frozen=True)
class Finding:
    """An error or a warning about a table."""

    severity: Literal["error", "warning"]
    message: str
    options: Mapping[str, str] = field(default_factory=dict)  # roles to use instead


@dataclass(frozen=True)
class ClassScores:
    """The scores of the items of one predicted class."""

    name: str
    n: int
    n_below: int  # below 1 / number of classes
    low: float
    high: float


def find_conflicts(pool: Predictions, found: Columns) -> Iterator[Finding]:
    """Warn of conflicts: in how many rows two columns contradict each other, and which of them is used."""
    roles, n = pool.roles, int(sum(found["n"]))
    disagree, off = (sum(found.get(name, [])) for name in ("n_disagree", "n_off_score"))
    if disagree and roles.positive_score:
        yield _make_warning(f"column {roles.predicted!r} is used, and differs in {disagree:,} of {n:,} rows from what column {roles.positive_score!r} predicts with threshold {roles.threshold:g}; to predict by threshold instead, say {format_option('threshold', roles.threshold)}")  # fmt: skip
    elif disagree:
        yield _make_warning(f"column {roles.predicted!r} is used, and differs in {disagree:,} of {n:,} rows from the class with the largest probability (columns {roles.used()['scores']}); are both of the same model?")  # fmt: skip
    if off:
        yield _make_warning(f"column {roles.score!r} is used, and differs in {off:,} of {n:,} rows from the probability of the predicted class by more than 0.01; are both of the same model?")  # fmt: skip
    for role, differ in pool.count_set_aside().items():
        if differ:
            source = (
                format_option("threshold", roles.threshold)
                if role == "predicted"
                else "the probabilities that were named"
            )
            what = "predicted class" if role == "predicted" else role
            yield _make_warning(f"column {roles.set_aside[role]!r} is not used: the {what} comes from {source}, and differs from it in {differ:,} of {n:,} rows")  # fmt: skip
    yield from _find_weights(pool)


def _find_weights(pool: Predictions) -> Iterator[Finding]:
    """Warn of columns that are named like weights of items: nothing weights by them."""
    used = set(pool.roles.used().values())
    for name in pool.items.columns:
        if name not in used and WEIGHTS.fullmatch(name) and pool.items[name].type().is_numeric():
            yield _make_warning(f"column {name!r} is not used: every item counts alike. If labelled items were chosen with unequal probabilities, name a column of their probabilities, such as a constant over the weight, with {format_option('propensity')}")  # fmt: skip


def check_twins(predicted: set[str], labels: set[str]) -> list[Finding]:
    """Warn of classes whose names look alike: a prediction of one is wrong where the other is the label."""
    twins = find_twins(predicted | labels)
    by_case = [same for same in find_twins(predicted | labels, ignore_case=True) if labels and not predicted >= set(same) <= labels]  # fmt: skip
    twins += [same for same in by_case if not any(set(one) <= set(same) for one in twins)]
    if not twins:
        return []
    return [Finding("warning", f"classes whose names differ only in case, spaces or invisible characters count as different classes: {describe_twins(twins)}; if they are the same, write them alike")]  # fmt: skip


def check_groups(cut: Cut, found: Columns) -> Iterator[Finding]:
    """Warn of conflicting groups: names that look alike, or empty ones beside missing values; they are estimated apart."""
    for facet, key in zip(cut.facets, cut.keys, strict=True):
        names = {name for name in found[key] if isinstance(name, str)}
        twins = find_twins(names) if facet.name != "predicted" else []
        if twins:
            yield _make_warning(f"groups of {facet.name!r} whose names differ only in spaces or invisible characters are estimated apart: {describe_twins(twins)}; if they are the same, write them alike")  # fmt: skip
        if facet.blank in names and any(not name.strip() for name in names):
            yield _make_warning(f"groups of {facet.name!r}: empty text and missing values are two groups; if they are the same, leave both missing")  # fmt: skip


def check_confidence(pool: Predictions, found: Columns, edges: Sequence[float]) -> list[Finding]:
    """Warn if scores conflict with being confidences: they are below 1/K for K classes."""
    k = len(pool.classes)
    if (
        not pool.roles.score
        or pool.scored_classes
        or pool.has("agreement")
        or k < 2
        or not _may_be_below(found, edges, k)
    ):
        return []
    by_class = _count_below(pool, k)
    n, n_below = sum(one.n for one in by_class), sum(one.n_below for one in by_class)
    if n_below < max(MIN_ROWS, NOTABLE_SHARE * n):
        return []
    if k == 2 and (other := _find_scored_class(pool, by_class)):
        return [_suggest_positive(pool, by_class, other)]
    least = "0.5" if k == 2 else f"1/{k:,}"
    wrong = n_below >= NEARLY_ALL * n
    hint = "is it the probability of being wrong? Then give 1 minus the score" if wrong else f"is it that of another class? Then name the column with {format_option('positive_score')}"  # fmt: skip
    return [_make_warning(f"column {pool.roles.score!r} is read as confidence in the predicted class, but is below {least} in {n_below:,} of {n:,} rows, and the most probable of {k:,} classes has at least that; {hint if k == 2 or wrong else 'is it the probability of another class?'}")]  # fmt: skip


def _may_be_below(found: Columns, edges: Sequence[float], k: int) -> bool:
    """Do counts show scores below 1/K, which conflict with being confidences: in a bin below it, or as the mean of a class?"""
    if any(b is not None and edges[b + 1] <= 1 / k for b in found.get("bin", [])):
        return True
    sums: dict[str, list[float]] = {}
    for name, n, score in zip(found["predicted"], found["n"], found["score"], strict=True):
        one = sums.setdefault(name, [0.0, 0.0])
        one[0], one[1] = one[0] + n, one[1] + (score or 0.0)
    return any(total < n / k for n, total in sums.values())


def _count_below(pool: Predictions, k: int) -> list[ClassScores]:
    """Count the scores below 1/K, which conflict with being confidences."""
    below = (pool.score < 1 / k - 1e-6).ifelse(1, 0).sum()
    found = pool.count_by({"name": pool.predicted}, {"below": below, "low": pool.score.min(), "high": pool.score.max()})
    return [ClassScores(*row) for row in zip(*(found[c] for c in ("name", "n", "below", "low", "high")), strict=True)]


def _find_scored_class(pool: Predictions, by_class: list[ClassScores]) -> str | None:
    """Return the class whose probability a conflicting score seems to be: the scores of the other class are low."""
    low = [one for one in by_class if one.n_below >= NEARLY_ALL * one.n]
    if len(low) != 1:
        return None
    others = [one for one in by_class if one is not low[0]]
    if others and others[0].n_below > (1 - NEARLY_ALL) * others[0].n and others[0].low < low[0].high:
        return None
    return next(name for name in pool.classes if name != low[0].name)


def _suggest_positive(pool: Predictions, by_class: list[ClassScores], positive: str) -> Finding:
    """Suggest to name the positive class if scores conflict with being confidences."""
    low = next(one for one in by_class if one.name != positive)
    column = str(pool.roles.score)
    options = {"positive_score": column} | ({} if positive in ("1", "True") else {"positive": positive})
    words = " and ".join(format_option(name, value) for name, value in options.items())
    return Finding("warning", f"column {column!r} is read as confidence in the predicted class, but {low.n_below:,} of {low.n:,} rows predicted {truncate_name(low.name)!r} score below 0.5: it looks like the probability of class {truncate_name(positive)!r}; if so, say {words}", options)  # fmt: skip


def find_label_columns(pool: Predictions, values: Mapping[str, int]) -> tuple[Finding, ...]:
    """Find columns that hold only predicted classes and agree with them, without conflict, if none is the label."""
    if pool.n_labels or pool.has("agreement") or not pool.has("predicted") or not values:
        return ()
    said = {name for name in pool.pairs["predicted"] if name is not None}
    few = [name for name, n in values.items() if n <= len(said) + 1 and not MODEL_COLUMN.search(name)]
    found = [name for name in few if _holds_classes(pool, name, said) and _agrees_with_predicted(pool, name)]
    return tuple(
        Finding("warning", f"column {name!r} holds classes that are predicted: if it is the true class, say {format_option('label', name)}", {"label": name})
        for name in found[:3]
    )  # fmt: skip


def _holds_classes(pool: Predictions, column: str, said: set[str]) -> bool:
    """Does a column hold only predicted classes, in conflict with there being no label column?"""
    values = set(pool.count_by({"value": pool.attribute(column)}, {})["value"]) - {None}
    return bool(values) and values <= said and len(values) >= min(2, len(said))


def _agrees_with_predicted(pool: Predictions, column: str) -> bool:
    """Does a column with classes agree with the predicted class clearly more often than by chance?"""
    pairs = pool.count_by({"value": pool.attribute(column), "predicted": pool.predicted}, {})
    rows = [row for row in zip(pairs["value"], pairs["predicted"], pairs["n"], strict=True) if None not in row]
    n, same = sum(k for _, _, k in rows), sum(k for value, predicted, k in rows if value == predicted)
    values, classes = Counter[str](), Counter[str]()
    for value, predicted, k in rows:
        values[value] += k
        classes[predicted] += k
    chance = sum(values[name] * classes[name] for name in values) / max(n, 1) ** 2
    sd = math.sqrt(max(chance * (1 - chance), 0) / max(n, 1))
    return same > n * (chance + max(SIGNIFICANT * sd, KAPPA * (1 - chance)))


def count_values(pool: Predictions) -> dict[str, int]:
    """Count the distinct values of every attribute, to find conflicts; missing counts as a value."""
    if not pool.attributes:
        return {}
    names = {str(i): pool.attribute(name) for i, name in enumerate(pool.attributes)}
    values = {f"n{i}": name.nunique() for i, name in names.items()}
    blanks = {f"blank{i}": name.isnull().any() for i, name in names.items()}
    found = pool.measure(values | blanks)
    return {name: int(found[f"n{i}"]) + bool(found[f"blank{i}"]) for i, name in enumerate(pool.attributes)}


def _make_warning(message: str) -> Finding:
    """Return a warning of a conflict."""
    return Finding("warning", message)
