"""Expected calibration error from the accuracies of score bins: estimates along a replay, and what they are held against."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from experiments.replays import Curve, Effort, Floats, Ints, Seed, repeat
from fewlabels.active.simulation.dispatch import run_policy
from fewlabels.active.simulation.replay import ReplayRun


def estimate_ece(run: ReplayRun, order: Ints) -> float:
    """Σ p_b |θ̂_b − s_b| over the groups of a trial, with posterior means (002, Eq. 1)."""
    known = run.infer_posterior(order)
    cells = known.evaluation.cells
    return float(cells.n_items @ np.abs(known.belief.mean() - cells.score) / cells.n_items.sum())


def replay_ece(run: ReplayRun, n_labels: Sequence[int], effort: Effort, name: str) -> Curve:
    """Play a trial whose groups are bins, and estimate the ECE at these label counts."""

    def once(seed: Seed) -> list[float]:
        order = run_policy(run, np.random.default_rng(seed), max(n_labels))
        return [estimate_ece(run, order[:n]) for n in n_labels]

    return Curve(name, np.asarray(n_labels), np.array(repeat(once, effort)))


def true_ece(pool: pd.DataFrame, bins: Ints) -> float:
    """ECE of a fully labelled pool, cut like this."""
    gap = (pool["predicted"] == pool["label"]).to_numpy() - pool["score"].to_numpy(dtype=np.float64)
    return float(np.abs(np.bincount(bins, weights=gap)).sum() / len(pool))


def cut_evenly(score: Floats, n: int) -> Ints:
    """Return the bin of each score, n of equal width."""
    return np.minimum((score * n).astype(np.int64), n - 1)


def to_percent_error(curve: Curve, truth: float) -> Curve:
    """Return the absolute error of every run, in percent of the truth."""
    return curve._replace(values=100 * np.abs(curve.values - truth) / truth)
