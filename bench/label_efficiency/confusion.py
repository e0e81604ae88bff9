"""The columns of the confusion matrix, where there are probabilities of all classes."""

from collections.abc import Iterator
from functools import partial

import numpy as np

import fewlabels as fl
from bench.label_efficiency.accuracies import EACH
from bench.label_efficiency.pages import Row, Table
from bench.label_efficiency.pools import FEWEST, Pool
from bench.label_efficiency.ways import OURS, THEIRS, Figures, repeat
from fewlabels.active.simulation.dispatch import run_policy
from fewlabels.active.simulation.measures import measure_confusion
from fewlabels.active.simulation.run import Run

FIRST = 10  # labels in all
TABLE = Table(
    "Confusion: RMSE of columns in points, random labels",
    ("pool", "labels", "scores, no label", "scores of strength 1", "calibrated", "of no label", "of strength 1"),
    "below the estimate from scores alone from the first labels on; at 2 labels per class at most half of the fixed "
    "strength's.",
)


def answer(pool: Pool, runs: int) -> Iterator[Row]:
    """Rows of one pool."""
    if not pool.read().has("probabilities"):
        return
    labelled = pool.labelled(probabilities=True)
    n_groups = len(labelled.tally.groups)
    budgets = {f"{FIRST} labels": FIRST, **{f"{each} labels per class": each * n_groups for each in EACH}}
    fixed, learned = (
        repeat(partial(_play, way.try_on(labelled, fl.Estimate(fl.confusion)), [0, *budgets.values()]), runs)["rmse"].mean(axis=0)
        for way in (THEIRS[0], OURS[0])
    )  # fmt: skip
    for (name, n), theirs, ours in zip(budgets.items(), fixed[1:], learned[1:], strict=True):
        figures = (f"{100 * value:.1f}" for value in (fixed[0], theirs, ours))
        cells = (pool.name, n, *figures, f"{ours / fixed[0]:.2f}", f"{ours / theirs:.2f}")
        ratios = {f"at {name}: of no label": ours / fixed[0], f"at {name}: of strength 1": ours / theirs}
        yield Row(cells, ratios, n_groups < FEWEST)


def _play(run: Run, budgets: list[int], seed: int) -> Figures:
    order = run_policy(run, np.random.default_rng(seed), max(budgets))
    return {"rmse": np.array([measure_confusion(run, run.infer_posterior(order[:n]))["rmse"] for n in budgets])}
