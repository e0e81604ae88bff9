"""Posterior draws of a metric, in blocks that fit in memory, and the numbers of draws."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fewlabels.distributions.belief import Belief, Beta, Conjugate, Dirichlet, Rng
from fewlabels.distributions.partial_pooling import PooledCells
from fewlabels.metrics.evaluate import Evaluation

N_DRAWS = 10_000  # for reported figures
N_DRAWS_SIMULATED = 2000  # for the decisions within a simulation
N_DRAWS_ROUGH = 500  # for simulated completions of the labels
BLOCK = 4_000_000  # array elements drawn at a time
BUDGET = 50_000_000  # array elements drawn in all; beyond it the number of draws is reduced
MIN_DRAWS = 1000
MIN_DRAWS_PER_IMPUTATION = 100  # for each set of imputed labels
BLOCK_OF_ACQUISITION = 8_000_000  # array elements drawn at a time to choose the next label
MIN_ACQUISITION_DRAWS = 200
Block = tuple[Float[np.ndarray, "draw group"], Float[np.ndarray, "draw 1"]]


def limit_draws(n_draws: int, belief: Conjugate) -> int:
    """Return the number of draws of all cells that fits the budget."""
    numbers = belief.alpha.size if isinstance(belief, Beta | Dirichlet) else 1
    return int(np.clip(BUDGET // numbers, min(MIN_DRAWS, n_draws), n_draws))


def limit_acquisition_draws(n_draws: int, n_numbers: int) -> int:
    """Return the number of draws of all cells that fits the budget of one acquisition."""
    return min(n_draws, max(MIN_ACQUISITION_DRAWS, BLOCK_OF_ACQUISITION // n_numbers))


@dataclass(frozen=True)
class Sampler:
    """Draws the cells and evaluates the metric, block by block."""

    evaluation: Evaluation
    cells: Belief  # posterior of the cells
    pooled_cells: PooledCells | None
    finite_pool: bool

    def sample(self, rng: Rng, n_draws: int) -> Iterator[Block]:
        """Yield blocks of draws of the metric, per group and overall."""
        cells = self.evaluation.cells
        width = cells.n if self.evaluation.metric.reads == "right" else cells.labels.size
        for n in _block_sizes(n_draws, width):
            yield self.evaluation.combine(self.cells.draw(rng, n), self._draw_cell_sizes(rng, n))

    def sample_closed(self, rng: Rng, closed: Belief, n_draws: int) -> Iterator[Block]:
        """Yield blocks of draws where each group is one cell with a closed form."""
        for n in _block_sizes(n_draws, self.evaluation.cells.n):
            values = closed.draw(rng, n)
            cells = self.pooled_cells.draw(rng, n) if self.pooled_cells else values
            if self.evaluation.per_class:
                yield values, cells.sum(axis=1, keepdims=True) / len(self.evaluation.occurring_classes())
            else:
                weight = (
                    self._draw_cell_sizes(rng, n)
                    if self.evaluation.metric.is_cell_accuracy
                    else self._draw_group_sizes(rng, n)
                )
                yield values, (cells * weight).sum(axis=1, keepdims=True) / weight.sum(axis=-1, keepdims=True)

    def _draw_cell_sizes(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell"]:
        """Cell sizes: known for a finite pool, otherwise drawn (Bayesian bootstrap)."""
        size = self.evaluation.cells.n_items.astype(np.float64)
        return np.tile(size, (n, 1)) if self.finite_pool else rng.standard_gamma(size, size=(n, len(size)))

    def _draw_group_sizes(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        size = self.evaluation.tally.count("n_items").astype(np.float64)
        return rng.standard_gamma(size, size=(n, len(size)))


def _block_sizes(n_draws: int, width: int) -> Iterator[int]:
    """Yield the sizes of blocks."""
    block = max(1, min(n_draws, BLOCK // width))
    for start in range(0, n_draws, block):
        yield min(block, n_draws - start)
