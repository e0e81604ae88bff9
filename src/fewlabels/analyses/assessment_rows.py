"""The rows of an assessment: the estimate of every group, with ranks, and of all groups together; confusion matrices.

`assessment` puts them together.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewlabels.data.counts import CountTable
from fewlabels.distributions.belief import include_mean
from fewlabels.metrics.metric import ClassRate, Metric
from fewlabels.models.posterior import Posterior
from fewlabels.text import format_probability

RANK_FIELDS = ("p_worst", "p_best", "rank_low", "rank_high")


@dataclass(frozen=True)
class Estimate:
    """A number with its uncertainty."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """Estimate of one group. Rank 1 is the best group; a group whose metric is undefined has no rank."""

    group: str
    share: float
    n_items: int
    n_labels: int
    score: float | None  # mean score
    mean: float
    low: float
    high: float
    p_worst: float | None
    p_best: float | None
    rank_low: int | None
    rank_high: int | None

    @property
    def ranks(self) -> str:
        """The interval of the row's ranks as text."""
        if self.rank_low is None or self.rank_high is None:
            return "–"
        return f"{self.rank_low:,}" if self.rank_low == self.rank_high else f"{self.rank_low:,}–{self.rank_high:,}"

    @property
    def chance_of_worst(self) -> str:
        """P(worst) of the row as text."""
        return format_probability(self.p_worst)


@dataclass(frozen=True)
class Entry:
    """One entry of a confusion matrix: P(label | predicted), in one group where groups are not predicted classes."""

    predicted: str
    label: str
    mean: float
    low: float
    high: float
    group: str | None = None


def estimate_groups(tally: CountTable, posterior: Posterior, *, level: float, m: int) -> tuple[Row, ...]:
    """Make the rows of an assessment, one estimate per group; `m` is the number of groups that count as worst."""
    n_items, n_labels = tally.count("n_items"), tally.count("n_labels")
    score = np.bincount(tally.group, weights=tally.score, minlength=len(n_items)) / n_items
    mean, (low, high) = posterior.mean(), posterior.interval(level)
    rank_fields = _rank_groups(posterior, level, m)
    return tuple(
        Row(
            group=group, share=float(n_items[g] / n_items.sum()), n_items=int(n_items[g]), n_labels=int(n_labels[g]),
            score=None if np.isnan(score[g]) else min(float(score[g]), 1.0), mean=float(mean[g]), low=float(low[g]), high=float(high[g]),
            **rank_fields[g],
        )
        for g, group in enumerate(tally.groups)
    )  # fmt: skip


def _rank_groups(posterior: Posterior, level: float, m: int) -> list[dict[str, Any]]:
    """P(worst), P(best) and rank intervals for an assessment's rows; groups with an undefined metric are left out.

    P(worst) is None where fewer than m groups have a defined metric.
    """
    defined, ranks = posterior.ranks
    out: list[dict[str, Any]] = [dict.fromkeys(RANK_FIELDS) for _ in posterior.undefined]
    if not len(defined):
        return out
    tails = [(1 - level) / 2, (1 + level) / 2]
    rank_low, rank_high = np.quantile(ranks, tails, axis=0, method="inverted_cdf")
    p_worst, p_best = posterior.weigh_places(m), posterior.weigh_places(worst=False)
    too_few = m > len(defined)
    for i, g in enumerate(defined):
        values = (None if too_few else float(p_worst[g]), float(p_best[g]), int(rank_low[i]), int(rank_high[i]))
        out[g] = dict(zip(RANK_FIELDS, values, strict=True))
    return out


def estimate_overall(
    tally: CountTable, metric: Metric, posterior: Posterior, rows: tuple[Row, ...], *, level: float
) -> Estimate:
    """Return the row of a single group, or from draws over many, with the mean in closed form where possible."""
    per_class = isinstance(metric, ClassRate) and tally.by == "predicted"
    if len(rows) == 1 and not per_class:
        return Estimate(rows[0].mean, rows[0].low, rows[0].high)
    mean = _overall_mean(tally, metric, posterior, rows)
    low, high = include_mean(np.array([mean]), posterior.overall.interval(level))
    return Estimate(mean, float(low[0]), float(high[0]))


def _overall_mean(tally: CountTable, metric: Metric, posterior: Posterior, rows: tuple[Row, ...]) -> float:
    """Return the mean of the overall row: the rows' own means, weighted, where groups are single cells."""
    per_class = isinstance(metric, ClassRate) and tally.by == "predicted"
    if not metric.is_cell_accuracy or per_class or not posterior.sums_cells:
        return float(posterior.overall.mean()[0])
    means = posterior.pooled_cells.mean() if posterior.pooled_cells else [row.mean for row in rows]
    return float(sum(row.share * mean for row, mean in zip(rows, means, strict=True)))


def estimate_matrix(tally: CountTable, posterior: Posterior, *, level: float) -> tuple[Entry, ...]:
    """Make the rows of an assessment's confusion matrix, one estimate per entry."""
    cells = posterior.cells
    mean = posterior.joint_cell_posterior.mean()
    low, high = include_mean(mean, posterior.joint_cell_posterior.interval(level))
    named = tally.by not in ("predicted", "all")
    return tuple(
        Entry(
            tally.classes[cells.predicted[c]], name, float(mean[c, j]), float(low[c, j]), float(high[c, j]),
            tally.groups[cells.group[c]] if named else None,
        )
        for c in range(cells.n)
        for j, name in enumerate(tally.classes)
    )  # fmt: skip
