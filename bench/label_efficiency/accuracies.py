"""The accuracy of every class, about exactly these items."""

from collections.abc import Iterator
from functools import partial

import numpy as np

import fewlabels as fl
from bench.label_efficiency.pages import Row, Table
from bench.label_efficiency.pools import FEWEST, Pool
from bench.label_efficiency.ways import ALL, FLAT, OURS, THEIRS, Figures, repeat
from fewlabels.active.simulation.dispatch import run_policy
from fewlabels.active.simulation.run import Run

EACH = (2, 5, 10)  # labels per class
ROUNDING = 1e-9
TABLE = Table(
    "Accuracy of every class: RMSE in points, share-weighted; coverage of 95 % intervals in percent and their width",
    ("pool", "labels per class", *map(str, ALL), "ours / theirs", *(f"{way}: coverage / width of flat's" for way in OURS)),
    "RMSE at 2 and 5 labels per class at most half of the better of theirs, nowhere above 0.7, and at 2 no higher than "
    "theirs at 10; coverage 93 to 97, nowhere below 90; at most half of the flat prior's width at 2.",
)  # fmt: skip


def answer(pool: Pool, runs: int) -> Iterator[Row]:
    """Rows of one pool."""
    labelled = pool.labelled()
    n_groups = len(labelled.tally.groups)
    budgets = [min(each * n_groups, labelled.n_items) for each in EACH]
    found = {way: repeat(partial(_play, way.try_on(labelled, fl.Estimate()), budgets), runs) for way in ALL}
    rmse = {way: np.sqrt(f["square"].mean(axis=0)) for way, f in found.items()}
    coverage, width = ({way: f[name].mean(axis=0) for way, f in found.items()} for name in ("coverage", "width"))
    best = {ways: np.min([rmse[way] for way in ways], axis=0) for ways in (THEIRS, OURS)}
    for i, each in enumerate(EACH):
        ratio = best[OURS][i] / best[THEIRS][i]
        honest = [f"{100 * coverage[way][i]:.1f} / {width[way][i] / width[FLAT][i]:.2f}" for way in OURS]
        ratios = {
            f"ours / theirs at {each} labels per class": ratio,
            f"width of flat's at {each}": width[OURS[0]][i] / width[FLAT][i],
        }
        if i == 0:
            ratios["ours at 2 / theirs at 10"] = best[OURS][0] / best[THEIRS][-1]
        cells = (pool.name, each, *(f"{100 * rmse[way][i]:.1f}" for way in ALL), f"{ratio:.2f}", *honest)
        yield Row(cells, ratios, n_groups < FEWEST)


def _play(run: Run, budgets: list[int], seed: int) -> Figures:
    """Error, coverage and width at every budget."""
    order = run_policy(run, np.random.default_rng(seed), max(budgets))
    out = []
    for n in budgets:
        known = run.infer_posterior(order[:n])
        mean, (low, high) = known.mean(), known.interval()
        covered = (low - ROUNDING <= run.truth) & (run.truth <= high + ROUNDING)
        out.append((known.share @ (mean - run.truth) ** 2, covered.mean(), (high - low).mean()))
    square, coverage, width = np.array(out).T
    return {"square": square, "coverage": coverage, "width": width}
