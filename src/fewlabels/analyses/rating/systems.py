"""Several systems ranked by what people prefer: win rates against all others, P(best) and ranks."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Int
from scipy.special import expit

from fewlabels.analyses.assessment_rows import Estimate
from fewlabels.analyses.rating.estimates import summarize
from fewlabels.data.grades.counts import GradeCounts
from fewlabels.data.grades.systems import index_systems
from fewlabels.distributions.ranking import rank_groups
from fewlabels.errors import join_names
from fewlabels.models.grades.bradley_terry import fit_strengths
from fewlabels.models.grades.posterior import GradePosterior


@dataclass(frozen=True)
class SystemRow:
    """A system: how often people prefer it, a tie counting half, against all others alike. Rank 1 is the best."""

    system: str
    n_items: int  # comparisons
    n_grades: int  # of people
    mean: float
    low: float
    high: float
    strength: Estimate  # logistic scale, the mean of all systems being 0
    p_best: float
    rank_low: int
    rank_high: int


@dataclass(frozen=True)
class SystemRanking:
    """All systems, best first; and how often people prefer what stands first, of equal systems."""

    systems: tuple[SystemRow, ...]
    position: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return the ranking of the systems as plain data."""
        return asdict(self)


def find_pairs(counts: GradeCounts) -> tuple[tuple[str, ...], Int[np.ndarray, "group 2"]]:
    """Return the names of the systems in a rating, and the pair of them in every group."""
    names, pairs = index_systems(counts.group_keys)
    return names, np.array(pairs)


def rank_systems(posterior: GradePosterior, level: float, seed: int) -> SystemRanking:
    """Rank the systems in a rating, whose groups are ordered pairs of systems."""
    counts = posterior.counts
    names, pairs = find_pairs(counts)
    n_items, n_grades = counts.sum_by_group(counts.n_items), counts.sum_by_group(counts.n_grades)
    fitted = fit_strengths(posterior.mean_grade, pairs, n_items.astype(float), len(names))
    ranks = rank_groups(np.random.default_rng([seed, 4]), fitted.system, lowest_is_best=False)
    low, high = np.quantile(ranks, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
    shares, strengths = summarize(fitted.win_rate, level), summarize(fitted.system, level)
    takes_part = (pairs[:, :, None] == np.arange(len(names))).any(axis=1)
    rows = [
        SystemRow(
            name, int(n_items @ takes_part[:, i]), int(n_grades @ takes_part[:, i]), shares[i].mean, shares[i].low, shares[i].high,
            strengths[i], float((ranks[:, i] == 1).mean()), int(low[i]), int(high[i]),
        )
        for i, name in enumerate(names)
    ]  # fmt: skip
    position = summarize(expit(fitted.position)[:, None], level)[0]
    return SystemRanking(tuple(sorted(rows, key=lambda row: -row.mean)), position)


def warn_of_ranked_systems(counts: GradeCounts) -> Iterator[str]:
    """Warn of ranked systems without people's verdicts, and of those that no comparison connects with the others."""
    names, pairs = find_pairs(counts)
    graded = pairs[counts.sum_by_group(counts.n_grades) > 0]
    unseen = [name for i, name in enumerate(names) if i not in graded] if counts.n_grades.any() else []
    if unseen:
        yield f"people compared none of {join_names(unseen)}: their estimates come from the judges and the other systems"
    part = np.arange(len(names))
    for _ in names:
        for one, other in pairs:
            part[[one, other]] = min(part[one], part[other])
    apart = [name for i, name in enumerate(names) if part[i] != part[0]]
    if apart:
        yield f"no comparison connects {join_names(apart)} with {names[0]}: their order comes from the prior alone"
