"""How the cells of a pool combine into a metric: in each group, and for the whole.

`inference` puts draws of the cells through it to say what is believed; `knowledge` does the same to say what one more
label would be worth. It holds no belief itself.
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
        """By predicted class, a rate of classes has one value per class."""
        return isinstance(self.metric, ClassRate) and self.tally.by == "predicted"

    def combine(self, theta: Theta, weight: Float[np.ndarray, "#draw cell"]) -> Combined:
        """Return the metric per group and for the whole, of cells with these chances and sizes."""
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
        """Turn a belief about the cells into one about the metric per group, where that has a closed form."""
        if self.metric is selection_rate and not finite and self.tally.by != "predicted":
            return self._selected()  # needs no label, but the pool is only a sample of the population
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
        """Classes that a mean over classes is over."""
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
    """Cut a tally as finely as a metric needs."""
    return Scheme(tally, metric, tally.cells(metric.splits))


def fill(rng: Rng, values: Float[np.ndarray, "draw group"]) -> Float[np.ndarray, "draw group"]:
    """Nothing out of nothing could be anything: undefined rates are drawn from all values alike."""
    missing = np.isnan(values)
    return np.where(missing, rng.random(values.shape), values) if missing.any() else values
