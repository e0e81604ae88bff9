"""Draws of the joint outcome: in every cell, the share of items on which each candidate is right, or none is."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix

from fewlabels.distributions.randomness import Rng
from fewlabels.models.joint_outcomes.fit import JointFit

BLOCK = 6_000_000  # array elements drawn at a time
ROWS = 4_000  # strata whose features are computed at a time
UNSEEN = 0.5  # items that a kind of disagreement counts for in the population, where the pool has none
Shares = Float[np.ndarray, "draw cell outcome"]
Sizes = Float[np.ndarray, "draw cell"]


@dataclass(frozen=True)
class OutcomeSampler:
    """Draws outcomes of the strata and sums them to cells."""

    fit: JointFit
    cell: Int[np.ndarray, " stratum"]
    n_cells: int
    finite_pool: bool

    def sample(self, rng: Rng, n: int) -> Iterator[tuple[Shares, Sizes]]:
        """Yield blocks of joint draws: shares of outcomes, and sizes of the cells."""
        step = max(1, BLOCK // max(1, len(self._pairs[0]) + self.n_cells * self._n_outcomes))
        for start in range(0, n, step):
            yield self._draw(rng, min(step, n - start))

    def sample_right(self, rng: Rng, n: int) -> Iterator[tuple[Float[np.ndarray, "draw model group"], Sizes]]:
        """Yield blocks of joint draws for the population: items on which each model is right, and sizes of the groups."""
        strata, (stratum, _) = self.fit.design.strata, self._pairs
        n_strata, n_groups = len(strata.group), len(strata.groups)
        membership = csr_matrix((np.ones(n_strata), (np.arange(n_strata), strata.group)), shape=(n_strata, n_groups))
        step = max(1, BLOCK // max(1, len(stratum)))
        for start in range(0, n, step):
            chance = self.draw_chances(rng, min(step, n - start))
            size = self._draw_sizes(rng, len(chance))
            chance *= size[:, stratum]
            right = (self._supporters @ chance.T).T.reshape(len(chance), n_groups, -1).transpose(0, 2, 1)
            yield right, np.asarray(size @ membership)

    def expect(self, rng: Rng, n: int) -> Float[np.ndarray, "stratum outcome"]:
        """Return the expected chance of every outcome in every stratum."""
        stratum, candidate = self._pairs
        out = np.zeros((len(self.cell), self._n_outcomes))
        step = max(1, BLOCK // max(1, len(stratum)))
        for start in range(0, n, step):
            k = min(step, n - start)
            out[stratum, candidate] += self.draw_chances(rng, k).sum(axis=0) / n
        out[:, -1] = np.clip(1 - out[:, :-1].sum(axis=1), 0.0, 1.0)
        return out

    def draw_chances(self, rng: Rng, n: int) -> Float[np.ndarray, "draw pair"]:
        """Draw the chance of every candidate of every stratum."""
        design, (stratum, _) = self.fit.design, self._pairs
        terms, effects = self.fit.draw(rng, n)
        height = terms @ self._features[0].T
        if len(design.strata.groups) > 1:
            group = design.strata.group[stratum]
            for e in range(design.n_effects):
                height += effects[:, group, e] * self._features[1][:, e]
        none = np.where(design.strata.can_miss, 0.0, -np.inf)
        highest = np.maximum(np.maximum.reduceat(height, self._starts, axis=1), none)
        np.exp(height - highest[:, stratum], out=height)
        total = np.add.reduceat(height, self._starts, axis=1) + np.exp(none - highest)
        height /= total[:, stratum]
        return height

    def _draw(self, rng: Rng, n: int) -> tuple[Shares, Sizes]:
        """Draw a block of outcomes: of exactly the pool's items, or of the population."""
        chance = self.draw_chances(rng, n)
        return self._complete_pool(rng, chance) if self.finite_pool else self._weigh(rng, chance)

    def _weigh(self, rng: Rng, chance: Float[np.ndarray, "draw pair"]) -> tuple[Shares, Sizes]:
        """Sum the sampler's chances to cells, with sizes of the strata drawn too: the pool is a sample of the population."""
        stratum, _ = self._pairs
        size = self._draw_sizes(rng, len(chance))
        cells = (size @ self._membership).reshape(len(chance), -1)
        sums = self._sum_candidates(chance * size[:, stratum])
        return self._with_none(sums, cells) / cells[:, :, None], cells

    def _draw_sizes(self, rng: Rng, n: int) -> Float[np.ndarray, "draw stratum"]:
        """Draw the sizes of the strata in a population of which the pool is a sample."""
        items = self.fit.design.strata.n_items
        return rng.standard_gamma(np.where(items > 0, items, UNSEEN), size=(n, len(items)))

    def _complete_pool(self, rng: Rng, chance: Float[np.ndarray, "draw pair"]) -> tuple[Shares, Sizes]:
        """Draw the outcomes of the unlabelled items; labelled items are known."""
        strata, (stratum, _) = self.fit.design.strata, self._pairs
        rest = strata.n_unlabelled.astype(np.float64)
        n_rest = rest @ self._membership
        mean = self._with_none(self._sum_candidates(chance * rest[stratum]), np.tile(n_rest, (len(chance), 1)))
        share = np.maximum(mean, 0.0) / np.maximum(n_rest, 1.0)[:, None]
        total = share.sum(axis=2, keepdims=True)
        share = np.divide(share, total, out=np.full_like(share, 1 / share.shape[2]), where=total > 0)
        drawn = rng.multinomial(np.round(n_rest).astype(np.int64), share)
        noise = (drawn - share * n_rest[:, None]) * np.sqrt(self._residual_variance(chance, share))[:, None]
        known = self._membership.T @ strata.outcomes
        size = n_rest + known.sum(axis=1)
        counted = np.clip(known + share * n_rest[:, None] + noise, 0.0, None)
        return counted / np.maximum(size, 1.0)[:, None], np.tile(size, (len(chance), 1))

    def _residual_variance(self, chance: Float[np.ndarray, "draw pair"], share: Shares) -> Float[np.ndarray, " cell"]:
        """Share of the variance of outcomes in a cell that remains given the strata."""
        strata, (stratum, _) = self.fit.design.strata, self._pairs
        rest = strata.n_unlabelled.astype(np.float64)
        mean = chance.mean(axis=0)
        none = np.clip(1 - np.bincount(stratum, weights=mean, minlength=len(rest)), 0.0, 1.0)
        within = np.bincount(stratum, weights=mean * (1 - mean), minlength=len(rest)) + none * (1 - none)
        whole = share.mean(axis=0)
        variance = (whole * (1 - whole)).sum(axis=1) * (rest @ self._membership)
        return np.clip((rest * within) @ self._membership / np.maximum(variance, 1e-12), 0.0, 1.0)

    def _sum_candidates(self, values: Float[np.ndarray, "draw pair"]) -> Shares:
        """Sum pairs to cells and candidates."""
        return (values @ self._placement).reshape(len(values), self.n_cells, self._n_outcomes)

    def _with_none(self, sums: Shares, cells: Sizes) -> Shares:
        """Set the last outcome: no model is right on the items that no other outcome has."""
        sums[:, :, -1] = np.maximum(cells - sums[:, :, :-1].sum(axis=2), 0.0)
        return sums

    @property
    def _n_outcomes(self) -> int:
        """Number of outcomes: each model is the first that is right, or none is."""
        return self.fit.design.n_models + 1

    @cached_property
    def _pairs(self) -> tuple[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]]:
        """The stratum and the candidate of every pair that occurs, sorted by stratum."""
        stratum, candidate = np.nonzero(self.fit.design.strata.supporters > 0)
        return stratum, candidate

    @cached_property
    def _starts(self) -> Int[np.ndarray, " stratum"]:
        """Index of every stratum's first pair, for the sampler's sums."""
        return np.searchsorted(self._pairs[0], np.arange(len(self.cell)))

    @cached_property
    def _features(self) -> tuple[Float[np.ndarray, "pair term"], Float[np.ndarray, "pair effect"]]:
        """Features of the terms and effects of every pair whose outcomes are sampled."""
        design, (stratum, candidate) = self.fit.design, self._pairs
        terms, effects = [], []
        for start in range(0, len(self.cell), ROWS):
            rows = np.arange(start, min(start + ROWS, len(self.cell)))
            mine = (stratum >= start) & (stratum < start + ROWS)
            at = stratum[mine] - start, candidate[mine]
            terms.append(design.features(rows)[at])
            effects.append(design.effect_features(rows)[at])
        return np.concatenate(terms), np.concatenate(effects)

    @cached_property
    def _membership(self) -> csr_matrix:
        """The cell of every stratum, as a sparse matrix."""
        n = len(self.cell)
        return csr_matrix((np.ones(n), (np.arange(n), self.cell)), shape=(n, self.n_cells))

    @cached_property
    def _supporters(self) -> csr_matrix:
        """The group and every model of a pair's candidate, as a sparse matrix: (group and model) by pair."""
        strata = self.fit.design.strata
        n_strata, m = strata.first.shape
        pair_at = np.full((n_strata, m), -1)
        pair_at[self._pairs] = np.arange(len(self._pairs[0]))
        pair = np.take_along_axis(pair_at, strata.first, axis=1).reshape(-1)
        row = (strata.group[:, None] * m + np.arange(m)).reshape(-1)
        return csr_matrix((np.ones(len(pair)), (row, pair)), shape=(len(strata.groups) * m, len(self._pairs[0])))

    @cached_property
    def _placement(self) -> csr_matrix:
        """The cell and candidate of every pair, as a sparse matrix."""
        stratum, candidate = self._pairs
        place = self.cell[stratum] * self._n_outcomes + candidate
        shape = (len(stratum), self.n_cells * self._n_outcomes)
        return csr_matrix((np.ones(len(stratum)), (np.arange(len(stratum)), place)), shape=shape)
