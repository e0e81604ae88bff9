"""From accuracy to classes: the conjugate distribution of the true class per cell, given the cell's accuracy."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from fewlabels.data.counts import Cells
from fewlabels.distributions.beta_dirichlet import Beta, Dirichlet
from fewlabels.models.logit.true_classes import TrueClasses, fit_true_classes, one_hot_predicted


@dataclass(frozen=True)
class ClassShares:
    """Dirichlet distributions of the true class per cell, given the accuracy of each cell."""

    cells: Cells

    @cached_property
    def classes(self) -> TrueClasses:
        """The true classes of wrong predictions (the confusion)."""
        return fit_true_classes(self.cells)

    @cached_property
    def wrong(self) -> Float[np.ndarray, "cell class"]:
        """Expected shares of the true classes of wrong predictions: the confusion."""
        return self.classes.mean()

    def to_dirichlet(self, right: Beta) -> Dirichlet:
        """Spread the error probability over the classes it is confused with; the accuracy keeps its mean and strength."""
        mean, strength = right.mean()[:, None], right.strength()[:, None]
        return Dirichlet(right.groups, strength * (mean * one_hot_predicted(self.cells) + (1 - mean) * self.wrong))

    def start(self, right: Beta, labels: Float[np.ndarray, "cell class"]) -> Dirichlet:
        """Subtract a cell's own labels from its confusion: the prior of the classes without them."""
        after = self.to_dirichlet(right)
        return Dirichlet(after.groups, after.alpha - labels)
