"""How cells hang together: what a label in one tells of the others.

The chances of cells vary together by a few things that they share, and each by something of its own. A label is an outcome
of one of them, its chance and some noise, so that what it tells of all others is a matter of covariances. Values, not
beliefs: they say how far chances may still be off, and not where they are.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

LEAST = 0.05  # of an outcome's variance, left to chance whatever is known
EDGE = 1e-9
PerCell = Float[np.ndarray, " cell"]


@dataclass(frozen=True)
class Ties:
    """Covariance of the chances of cells, shared · sharedᵀ + own + strange, and the variance of an outcome whose chance is known."""

    shared: Float[np.ndarray, "cell factor"]
    own: PerCell
    strange: PerCell  # should a cell be unlike anything that others suggest: its first label would show it
    noise: PerCell

    @property
    def variance(self) -> PerCell:
        """Of each chance."""
        return np.einsum("cf,cf->c", self.shared, self.shared) + self.own + self.strange

    @property
    def outcome(self) -> PerCell:
        """Variance of one more outcome in each cell."""
        return self.variance + self.noise

    def observe(self, n_labels: PerCell) -> "Ties":
        """Return what is left once cells have so many labels more, whatever these say.

        >>> two = Ties(np.array([[0.3], [0.3]]), np.array([0.01, 0.01]), np.zeros(2), np.array([0.1, 0.1]))
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
        shared[told] *= (noise / spread)[:, None]  # what a cell's own part took on, it no longer has in common
        own[told] *= noise / spread
        return Ties(shared, own, np.where(n_labels > 0, 0.0, self.strange), self.noise)

    def expect_fall(
        self,
        aim: Int[np.ndarray, " cell"],
        weight: PerCell,
        item: PerCell,
        worth: Float[np.ndarray, " aim"],
    ) -> PerCell:
        """How far one more label in each cell is expected to bring the variance of what one aims at down, worth by worth.

        One aims at Σ weight × chance over the cells of each aim, which come aim by aim, and, where the item itself is part of it,
        at `item` times its outcome. An outcome is one thing or the other, so the fall is its squared covariance with the aim
        over its variance.
        """
        mine = np.add.reduceat(weight[:, None] * self.shared, np.searchsorted(aim, np.arange(len(worth))), axis=0)
        alone = weight * (self.own + self.strange) + item * self.noise
        along = np.einsum("cf,cf->c", self.shared @ (mine.T @ (worth[:, None] * mine)), self.shared)
        beside = alone * (2 * np.einsum("cf,cf->c", mine[aim], self.shared) + alone)
        return (along + worth[aim] * beside) / self.outcome


def stand_alone(variance: PerCell, outcome: PerCell) -> Ties:
    """Cells that tell nothing of each other."""
    nothing = np.zeros(len(variance))
    return Ties(np.zeros((len(variance), 0)), variance, nothing, np.maximum(outcome - variance, LEAST * outcome + EDGE))
