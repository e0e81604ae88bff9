"""Measures of an answer against the truth on the pool: one number per checkpoint of a replay.

Reference definitions on Posterior; `dispatch` uses faster compiled ones where they exist. Undefined values are nan.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float, Int

from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.goal import Goal
from fewlabels.active.goals.identification import FindWorst
from fewlabels.active.simulation.kernels.reciprocal_ranks import TIE
from fewlabels.active.simulation.replay import ReplayRun
from fewlabels.metrics.metric import Metric, confusion, ece
from fewlabels.models.posterior import Posterior

Measures = dict[str, float]
TARGETS = {"mrr": 0.99, "rmse": 0.05, "correct": 0.95, "relative_error": 0.1, "near_best": 0.95}
HIGHER_IS_BETTER = {"mrr", "found", "correct", "coverage", "near_best"}  # higher is better
ROUNDING = 1e-9


def choose_measures(goal: Goal) -> Callable[[ReplayRun, Posterior], Measures]:
    """Return the measures of a goal in a replay."""
    if isinstance(goal, FindWorst):
        return measure_identification
    if isinstance(goal, Compare):
        return measure_verdict
    if goal.metric is ece:
        return measure_calibration
    return measure_confusion if goal.metric is confusion else measure_estimates


def measure_estimates(run: ReplayRun, posterior: Posterior) -> Measures:
    """Measure a replay's estimates: weighted RMSE of posterior means; coverage and width of intervals.

    Groups with an undefined metric even with every label are left out.
    """
    is_defined = ~np.isnan(run.truth)
    if not is_defined.any():
        return dict.fromkeys(("rmse", "coverage", "width"), np.nan)
    truth, mean, share = run.truth[is_defined], _mean_of_metric(posterior)[is_defined], posterior.share[is_defined]
    low, high = (bound[is_defined] for bound in posterior.interval())
    covered = (low - ROUNDING <= truth) & (truth <= high + ROUNDING)
    return {
        "rmse": float(np.sqrt(share @ (mean - truth) ** 2 / share.sum())),
        "coverage": float(covered.mean()),
        "width": float((high - low).mean()),
    }


def measure_confusion(run: ReplayRun, posterior: Posterior) -> Measures:
    """Measure a replay's confusion matrix: RMSE of columns; coverage and width for P(right prediction)."""
    counts = run.labelled.count(posterior, np.arange(run.labelled.n_items))
    truth = counts / counts.sum(axis=1, keepdims=True)
    cells = posterior.evaluation.cells
    error = ((_mean_of_cells(posterior) - truth) ** 2).sum(axis=1)
    return measure_estimates(run, posterior) | {"rmse": float(np.sqrt(error @ cells.n_items / cells.n_items.sum()))}


def measure_calibration(run: ReplayRun, posterior: Posterior) -> Measures:
    """Measure a replay's ECE: its relative error overall, from posterior means of the bins."""
    weight = posterior.evaluation.cells.n_items[None].astype(np.float64)
    counts = run.labelled.count(posterior, np.arange(run.labelled.n_items))
    truth = counts[:, 0] / counts.sum(axis=1)
    estimate, true = (
        posterior.evaluation.combine(theta[None], weight)[1][0, 0] for theta in (_mean_of_cells(posterior), truth)
    )
    return {"relative_error": float(abs(estimate - true) / true) if true > ROUNDING else np.nan}


def measure_identification(run: ReplayRun, posterior: Posterior) -> Measures:
    """Measure a replay's search: mean reciprocal rank of the true m groups, and whether all are found.

    Undefined groups are left out.
    """
    assert isinstance(run.goal, FindWorst)
    is_defined = ~np.isnan(run.truth)
    estimate, truth = (run.goal.sign * values[is_defined] for values in (_mean_of_metric(posterior), run.truth))
    if not len(truth) or np.isnan(estimate).any():
        return {"mrr": np.nan, "found": np.nan}
    mrr = mean_reciprocal_rank(estimate, truth, run.plays)
    return {"mrr": mrr, "found": float(mrr > 1 - ROUNDING)}


def measure_verdict(run: ReplayRun, posterior: Posterior) -> Measures:
    """Measure a replay's verdict: is the most probable (below, equivalent, above) the true one on the pool?

    A tie counts as no verdict.
    """
    goal, truth = run.goal, measure_true_verdict(run)
    assert isinstance(goal, Compare)
    verdict = goal.name_verdict(replace(posterior, finite_pool=False))
    return {"correct": np.nan if truth is None else float(verdict == truth)}


def measure_true_verdict(run: ReplayRun) -> str | None:
    """Measure the true verdict on the pool, for `measure_verdict`; None if the metric is undefined in a group."""
    goal = run.goal
    assert isinstance(goal, Compare)
    a, b = (float(run.truth[run.start.position(group)]) for group in (goal.a, goal.b))
    if np.isnan(a - b):
        return None
    if abs(a - b) <= goal.rope + ROUNDING:
        return "equivalent"
    return "below" if a < b else "above"


def mean_reciprocal_rank(estimate: Float[np.ndarray, " group"], truth: Float[np.ndarray, " group"], m: int) -> float:
    """Measure the mean of 1 / rank by estimate over the m truly largest groups, each ranked among the others.

    Ties in the estimate count as worse ranks. If the truth ties at the m-th place, any of the tied groups is correct.

    >>> mean_reciprocal_rank(np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]), 1)
    0.5
    """
    m, near, alike = min(m, len(truth)), TIE * np.abs(estimate).max(), TIE * np.abs(truth).max()
    last = np.sort(truth)[-m]
    sure, tied = truth > last + alike, np.abs(truth - last) <= alike
    sought = _choose_among_tied(sure, tied, estimate, m)
    outside = np.setdiff1d(np.arange(len(truth)), sought)
    outranked = estimate[outside][None, :] >= estimate[sought][:, None] - near
    outranked[np.ix_(tied[sought], tied[outside])] = False  # groups tied in truth do not outrank each other
    return float((1 / (1 + outranked.sum(axis=1))).mean())


def _choose_among_tied(
    sure: Bool[np.ndarray, " group"], tied: Bool[np.ndarray, " group"], estimate: Float[np.ndarray, " group"], m: int
) -> Int[np.ndarray, " sought"]:
    """Complete the m groups of a replay's truth with those tied in it, by largest estimate."""
    (candidates,) = np.nonzero(tied)
    best = candidates[np.argsort(-estimate[candidates], kind="stable")][: m - int(sure.sum())]
    return np.concatenate([np.nonzero(sure)[0], best])


def _mean_of_metric(posterior: Posterior) -> Float[np.ndarray, " group"]:
    """Return the metric at the cells' posterior means, which measure a replay (002); for averages it is its mean."""
    return posterior.values(_mean_of_cells(posterior)[None])[0]


def _mean_of_cells(posterior: Posterior) -> Float[np.ndarray, "cell ..."]:
    """Return the posterior means that measure a replay: of the population, as in 002; if the prior learns, of the pool."""
    return posterior.belief.mean() if posterior.unlabelled is None else posterior.cell_posterior.mean()


def get_target(measure: str, metric: Metric) -> float | None:
    """Return the target value of a replay's measure, or None."""
    if measure == "rmse" and not metric.is_share:
        return None
    return TARGETS.get(measure)
