"""The mean grade of every cell of a count table whose outcomes are grades, such as BLEU or IoU, from their distribution.

A grade of 0.7 is not 0.7 of a right answer: the spread of grades is learned, not taken to be that of right and wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import CountTable, Split
from fewlabels.data.grades.counts import GradeBins, GradeCounts, JudgeCounts
from fewlabels.data.grades.scale import Scale
from fewlabels.distributions.budgets import MIN_DRAWS
from fewlabels.distributions.randomness import Rng
from fewlabels.models.grades.posterior import infer_grades
from fewlabels.models.logit.drawn_belief import DrawnBelief

UNIT = Scale(0.0, 1.0)
MOST_LEVELS, MIN_PER_BIN, FEWEST_BINS, MOST_BINS = 11, 5, 4, 8
MIN_ATOM = 0.05  # share of the grades at 0 or at 1 from which the limit is an outcome of its own
SMALLEST = 1e-9


@dataclass(frozen=True)
class MeanGrades(DrawnBelief):
    """Joint draws of the mean grade of every cell."""

    groups: tuple[str, ...]
    draws: Float[np.ndarray, "draw cell"]

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell"]:
        """Joint draws of mean grades: each of those that were made, as often as possible the same number of times."""
        return self.draws[rng.permutation(np.resize(np.arange(len(self.draws)), n))]


def has_partial_grades(tally: CountTable) -> bool:
    """Whether some outcome of the cells is a partial grade, neither right nor wrong, and all grades are known."""
    return tally.graded and bool((np.abs(tally.right - tally.right.round()) > SMALLEST).any())


def infer_mean_grades(tally: CountTable, splits: Sequence[Split], *, finite_pool: bool) -> MeanGrades:
    """Draw the mean grade of every cell from its posterior; scores, where there are some, are the judge."""
    posterior = infer_grades(np.random.default_rng(0), count_cells(tally, splits), finite_pool=finite_pool, n_draws=MIN_DRAWS)  # fmt: skip
    return MeanGrades(posterior.counts.groups, posterior.mean_grade)


def doubt_mean_grades(tally: CountTable, splits: Sequence[Split], *, finite_pool: bool, n: int) -> MeanGrades:
    """Return the mean grades after `n` more grades of every cell, at the end of the scale that is farther from its mean."""
    counts = count_cells(tally, splits)
    cells = np.arange(len(counts.groups))
    graded, n_grades = (np.bincount(counts.group, weights=w, minlength=len(cells)) for w in (counts.total, counts.n_grades))  # fmt: skip
    end = np.where(graded >= n_grades / 2, 0, len(counts.outcomes.names) - 1)
    rest = counts.n_items - counts.n_grades
    part = np.array(
        [np.argmax(np.where(counts.group == g, rest, -1)) for g in cells]
    )  # most of a cell's ungraded items
    more = np.zeros_like(counts.grades)
    more[part, end] = np.minimum(n, rest[part])
    assert counts.total is not None
    worse = replace(counts, grades=counts.grades + more, total=counts.total + more @ counts.outcomes.value)
    posterior = infer_grades(np.random.default_rng(0), worse, finite_pool=finite_pool, n_draws=MIN_DRAWS)
    return MeanGrades(posterior.counts.groups, posterior.mean_grade)


def count_cells(tally: CountTable, splits: Sequence[Split]) -> GradeCounts:
    """Count grades by cell and range of the score, to infer their mean grades."""
    _, cell = tally.assign_cells(splits)
    score_range = tally.bin if tally.stratum is None else tally.stratum
    parts, part = np.unique(np.column_stack([cell, score_range]), axis=0, return_inverse=True)
    part, seen = part.reshape(-1), tally.n_labels > 0
    grade = tally.right[seen] / tally.n_labels[seen]
    bins, outcome = bin_grades(grade, tally.n_labels[seen])
    grades = np.zeros((len(parts), len(bins.names)))
    np.add.at(grades, (part[seen], outcome), tally.n_labels[seen])
    n_items = np.bincount(part, weights=tally.n_items, minlength=len(parts)).astype(np.int64)
    names = tuple(map(str, range(int(parts[:, 0].max()) + 1)))
    judges = (_count_scores(tally, parts[:, 1], part, n_items),) if tally.bins else ()
    total = np.bincount(part, weights=tally.right, minlength=len(parts))
    return GradeCounts(tally.by, names, UNIT, 0.5, bins, parts[:, 0], n_items, grades, judges, total)


def _count_scores(
    tally: CountTable,
    bins: Int[np.ndarray, " part"],
    part: Int[np.ndarray, " entry"],
    n_items: Int[np.ndarray, " part"],
) -> JudgeCounts:
    """Return the scores as a judge of the mean grades."""
    total = np.bincount(part, weights=tally.score, minlength=len(bins))
    return JudgeCounts("score", UNIT, bins, total, n_items, 0.5, total >= 0.5 * n_items)


def bin_grades(
    grade: Float[np.ndarray, " entry"], n: Int[np.ndarray, " entry"]
) -> tuple[GradeBins, Int[np.ndarray, " entry"]]:
    """Bin the grades whose mean is wanted: cells' outcomes are single grades if they are few, else ranges of them.

    >>> bins, outcome = bin_grades(np.array([0.0, 0.5, 1.0]), np.array([2, 1, 4]))
    >>> bins.value.tolist(), outcome.tolist()
    ([0.0, 0.5, 1.0], [0, 1, 2])
    """
    levels = np.unique(grade)
    steps = np.diff(levels)
    if 2 < len(levels) <= MOST_LEVELS and np.allclose(steps, steps[0]):
        names = tuple(f"{level:g}" for level in levels)
        return GradeBins(names, levels, np.zeros(len(levels)), levels >= 0.5), np.searchsorted(levels, grade)
    edges = _choose_edges(grade, n)
    outcome = np.searchsorted(edges, grade, side="right")
    return _value_bins(edges, grade, n, outcome), outcome


def _choose_edges(grade: Float[np.ndarray, " entry"], n: Int[np.ndarray, " entry"]) -> Float[np.ndarray, " edge"]:
    """Choose the edges of the ranges into which grades are binned for their mean."""
    total = int(n.sum())
    k = min(MOST_BINS, max(FEWEST_BINS, total // MIN_PER_BIN))
    inner = set(np.quantile(np.repeat(grade, n), np.arange(1, k) / k).tolist())
    inner |= {SMALLEST} if n[grade <= 0].sum() > MIN_ATOM * total else set()
    inner |= {1.0} if n[grade >= 1].sum() > MIN_ATOM * total else set()
    found = sorted(edge for edge in inner if 0 < edge <= 1) or [0.5]
    return np.array(found)


def _value_bins(
    edges: Float[np.ndarray, " edge"],
    grade: Float[np.ndarray, " entry"],
    n: Int[np.ndarray, " entry"],
    outcome: Int[np.ndarray, " entry"],
) -> GradeBins:
    """Return ranges of grades with the mean grade of those seen, shrunk to the middle of the range."""
    lower, upper = np.concatenate([[0.0], edges]), np.concatenate([edges, [1.0]])
    k = len(lower)
    count, total, square = (np.bincount(outcome, weights=w, minlength=k) for w in (n, n * grade, n * grade**2))
    mean = (total + (lower + upper) / 2) / (count + 1)
    spread = np.maximum(square - 2 * mean * total + count * mean**2, 0.0) + (upper - lower) ** 2 / 12
    names = tuple(f"{low:.4g} to {high:.4g}" for low, high in zip(lower, upper, strict=True))
    return GradeBins(names, mean, np.sqrt(spread) / (count + 1), lower >= 0.5)
