"""The posterior of people's grades in every cell: draws of the distribution over grades, of the population or of the pool."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from fewlabels.data.grades.counts import GradeCounts
from fewlabels.distributions.budgets import N_DRAWS, limit_draws, limit_stored_draws
from fewlabels.distributions.randomness import Rng
from fewlabels.models.grades.design import CellTraits, list_blocks, standardize_grades
from fewlabels.models.grades.fit import EffectDraws, fit_effects

NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(5)  # of the average over clusters
MIN_SIZE = 400  # numbers of one draw of the effects, at least
MAX_EXACT_REST = 5000  # unlabelled items of a cell up to which their grades are drawn one by one
Table = Float[np.ndarray, "draw group judged human"]


@dataclass(frozen=True, eq=False)
class GradePosterior:
    """Draws of the share of every grade in every cell, and of the cells' shares of their pool or population."""

    counts: GradeCounts
    theta: Float[np.ndarray, "draw cell outcome"]
    share: Float[np.ndarray, "draw cell"]
    value: Float[np.ndarray, "draw outcome"]  # the grade that each outcome stands for
    scales: dict[str, Float[np.ndarray, " draw"]]
    ess: float  # effective number of draws of the effects
    finite_pool: bool
    chance: Float[np.ndarray, "draw cell outcome"]  # of every grade for one more item of a cell; theta of a population

    @property
    def n_draws(self) -> int:
        """The number of draws of the posterior of grades."""
        return len(self.theta)

    @cached_property
    def distribution(self) -> Float[np.ndarray, "draw group outcome"]:
        """The share of every grade in every group."""
        return self._average(self.theta)

    @cached_property
    def overall_distribution(self) -> Float[np.ndarray, "draw outcome"]:
        """The share of every grade overall."""
        return np.einsum("dc,dck->dk", self.share, self.theta, optimize=True)

    @property
    def mean_grade(self) -> Float[np.ndarray, "draw group"]:
        """The mean grade of every group."""
        return self._sum_by_group(self.share * self.cell_mean) / self._sum_by_group(self.share)

    @property
    def overall_mean_grade(self) -> Float[np.ndarray, " draw"]:
        """The mean grade overall."""
        return (self.share * self.cell_mean).sum(axis=1)

    @cached_property
    def cell_mean(self) -> Float[np.ndarray, "draw cell"]:
        """The mean grade of every cell; of a finite pool, known grades count as they are, not as their outcome."""
        mean = np.einsum("dck,dk->dc", self.theta, self.value, optimize=True)
        if not self.finite_pool or self.counts.total is None:
            return mean
        return mean + (self.counts.total - self.value @ self.counts.grades.T) / self.counts.n_items

    @property
    def pass_rate(self) -> Float[np.ndarray, "draw group"]:
        """The share of every group at or above the bar."""
        return self.distribution[:, :, self.counts.outcomes.passes].sum(axis=2)

    @property
    def overall_pass_rate(self) -> Float[np.ndarray, " draw"]:
        """The share at or above the bar overall."""
        return self.overall_distribution[:, self.counts.outcomes.passes].sum(axis=1)

    def cross_tabulate(self, judge: int) -> Table:
        """Return the shares of items, within every group, that a judge fails or passes, and people fail or pass.

        Items without a grade of this judge are left out.
        """
        graded = self.counts.judges[judge].has_graded
        passed = self.counts.judges[judge].passes
        human = self.theta[:, :, self.counts.outcomes.passes].sum(axis=2)
        parts = [self._sum_by_group(self.share * theirs * (graded & (passed == judged))) for judged in (False, True) for theirs in (1 - human, human)]  # fmt: skip
        return np.stack(parts, axis=2).reshape(self.n_draws, len(self.counts.groups), 2, 2)

    def average_graded(self, judge: int) -> tuple[Float[np.ndarray, "draw group"], Float[np.ndarray, "draw group"]]:
        """Return a judge's mean grade in every group, and people's of the same items, times the share of the items."""
        one = self.counts.judges[judge]
        weight = self.share * one.has_graded
        return self._sum_by_group(weight * one.mean), self._sum_by_group(weight * self.cell_mean)

    def _average(self, values: Float[np.ndarray, "draw cell outcome"]) -> Float[np.ndarray, "draw group outcome"]:
        """Average the posterior shares of cells within their group."""
        sums = [self._sum_by_group(self.share * values[:, :, k]) for k in range(values.shape[2])]
        return np.stack(sums, axis=2) / self._sum_by_group(self.share)[:, :, None]

    def _sum_by_group(self, values: Float[np.ndarray, "draw cell"]) -> Float[np.ndarray, "draw group"]:
        """Sum the posterior of the cells of every group; cells are sorted by group."""
        starts = np.searchsorted(self.counts.group, np.arange(len(self.counts.groups)))
        return np.add.reduceat(values, starts, axis=1)


def infer_grades(
    rng: Rng,
    counts: GradeCounts,
    *,
    finite_pool: bool = False,
    n_draws: int = N_DRAWS,
    systems: Int[np.ndarray, "group 2"] | None = None,
) -> GradePosterior:
    """Draw from the posterior of people's grades in every cell; `systems` are those that the items of a group compare.

    Without `finite_pool`, cell sizes are drawn too (the Bayesian bootstrap), because the pool is a sample.
    """
    n_draws = limit_stored_draws(limit_draws(n_draws, counts.grades.size), max(counts.grades.size, MIN_SIZE))
    score = standardize_grades(counts.outcomes.value, counts.grades.sum(axis=0))
    effects = _fit(rng, counts, score, n_draws, systems)
    theta = chance = _average_clusters(effects, _predict_grades(effects, counts), score)
    value = counts.outcomes.value + counts.outcomes.error * rng.standard_normal((n_draws, len(score)))
    if finite_pool:
        theta = _complete_pool(rng, counts, chance)
        share = np.tile(counts.n_items / counts.n_items.sum(), (n_draws, 1))
    else:
        sizes = rng.standard_gamma(counts.n_items / counts.cluster_size, size=(n_draws, len(counts.n_items)))
        share = np.maximum(sizes, 1e-300) / np.maximum(sizes, 1e-300).sum(axis=1, keepdims=True)
    return GradePosterior(counts, theta, share, value, effects.scales, effects.ess, finite_pool, chance)


def find_traits(counts: GradeCounts, systems: Int[np.ndarray, "group 2"] | None = None) -> CellTraits:
    """Return what the posterior of grades knows of each cell before people grade its items."""
    n = len(counts.group)
    bins = [judge.bin + 1 for judge in counts.judges]
    judged = [judge.standardized for judge in counts.judges]
    size = np.log(np.bincount(counts.group, weights=counts.n_items, minlength=len(counts.groups)))[counts.group]
    away = size - np.average(size, weights=counts.n_items)
    return CellTraits(
        counts.group, np.array(bins, dtype=np.int64).reshape(-1, n).T, np.array(judged).reshape(-1, n).T, away,
        None if systems is None else systems[counts.group],
    )  # fmt: skip


def _fit(
    rng: Rng, counts: GradeCounts, score: Float[np.ndarray, " outcome"], n_draws: int, systems: Int[np.ndarray, "group 2"] | None
) -> EffectDraws:  # fmt: skip
    """Fit the posterior of grades to the labelled cells, or to the labelled parts of clusters in them."""
    traits = find_traits(counts, systems)
    if counts.entry_cell is None or counts.entry_cluster is None or counts.entry_grades is None:
        blocks, cells = list_blocks(traits, score), np.nonzero(counts.n_grades > 0)[0]
        return fit_effects(rng, blocks, cells, counts.grades[cells], n_draws)
    whole = traits.take(np.concatenate([np.arange(traits.n), counts.entry_cell]))
    cluster = np.concatenate([np.zeros(traits.n, dtype=np.int64), counts.entry_cluster + 1])
    blocks, entries = list_blocks(whole, score, cluster), traits.n + np.arange(len(counts.entry_cell))
    return fit_effects(rng, blocks, entries, counts.entry_grades, n_draws)


def _predict_grades(effects: EffectDraws, counts: GradeCounts) -> Float[np.ndarray, "draw cell outcome"]:
    """Return the linear predictor of grades in every cell, without the effects of clusters."""
    n, named = len(counts.group), zip(effects.blocks, effects.terms, strict=True)
    return sum(block.predict(terms, n) for block, terms in named if block.name != "cluster")  # type: ignore[return-value]


def _average_clusters(
    effects: EffectDraws, eta: Float[np.ndarray, "draw cell outcome"], score: Float[np.ndarray, " outcome"]
) -> Float[np.ndarray, "draw cell outcome"]:
    """Return the posterior share of every grade, averaged over clusters where items form some."""
    if "cluster" not in effects.scales:
        return softmax(eta, axis=2)
    shift = effects.scales["cluster"][:, None, None] * score
    parts = zip(NODES, NODE_WEIGHTS / NODE_WEIGHTS.sum(), strict=True)
    return sum(weight * softmax(eta + node * shift, axis=2) for node, weight in parts)


def _complete_pool(
    rng: Rng, counts: GradeCounts, theta: Float[np.ndarray, "draw cell outcome"]
) -> Float[np.ndarray, "draw cell outcome"]:
    """Return the posterior shares in exactly these items: known grades, and drawn grades of the rest."""
    rest = counts.n_items - counts.n_grades
    drawn = np.empty_like(theta)
    small = rest <= MAX_EXACT_REST
    drawn[:, small] = rng.multinomial(rest[small], theta[:, small])
    large = rest[~small][:, None]
    noise = np.sqrt(theta[:, ~small] / large) * rng.standard_normal(theta[:, ~small].shape)
    noise -= theta[:, ~small] * noise.sum(axis=2, keepdims=True)
    drawn[:, ~small] = large * np.maximum(theta[:, ~small] + noise, 0.0)
    if counts.cluster_size > 1:
        expected = rest[:, None] * theta
        drawn = np.clip(expected + (drawn - expected) * counts.cluster_size**0.5, 0.0, rest[:, None])
    return (counts.grades + drawn) / counts.n_items[:, None]
