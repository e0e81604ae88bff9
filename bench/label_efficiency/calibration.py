"""The calibration error over ten bins of the score."""

from collections.abc import Iterator
from functools import partial
from math import pi, sqrt

import numpy as np

import fewlabels as fl
from bench.harness.page import figure, text
from bench.harness.rows import Row
from bench.label_efficiency.pages import Question, Ratio
from bench.label_efficiency.pools import Pool
from bench.label_efficiency.ways import ALL, OURS, THEIRS, Figures, repeat
from fewlabels.active.simulation.dispatch import run_policy
from fewlabels.active.simulation.replay import ReplayRun

FEW = (20, 50, 100)  # labels in all
ROUNDING = 1e-9


def answer(pool: Pool, runs: int) -> Iterator[Row]:
    """Yield a row for every number of labels."""
    labelled = pool.labelled(fl.bins(10))
    budgets = [n for n in FEW if n < labelled.n_items]
    planned_runs = {way: way.try_on(labelled, fl.Estimate()) for way in ALL}
    error = {
        way: repeat(partial(_play, run, budgets), runs)["relative"].mean(axis=0) for way, run in planned_runs.items()
    }
    noise = _reckon_noise(planned_runs[ALL[0]])
    for i, n in enumerate(budgets):
        theirs, ours = (max(min(error[way][i] for way in ways), ROUNDING) for ways in (THEIRS, OURS))
        yield {
            "pool": pool.name, "labels": n, **{str(way): error[way][i] for way in ALL}, "ratio": ours / theirs,
            "noise": noise / sqrt(n), "ratio_to_noise": ours / (noise / sqrt(n)), "small": False,
        }  # fmt: skip


def _play(run: ReplayRun, budgets: list[int], seed: int) -> Figures:
    """Error of the ECE made of expected accuracies of bins."""
    order = run_policy(run, np.random.default_rng(seed), max(budgets))
    true = _add_up(run, run.truth)
    found = np.array([_add_up(run, run.infer_posterior(order[:n]).mean()) for n in budgets])
    return {"relative": np.abs(found - true) / true}


def _add_up(run: ReplayRun, accuracy: np.ndarray) -> float:
    return float(run.start.share @ np.abs(accuracy - run.start.evaluation.cells.score))


def _reckon_noise(run: ReplayRun) -> float:
    """Mean absolute error of the mean gap from one label, relative to the ECE; labels are spread over bins as items are."""
    doubt = run.start.share @ (run.truth * (1 - run.truth))
    return sqrt(2 / pi * doubt) / _add_up(run, run.truth)


def _list_ratios() -> Iterator[Ratio]:
    for n in FEW:
        yield Ratio(f"at {n} labels: ours / theirs", "ratio", {"labels": n})
        yield Ratio(f"at {n} labels: ours / noise", "ratio_to_noise", {"labels": n})


QUESTION = Question(
    "Calibration error over ten bins: error relative to its size",
    (
        ("pool", text("pool")),
        ("labels", text("labels")),
        *((str(way), figure(str(way), ".0%")) for way in ALL),
        ("ours / theirs", figure("ratio", ".2f")),
        ("noise of that many labels", figure("noise", ".0%")),
    ),
    "at most half of the better of theirs. The last column is what chance alone does to the mean gap between score and "
    "accuracy, were all else known: the error of an estimate without any prior can hardly be below it.",
    tuple(_list_ratios()),
    answer,
)
