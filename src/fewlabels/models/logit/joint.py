"""Joint beliefs about all cells: draws of accuracies that keep the correlation between cells."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from fewlabels.distributions.finite_pool import ResidualVariance, draw_right
from fewlabels.distributions.randomness import Rng
from fewlabels.models.logit.drawn_belief import AccuracyDraws, DrawnBelief


@runtime_checkable
class CellAccuracies(AccuracyDraws, Protocol):
    """A model's joint posterior of the accuracy of every cell."""

    @property
    def mean(self) -> Float[np.ndarray, " cell"]:
        """Expected accuracy of every cell, by the joint posterior."""
        ...

    @property
    def within_variance(self) -> Float[np.ndarray, " cell"]:
        """Variance of the probability of being right over a cell's items, by the joint posterior."""
        ...

    def interval(self, level: float) -> tuple[Float[np.ndarray, " cell"], Float[np.ndarray, " cell"]]:
        """Central interval of every cell's accuracy, by the joint posterior."""
        ...


@dataclass(frozen=True)
class JointAccuracies(DrawnBelief):
    """Joint accuracies of all cells; with `rest`, of the finite pool."""

    groups: tuple[str, ...]
    accuracies: AccuracyDraws
    known: Float[np.ndarray, "cell 2"]
    rest: Int[np.ndarray, " cell"] | None
    residual_variance: ResidualVariance

    @property
    def is_discrete(self) -> bool:
        """Are the joint accuracies counts of a finite pool?"""
        return self.rest is not None

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell"]:
        """Joint draws of the accuracies of all cells."""
        theta = self.accuracies.draw(rng, n)
        if self.rest is None:
            return theta
        drawn = draw_right(rng, self.rest, theta, self.residual_variance)
        return (self.known[:, 0] + drawn) / (self.known.sum(axis=1) + self.rest)
