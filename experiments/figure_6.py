"""Bias of the estimated ECE with random labels: posterior mean against frequency."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

import fewlabels as fl
from experiments.calibration import cut_evenly, true_ece
from experiments.options import Options, start
from experiments.pictures import Axis, Panel, draw_grid
from experiments.pools import CIFAR10, PAPER, Dataset, read_pool
from experiments.replays import Curve, Floats, Ints, repeat
from experiments.tables import Page, Table, show_error

N_DRAWS = 1000
N_LABELS = (50, 100, 200, 500, 1000, 2000, 5000)
RUNS, N_BINS = 1000, 10


class Items(NamedTuple):
    """A pool for random labelling: its items, the mean score of its bins, and its ECE."""

    bin: Ints
    right: Floats
    score: Floats
    mean_score: Floats
    ece: float


def make(options: Options) -> Page:
    """Replay random labels on every pool."""
    panels = [_replay(options, dataset) for dataset in (*PAPER, CIFAR10)]
    draw_grid([panels], options.out / "figure_6.png", Axis("error of ECE, % of the truth"), percent=False, log=True)
    header = ("pool", "line", *(f"N = {n}" for n in N_LABELS))
    return Page(
        "Figure 6: error of the estimated ECE, in percent of the true one",
        f"(ECE_N − ECE*) / ECE*, mean of {options.effort(RUNS).runs:,} runs with random labels; ten bins of equal width. "
        "Bayesian: the posterior mean of the ECE over draws, bins starting from their mean score with strength 2, weighted "
        "by the whole pool. Frequentist: everything from the labelled items alone.",
        [Table(header, [row for panel in panels for row in _tell(panel)])],
        "figure_6.png",
    )


def _replay(options: Options, dataset: Dataset) -> Panel:
    items = _read_items(read_pool(options.pools, dataset))
    counts = np.array([options.limit(min(n, len(items.bin))) for n in N_LABELS])
    runs = np.array(repeat(lambda seed: _estimate(items, counts, np.random.default_rng(seed)), options.effort(RUNS)))
    errors = 100 * (runs - items.ece) / items.ece
    curves = [Curve(name, counts, errors[:, :, i]) for i, name in enumerate(("Bayesian", "frequentist"))]
    return Panel(dataset.pool, curves, len(items.bin))


def _read_items(pool: pd.DataFrame) -> Items:
    score = pool["score"].to_numpy(dtype=np.float64)
    right = (pool["predicted"] == pool["label"]).to_numpy().astype(np.float64)
    bins = cut_evenly(score, N_BINS)
    _, bin = np.unique(bins, return_inverse=True)  # those that have items
    return Items(bin, right, score, np.bincount(bin, weights=score) / np.bincount(bin), true_ece(pool, bins))


def _estimate(items: Items, counts: Ints, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Both estimates at every label count of one random order."""
    order = rng.permutation(len(items.bin))
    return [(_be_bayesian(items, order[:n], rng), _be_frequentist(items, order[:n])) for n in counts]


def _be_bayesian(items: Items, chosen: Ints, rng: np.random.Generator) -> float:
    n_bins, share = len(items.mean_score), np.bincount(items.bin) / len(items.bin)
    right = np.bincount(items.bin[chosen], weights=items.right[chosen], minlength=n_bins)
    wrong = np.bincount(items.bin[chosen], minlength=n_bins) - right
    s = np.clip(items.mean_score, 1e-6, 1 - 1e-6)
    belief = fl.Beta(tuple(map(str, range(n_bins))), 2 * s + right, 2 * (1 - s) + wrong)
    return float((np.abs(belief.draw(rng, N_DRAWS) - items.mean_score) @ share).mean())


def _be_frequentist(items: Items, chosen: Ints) -> float:
    gap = np.bincount(items.bin[chosen], weights=items.right[chosen] - items.score[chosen])
    return float(np.abs(gap).sum() / len(chosen))


def _tell(panel: Panel) -> Iterator[list[str]]:
    for curve in panel.curves:
        yield [panel.title, curve.name, *(show_error(m, s, 0) for m, s in zip(curve.mean, curve.se, strict=True))]


if __name__ == "__main__":
    start("figure_6", make)
