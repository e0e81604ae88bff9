"""Evaluation of a metric over the cells of a pool: per group, and for the whole pool.

`models.posterior` evaluates posterior draws of the cells with it; `active.acquisition` evaluates hypothetical ones. It
holds no posterior itself.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import NONE, Cells, CountTable
from fewlabels.distributions.belief import Belief
from fewlabels.distributions.beta_dirichlet import Beta, Dirichlet
from fewlabels.distributions.class_masses import ClassMassDraws
from fewlabels.distributions.finite_pool import FinitePoolBeta, FinitePoolDirichlet
from fewlabels.distributions.randomness import Rng
from fewlabels.distributions.sparse_draws import SparseDraws
from fewlabels.metrics.metric import ClassRate, ConfusionAccuracy, Metric, Sample, ScopeRate, selection_rate

Theta = Float[np.ndarray, "draw cell"] | Float[np.ndarray, "draw cell class"]
CellDraws = Theta | SparseDraws | ClassMassDraws
Combined = tuple[Float[np.ndarray, "draw group"], Float[np.ndarray, "draw 1"]]


@dataclass(frozen=True)
class Evaluation:
    """A metric over the cells of a pool."""

    tally: CountTable
    metric: Metric
    cells: Cells

    @property
    def per_class(self) -> bool:
        """Is each predicted class evaluated by itself (a class rate grouped by predicted class)?"""
        return isinstance(self.metric, ClassRate) and self.tally.by == "predicted"

    @property
    def needs_only_masses(self) -> bool:
        """Does the evaluated metric need only the masses of classes, instead of all shares?"""
        return isinstance(self.metric, ClassRate | ScopeRate)

    @property
    def mass_scopes(self) -> tuple[Int[np.ndarray, " cell"], int]:
        """The scope of every cell whose masses of classes the evaluation needs, and how many there are."""
        is_one = self.per_class or isinstance(self.metric, ConfusionAccuracy)  # which needs no masses of classes
        return (np.zeros_like(self.cells.group), 1) if is_one else (self.cells.group, len(self.tally.groups))

    def combine(self, theta: CellDraws, weight: Float[np.ndarray, "#draw cell"]) -> Combined:
        """Evaluate the metric per group and overall, for these draws of the cells and these cell sizes."""
        if self.per_class:
            values, overall = self._evaluate_classes(theta, weight)
            return values[:, self._predicted_class()], overall
        return self.value(theta, weight), self._evaluate_scopes(theta, weight, np.zeros_like(self.cells.group), 1)

    def value(self, theta: CellDraws, weight: Float[np.ndarray, "#draw cell"]) -> Float[np.ndarray, "draw group"]:
        """Evaluate the metric per group."""
        if self.per_class:
            return self._evaluate_classes(theta, weight)[0][:, self._predicted_class()]
        return self._evaluate_scopes(theta, weight, self.cells.group, len(self.tally.groups))

    def closed_form(self, belief: Belief, *, finite_pool: bool) -> Belief | None:
        """Evaluate the posterior of the metric per group in closed form, where there is one, given that of the cells."""
        if self.metric is selection_rate and not finite_pool and self.tally.by != "predicted":
            return self._selection_rate()  # needs no labels; the pool is a sample of the population
        if not self.metric.is_cell_accuracy or self.cells.n != len(self.tally.groups):
            return None
        if isinstance(belief, Beta | FinitePoolBeta):
            return belief
        if isinstance(belief, Dirichlet | FinitePoolDirichlet) and (
            self.tally.by == "predicted" or not isinstance(self.metric, ClassRate)
        ):
            return belief.marginal(self.cells.predicted)
        return None

    def _evaluate_scopes(
        self, theta: CellDraws, weight: Float[np.ndarray, "#draw cell"], scope: Int[np.ndarray, " cell"], n: int
    ) -> Float[np.ndarray, "draw scope"]:
        """Evaluate the metric of every scope."""
        at = NONE if self.tally.positive is None else self.tally.classes.index(self.tally.positive)
        return self.metric.value(Sample(theta, weight, self.cells, scope, n, at, False))

    def _evaluate_classes(
        self, theta: CellDraws, weight: Float[np.ndarray, "#draw cell"]
    ) -> tuple[Float[np.ndarray, "draw class"], Float[np.ndarray, "draw 1"]]:
        """Evaluate the metric of every class, and their average."""
        assert isinstance(self.metric, ClassRate)
        return self.metric.evaluate_classes(
            Sample(theta, weight, self.cells, np.zeros_like(self.cells.group), 1, NONE, True)
        )

    def _predicted_class(self) -> Int[np.ndarray, " group"]:
        """The predicted class of each group's cell, where classes are evaluated by themselves."""
        return np.array([self.tally.classes.index(group) for group in self.tally.groups])

    def _selection_rate(self) -> Beta:
        """Evaluate the posterior of the selection rate, which depends on no label."""
        cells, n = self.cells, self.tally.count("n_items")
        chosen = cells.predicted == self.tally.classes.index(str(self.tally.positive))
        hits = np.bincount(cells.group[chosen], weights=cells.n_items[chosen], minlength=len(n))
        return Beta(self.tally.groups, hits + 0.5, n - hits + 0.5)


def build_evaluation(tally: CountTable, metric: Metric) -> Evaluation:
    """Evaluate a metric: split the counts into the cells that it needs."""
    return Evaluation(tally, metric, tally.cells(metric.splits))


def fill_undefined(rng: Rng, values: Float[np.ndarray, "draw group"]) -> Float[np.ndarray, "draw group"]:
    """Replace rates that evaluate to 0/0 by uniform draws."""
    missing = np.isnan(values)
    return np.where(missing, rng.random(values.shape), values) if missing.any() else values
