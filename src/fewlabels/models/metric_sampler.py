"""Posterior draws of a metric, in blocks that fit in memory.

Where draws of all cells would exceed the budget, they are sparse if the metric and the posterior allow it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from fewlabels.distributions import budgets
from fewlabels.distributions.belief import Belief
from fewlabels.distributions.class_masses import ClassMassBelief
from fewlabels.distributions.partial_pooling import PooledCells
from fewlabels.distributions.randomness import Rng
from fewlabels.distributions.sparse_draws import MIN_STRENGTH, SparseBelief, count_entries
from fewlabels.metrics.evaluate import CellDraws, Evaluation

BLOCK = 4_000_000  # array elements drawn at a time
MAX_DENSE = 40  # shares drawn one by one; of more, only the masses of classes are drawn, where they are enough
Block = tuple[Float[np.ndarray, "draw group"], Float[np.ndarray, "draw 1"]]
DrawCells = Callable[[Rng, int], CellDraws]


@dataclass(frozen=True)
class MetricSampler:
    """Draws the cells and evaluates the metric, block by block."""

    evaluation: Evaluation
    cells: Belief  # posterior of the cells
    pooled_cells: PooledCells | None
    finite_pool: bool

    def limit(self, n_draws: int) -> int:
        """Return how many draws of the metric fit the budget, at most `n_draws`."""
        if self._draws_masses:
            return min(n_draws, max(budgets.limit_draws(n_draws, self._n_dense), budgets.MIN_DRAWS))
        dense, sparse = (budgets.limit_draws(n_draws, size) for size in (self._n_dense, self._n_sparse))
        return max(dense, min(sparse, budgets.MIN_DRAWS)) if dense < n_draws else dense

    def sample(self, rng: Rng, n_draws: int) -> Iterator[Block]:
        """Yield blocks of draws of the metric, per group and overall."""
        if self._draws_masses:
            yield from self._sample_masses(rng, n_draws)
            return
        draw_sparse = self._draw_sparse if n_draws * self._n_dense > budgets.BUDGET else None
        draw, width = (draw_sparse, self._n_sparse) if draw_sparse else (self.cells.draw, self._n_dense)
        for n in _block_sizes(n_draws, width):
            yield self.evaluation.combine(draw(rng, n), self._draw_cell_sizes(rng, n))

    def _sample_masses(self, rng: Rng, n_draws: int) -> Iterator[Block]:
        """Yield blocks of draws from the masses of classes."""
        assert isinstance(self.cells, ClassMassBelief)
        scope, n_scopes = self.evaluation.mass_scopes
        for n in _block_sizes(n_draws, self._n_masses):
            weight = self._draw_cell_sizes(rng, n)
            yield self.evaluation.combine(self.cells.draw_class_masses(rng, weight, scope, n_scopes), weight)

    def sample_closed(self, rng: Rng, closed: Belief, n_draws: int) -> Iterator[Block]:
        """Yield blocks of draws where each group is one cell with a closed form."""
        for n in _block_sizes(n_draws, self.evaluation.cells.n):
            values = closed.draw(rng, n)
            cells = self.pooled_cells.draw(rng, n) if self.pooled_cells else values
            weight = (
                self._draw_cell_sizes(rng, n)
                if self.evaluation.metric.is_cell_accuracy
                else self._draw_group_sizes(rng, n)
            )
            yield values, (cells * weight).sum(axis=1, keepdims=True) / weight.sum(axis=-1, keepdims=True)

    @property
    def _n_dense(self) -> int:
        """Array elements of one draw of all cells."""
        cells = self.evaluation.cells
        return cells.n if self.evaluation.metric.reads == "right" else cells.labels.size

    @property
    def _draws_masses(self) -> bool:
        """Are masses of classes drawn instead of all shares?"""
        can = self.evaluation.needs_only_masses and isinstance(self.cells, ClassMassBelief)
        return can and self._n_dense > MAX_DENSE

    @property
    def _n_masses(self) -> int:
        """Array elements of one draw of masses."""
        cells = self.evaluation.cells
        return 4 * cells.n + cells.labels.shape[1] * self.evaluation.mass_scopes[1]

    @cached_property
    def _n_sparse(self) -> int:
        """Array elements of one sparse draw; as many as of a dense one where there are no sparse draws."""
        return self._n_dense if self._shapes is None else count_entries(self._shapes) + self.evaluation.cells.n

    @cached_property
    def _shapes(self) -> Float[np.ndarray, "cell outcome"] | None:
        """Shapes of the Gamma variables that sparse draws are made of; None where they do not pay."""
        if not self.evaluation.needs_only_masses or not isinstance(self.cells, SparseBelief):
            return None
        alpha = self.cells.sparse_shapes
        if alpha is None or alpha.sum(axis=1).min() < MIN_STRENGTH or 2 * count_entries(alpha) > alpha.size:
            return None
        return alpha

    @property
    def _draw_sparse(self) -> DrawCells | None:
        """How to draw the cells of the metric sparsely; None where that does not pay."""
        return self.cells.draw_sparse if isinstance(self.cells, SparseBelief) and self._shapes is not None else None

    def _draw_cell_sizes(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell"]:
        """Cell sizes: known for a finite pool, otherwise drawn (Bayesian bootstrap)."""
        size = self.evaluation.cells.n_items.astype(np.float64)
        return np.tile(size, (n, 1)) if self.finite_pool else rng.standard_gamma(size, size=(n, len(size)))

    def _draw_group_sizes(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        """Draw the sizes of groups for the overall metric."""
        size = self.evaluation.tally.count("n_items").astype(np.float64)
        return rng.standard_gamma(size, size=(n, len(size)))


def _block_sizes(n_draws: int, width: int) -> Iterator[int]:
    """Yield the sizes of the blocks in which a metric is sampled."""
    block = max(1, min(n_draws, BLOCK // width))
    for start in range(0, n_draws, block):
        yield min(block, n_draws - start)
