"""Cells with their prior and their labels so far: what a posterior knows before it evaluates a metric."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import Cells
from fewlabels.distributions.belief import Conjugate
from fewlabels.distributions.beta_dirichlet import Beta, Dirichlet
from fewlabels.distributions.randomness import Rng
from fewlabels.metrics.evaluate import Evaluation, Theta
from fewlabels.metrics.metric import Metric

PerGroup = Float[np.ndarray, " group"]


@dataclass(frozen=True, eq=False)
class LabelledCells:
    """The cells of a pool: conjugate prior, labels, items that were asked and items that can still be asked."""

    evaluation: Evaluation
    prior: Conjugate  # of each cell, before its own labels
    counts: Float[np.ndarray, "cell outcome"]  # labels so far
    pending: Int[np.ndarray, " cell"]
    left: Int[np.ndarray, " group"]  # items that can still be asked

    @property
    def groups(self) -> tuple[str, ...]:
        """Group names, in the order of the group axis."""
        return self.evaluation.tally.groups

    @property
    def metric(self) -> Metric:
        """The metric that is estimated."""
        return self.evaluation.metric

    @property
    def cells(self) -> Cells:
        """The cells that are counted."""
        return self.evaluation.cells

    @cached_property
    def belief(self) -> Conjugate:
        """The conjugate posterior of each cell, given its own labels."""
        return self.prior.observe(self.counts)

    @cached_property
    def with_pending(self) -> Conjugate:
        """The posterior of each cell, given the expected answers of pending items."""
        return (
            self.belief.observe(_outcome_probabilities(self.belief) * self.pending[:, None])
            if self.pending.any()
            else self.belief
        )

    # -- items and labels ------------------------------------------------------------------------------------

    @cached_property
    def n_items(self) -> Int[np.ndarray, " group"]:
        """Items per group."""
        return self.sum_by_group(self.cells.n_items.astype(np.float64)).astype(np.int64)

    @cached_property
    def n_labels(self) -> PerGroup:
        """Labels per group, pending ones included."""
        return self.sum_by_group(self.counts.sum(axis=1) + self.pending)

    @property
    def share(self) -> PerGroup:
        """The share of the pool in each group."""
        return self.n_items / self.n_items.sum()

    @property
    def weight(self) -> Float[np.ndarray, " cell"]:
        """Each cell's share of its group."""
        return self.cells.n_items / self.n_items[self.cells.group]

    @cached_property
    def n_told(self) -> Int[np.ndarray, " group"]:
        """Labelled items per group, with weight 1 each."""
        return self.sum_by_group(self.cells.n_labels.astype(np.float64)).astype(np.int64)

    def sum_by_group(self, values: Float[np.ndarray, " cell"]) -> PerGroup:
        """Sum the cells of each group."""
        return np.bincount(self.cells.group, weights=values, minlength=len(self.groups))

    def position(self, group: str) -> int:
        """Index of a group on the group axis."""
        return self.groups.index(group)

    # -- values of the cells ---------------------------------------------------------------------------------

    def draw_cells(self, rng: Rng, n: int = 1) -> Theta:
        """Draw the cells from their posterior, pending answers included: (draw, cell, ...)."""
        return self.with_pending.draw(rng, n)

    def expect(self) -> Theta:
        """Return the posterior mean of the cells as a single draw."""
        return self.with_pending.mean()[None]

    def values(self, truth: Theta) -> Float[np.ndarray, "draw group"]:
        """Return the metric per group for these values of the cells."""
        return self.evaluation.value(truth, self.cells.n_items[None].astype(np.float64))


def _outcome_probabilities(belief: Conjugate) -> Float[np.ndarray, "cell outcome"]:
    """Predictive probability of each outcome of the next label in the labelled cells."""
    if isinstance(belief, Beta):
        return np.stack([belief.mean(), 1 - belief.mean()], axis=1)
    assert isinstance(belief, Dirichlet)
    return belief.mean()
