"""The least accurate classes: labels until their mean reciprocal rank stays at 0.99."""

from collections.abc import Iterator
from functools import partial

import numpy as np

import fewlabels as fl
from bench.harness.page import Show, figure, text
from bench.harness.rows import Row
from bench.label_efficiency.pages import Question, Ratio
from bench.label_efficiency.pools import FEWEST, Pool
from bench.label_efficiency.ways import OURS, THEIRS, Figures, repeat
from fewlabels.active.simulation.dispatch import run_policy
from fewlabels.active.simulation.replay import ReplayRun
from fewlabels.active.simulation.replay_measures import mean_reciprocal_rank

LOOKS, SOONEST = 48, 1 / 500  # how often to look, and from what share of the pool on
ENOUGH, ROUNDING = 0.99, 1e-9
MANY = 100  # classes, of which the ten worst are sought, otherwise three
WAYS = (THEIRS[1], OURS[1])


def answer(pool: Pool, runs: int) -> Iterator[Row]:
    """Yield a row for every number of classes that are sought."""
    labelled = pool.labelled()
    n, n_groups = labelled.n_items, len(labelled.tally.groups)
    looks = np.unique(np.geomspace(max(2, n * SOONEST), n, LOOKS).round().astype(int))
    for m in (1, 10 if n_groups >= MANY else 3):
        if m >= n_groups:
            continue
        ways = [way.seek(m).try_on(labelled, fl.FindWorst(m=m)) for way in WAYS]
        theirs, ours = (_count_enough(repeat(partial(_play, run, looks), runs)["mrr"], looks) for run in ways)
        found = {str(way): labels for way, labels in zip(WAYS, (theirs, ours), strict=True)}
        shares = {f"{way}: share": labels / n for way, labels in found.items()}
        sought = "worst class" if m == 1 else "m worst"
        yield {
            "pool": pool.name, "m": m, "sought": sought, **found, **shares, "ratio": ours / theirs, "small": n_groups < FEWEST,
        }  # fmt: skip


def _play(run: ReplayRun, looks: np.ndarray, seed: int) -> Figures:
    """MRR as labels grow, of what is expected of exactly these items: what is labelled is known, with either prior."""
    order = run_policy(run, np.random.default_rng(seed), int(looks[-1]))
    expected = [run.infer_posterior(order[:n]).mean() for n in looks]
    return {"mrr": np.array([mean_reciprocal_rank(-mean, -run.truth, run.plays) for mean in expected])}


def _count_enough(mrr: np.ndarray, looks: np.ndarray) -> float:
    """The first count from which the mean over runs stays; the whole pool, where it never does."""
    stays = np.logical_and.accumulate((mrr.mean(axis=0) >= ENOUGH - ROUNDING)[::-1])[::-1]
    return float(looks[stays.argmax()] if stays.any() else looks[-1])


def _show_labels(name: str) -> Show:
    return lambda row: f"{row[name]:,.0f} ({row[f'{name}: share']:.1%})"


QUESTION = Question(
    "Labels to find the worst classes: from where on the MRR, averaged over runs, stays at 0.99",
    (
        ("pool", text("pool")),
        ("m", text("m")),
        *((str(way), _show_labels(str(way))) for way in WAYS),
        ("ratio", figure("ratio", ".2f")),
    ),
    "at most a third of their labels for the worst class, at most half for the m worst, never more than theirs.",
    tuple(Ratio(sought, "ratio", {"sought": sought}) for sought in ("worst class", "m worst")),
    answer,
)
