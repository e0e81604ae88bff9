"""Measures at checkpoints, computed from the order of labels alone, for any policy."""

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from fewlabels.active.simulation.kernels.beta_binomial import measure_coverage
from fewlabels.active.simulation.kernels.checkpoints import trace_gains, trace_outcomes, trace_squared_errors
from fewlabels.active.simulation.kernels.item_queue import Floats, Ints
from fewlabels.active.simulation.kernels.pool import Pool
from fewlabels.active.simulation.kernels.problems import CalibrationError, Cost, Rate, RopeComparison, ShareVariance
from fewlabels.active.simulation.kernels.reciprocal_ranks import mean_reciprocal_ranks
from fewlabels.active.simulation.kernels.rope import region_probabilities

Checkpoints = Int[np.ndarray, " checkpoint"]
PerCheckpoint = Float[np.ndarray, " checkpoint"]
Order = Int[np.ndarray, " step"]
ALL_FOUND = 1 - 1e-9
TIED = 1e-6  # probabilities closer than this tie, and no verdict is correct
ROUNDING = 1e-9  # a true calibration error up to this is 0, and has no relative error


@runtime_checkable
class BinaryProblem(Protocol):
    """A problem with binary outcomes: Rate, Gap, Variance, Rope."""

    @property
    def pool(self) -> Pool:
        """Items of the problem that is measured."""
        ...

    @property
    def right(self) -> Float[np.ndarray, " item"]:
        """Outcomes of the problem that is measured."""
        ...

    @property
    def alpha(self) -> Float[np.ndarray, " cell"]:
        """Prior pseudo-counts of right outcomes of the measured problem."""
        ...

    @property
    def beta(self) -> Float[np.ndarray, " cell"]:
        """Prior pseudo-counts of wrong outcomes of the measured problem."""
        ...


class EstimationMeasures(NamedTuple):
    """Error of the rates per group, and coverage of their finite-pool intervals."""

    rmse: PerCheckpoint  # (Σ p_g (E θ_g − truth_g)²)^½, E θ the posterior mean of the population, as in the papers
    coverage: PerCheckpoint  # share of groups
    width: PerCheckpoint


class IdentificationMeasures(NamedTuple):
    """Identification of the worst groups."""

    mrr: PerCheckpoint
    found: Bool[np.ndarray, " checkpoint"]  # are all m identified?


class CalibrationMeasures(NamedTuple):
    """Error of the overall calibration error."""

    ece: PerCheckpoint
    truth: float
    relative_error: PerCheckpoint  # nan if the true error is 0


def measure_estimate(
    problem: BinaryProblem, order: Order, checkpoints: Checkpoints, level: float = 0.95
) -> EstimationMeasures:
    """Compiled measures of an estimate: the rates of groups, one cell per group, against the whole pool."""
    pool = problem.pool
    assert pool.has_one_cell_per_group, "estimates of groups need one cell per group"
    counts = trace_outcomes(order, checkpoints, pool.cell, problem.right, pool.n_cells)
    size = np.diff(pool.start)
    right = np.bincount(pool.cell, weights=problem.right, minlength=pool.n_groups).astype(np.float64)
    rmse = np.sqrt((_mean(problem, counts) - right / size) ** 2 @ pool.share)
    return EstimationMeasures(rmse, *measure_coverage(counts, size, right, problem.alpha, problem.beta, level))


def measure_confusion(problem: ShareVariance | Cost, order: Order, checkpoints: Checkpoints) -> PerCheckpoint:
    """Compiled measure of a confusion matrix: (Σ_k p_k Σ_j (E θ_jk − truth_jk)²)^½ over the cells k."""
    pool = problem.pool
    truth = _shares(pool, problem.label, problem.alpha.shape[1])
    errors = trace_squared_errors(order, checkpoints, pool.cell, problem.label, problem.alpha, truth)
    return np.sqrt(errors @ _cell_share(pool))


def measure_identification(
    problem: Rate | CalibrationError | Cost, order: Order, checkpoints: Checkpoints, m: int = 1
) -> IdentificationMeasures:
    """Compiled measure of how high estimates at posterior means rank the m groups of largest true gain."""
    group = problem.pool.group[problem.pool.cell]
    values = trace_gains(order, checkpoints, group, problem.start(), problem.pool.n_groups)
    mrr = mean_reciprocal_ranks(values, true_gains(problem), m)
    return IdentificationMeasures(mrr, mrr > ALL_FOUND)


def true_gains(problem: Rate | CalibrationError | Cost) -> Float[np.ndarray, " group"]:
    """Return the gain of each group from all labels, without a prior, for compiled measures."""
    pool = problem.pool
    if isinstance(problem, Cost):
        share = _shares(pool, problem.label, problem.alpha.shape[1])
        values = pool.weight * (share * problem.price).sum(axis=1)
    else:
        right = _average(pool, problem.right)
        values = pool.weight * np.abs(right - problem.score) if isinstance(problem, CalibrationError) else right
    return problem.sign * np.bincount(pool.group, weights=values, minlength=pool.n_groups)


def measure_calibration(
    problem: CalibrationError, order: Order, checkpoints: Checkpoints, bins: Int[np.ndarray, " cell"]
) -> CalibrationMeasures:
    """Compiled measure of the calibration error, cells of a bin merged: Σ_b |Σ_(c in b) p_c (E θ_c − s_c)|."""
    pool = problem.pool
    counts = trace_outcomes(order, checkpoints, pool.cell, problem.right, pool.n_cells)
    ece = _calibration_error(problem, _mean(problem, counts), bins)
    truth = float(_calibration_error(problem, _average(pool, problem.right)[None], bins)[0])
    return CalibrationMeasures(ece, truth, np.abs(ece - truth) / (truth if truth > ROUNDING else np.nan))


def measure_comparison(
    problem: RopeComparison, order: Order, checkpoints: Checkpoints, verdict: int
) -> Bool[np.ndarray, " checkpoint"]:
    """Compiled measure of whether the true verdict is the most probable, without a tie.

    Verdicts are 0 below, 1 equivalent, 2 above.
    """
    regions = verdict_probabilities(problem, order, checkpoints)
    others = np.delete(regions, verdict, axis=1).max(axis=1)
    return regions[:, verdict] > others + TIED


def verdict_probabilities(
    problem: RopeComparison, order: Order, checkpoints: Checkpoints
) -> Float[np.ndarray, "checkpoint 3"]:
    """Return the probabilities of below, equivalent and above, for the compiled measure of a comparison."""
    pool = problem.pool
    counts = trace_outcomes(order, checkpoints, pool.cell, problem.right, pool.n_cells)
    return np.array([_region_probabilities(problem, row[[problem.a, problem.b]]) for row in counts])


def _region_probabilities(problem: RopeComparison, counts: Float[np.ndarray, "2 2"]) -> Float[np.ndarray, " 3"]:
    """Compiled probabilities of below, equivalent and above, given counts of both groups."""
    (a, b), (right, n) = (problem.a, problem.b), counts.T
    alpha, beta = problem.alpha[[a, b]] + right, problem.beta[[a, b]] + n - right
    below, above = region_probabilities(alpha[0], beta[0], alpha[1], beta[1], problem.margin)
    return np.array([below, 1 - below - above, above])


def _mean(
    problem: BinaryProblem, counts: Float[np.ndarray, "checkpoint cell 2"]
) -> Float[np.ndarray, "checkpoint cell"]:
    """Posterior means of the cells at every checkpoint, for compiled measures."""
    return (problem.alpha + counts[:, :, 0]) / (problem.alpha + problem.beta + counts[:, :, 1])


def _calibration_error(problem: CalibrationError, mean: Floats, bins: Ints) -> Floats:
    """Calibration error of bins at every checkpoint, for its compiled measure."""
    gaps = _cell_share(problem.pool) * (mean - problem.score)
    return np.array([np.abs(np.bincount(bins, weights=row)).sum() for row in gaps])


def _cell_share(pool: Pool) -> Floats:
    """Share of every cell in the pool, for compiled measures."""
    return pool.share[pool.group] * pool.weight


def _average(pool: Pool, right: Floats) -> Floats:
    """Share of right outcomes of every cell, from all labels, for compiled measures."""
    n = np.bincount(pool.cell, minlength=pool.n_cells)
    return np.bincount(pool.cell, weights=right, minlength=pool.n_cells) / np.maximum(n, 1)


def _shares(pool: Pool, label: Ints, n_classes: int) -> Floats:
    """Shares of classes in every cell, from all labels, for compiled measures."""
    pairs = np.bincount(pool.cell * n_classes + label, minlength=pool.n_cells * n_classes)
    counts = pairs.reshape(pool.n_cells, n_classes)
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
