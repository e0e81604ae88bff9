"""Sparse draws of shares over many outcomes: only the entries above zero are kept.

A Gamma variable with shape α is the sum of the jumps of a Gamma process, a Poisson process with intensity α e^(−x) / x. Small
shapes (of classes without labels) seldom have a jump that matters, so their jumps are drawn together instead of one value
each. Jumps below SMALLEST_JUMP are left out: their expected sum is SMALLEST_JUMP per unit of shape.
"""

from dataclasses import dataclass, replace
from math import ceil
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

SMALLEST_JUMP = 1e-7
N_JUMPS = -np.log(SMALLEST_JUMP) + np.exp(-1.0)  # proposed per unit of shape
SMALL_SHAPE = 1 / N_JUMPS  # shapes below need less than one jump per draw
MIN_STRENGTH = 0.5  # least total shape of a cell, so that nearly every draw has a jump


@dataclass(frozen=True)
class SparseDraws:
    """Entries of an array (draw, cell, outcome); entries at the same place add up."""

    draw: Int[np.ndarray, " entry"]
    cell: Int[np.ndarray, " entry"]
    outcome: Int[np.ndarray, " entry"]
    value: Float[np.ndarray, " entry"]
    shape: tuple[int, int, int]

    def sum_cells(self) -> Float[np.ndarray, "draw cell"]:
        """Sum the sparse entries over outcomes."""
        n, n_cells, _ = self.shape
        return np.bincount(self.draw * n_cells + self.cell, self.value, n * n_cells).reshape(n, n_cells)

    def sum_scopes(self, scope: Int[np.ndarray, " cell"], n_scopes: int) -> Float[np.ndarray, "draw scope outcome"]:
        """Sum the sparse entries of the cells of each scope."""
        n, _, k = self.shape
        place = (self.draw * n_scopes + scope[self.cell]) * k + self.outcome
        return np.bincount(place, self.value, n * n_scopes * k).reshape(n, n_scopes, k)

    def multiply(self, factor: Float[np.ndarray, "draw cell"]) -> "SparseDraws":
        """Multiply every cell's sparse entries by a factor of its own."""
        return replace(self, value=self.value * factor[self.draw, self.cell])

    def take_outcome(self, outcome: Int[np.ndarray, " cell"]) -> Float[np.ndarray, "draw cell"]:
        """Return the value of one outcome per cell, 0 where no entry is."""
        return self.keep(self.outcome == outcome[self.cell]).sum_cells()

    def add_outcome(self, outcome: Int[np.ndarray, " cell"], value: Float[np.ndarray, "draw cell"]) -> "SparseDraws":
        """Add a value to one outcome per cell."""
        draw, cell = np.indices(value.shape).reshape(2, -1)
        more = SparseDraws(draw, cell, outcome[cell], value.reshape(-1), self.shape)
        return self.join(more)

    def join(self, other: "SparseDraws") -> "SparseDraws":
        """Concatenate the sparse entries of both."""
        return SparseDraws(
            np.concatenate([self.draw, other.draw]),
            np.concatenate([self.cell, other.cell]),
            np.concatenate([self.outcome, other.outcome]),
            np.concatenate([self.value, other.value]),
            self.shape,
        )

    def keep(self, kept: np.ndarray) -> "SparseDraws":
        """Keep some of the sparse entries."""
        return SparseDraws(self.draw[kept], self.cell[kept], self.outcome[kept], self.value[kept], self.shape)

    def to_dense(self) -> Float[np.ndarray, "draw cell outcome"]:
        """Return the whole array of the sparse draws."""
        n_cells = self.shape[1]
        return self.sum_scopes(np.arange(n_cells), n_cells)


@runtime_checkable
class SparseBelief(Protocol):
    """A belief that can be drawn sparsely."""

    @property
    def sparse_shapes(self) -> Float[np.ndarray, "cell outcome"] | None:
        """Shapes of the Gamma variables behind its draws; None if it has only dense draws."""
        ...

    def draw_sparse(self, rng: np.random.Generator, n: int) -> SparseDraws:
        """Sparse joint draws: only the entries above zero."""
        ...


def count_entries(alpha: Float[np.ndarray, "cell outcome"]) -> int:
    """Return the expected number of entries of one sparse draw, rounded up."""
    small = alpha < SMALL_SHAPE
    return int((~small).sum()) + ceil(N_JUMPS * alpha[small].sum())


def draw_gammas(rng: np.random.Generator, alpha: Float[np.ndarray, "cell outcome"], n: int) -> SparseDraws:
    """Draw sparse independent Gamma variables with these shapes."""
    (large,) = np.nonzero(alpha.reshape(-1) >= SMALL_SHAPE)
    gammas = rng.standard_gamma(alpha.reshape(-1)[large], size=(n, len(large)))
    draw, place, jump = _draw_jumps(rng, np.where(alpha < SMALL_SHAPE, alpha, 0.0).reshape(-1), n)
    cell, outcome = np.divmod(np.concatenate([np.tile(large, n), place]), alpha.shape[1])
    draws = np.concatenate([np.repeat(np.arange(n), len(large)), draw])
    return SparseDraws(draws, cell, outcome, np.concatenate([gammas.reshape(-1), jump]), (n, *alpha.shape))


def draw_dirichlet(rng: np.random.Generator, alpha: Float[np.ndarray, "cell outcome"], n: int) -> SparseDraws:
    """Draw sparse shares of outcomes (a Dirichlet): Gamma variables divided by their sum."""
    gammas = fill_empty(rng, draw_gammas(rng, alpha, n), alpha)
    return gammas.multiply(1 / gammas.sum_cells())


def fill_empty(rng: np.random.Generator, gammas: SparseDraws, alpha: Float[np.ndarray, "cell outcome"]) -> SparseDraws:
    """Put the mass of cells without an entry in a sparse draw on one outcome each, in proportion to its shape."""
    draw, cell = np.nonzero(gammas.sum_cells() <= 0)
    outcome = [int(rng.choice(alpha.shape[1], p=alpha[c] / alpha[c].sum())) for c in cell]
    value = np.full(len(cell), SMALLEST_JUMP)
    return gammas.join(SparseDraws(draw, cell, np.array(outcome, dtype=np.int64), value, gammas.shape))


def _draw_jumps(
    rng: np.random.Generator, alpha: Float[np.ndarray, " place"], n: int
) -> tuple[Int[np.ndarray, " jump"], Int[np.ndarray, " jump"], Float[np.ndarray, " jump"]]:
    """Draw sparse Gammas' jumps above SMALLEST_JUMP by thinning: 1 / x up to 1 and e^(−x) above dominates e^(−x) / x."""
    place = np.repeat(np.arange(len(alpha)), rng.poisson(n * N_JUMPS * alpha))
    u = rng.random(len(place)) * N_JUMPS
    is_tail = u < np.exp(-1.0)
    jump = np.exp(-(u - np.exp(-1.0)))  # log-uniform between SMALLEST_JUMP and 1
    jump[is_tail] = 1 + rng.standard_exponential(int(is_tail.sum()))
    kept = rng.random(len(place)) < np.where(is_tail, 1 / jump, np.exp(-jump))
    return rng.integers(n, size=int(kept.sum())), place[kept], jump[kept]
