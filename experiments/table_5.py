"""Relative error of the ECE estimated from ten score bins, at 20, 50 and 100 labels."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import fewlabels as fl
from experiments.calibration import cut_evenly, replay_ece, to_percent_error, true_ece
from experiments.estimation import HEADER, set_beside
from experiments.methods import ALL
from experiments.options import Options, start
from experiments.pools import CIFAR10, PAPER, Dataset, add_deciles, read_pool
from experiments.published import TABLE_5
from experiments.replays import Curve, lay_out
from experiments.tables import Page, Table
from fewlabels.active.simulation.replay import ReplayRun

N_LABELS = (20, 30, 50, 60, 100, 110)
THEIRS = {30: 20, 60: 50, 110: 100}  # labels of ours: the row they seem to print them in
RUNS = 1000


class Estimates(NamedTuple):
    """ECE along the replays of one pool, and two truths to hold it against."""

    dataset: Dataset
    curves: dict[str, Curve]
    own: float  # of the same ten bins
    theirs: float  # of twenty bins of equal width


def make(options: Options) -> Page:
    """Replay once, and read the same runs in two ways."""
    found = [_replay(options, dataset) for dataset in (*PAPER, CIFAR10)]
    header = ("dataset (pool)", "true ECE, %", "N")
    stated = Table((*header, *HEADER), [row for e in found for row in _state(e)], "**As the text has it**: truth and estimates from the same ten bins, N labels.")  # fmt: skip
    run = Table((*header, *HEADER), [row for e in found for row in _rerun(e)], "**As it was run**: truth from twenty bins of equal width, estimates from ten of equal size, and every row read one logged step (ten labels) late.")  # fmt: skip
    return Page(
        "Table 5: mean error of the estimated ECE, in percent of the true one",
        "Ten bins of equal size by rank of the score are the groups; labels are chosen to estimate their accuracies.",
        [run, stated],
        notes=["CIFAR-10 is not in the paper."],
    )


def _replay(options: Options, dataset: Dataset) -> Estimates:
    pool = add_deciles(read_pool(options.pools, dataset))
    labelled = lay_out(pool, fl.column("decile"))
    counts = [options.limit(n) for n in N_LABELS]
    curves = {}
    for method in ALL:
        run = ReplayRun(labelled, fl.Estimate(), method.choose(), method.prior)
        curves[method.name] = replay_ece(run, counts, options.effort(RUNS), method.name)
    wide = cut_evenly(pool["score"].to_numpy(dtype=np.float64), 20)
    return Estimates(dataset, curves, true_ece(pool, pool["decile"].to_numpy(dtype=np.int64)), true_ece(pool, wide))


def _state(found: Estimates) -> Iterator[list[str]]:
    for n in (20, 50, 100):
        yield _lay_row(found, found.own, n, n)


def _rerun(found: Estimates) -> Iterator[list[str]]:
    for n, printed in THEIRS.items():
        yield _lay_row(found, found.theirs, n, printed)


def _lay_row(found: Estimates, truth: float, n: int, printed: int) -> list[str]:
    errors = {name: to_percent_error(curve, truth) for name, curve in found.curves.items()}
    says = str(n) if n == printed else f"{n} (their {printed})"
    published = TABLE_5.get((found.dataset.name, printed))
    return [found.dataset.title, f"{100 * truth:.2f}", says, *set_beside(errors, N_LABELS.index(n), published, 1)]


if __name__ == "__main__":
    start("table_5", make)
