"""Two classes compared: labels until the verdict is right, and stays so."""

from collections.abc import Iterator
from functools import partial
from itertools import combinations

import numpy as np

import fewlabels as fl
from bench.harness.page import figure, text
from bench.harness.rows import Row
from bench.label_efficiency.pages import Question, Ratio
from bench.label_efficiency.pools import FEWEST, Pool
from bench.label_efficiency.ways import FLAT, OURS, THEIRS, Figures, Way, repeat
from fewlabels.active.simulation.dispatch import run_policy
from fewlabels.active.simulation.labelled_pool import LabelledPool
from fewlabels.active.simulation.replay_measures import measure_verdict

ROPE = 0.05
PAIRS, SMALLEST = 10, 20  # pairs of groups to compare, of at least so many items
LOOKS = 16
WAYS = (FLAT, THEIRS[1], OURS[1])


def answer(pool: Pool, runs: int) -> Iterator[Row]:
    """Yield a row, where there are pairs to compare."""
    labelled = pool.labelled()
    pairs = _pick_pairs(labelled)
    if not pairs:
        return
    needs = [repeat(partial(_play, labelled, way, pairs), max(2, runs // PAIRS))["labels"].mean() for way in WAYS]
    yield {
        "pool": pool.name, "pairs": len(pairs), **{str(way): n for way, n in zip(WAYS, needs, strict=True)},
        "ratio": needs[2] / min(needs[:2]), "small": len(labelled.tally.groups) < FEWEST,
    }  # fmt: skip


def _pick_pairs(labelled: LabelledPool) -> list[tuple[str, str]]:
    """A few pairs of groups that differ clearly, or clearly do not, on the whole pool."""
    run = FLAT.try_on(labelled, fl.Estimate())
    size, truth, names = run.start.n_items, run.truth, labelled.tally.groups
    clear = [
        (names[i], names[j])
        for i, j in combinations(np.nonzero(size >= SMALLEST)[0], 2)
        if abs(abs(truth[i] - truth[j]) - ROPE) > ROPE / 2
    ]
    chosen = np.random.default_rng(0).permutation(len(clear))[:PAIRS]
    return [clear[i] for i in chosen]


def _play(labelled: LabelledPool, way: Way, pairs: list[tuple[str, str]], seed: int) -> Figures:
    """Labels from which on the verdict is right, for every pair; all there are, where it never is."""
    needed = []
    for a, b in pairs:
        run = way.try_on(labelled, fl.Compare(a, b, rope=ROPE), finite_pool=False)
        looks = np.unique(np.geomspace(1, run.n_askable, LOOKS).round().astype(int))
        order = run_policy(run, np.random.default_rng([seed, 1]), int(looks[-1]))
        right = np.array([measure_verdict(run, run.infer_posterior(order[:n]))["correct"] for n in looks]) > 0
        stays = np.logical_and.accumulate(right[::-1])[::-1]
        needed.append(looks[stays.argmax()] if stays.any() else run.n_askable)
    return {"labels": np.array(needed, dtype=float)}


QUESTION = Question(
    f"Labels to the right verdict on two classes (half-width {ROPE}), lastingly; a tenth of the runs for each pair",
    (
        ("pool", text("pool")),
        ("pairs", text("pairs")),
        *((str(way), figure(str(way), ".0f")) for way in WAYS),
        ("ratio to the better of theirs and flat", figure("ratio", ".2f")),
    ),
    "at most half of the labels.",
    (Ratio("ratio", "ratio", {}),),
    answer,
)
