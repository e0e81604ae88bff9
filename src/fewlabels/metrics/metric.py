"""Metrics and their registry: from draws of the cells' outcome probabilities to draws of a metric per group and overall.

A metric declares the cells it needs (`splits`), what it reads of a label (right or wrong, or the class), and how the
cells of a scope combine. A scope is a group or the whole pool.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import Cells, Split
from fewlabels.distributions.class_masses import ClassMassDraws
from fewlabels.distributions.sparse_draws import SparseDraws
from fewlabels.metrics import rates
from fewlabels.metrics.cost_table import Costs, read_costs
from fewlabels.metrics.rates import TINY, ClassMasses
from fewlabels.metrics.scoring_rules import Losses, brier_losses, log_losses
from fewlabels.metrics.sums import average, sum_by

PerScope = Float[np.ndarray, "draw scope"]
Worst = Literal["lowest", "highest"]
Reads = Literal["right", "label"]  # of a label: whether the prediction is right, or which class it is


class Sample(NamedTuple):
    """A block of draws, with everything a metric may use."""

    theta: (
        Float[np.ndarray, "draw cell"] | Float[np.ndarray, "draw cell class"] | SparseDraws | ClassMassDraws
    )  # the last two for masses of classes only
    weight: Float[np.ndarray, "#draw cell"]  # number of items of each cell
    cells: Cells
    scope: Int[np.ndarray, " cell"]  # scope of each cell
    n_scopes: int
    positive: int  # index of the positive class, or NONE
    per_class: bool  # one value per class instead of one per scope


@runtime_checkable
class Metric(Protocol):
    """A quantity that is estimated for every group."""

    @property
    def name(self) -> str:
        """The metric's name on the command line and in results."""
        ...

    @property
    def splits(self) -> tuple[Split, ...]:
        """How groups are split into cells for the metric."""
        ...

    @property
    def reads(self) -> Reads:
        """What the metric reads of a label."""
        ...

    @property
    def worst(self) -> Worst:
        """Which end of the metric is the worst."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Column roles that the metric requires."""
        ...

    @property
    def is_share(self) -> bool:
        """Is the metric between 0 and 1?"""
        ...

    @property
    def is_cell_accuracy(self) -> bool:
        """Is the metric of a group that is a single cell the cell's accuracy? Then it has a closed form."""
        ...

    def value(self, sample: Sample) -> PerScope:
        """The metric's value per scope (or per class)."""
        ...


class RegisteredMetric:
    """A metric that is pickled by name, so that registered metrics stay the same object in other processes."""

    name: str

    def __reduce__(self) -> Any:
        registered: object = METRICS.get(self.name)
        return (find_metric, (self.name,)) if registered is self else super().__reduce__()


@dataclass(frozen=True)
class Accuracy(RegisteredMetric):
    """The share of correct predictions."""

    name: str = "accuracy"
    splits: tuple[Split, ...] = ()
    reads: Reads = "right"
    worst: Worst = "lowest"
    needs: tuple[str, ...] = ()
    is_cell_accuracy: bool = True
    is_share: bool = True

    def value(self, sample: Sample) -> PerScope:
        """Return the metric `accuracy`: Σ p θ."""
        assert isinstance(sample.theta, np.ndarray)
        return average(sample.theta, sample.weight, sample.scope, sample.n_scopes)


@dataclass(frozen=True)
class CalibrationError(RegisteredMetric):
    """Expected calibration error over score bins: Σ_b p_b |θ_b − s_b| (000, Eq. 2.7 and 2.13)."""

    name: str = "ece"
    splits: tuple[Split, ...] = ("bin",)
    reads: Reads = "right"
    worst: Worst = "highest"
    needs: tuple[str, ...] = ("score",)
    is_cell_accuracy: bool = False
    is_share: bool = True
    is_skewed: bool = True  # a mean of distances: its figure is the posterior median

    def value(self, sample: Sample) -> PerScope:
        """Return the metric `ece`: accuracies and scores are averaged over a bin before the absolute gap is taken."""
        n_bins = int(sample.cells.bin.max()) + 1
        place = sample.scope * n_bins + sample.cells.bin
        weighted = sample.weight * (sample.theta - sample.cells.score)
        gap = np.abs(sum_by(weighted, place, sample.n_scopes * n_bins)).reshape(-1, sample.n_scopes, n_bins).sum(axis=2)
        return gap / sum_by(sample.weight, sample.scope, sample.n_scopes)


@dataclass(frozen=True)
class ScoringRule(RegisteredMetric):
    """The mean loss of the score as the probability of being right: Σ p (θ loss(right) + (1 − θ) loss(wrong)).

    It is proper for the outcome right or wrong; with two classes that is the usual binary score. Cells are so narrow in
    the score that their mean score stands for every item's.
    """

    name: str
    losses: Losses
    splits: tuple[Split, ...] = ("bin", "stratum")
    reads: Reads = "right"
    worst: Worst = "highest"
    needs: tuple[str, ...] = ("score",)
    is_cell_accuracy: bool = False
    is_share: bool = False

    def value(self, sample: Sample) -> PerScope:
        """Return a metric that is a score's mean loss, averaged over the cells of a scope."""
        right, wrong = self.losses(sample.cells.score)
        return average(wrong + sample.theta * (right - wrong), sample.weight, sample.scope, sample.n_scopes)

    def slope(self, cells: Cells) -> Float[np.ndarray, " cell"]:
        """Return how much a metric that is a score's mean loss changes in each cell with the cell's accuracy."""
        right, wrong = self.losses(cells.score)
        return right - wrong


@dataclass(frozen=True)
class Cost:
    """Expected cost under a matrix of costs by (true class, predicted class): Σ_j c_jk θ_jk (000, Eq. 2.16)."""

    costs: Costs
    matrix: Float[np.ndarray, "class class"] | None = None  # for the classes of a pool
    name: str = "cost"
    splits: tuple[Split, ...] = ("predicted",)
    reads: Reads = "label"
    worst: Worst = "highest"
    needs: tuple[str, ...] = ("predicted",)
    is_cell_accuracy: bool = False
    is_share: bool = False

    def value(self, sample: Sample) -> PerScope:
        """Return the metric `cost`: the expected cost averaged over the cells of a scope."""
        assert self.matrix is not None, "the cost matrix needs the classes of a pool first"
        price = self.matrix[:, sample.cells.predicted].T
        return average((sample.theta * price).sum(axis=2), sample.weight, sample.scope, sample.n_scopes)

    def for_classes(self, classes: Sequence[str]) -> "Cost":
        """Return the metric with the cost matrix for the classes of a pool."""
        return replace(self, matrix=self.costs.matrix(classes))


@dataclass(frozen=True)
class ClassRate(RegisteredMetric):
    """A rate of one class against the rest, from its masses.

    Grouped by predicted class it has one value per class. Otherwise it is the rate of the positive class or, for macro
    averages, the unweighted mean over the classes that occur in the scope.
    """

    name: str
    rate: Callable[[ClassMasses], Float[np.ndarray, "draw scope class"]]
    worst: Worst = "lowest"
    is_macro_average: bool = False
    only_true_classes: bool = False  # average only over classes that occur as truth, not those only predicted
    is_zero_without_truth: bool = False  # as scikit-learn's recall is, for a class that does not occur as truth
    splits: tuple[Split, ...] = ("predicted",)
    reads: Reads = "label"
    needs: tuple[str, ...] = ("predicted",)
    is_cell_accuracy: bool = False
    is_share: bool = True

    def value(self, sample: Sample) -> PerScope:
        """Return a metric that is a rate: per class, of the positive class, or averaged over classes."""
        masses = _class_masses(sample)
        rates = self._fill(self.rate(masses))
        if sample.per_class:
            return rates[:, 0, :]
        return self._average(rates, masses, sample) if self.is_macro_average else rates[:, :, sample.positive]

    def evaluate_classes(self, sample: Sample) -> tuple[Float[np.ndarray, "draw class"], Float[np.ndarray, "draw 1"]]:
        """Return the metric of every class, and its average over the classes that occur; for a single scope."""
        masses = _class_masses(sample)
        rates = self._fill(self.rate(masses))
        return rates[:, 0, :], self._average(rates, masses, sample)

    def _fill(self, rates: Float[np.ndarray, "draw scope class"]) -> Float[np.ndarray, "draw scope class"]:
        """Count 0/0 as 0 in a metric that is a macro average, as scikit-learn does."""
        return np.nan_to_num(rates, nan=0.0) if self.is_macro_average else rates

    def _average(
        self, rates: Float[np.ndarray, "draw scope class"], masses: ClassMasses, sample: Sample
    ) -> Float[np.ndarray, "draw scope"]:
        """Return a metric's macro average over the classes that occur in each scope, as predictions or as truth.

        Whether a class occurs as truth may be uncertain, so it is counted in every draw: fully from one item on, and in
        proportion below. The average is then of the same classes however many labels there are.
        """
        n_items = sum_by(sample.weight, sample.scope, sample.n_scopes)[:, :, None]
        is_true = np.where(_count_labels(sample) > 0, 1.0, np.minimum(masses.actual_positive * n_items, 1.0))
        occurs = is_true if self.only_true_classes else np.maximum(is_true, masses.predicted_positive > 0)
        if self.is_zero_without_truth:
            rates = rates * is_true
        occurs = np.where(np.isnan(rates), 0.0, occurs)
        return (np.nan_to_num(rates, nan=0.0) * occurs).sum(axis=2) / np.maximum(occurs.sum(axis=2), TINY)


@dataclass(frozen=True)
class ScopeRate(RegisteredMetric):
    """A rate of a scope, from the masses of all its classes."""

    name: str
    rate: Callable[[ClassMasses], PerScope]
    worst: Worst = "lowest"
    splits: tuple[Split, ...] = ("predicted",)
    reads: Reads = "label"
    needs: tuple[str, ...] = ("predicted",)
    is_cell_accuracy: bool = False
    is_share: bool = True

    def value(self, sample: Sample) -> PerScope:
        """Return a metric of all classes together: one value per scope."""
        return self.rate(_class_masses(sample))


@dataclass(frozen=True)
class ConfusionAccuracy(ScopeRate):
    """The share of correct predictions, from class labels."""

    name: str = "confusion"
    rate: Callable[[ClassMasses], PerScope] = lambda s: s.true_positive.sum(axis=2)
    is_cell_accuracy: bool = True

    def value(self, sample: Sample) -> PerScope:
        """Return the metric `confusion`: an average over cells, as masses would take a number per scope and class."""
        return average(_take_predicted(sample), sample.weight, sample.scope, sample.n_scopes)


def _class_masses(sample: Sample) -> ClassMasses:
    """Return the masses of classes that a metric of rates is made of, from draws of the cells."""
    n, k = sample.n_scopes, sample.theta.shape[2]
    place = sample.scope * k + sample.cells.predicted
    total = sum_by(sample.weight, sample.scope, n)[:, :, None]
    true_positive = sum_by(sample.weight * _take_predicted(sample), place, n * k).reshape(-1, n, k)
    predicted_positive = sum_by(sample.weight, place, n * k).reshape(-1, n, k)
    actual_positive = _sum_classes(sample)
    return ClassMasses(
        true_positive / total, np.broadcast_to(predicted_positive / total, true_positive.shape), actual_positive / total
    )


def _take_predicted(sample: Sample) -> Float[np.ndarray, "draw cell"]:
    """Return the share of the predicted class in each cell, for metrics of classes."""
    predicted = sample.cells.predicted
    if isinstance(sample.theta, ClassMassDraws):
        return sample.theta.right
    if isinstance(sample.theta, SparseDraws):
        return sample.theta.take_outcome(predicted)
    return sample.theta[:, np.arange(sample.cells.n), predicted]


def _sum_classes(sample: Sample) -> Float[np.ndarray, "draw scope class"]:
    """Return the weight of each true class in each scope, for metrics of classes."""
    if isinstance(sample.theta, ClassMassDraws):
        return sample.theta.sum_scopes(sample.n_scopes)
    if isinstance(sample.theta, SparseDraws):
        weight = np.broadcast_to(sample.weight, sample.theta.shape[:2])
        return sample.theta.multiply(weight).sum_scopes(sample.scope, sample.n_scopes)
    return sum_by(sample.weight[:, :, None] * sample.theta, sample.scope, sample.n_scopes)


def _count_labels(sample: Sample) -> Float[np.ndarray, "scope class"]:
    """Count the labels of each class in each scope, for metrics that average over classes."""
    return sum_by(sample.cells.labels[None], sample.scope, sample.n_scopes)[0]


accuracy = Accuracy()
ece = CalibrationError()
brier = ScoringRule("brier", brier_losses)
log_loss = ScoringRule("log-loss", log_losses)
confusion = ConfusionAccuracy()
precision = ClassRate("precision", rates.precision, is_macro_average=True, is_cell_accuracy=True)
recall = ClassRate("recall", rates.recall, is_macro_average=True, is_zero_without_truth=True)
f1 = ClassRate("f1", rates.f1, is_macro_average=True)
balanced_accuracy = ClassRate("balanced-accuracy", rates.recall, is_macro_average=True, only_true_classes=True)
mcc = ScopeRate("mcc", rates.matthews, is_share=False)
tpr = ClassRate("tpr", rates.recall)
fpr = ClassRate("fpr", rates.false_positive, worst="highest")
tnr = ClassRate("tnr", rates.true_negative)
fnr = ClassRate("fnr", rates.false_negative, worst="highest")
ppv = ClassRate("ppv", rates.precision, is_cell_accuracy=True)
npv = ClassRate("npv", rates.negative_predictive)
fdr = ClassRate("fdr", rates.false_discovery, worst="highest")
for_ = ClassRate("for", rates.false_omission, worst="highest")
selection_rate = ClassRate("selection-rate", lambda s: s.predicted_positive.copy())

METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (accuracy, ece, brier, log_loss, confusion, precision, recall, f1, balanced_accuracy, mcc, tpr, fpr,
                   tnr, fnr, ppv, npv, fdr, for_, selection_rate)
}  # fmt: skip


def find_metric(name: str) -> Metric:
    """Return the registered metric of that name."""
    return METRICS[name]


def cost(costs: Any) -> Cost:
    """Return the metric of expected cost, by a table (row per true, column per predicted class): CSV, frame or dicts."""
    return Cost(costs if isinstance(costs, Costs) else read_costs(costs))
