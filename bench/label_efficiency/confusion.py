"""The columns of the confusion matrix, where there are probabilities of all classes."""

from collections.abc import Iterator
from functools import partial

import numpy as np

import fewlabels as fl
from bench.harness.page import figure, points, text
from bench.harness.rows import Row
from bench.label_efficiency.accuracies import EACH
from bench.label_efficiency.pages import Question, Ratio
from bench.label_efficiency.pools import FEWEST, Pool
from bench.label_efficiency.ways import OURS, THEIRS, Figures, repeat
from fewlabels.active.simulation.dispatch import run_policy
from fewlabels.active.simulation.replay import ReplayRun
from fewlabels.active.simulation.replay_measures import measure_confusion

FIRST = 10  # labels in all
BUDGETS = (f"{FIRST} labels", *(f"{each} labels per class" for each in EACH))


def answer(pool: Pool, runs: int) -> Iterator[Row]:
    """Yield a row for every number of labels."""
    if not pool.read().has("probabilities"):
        return
    labelled = pool.labelled(probabilities=True)
    n_groups = len(labelled.tally.groups)
    budgets = [FIRST, *(each * n_groups for each in EACH)]
    fixed, learned = (
        repeat(partial(_play, way.try_on(labelled, fl.Estimate(fl.confusion)), [0, *budgets]), runs)["rmse"].mean(axis=0)
        for way in (THEIRS[0], OURS[0])
    )  # fmt: skip
    for name, n, theirs, ours in zip(BUDGETS, budgets, fixed[1:], learned[1:], strict=True):
        yield {
            "pool": pool.name, "budget": name, "labels": n, "no_label": fixed[0], "strength_1": theirs, "calibrated": ours,
            "of_no_label": ours / fixed[0], "of_strength_1": ours / theirs, "small": n_groups < FEWEST,
        }  # fmt: skip


def _play(run: ReplayRun, budgets: list[int], seed: int) -> Figures:
    order = run_policy(run, np.random.default_rng(seed), max(budgets))
    return {"rmse": np.array([measure_confusion(run, run.infer_posterior(order[:n]))["rmse"] for n in budgets])}


def _list_ratios() -> Iterator[Ratio]:
    for budget in BUDGETS:
        yield Ratio(f"at {budget}: of no label", "of_no_label", {"budget": budget})
        yield Ratio(f"at {budget}: of strength 1", "of_strength_1", {"budget": budget})


QUESTION = Question(
    "Confusion: RMSE of columns in points, random labels",
    (
        ("pool", text("pool")),
        ("labels", text("labels")),
        ("scores, no label", points("no_label", ".1f")),
        ("scores of strength 1", points("strength_1", ".1f")),
        ("calibrated", points("calibrated", ".1f")),
        ("of no label", figure("of_no_label", ".2f")),
        ("of strength 1", figure("of_strength_1", ".2f")),
    ),
    "below the estimate from scores alone from the first labels on; at 2 labels per class at most half of the fixed "
    "strength's.",
    tuple(_list_ratios()),
    answer,
)
