"""Count graded items by group, judges' grades and people's grade, in one query of the engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
from jaxtyping import Int

from fewlabels.data.grades.columns import GradeColumn, GradedItems
from fewlabels.data.grades.counts import GradeBins, GradeCounts, JudgeCounts
from fewlabels.data.grades.scale import Scale
from fewlabels.data.groups import Cut, Groups, search
from fewlabels.data.names import natural_order
from fewlabels.data.relation import Columns, Value
from fewlabels.errors import InputError

MAX_GROUPS, MAX_ROWS = 500, 2_000_000
JUDGE_BINS = (10, 6, 4, 3)  # ranges of a judge's grade, by number of judges; the last for more
MAX_JUDGES = 8
MIN_PER_BIN, FEWEST_BINS, MOST_BINS = 5, 4, 8  # of people's grades on a continuous scale
SMALLEST = 1e-9  # share of the range: grades below it are at its lower limit
MIN_ATOM = 0.05  # share of people's grades at a limit of the scale from which the limit is an outcome of its own


@dataclass(frozen=True)
class _Edges:
    """Lower edges of the outcomes or bins but the first, and the names of all of them."""

    inner: tuple[float, ...]
    names: tuple[str, ...]

    def find(self, value: Value) -> Value:
        """Return in which range a grade counts, as an expression; null if it is missing."""
        index = search(value, [-inf, *self.inner, inf])
        return value.notnull().ifelse(index, None) if self.inner else value.notnull().ifelse(0, None)


def count_grades(
    pool: GradedItems, by: Groups, *, bar: float | None = None, judge_bar: float | None = None
) -> GradeCounts:
    """Count the grades of a pool; without a bar, a pass is a grade in the upper half of the scale."""
    cut = by.cut(pool)
    _refuse_grades(pool, by, cut)
    human = pool.human.scale if pool.human else pool.judges[0].scale
    bar = choose_bar(human, bar)
    outcomes = _list_outcomes(pool, human, bar)
    if len(pool.judges) > MAX_JUDGES:
        raise InputError(f"judge: {len(pool.judges)} judges are too many; name at most {MAX_JUDGES}")
    bars = [_translate_bar(human, bar, judge.scale, judge_bar) for judge in pool.judges]
    most = JUDGE_BINS[min(len(pool.judges), len(JUDGE_BINS)) - 1]
    bins = [_bin_judge(pool, i, judge.scale, bars[i], most) for i, judge in enumerate(pool.judges)]
    found = _query_counts(pool, cut, outcomes, bins)
    return _tabulate_cells(pool, by, cut, human, bar, outcomes, bars, found, tuple(edges.inner for edges in bins))


def list_cell_keys(pool: GradedItems, judges: Sequence[JudgeCounts]) -> list[Value]:
    """Return the expressions of the ranges of judges' grades that split items into cells before counting."""
    return [_Edges(judge.edges, ()).find(pool.judge(i)) for i, judge in enumerate(judges)]


def choose_bar(scale: Scale, bar: float | None) -> float:
    """Return the bar for counting passes: the given one, or the first level above the middle of the scale."""
    if bar is None:
        above = [level for level in scale.levels if level > scale.middle]
        return above[0] if above else scale.middle
    if not scale.low < bar <= scale.high:
        raise InputError(f"bar: {bar:g} is not between the grades {scale.low:g} and {scale.high:g}: every item, or none, would pass; the scale is {scale.words}")  # fmt: skip
    return bar


def _translate_bar(human: Scale, bar: float, judge: Scale, judge_bar: float | None) -> float:
    """Return a judge's bar for counting passes: the given one, or people's bar at the same place of the judge's scale."""
    if judge_bar is not None:
        if not judge.low <= judge_bar <= judge.high:
            raise InputError(f"judge-bar: {judge_bar:g} is not on the judge's scale, {judge.words}")
        return judge_bar
    if human == judge:
        return bar
    if human.is_binary or judge.is_binary:
        return choose_bar(judge, None)
    return judge.at(human.place(bar))


def _refuse_grades(pool: GradedItems, by: Groups, cut: Cut) -> None:
    """Refuse to count by people's grades, or by too many groups."""
    names = {facet.name for facet in cut.facets}
    if pool.human and pool.human.name in names:
        raise InputError(f"by: {pool.human.name!r} holds people's grades, which are unknown for most items; group by another column")  # fmt: skip
    n = pool.count_distinct(cut.keys) if cut.keys else 1
    if n > MAX_GROUPS:
        raise InputError(f"by: {by.name!r} splits the pool into {n:,} groups, and at most {MAX_GROUPS:,} are supported; group by something coarser")  # fmt: skip


def _list_outcomes(pool: GradedItems, scale: Scale, bar: float) -> _Edges:
    """Return the outcomes to count: the levels of an ordered scale, or ranges with about as many of people's grades in each."""
    if not scale.is_continuous:
        middles = tuple((low + high) / 2 for low, high in pairwise(scale.levels))
        return _Edges(middles, scale.names)
    if not pool.human:
        return _name_ranges(scale, [scale.at(i / FEWEST_BINS) for i in range(1, FEWEST_BINS)], bar)
    n = min(MOST_BINS, max(FEWEST_BINS, pool.human.n // MIN_PER_BIN))
    grade = pool.grade
    asked = {f"q{i}": grade.quantile(i / n) for i in range(1, n)}
    counts = {"low": (grade == scale.low).ifelse(1, 0).sum(), "high": (grade == scale.high).ifelse(1, 0).sum()}
    found = pool.measure({**asked, **counts})
    inner = {float(found[name]) for name in asked if scale.low < found[name] < scale.high}
    if found["low"] > MIN_ATOM * pool.human.n:
        inner.add(scale.at(SMALLEST))
    if found["high"] > MIN_ATOM * pool.human.n:
        inner.add(scale.high)
    return _name_ranges(scale, inner, bar)


def _name_ranges(scale: Scale, inner: set[float] | Sequence[float], bar: float) -> _Edges:
    """Name the ranges of grades that are counted."""
    edges = sorted({*inner, bar})
    ends = [scale.low, *edges, scale.high]
    names = [
        f"{low:.4g} to {high:.4g}" if high - low > 2 * SMALLEST * (scale.high - scale.low) else f"{low:.4g}"
        for low, high in pairwise(ends)
    ]
    return _Edges(tuple(edges), tuple(names))


def _bin_judge(pool: GradedItems, i: int, scale: Scale, bar: float, most: int) -> _Edges:
    """Return the ranges of a judge's grade for counting: its levels if they are few, else ranges with about as many items in each."""
    if not scale.is_continuous and len(scale.levels) <= most:
        inner = {(low + high) / 2 for low, high in pairwise(scale.levels)}
        is_cut = any(low < bar <= high for low, high in pairwise(scale.levels)) or bar <= scale.low
        return _Edges(tuple(sorted(inner if is_cut else {*inner, bar})), ())
    value = pool.judge(i)
    found = pool.measure({f"q{j}": value.quantile(j / most) for j in range(1, most)})
    inner = {float(v) for v in found.values() if v is not None and v > scale.low}
    return _Edges(tuple(sorted({*inner, bar})), ())


def _query_counts(pool: GradedItems, cut: Cut, outcomes: _Edges, bins: Sequence[_Edges]) -> Columns:
    """Count graded items and sum their grades by cell and outcome, in one query."""
    keys: dict[str, Value] = dict(cut.keys)
    keys |= {f"bin{i}": edges.find(pool.judge(i)) for i, edges in enumerate(bins)}
    keys["outcome"] = outcomes.find(pool.grade)
    if pool.cluster_column:
        keys["cluster"] = pool.grade.notnull().ifelse(pool.cluster.fill_null(""), None)
    sums = {"grade": pool.grade.sum(), "square": (pool.grade * pool.grade).sum()}
    sums |= {f"judge{i}": pool.judge(i).sum() for i in range(len(bins))}
    found = pool.count_by(keys, sums, most=MAX_ROWS + 1)
    if len(found["n"]) > MAX_ROWS:
        raise InputError(f"by: the groups and judges' grades make more than {MAX_ROWS:,} kinds of items; group by something coarser, or name fewer judges")  # fmt: skip
    if not found["n"] or not sum(found["n"]):
        raise InputError(f"{pool.source} has no rows")
    found |= cut.fill(found)
    rows = sorted(range(len(found["n"])), key=lambda row: [str(found[key][row]) for key in keys])
    return {name: [column[row] for row in rows] for name, column in found.items()}


def _tabulate_cells(
    pool: GradedItems,
    by: Groups,
    cut: Cut,
    human: Scale,
    bar: float,
    outcomes: _Edges,
    bars: Sequence[float],
    found: Columns,
    edges: Sequence[tuple[float, ...]],
) -> GradeCounts:
    """Turn the rows of the query into counts of cells."""
    keys = list(zip(*(found[key] for key in cut.keys), strict=True)) or [()] * len(found["n"])
    order = sorted(set(keys), key=cut.order)
    position = {key: i for i, key in enumerate(order)}
    group = np.array([position[key] for key in keys])
    bins = np.array([[-1 if v is None else v for v in found[f"bin{i}"]] for i in range(len(bars))], dtype=np.int64)
    cells, cell = np.unique(np.column_stack([group, *bins]), axis=0, return_inverse=True)
    cell, n, n_outcomes = cell.reshape(-1), np.array(found["n"]), len(outcomes.names)
    outcome = np.array([-1 if v is None else v for v in found["outcome"]])
    graded = outcome >= 0
    grades = np.zeros((len(cells), n_outcomes))
    np.add.at(grades, (cell[graded], outcome[graded]), n[graded])
    judges = tuple(
        replace(_count_judge(pool.judges[i], cells[:, 1 + i], cell, n, found[f"judge{i}"], bar), edges=edges[i])
        for i, bar in enumerate(bars)
    )
    clusters = _count_clusters(pool, found, cell, outcome, n, n_outcomes) if pool.cluster_column else {}
    return GradeCounts(
        by=by.name, groups=tuple(map(cut.name, order)), scale=human, bar=bar,
        outcomes=_value_outcomes(human, bar, outcomes, found, outcome), group=cells[:, 0],
        n_items=np.bincount(cell, weights=n, minlength=len(cells)).astype(np.int64), grades=grades, total=np.bincount(cell, weights=[v or 0.0 for v in found["grade"]], minlength=len(cells)), judges=judges, notes=pool.notes, group_keys=tuple(order), **clusters,
    )  # fmt: skip


def _count_judge(
    column: GradeColumn,
    bins: Int[np.ndarray, " cell"],
    cell: Int[np.ndarray, " row"],
    n: Int[np.ndarray, " row"],
    total: list[Any],
    bar: float,
) -> JudgeCounts:
    """Return the counts of one judge: its mean grade and its passes in every cell."""
    graded = bins >= 0
    sums = np.bincount(cell, weights=[0.0 if v is None else v for v in total], minlength=len(bins))
    counts = np.where(graded, np.bincount(cell, weights=n, minlength=len(bins)), 0).astype(np.int64)
    mean = np.where(graded, sums / np.maximum(counts, 1), -inf)
    return JudgeCounts(column.name, column.scale, bins, sums, counts, bar, mean >= bar - 1e-9)


def _value_outcomes(
    scale: Scale, bar: float, outcomes: _Edges, found: Columns, outcome: Int[np.ndarray, " row"]
) -> GradeBins:
    """Return the value of every counted outcome: its level, or the mean of the grades seen, shrunk to the middle of the range."""
    if not scale.is_continuous:
        levels = np.array(scale.levels)
        return GradeBins(outcomes.names, levels, np.zeros(len(levels)), levels >= bar)
    lower = np.array([scale.low, *outcomes.inner])
    upper = np.array([*outcomes.inner, scale.high])
    seen, k = outcome >= 0, len(lower)
    n, total, square = (
        np.bincount(outcome[seen], weights=np.array([v or 0.0 for v in found[name]])[seen], minlength=k)
        for name in ("n", "grade", "square")
    )
    middle, variance = (lower + upper) / 2, (upper - lower) ** 2 / 12
    mean = (total + middle) / (n + 1)
    spread = np.maximum(square - 2 * mean * total + n * mean**2, 0.0)
    return GradeBins(outcomes.names, mean, np.sqrt((spread + variance) / (n + 1) / (n + 1)), lower >= bar)


def _count_clusters(
    pool: GradedItems,
    found: Columns,
    cell: Int[np.ndarray, " row"],
    outcome: Int[np.ndarray, " row"],
    n: Int[np.ndarray, " row"],
    n_outcomes: int,
) -> Mapping[str, Any]:
    """Return the grades by cell and cluster, and the mean size of the cluster of an item."""
    (graded,) = np.nonzero(outcome >= 0)
    names = {name: i for i, name in enumerate(sorted({found["cluster"][row] for row in graded}, key=natural_order))}
    cluster = np.array([names[found["cluster"][row]] for row in graded], dtype=np.int64)
    pairs, entry = np.unique(np.column_stack([cell[graded], cluster]), axis=0, return_inverse=True)
    grades = np.zeros((len(pairs), n_outcomes))
    np.add.at(grades, (entry.reshape(-1), outcome[graded]), n[graded])
    sizes = pool.items.group_by(cluster=pool.cluster).aggregate(n=pool.items.count())
    facts = pool.engine.to_pyarrow(sizes.aggregate(items=sizes.n.sum(), squares=(sizes.n.cast("float64") ** 2).sum())).to_pylist()[0]  # fmt: skip
    size = float(facts["squares"]) / float(facts["items"])
    return {
        "entry_cell": pairs[:, 0],
        "entry_cluster": pairs[:, 1],
        "entry_grades": grades,
        "cluster_size": max(size, 1.0),
    }
