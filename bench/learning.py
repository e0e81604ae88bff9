"""How long does the calibrated prior take to learn anew? One thousand labels, one thousand groups, beside one plain scan.

Run it from the project's folder: python -m bench.learning --out bench/learning.md
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import fewlabels as fl
from fewlabels.data.counts import STRATA, CountTable
from fewlabels.data.tabulation import count_pool
from fewlabels.models.calibrated.design import build_design
from fewlabels.models.logit.laplace import fit
from fewlabels.models.logit.random_effects import NODES

GROUPS, ITEMS, LABELS = 1000, 50_000, 1000
GOAL = 50.0  # milliseconds


def make_tally(seed: int = 0) -> CountTable:
    """A pool of over-confident scores whose groups differ, with few labels at random."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, GROUPS, size=ITEMS)
    logit = rng.normal(1.5, 1.5, size=ITEMS) + rng.normal(0, 0.3, size=GROUPS)[group]
    right = rng.random(ITEMS) < 1 / (1 + np.exp(-logit))
    said = np.array([f"c{g:04d}" for g in group])
    label = np.where(right, said, np.roll(said, 1)).astype(object)
    label[rng.permutation(ITEMS)[LABELS:]] = None
    pool = {"id": np.arange(ITEMS), "predicted": said, "score": 1 / (1 + np.exp(-2 * logit)), "label": label}
    return count_pool(fl.Predictions.read(pool), fl.predicted, strata=STRATA)


def clock(run: Callable[[], object], times: int = 15) -> tuple[float, float]:
    """Median and shortest time in milliseconds."""
    run()
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        run()
        spent.append(1000 * (time.perf_counter() - began))
    return float(np.median(spent)), min(spent)


def main() -> None:
    """Clock it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    cells = make_tally().cells()
    design_matrix = build_design(cells)
    seen = design_matrix.collect_labelled(cells)
    strata = np.random.default_rng(0).normal(size=(NODES, len(design_matrix.design)))
    timed = {
        "learn: fit, and what it implies for every group": lambda: fl.calibrated().learn(
            cells, "right", finite_pool=False
        ),
        "the same about exactly these items": lambda: fl.calibrated().learn(cells, "right", finite_pool=True),
        "of that, the fit alone": lambda: fit(seen, design_matrix.model),
        "one exponential of every stratum and departure": lambda: np.exp(strata),
    }
    rows = [f"| {name} | {median:.1f} | {least:.1f} |" for name, (median, least) in ((n, clock(f)) for n, f in timed.items())]  # fmt: skip
    page = "\n".join([
        "# Learning anew", "", "`python -m bench.learning --out bench/learning.md`", "",
        f"{len(seen.group):,} labelled strata in {len(np.unique(seen.group)):,} of {GROUPS:,} groups, "
        f"{len(design_matrix.design):,} strata in all; milliseconds on one core (goal: {GOAL:.0f}).", "",
        "| | median | least |", "|---|---|---|", *rows,
    ])  # fmt: skip
    print(page)
    if options.out:
        options.out.write_text(page + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
