"""Low-rank covariance of the accuracies of cells: what a label in one cell implies for the others.

The accuracies share a few common factors and have an independent part each. A label is a Bernoulli outcome, that is the
cell's accuracy plus noise, so its effect on all other cells follows from covariances. Only second moments are kept, not
the means.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

LEAST = 0.05  # least share of an outcome's variance that is noise
EDGE = 1e-9
N_FACTORS, N_ROUNDS = 4, 3  # of the covariance of draws: factors, and rounds of subspace iteration
PerCell = Float[np.ndarray, " cell"]


@dataclass(frozen=True)
class CellCovariance:
    """Covariance of the cells' accuracies, shared · sharedᵀ + own + outlier, and the noise variance of one outcome."""

    shared: Float[np.ndarray, "cell factor"]
    own: PerCell
    outlier: PerCell  # variance from the possibility that a cell is an outlier; its first label resolves that
    noise: PerCell  # variance of an outcome given the accuracy of its cell

    @property
    def variance(self) -> PerCell:
        """Variance of each cell's accuracy, the diagonal of the covariance."""
        return np.einsum("cf,cf->c", self.shared, self.shared) + self.own + self.outlier

    @property
    def outcome(self) -> PerCell:
        """Variance of one more outcome in each cell, given their covariance."""
        return self.variance + self.noise

    def observe(self, n_labels: PerCell) -> "CellCovariance":
        """Return the covariance after so many more labels per cell; it does not depend on their values.

        >>> two = CellCovariance(np.array([[0.3], [0.3]]), np.array([0.01, 0.01]), np.zeros(2), np.array([0.1, 0.1]))
        >>> two.observe(np.array([1.0, 0.0])).variance.round(3).tolist()
        [0.05, 0.06]
        """
        (told,) = np.nonzero(n_labels > 0)
        if not len(told):
            return self
        noise = self.noise[told] / n_labels[told]
        seen, spread = self.shared[told], self.own[told] + noise
        root = np.linalg.cholesky(np.eye(seen.shape[1]) + seen.T @ (seen / spread[:, None]))
        shared, own = np.linalg.solve(root, self.shared.T).T, self.own.copy()
        shared[told] *= (noise / spread)[:, None]  # the part explained by a cell's own term is no longer shared
        own[told] *= noise / spread
        return CellCovariance(shared, own, np.where(n_labels > 0, 0.0, self.outlier), self.noise)

    def expect_variance_reduction(
        self,
        aim: Int[np.ndarray, " cell"],
        weight: PerCell,
        item: PerCell,
        worth: Float[np.ndarray, " target"],
    ) -> PerCell:
        """Expected reduction of the targets' variance, by the cells' covariance, from one more label in each cell.

        A target is Σ weight × accuracy over its cells (sorted by target, `aim`), plus `item` times the labelled item's
        outcome where the item is part of the target. An outcome is binary, so the reduction is its squared covariance
        with the target divided by its variance.
        """
        mine = np.add.reduceat(weight[:, None] * self.shared, np.searchsorted(aim, np.arange(len(worth))), axis=0)
        alone = weight * (self.own + self.outlier) + item * self.noise
        along = np.einsum("cf,cf->c", self.shared @ (mine.T @ (worth[:, None] * mine)), self.shared)
        beside = alone * (2 * np.einsum("cf,cf->c", mine[aim], self.shared) + alone)
        return (along + worth[aim] * beside) / self.outcome


def estimate_covariance(draws: Float[np.ndarray, "draw cell"]) -> CellCovariance:
    """Return the low-rank covariance of cells that joint draws of their accuracies show.

    The factors are the leading directions of the draws; all other variance is taken as the cells' own, since that of a
    few hundred draws is mostly chance.
    """
    mean, centred = draws.mean(axis=0), draws - draws.mean(axis=0)
    centred = centred / np.sqrt(len(draws))
    basis = np.linalg.qr(centred[:N_FACTORS].T)[0]
    for _ in range(N_ROUNDS):
        basis = np.linalg.qr(centred.T @ (centred @ basis))[0]
    seen = centred @ basis
    shared = basis @ np.linalg.qr(seen)[1].T
    own = np.maximum((centred**2).sum(axis=0) - (shared**2).sum(axis=1), 0.0)
    outcome = mean * (1 - mean)
    variance = (shared**2).sum(axis=1) + own
    return CellCovariance(shared, own, np.zeros(len(mean)), np.maximum(outcome - variance, LEAST * outcome + EDGE))


def independent_cells(variance: PerCell, outcome: PerCell) -> CellCovariance:
    """Return the covariance of independent cells."""
    nothing = np.zeros(len(variance))
    return CellCovariance(
        np.zeros((len(variance), 0)), variance, nothing, np.maximum(outcome - variance, LEAST * outcome + EDGE)
    )
