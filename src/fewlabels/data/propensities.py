"""Labels that were not drawn at random: known propensities, checked and summed, and signs of unknown ones.

A propensity is the known probability with which a labelled item was chosen. Without one, labels count as drawn at random
within their group; scores show it where they plainly were not.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.aggregate import Aggregate
from fewlabels.data.conflicts import Finding
from fewlabels.data.predictions import Predictions
from fewlabels.errors import choose_words, format_option

LEAST_LABELS = 20  # in all, from which signs are looked for
SIGN = 4.0  # standard errors between the scores of labelled items and of their groups that are a sign: 1 in 16,000


@dataclass(frozen=True)
class WeightedLabels:
    """The labels with a propensity, summed by entry of the aggregate; a weight is 1 / propensity."""

    entry: Int[np.ndarray, " entry"]
    n: Int[np.ndarray, " entry"]
    weight: Float[np.ndarray, " entry"]
    square: Float[np.ndarray, " entry"]  # summed squares of the weights
    right: Float[np.ndarray, " entry"]  # weighted mean outcome


def read_weights(aggregated: Aggregate) -> WeightedLabels | None:
    """Return the labels with a known propensity; None without such a column."""
    found = aggregated.found
    if "weight" not in found:
        return None
    n = np.array([k or 0 for k in found["n_weighted"]], dtype=np.int64)
    (entry,) = np.nonzero(n)
    weight, square, right = (
        np.array([float(found[name][i]) for i in entry]) for name in ("weight", "square", "weighted_right")
    )
    return WeightedLabels(entry, n[entry], weight, square, right / np.maximum(weight, 1e-300))


def find_signs(pool: Predictions, aggregated: Aggregate) -> tuple[Finding, ...]:
    """Warn of signs of unknown propensities: labelled items whose scores differ from those of their groups."""
    if pool.has("propensity") or not pool.has("score"):
        return ()
    found = measure_signs(aggregated)
    if found is None or abs(found.deviations) < SIGN:
        return ()
    remedy = (
        f"if you know with which probability each was chosen, name that column ({format_option('propensity')}); otherwise label "
        f"some items at random ({choose_words('fewlabels ask --policy random', 'policy=fl.random')}), and compare"
    )
    return (Finding("warning", f"the {found.n_labels:,} labelled items were not drawn at random: their mean score is {found.labelled:.3f}, and {found.expected:.3f} would be expected from their groups; figures may be wrong, whatever their intervals say; {remedy}"),)  # fmt: skip


@dataclass(frozen=True)
class ScoreSigns:
    """The mean score of labelled items, what random ones of their groups would have, and the distance in standard errors."""

    n_labels: int
    labelled: float
    expected: float
    deviations: float


def measure_signs(aggregated: Aggregate) -> ScoreSigns | None:
    """Measure signs of unknown propensities; None if there are few labels, or all items are labelled.

    The variance of the scores is that between the entries of a group (which share prediction, score bin and label), plus
    what scores spread evenly over their bin would add.
    """
    groups = _collect_scores(aggregated)
    n_labels = sum(int(g.labelled.sum()) for g in groups.values())
    labelled, expected, variance = 0.0, 0.0, 0.0
    for group in groups.values():
        n, n_items = group.labelled.sum(), group.items.sum()
        mean = (group.items * group.score).sum() / n_items
        spread = (group.items * ((group.score - mean) ** 2 + group.within)).sum() / max(n_items - 1, 1)
        labelled += float((group.labelled * group.score).sum())
        expected += float(n * mean)
        variance += float(n * spread * (1 - n / n_items))
    if n_labels < LEAST_LABELS or variance <= 0:
        return None
    deviations = (labelled - expected) / np.sqrt(variance)
    return ScoreSigns(n_labels, labelled / n_labels, expected / n_labels, float(deviations))


@dataclass(frozen=True)
class _Group:
    items: Float[np.ndarray, " entry"]
    labelled: Float[np.ndarray, " entry"]
    score: Float[np.ndarray, " entry"]
    within: Float[np.ndarray, " entry"]  # variance of scores spread evenly over the bin


def _collect_scores(aggregated: Aggregate) -> dict[object, _Group]:
    """Collect items, labels and mean scores by group and predicted class, which show signs of unknown propensities."""
    found = aggregated.found
    said = found.get("predicted", [None] * len(found["n"]))
    within = np.diff(aggregated.edges) ** 2 / 12
    rows: dict[object, list[tuple[float, ...]]] = defaultdict(list)
    for key, name, n, n_labels, score, place in zip(
        aggregated.groups, said, found["n"], found["n_labels"], found["score"], found["bin"], strict=True
    ):
        rows[key, name].append((n, n_labels or 0, (score or 0.0) / n, float(within[place or 0])))
    return {key: _Group(*np.array(values, dtype=np.float64).T) for key, values in rows.items()}
