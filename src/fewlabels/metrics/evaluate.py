"""Evaluation of a metric over the cells of a pool: per group, and for the whole pool.

`models.posterior` evaluates posterior draws of the cells with it; `active.acquisition` evaluates hypothetical ones. It
holds no posterior itself.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import NONE, Cells, Tally
from fewlabels.distributions.belief import Belief, Beta, Dirichlet, Rng
from fewlabels.distributions.finite_pool import Finite, FiniteShares
from fewlabels.metrics.metric import ClassRate, Metric, Sample, selection_rate

Theta = Float[np.ndarray, "draw cell"] | Float[np.ndarray, "draw cell class"]
Combined = tuple[Float[np.ndarray, "draw group"], Float[np.ndarray, "draw 1"]]


@dataclass(frozen=True)
class Scheme:
    """A metric over the cells of a pool."""

    tally: Tally
    metric: Metric
    cells: Cells

    @property
    def per_class(self) -> bool:
        """Does each predicted class have its own value (a class rate grouped by predicted class)?"""
        return isinstance(self.metric, ClassRate) and self.tally.by == "predicted"

    def combine(self, theta: Theta, weight: Float[np.ndarray, "#draw cell"]) -> Combined:
        """Return the metric per group and overall, for these draws of the cells and these cell sizes."""
        if self.per_class:
            values = self._classes(theta, weight)
            return values[:, self._said()], values[:, self.occurring()].mean(axis=1, keepdims=True)
        return self.value(theta, weight), self._scopes(theta, weight, np.zeros_like(self.cells.group), 1)

    def value(self, theta: Theta, weight: Float[np.ndarray, "#draw cell"]) -> Float[np.ndarray, "draw group"]:
        """Return the metric per group."""
        if self.per_class:
            return self._classes(theta, weight)[:, self._said()]
        return self._scopes(theta, weight, self.cells.group, len(self.tally.groups))

    def close(self, belief: Belief, *, finite: bool) -> Belief | None:
        """Return the posterior of the metric per group where it has a closed form, given that of the cells."""
        if self.metric is selection_rate and not finite and self.tally.by != "predicted":
            return self._selected()  # needs no labels; the pool is a sample of the population
        if not self.metric.own_cell or self.cells.n != len(self.tally.groups):
            return None
        if isinstance(belief, Beta | Finite):
            return belief
        if isinstance(belief, Dirichlet | FiniteShares) and (
            self.tally.by == "predicted" or not isinstance(self.metric, ClassRate)
        ):
            return belief.marginal(self.cells.predicted)
        return None

    def occurring(self) -> Int[np.ndarray, " class"]:
        """Classes that a macro average includes."""
        assert isinstance(self.metric, ClassRate)
        return np.nonzero(self.metric.occurring(self.cells, np.zeros_like(self.cells.group), 1)[0])[0]

    def _scopes(
        self, theta: Theta, weight: Float[np.ndarray, "#draw cell"], scope: Int[np.ndarray, " cell"], n: int
    ) -> Float[np.ndarray, "draw scope"]:
        at = NONE if self.tally.positive is None else self.tally.classes.index(self.tally.positive)
        return self.metric.value(Sample(theta, weight, self.cells, scope, n, at, False))

    def _classes(self, theta: Theta, weight: Float[np.ndarray, "#draw cell"]) -> Float[np.ndarray, "draw class"]:
        return self.metric.value(Sample(theta, weight, self.cells, np.zeros_like(self.cells.group), 1, NONE, True))

    def _said(self) -> Int[np.ndarray, " group"]:
        return np.array([self.tally.classes.index(group) for group in self.tally.groups])

    def _selected(self) -> Beta:
        cells, n = self.cells, self.tally.count("n_items")
        chosen = cells.predicted == self.tally.classes.index(str(self.tally.positive))
        hits = np.bincount(cells.group[chosen], weights=cells.n_items[chosen], minlength=len(n))
        return Beta(self.tally.groups, hits + 0.5, n - hits + 0.5)


def arrange(tally: Tally, metric: Metric) -> Scheme:
    """Split the counts into the cells that a metric needs."""
    return Scheme(tally, metric, tally.cells(metric.splits))


def fill(rng: Rng, values: Float[np.ndarray, "draw group"]) -> Float[np.ndarray, "draw group"]:
    """Replace undefined rates (0/0) by uniform draws."""
    missing = np.isnan(values)
    return np.where(missing, rng.random(values.shape), values) if missing.any() else values
