"""Aggregate a pool in one GROUP BY query: counts and sums per group, and the minima and maxima that validation needs.

One query answers everything, because on a large table the scan dominates the cost. `counts` turns the result into a
count table, `checks` validates its minima and maxima.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import ibis

from fewlabels.data.groups import Bins, Cut, Everything, Groups, Predicted, search
from fewlabels.data.predictions import Predictions
from fewlabels.data.relation import Columns, Value
from fewlabels.data.sampling import Sample, SamplingRule
from fewlabels.data.tolerances import ROUNDING
from fewlabels.errors import InputError

MAX_GROUPS = 5000
MAX_ENTRIES = 3_000_000  # rows of the result that are fetched at most
HEAD_ROWS = 100_000  # first rows, in which a column with too many values (an id) is detected


@dataclass(frozen=True)
class Aggregate:
    """Result of the aggregate query: a row per (group, predicted class, score bin, stratum, label) that occurs."""

    pool: Predictions
    by: Groups
    cut: Cut
    edges: tuple[float, ...]  # edges of the score bins; empty without scores
    strata: tuple[float, ...]  # edges of finer score ranges; empty if not requested
    found: Columns
    sample: Sample | None = None  # of item ids; None if not requested

    @property
    def n_items(self) -> int:
        """The number of items."""
        return int(sum(self.found["n"]))

    @property
    def groups(self) -> list[tuple[Any, ...]]:
        """The group key of every row, as stored in the engine."""
        return list(zip(*(self.found[key] for key in self.cut.keys), strict=True)) or [()] * len(self.found["n"])

    @property
    def keys(self) -> dict[str, Value]:
        """The GROUP BY keys of unlabelled items: group, predicted class and score slot."""
        return group_keys(self.pool, self.cut, merge_edges(self.edges, self.strata))

    def bin_scores(self, found: Columns) -> Columns:
        """Convert score slots (indices among all edges) into score bins and strata.

        Missing scores and scores outside [0, 1] have neither.
        """
        if not any(name.startswith("slot") for name in found):
            return {}
        edges_and_strata = merge_edges(self.edges, self.strata)
        placed = {
            name.replace("slot", "bin"): _map_slots(slots, edges_and_strata, self.edges)
            for name, slots in found.items()
            if name.startswith("slot")
        }
        if not self.strata or "slot" not in found:
            return placed
        return placed | {"stratum": _map_slots(found["slot"], edges_and_strata, self.strata)}

    def lowest(self, name: str) -> float | None:
        """The minimum of a column of minima; None if all are missing."""
        return min((value for value in self.found[name] if value is not None), default=None)

    def highest(self, name: str) -> float | None:
        """The maximum of a column of maxima; None if all are missing."""
        return max((value for value in self.found[name] if value is not None), default=None)


def aggregate_pool(
    pool: Predictions,
    by: Groups,
    *,
    bins: Bins | None = None,
    probabilities: bool = False,
    strata: Sequence[float] = (),
    grades: bool = False,
    most_groups: int = MAX_GROUPS,
    rule: SamplingRule | None = None,
) -> Aggregate:
    """Count a pool by group, predicted class, score bin and label, in one query.

    `probabilities` adds the summed probability of every class, `strata` counts by finer score ranges with these edges,
    and `grades` counts every value of agreement separately (for simulations). `rule` also samples item ids.
    """
    cut = by.cut(pool)
    edges = tuple((bins or Bins()).edges(pool)) if pool.has("score") or pool.has_further_scores else ()
    _refuse_ids(pool, by, cut, most_groups)
    keys = group_keys(pool, cut, merge_edges(edges, strata)) | _label_keys(pool, grades=grades)
    sums = {**_sum_expressions(pool, probabilities=probabilities), **_range_expressions(pool)}
    found, sample = _query_aggregate(pool, keys, sums, rule)
    found |= cut.fill(found)
    rows = _sorted_rows(found, list(keys))
    found = {name: [column[i] for i in rows] for name, column in found.items()}
    if len(found["n"]) > MAX_ENTRIES:
        raise InputError(f"by: {by.name!r} splits the pool into more than {MAX_ENTRIES:,} kinds of items; group by something coarser")  # fmt: skip
    if "label" in keys:
        found |= _count_correct(found)
        pool.cache_pairs(found)
    aggregated = Aggregate(pool, by, cut, edges, tuple(strata), found, sample and sample.renumber(rows))
    _refuse_too_many_groups(by, len(set(aggregated.groups)), most_groups)
    return replace(aggregated, found=found | aggregated.bin_scores(found))


def merge_edges(edges: Sequence[float], strata: Sequence[float]) -> list[float]:
    """Merge the edges of bins and strata for the aggregate query into one sorted list; empty without scores."""
    return sorted({*edges, *strata}) if edges else []


def group_keys(pool: Predictions, cut: Cut, edges_and_strata: Sequence[float]) -> dict[str, Value]:
    """Return the GROUP BY keys of items in the aggregate query, except the label."""
    keys = dict(cut.keys)
    if pool.has("predicted") and not pool.has("agreement"):
        keys["predicted"] = pool.predicted
    if not edges_and_strata:
        return keys | pool.list_further_keys(None)
    edges = _add_outlier_bins(edges_and_strata)
    slot = {"slot": search(pool.score, edges)} if pool.has("score") else {}
    return keys | slot | pool.list_further_keys(lambda score: search(score, edges))


def _add_outlier_bins(edges_and_strata: Sequence[float]) -> list[float]:
    """Add a first and a last slot for invalid scores to the aggregate: querying minima and maxima would cost 10 % of the scan.

    A missing or NaN score compares below no edge and falls into the last slot. The tolerance is twice `ROUNDING`, so
    that every score in these slots also fails the exact check.
    """
    return [-inf, -2 * ROUNDING, *edges_and_strata[1:-1], 1 + 2 * ROUNDING, inf]


def _label_keys(pool: Predictions, *, grades: bool) -> dict[str, Value]:
    """Return the GROUP BY key of the label in the aggregate query, or of the grade."""
    if not pool.has("agreement"):
        return {"label": pool.label}
    return {"grade": pool.agreement} if grades else {}


def _sum_expressions(pool: Predictions, *, probabilities: bool) -> dict[str, Value]:
    """Return the sums of the aggregate query: scores, grades and weights."""
    sums = ({"score": pool.score.sum()} if pool.has("score") else {}) | pool.sum_further_scores()
    if pool.has("agreement"):
        sums |= {"n_labels": pool.is_labelled().ifelse(1, 0).sum(), "right": pool.outcome().sum()}
    if pool.has("propensity"):
        weight = (pool.propensity > 0).ifelse(1 / pool.propensity, ibis.null("float64"))
        sums |= {"n_weighted": weight.count(), "weight": weight.sum(), "square": (weight * weight).sum()}
        sums |= {"weighted_right": (weight * pool.outcome()).sum()}
    if probabilities:
        sums |= {f"p{i}": value.sum() for i, value in enumerate(pool.probabilities)}
    return sums


def _range_expressions(pool: Predictions) -> dict[str, Value]:
    """Return minima, maxima and counts of the aggregate query that reveal invalid data; `checks` locates the rows."""
    out: dict[str, Value] = {}
    if pool.has("agreement"):
        out |= {"agreement_low": pool.agreement.min(), "agreement_high": pool.agreement.max()}
    if pool.has("propensity"):
        out |= {"propensity_low": pool.propensity.min(), "propensity_high": pool.propensity.max()}
    if pool.has("probabilities") and not pool.roles.positive_score:
        total = pool.total_probability()
        out |= {"off_sum": (total - 1).abs().max(), "p_bad": (total.isnull() | total.isnan()).ifelse(1, 0).sum()}
        out |= {"p_low": pool.min_probability().min(), "p_high": pool.max_probability().max()}
    return out | {name: value.ifelse(1, 0).sum() for name, value in pool.conflicts().items()}


def _map_slots(slot: list[Any], edges_and_strata: list[float], edges: Sequence[float]) -> list[Any]:
    """Map the score slots of the aggregate query to score bins."""
    at = [None, *(bisect_right(edges[1:-1], low) for low in edges_and_strata[:-1]), None]
    return [at[i] for i in slot]


def _count_correct(found: Columns) -> Columns:
    """Count labelled and correct items in the rows of the aggregate query, grouped by prediction and label."""
    n_labels = [0 if label is None else n for label, n in zip(found["label"], found["n"], strict=True)]
    same = [said == label for said, label in zip(found["predicted"], found["label"], strict=True)]
    return {"n_labels": n_labels, "right": [float(n) if ok else 0.0 for ok, n in zip(same, n_labels, strict=True)]}


def _refuse_ids(pool: Predictions, by: Groups, cut: Cut, most: int) -> None:
    """Refuse to group by an id or a timestamp, before the aggregate query."""
    if not isinstance(by, Everything | Predicted | Bins) and pool.count_distinct(cut.keys, first=HEAD_ROWS) > most:
        _refuse_too_many_groups(by, pool.count_distinct(cut.keys), most)


def _refuse_too_many_groups(by: Groups, n: int, most: int) -> None:
    """Refuse an aggregate query with too many groups."""
    if n > most and not isinstance(by, Everything | Predicted | Bins):
        raise InputError(
            f"by: {by.name!r} splits the pool into {n:,} groups, and at most {most:,} are supported; "
            "group by something coarser (ranges instead of values, regions instead of users)"
        )


def _query_aggregate(
    pool: Predictions, keys: dict[str, Value], sums: dict[str, Value], rule: SamplingRule | None
) -> tuple[Columns, Sample | None]:
    """Run the aggregate query, with a sample of ids if there is a rule for one."""
    if rule is None:
        return pool.count_by(keys, sums, most=MAX_ENTRIES + 1), None
    return pool.count_and_sample(keys, sums, rule, most=MAX_ENTRIES + 1)


def _sorted_rows(found: Columns, keys: list[str]) -> list[int]:
    """Sort the rows of the aggregate query by their keys: engines return them in any order, and floating-point sums depend on it."""
    return sorted(range(len(found["n"])), key=lambda i: [str(found[key][i]) for key in keys])
