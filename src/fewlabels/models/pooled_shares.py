"""Accuracies and class shares under a prior whose level is a guess: the level is learned from all cells.

A flat prior over K classes expects every prediction to be right once in K times, and says nothing about which classes are
missed. Accuracies therefore come from partial pooling, and the true classes of wrong predictions from an effect per class.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import Cells
from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.distributions.class_masses import ClassMassDraws
from fewlabels.distributions.partial_pooling import fit_prior_level
from fewlabels.distributions.randomness import Rng
from fewlabels.models.logit.drawn_belief import DrawnBelief
from fewlabels.models.logit.joint import JointAccuracies
from fewlabels.models.logit.joint_shares import JointShares, UnlabelledShares
from fewlabels.models.logit.true_classes import fit_true_classes


def pool_accuracies(cells: Cells, right: Beta, *, finite_pool: bool) -> JointAccuracies:
    """Return the joint accuracies of all cells under a prior whose level is learned from all of them."""
    rest = cells.n_items - cells.n_labels
    pooled = fit_prior_level(right, cells.outcomes, rest)
    return JointAccuracies(cells.names, pooled, cells.outcomes, rest if finite_pool else None, None)


@dataclass(frozen=True)
class PooledShares(DrawnBelief):
    """Joint shares of true classes in all cells, fitted when they are first drawn."""

    cells: Cells
    right: Beta  # prior of each cell's accuracy, whose level is a guess
    finite_pool: bool

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the cells whose shares are pooled."""
        return self.cells.names

    @property
    def is_discrete(self) -> bool:
        """Are the pooled shares counts of a finite pool?"""
        return self.finite_pool

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell class"]:
        """Joint draws of the pooled shares."""
        return self._shares.draw(rng, n)

    def draw_class_masses(
        self, rng: Rng, weight: Float[np.ndarray, "draw cell"], scope: Int[np.ndarray, " cell"], n_scopes: int
    ) -> ClassMassDraws:
        """Joint draws of pooled accuracies and of the masses of classes."""
        return self._shares.draw_class_masses(rng, weight, scope, n_scopes)

    @cached_property
    def _shares(self) -> JointShares:
        """The joint shares of true classes, fitted with the learned level."""
        cells, rest = self.cells, self.cells.n_items - self.cells.n_labels
        right = cells.labels[np.arange(cells.n), cells.predicted]
        outcomes = np.stack([right, cells.labels.sum(axis=1) - right], axis=1)
        accuracies = fit_prior_level(self.right, outcomes, rest)
        unlabelled = UnlabelledShares(cells.labels, rest, None) if self.finite_pool else None
        return JointShares(cells.names, accuracies, fit_true_classes(cells), cells.predicted, cells.n_items, unlabelled)
