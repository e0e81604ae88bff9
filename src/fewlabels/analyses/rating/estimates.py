"""From draws of grades to estimates: of every group and overall, and of the distribution of grades."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.assessment_rows import RANK_FIELDS, Estimate
from fewlabels.distributions.belief import include_mean
from fewlabels.distributions.ranking import rank_groups
from fewlabels.models.grades.posterior import GradePosterior
from fewlabels.text import format_probability

PASS_RATE, MEAN_GRADE, WIN_RATE = "pass-rate", "mean", "win-rate"


@dataclass(frozen=True)
class GradeRow:
    """Estimate of one group. Rank 1 is the best group."""

    group: str
    share: float
    n_items: int
    n_grades: int
    mean: float
    low: float
    high: float
    p_worst: float | None
    p_best: float | None
    rank_low: int | None
    rank_high: int | None

    @property
    def n_labels(self) -> int:
        """Items graded by people that the estimate rests on."""
        return self.n_grades

    @property
    def chance_of_worst(self) -> str:
        """P(worst) of the estimate as text."""
        return format_probability(self.p_worst)


@dataclass(frozen=True)
class GradeShare:
    """The share of one grade, in one group or overall."""

    group: str | None  # None: overall
    grade: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class GradeFigure:
    """A figure in one group or overall."""

    figure: str
    group: str | None  # None: overall
    mean: float
    low: float
    high: float


def summarize(draws: Float[np.ndarray, "draw row"], level: float) -> tuple[Estimate, ...]:
    """Estimate the mean and the interval of every column of draws of grades."""
    mean = draws.mean(axis=0)
    low, high = include_mean(mean, tuple(np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)))
    return tuple(Estimate(*map(float, row)) for row in zip(mean, low, high, strict=True))


def draw_figure(
    posterior: GradePosterior, figure: str
) -> tuple[Float[np.ndarray, "draw group"], Float[np.ndarray, "draw 1"]]:
    """Return draws for estimates of a rating's figure: per group, and overall."""
    if figure == PASS_RATE:
        return posterior.pass_rate, posterior.overall_pass_rate[:, None]
    return posterior.mean_grade, posterior.overall_mean_grade[:, None]


def estimate_groups(posterior: GradePosterior, figure: str, *, level: float, seed: int) -> tuple[GradeRow, ...]:
    """Estimate a figure of a rating in every group, with ranks."""
    draws, counts = draw_figure(posterior, figure)[0], posterior.counts
    n_items, n_grades = counts.sum_by_group(counts.n_items), counts.sum_by_group(counts.n_grades)
    ranks = _rank(draws, level, seed)
    return tuple(
        GradeRow(
            group, float(n_items[g] / n_items.sum()), int(n_items[g]), int(n_grades[g]), one.mean, one.low, one.high,
            **ranks[g],
        )
        for g, (group, one) in enumerate(zip(counts.groups, summarize(draws, level), strict=True))
    )  # fmt: skip


def _rank(draws: Float[np.ndarray, "draw group"], level: float, seed: int) -> list[dict[str, Any]]:
    """Estimate P(worst), P(best) and the interval of the rank of every group's grades."""
    ranks = rank_groups(np.random.default_rng([seed, 1]), draws, lowest_is_best=False)
    low, high = np.quantile(ranks, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
    worst, best = (ranks == draws.shape[1]).mean(axis=0), (ranks == 1).mean(axis=0)
    return [
        dict(zip(RANK_FIELDS, (float(worst[g]), float(best[g]), int(low[g]), int(high[g])), strict=True))
        for g in range(draws.shape[1])
    ]


def estimate_shares(posterior: GradePosterior, level: float) -> tuple[GradeShare, ...]:
    """Estimate the distribution of grades for a rating: overall, then in every group."""
    names = posterior.counts.outcomes.names
    overall = summarize(posterior.overall_distribution, level)
    out = [GradeShare(None, name, one.mean, one.low, one.high) for name, one in zip(names, overall, strict=True)]
    for g, group in enumerate(posterior.counts.groups):
        shares = summarize(posterior.distribution[:, g], level)
        out += [GradeShare(group, name, one.mean, one.low, one.high) for name, one in zip(names, shares, strict=True)]
    return tuple(out)


def estimate_figures(posterior: GradePosterior, level: float) -> tuple[GradeFigure, ...]:
    """Estimate pass rate and mean grade for a rating: overall, then in every group."""
    out = []
    for figure in (PASS_RATE, MEAN_GRADE):
        groups, overall = draw_figure(posterior, figure)
        for group, one in zip((None, *posterior.counts.groups), (*summarize(overall, level), *summarize(groups, level)), strict=True):  # fmt: skip
            out.append(GradeFigure(figure, group, one.mean, one.low, one.high))
    return tuple(out)
