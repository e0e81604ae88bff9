"""The accuracy of every class, about exactly these items."""

from collections.abc import Iterator
from functools import partial

import numpy as np

import fewlabels as fl
from bench.harness.page import Show, figure, points, text
from bench.harness.rows import Row
from bench.label_efficiency.pages import Question, Ratio
from bench.label_efficiency.pools import FEWEST, Pool
from bench.label_efficiency.ways import ALL, FLAT, OURS, THEIRS, Figures, Way, repeat
from fewlabels.active.simulation.dispatch import run_policy
from fewlabels.active.simulation.replay import ReplayRun

EACH = (2, 5, 10)  # labels per class
ROUNDING = 1e-9


def answer(pool: Pool, runs: int) -> Iterator[Row]:
    """Yield a row for every number of labels."""
    labelled = pool.labelled()
    n_groups = len(labelled.tally.groups)
    budgets = [min(each * n_groups, labelled.n_items) for each in EACH]
    found = {way: repeat(partial(_play, way.try_on(labelled, fl.Estimate()), budgets), runs) for way in ALL}
    rmse = {way: np.sqrt(f["square"].mean(axis=0)) for way, f in found.items()}
    best = {ways: np.min([rmse[way] for way in ways], axis=0) for ways in (THEIRS, OURS)}
    for i, each in enumerate(EACH):
        yield {
            "pool": pool.name, "each": each, **{str(way): rmse[way][i] for way in ALL}, "ratio": best[OURS][i] / best[THEIRS][i],
            **_describe_intervals(found, i), "first_to_last": best[OURS][0] / best[THEIRS][-1] if i == 0 else None,
            "small": n_groups < FEWEST,
        }  # fmt: skip


def _describe_intervals(found: dict[Way, Figures], i: int) -> dict[str, float]:
    """Return coverage and width of our ways at a budget."""
    coverage, width = ({way: f[name].mean(axis=0)[i] for way, f in found.items()} for name in ("coverage", "width"))
    out = {f"{way}: coverage": coverage[way] for way in OURS}
    return out | {f"{way}: width": width[way] / width[FLAT] for way in OURS}


def _play(run: ReplayRun, budgets: list[int], seed: int) -> Figures:
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


def _show_interval(way: Way) -> Show:
    return lambda row: f"{100 * row[f'{way}: coverage']:.1f} / {row[f'{way}: width']:.2f}"


def _list_ratios() -> Iterator[Ratio]:
    for each in EACH:
        yield Ratio(f"ours / theirs at {each} labels per class", "ratio", {"each": each})
        yield Ratio(f"width of flat's at {each}", f"{OURS[0]}: width", {"each": each})
        if each == EACH[0]:
            yield Ratio(f"ours at {EACH[0]} / theirs at {EACH[-1]}", "first_to_last", {"each": each})


QUESTION = Question(
    "Accuracy of every class: RMSE in points, share-weighted; coverage of 95 % intervals in percent and their width",
    (
        ("pool", text("pool")),
        ("labels per class", text("each")),
        *((str(way), points(str(way), ".1f")) for way in ALL),
        ("ours / theirs", figure("ratio", ".2f")),
        *((f"{way}: coverage / width of flat's", _show_interval(way)) for way in OURS),
    ),
    "RMSE at 2 and 5 labels per class at most half of the better of theirs, nowhere above 0.7, and at 2 no higher than "
    "theirs at 10; coverage 93 to 97, nowhere below 90; at most half of the flat prior's width at 2.",
    tuple(_list_ratios()),
    answer,
)
