"""Which of several models is best? Error and coverage of differences, and labels until the best is found.

Run from the root of the repository: python -m bench.models --pools ../shared/pools --runs 30 --out bench/models.md
All pairs of models in the pools that share items, and all families of three or more. Beside ours stand the means of paired
differences of random labels.
"""

import argparse
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import fewlabels as fl
from bench.harness.main import Benchmark, start_in_batches
from bench.harness.pools import add_pools_option
from bench.harness.rows import Row, Rows
from bench.models_page import ASKED, BESIDE, BUDGETS, GENEROUS, RANDOM, render
from fewlabels.active.goals.models import find_joint
from fewlabels.active.model_design import design_for_models
from fewlabels.active.parsing import resolve_design
from fewlabels.active.simulation.model_replay import ModelReplay, ModelReplayPool
from fewlabels.analyses.models.checks import choose_strata
from fewlabels.data.aggregate import aggregate_pool
from fewlabels.data.counts import CountTable
from fewlabels.data.joint_predictions import JointPredictions
from fewlabels.data.model_join import join_models, read_long
from fewlabels.data.tabulation import to_count_table
from fewlabels.models.joint_outcomes.posterior import JointPosterior, infer_joint

FAMILIES = {
    "cifar10": ("resnet110", "wideresnet", "lenet"),
    "cifar100": ("resnet110", "densenet", "wideresnet"),
    "imagenet": ("resnet152", "resnet101", "alexnet"),
    "letter26": ("mlp", "rf", "gnb"),
}
JUDGED = 350  # items of every judge
ROPE = 0.01
N_DRAWS = 1000
ROUNDING = 1e-9
MOST = 0.8  # share of the items that may be labelled at random


class Family(NamedTuple):
    """Models on the same items, all labelled."""

    name: str
    pool: JointPredictions

    def choose(self, *models: str) -> "Family":
        """Return some of the models."""
        places = [self.pool.models.index(model) for model in models]
        parts = {model: self.pool.parts[place] for model, place in zip(models, places, strict=True)}
        return Family(f"{self.name} {' '.join(models)}", join_models(parts))

    @property
    def pairs(self) -> Iterator["Family"]:
        """All pairs of the models."""
        for pair in combinations(self.pool.models, 2):
            yield self.choose(*pair)


def read_families(folder: Path) -> Iterator[Family]:
    """Read all models that share items."""
    for family, names in FAMILIES.items():
        yield Family(family, join_models({name: folder / f"{family}_{name}.parquet" for name in names}))
    for path in sorted(folder.glob("fair_*.parquet")):
        scores = [name for name in pq.read_schema(path).names if name.startswith("score_")]
        parts = {one[6:]: fl.Predictions.read(path, positive_score=one, threshold=0.5) for one in scores}
        yield Family(path.stem[5:], join_models(parts))
    yield Family("judgebench", read_long(read_judges(folder / "judgebench_reward.parquet"), "judge"))


def read_judges(path: Path) -> pa.Table:
    """Read what five judges say of the same items, which have other ids for every judge but the same order."""
    table = pq.read_table(path)
    return table.set_column(0, "id", pa.array(np.arange(len(table)) % JUDGED)).drop_columns(["source"])


def matches(name: str, only: str) -> bool:
    """Whether a name is one of those that were asked for."""
    return not only or any(word in name for word in only.split(","))


class Replays:
    """The labels of one family, to be drawn at random or asked for by a goal."""

    def __init__(self, family: Family, goal: fl.CompareModels | fl.BestModel) -> None:
        pool = family.pool
        design = design_for_models(pool, resolve_design(goal, by="all", level=0.95, finite_pool=True, seed=0))
        named = pool.name_by_agreement() if len(pool.classes) > len(pool.models) else pool
        aggregated = aggregate_pool(named, design.by, bins=design.bins, strata=choose_strata(len(pool.models)))
        self.family, self.counts, self.n_classes = family, to_count_table(aggregated), len(pool.classes)
        self.run = ModelReplay(ModelReplayPool.from_labelled(self.counts), design)
        first, right = self._first, self._right
        items = self.counts.n_items
        self.truth = ((first == right[:, None]).T @ items) / items.sum()
        self.disagree = float(items[self.counts.models.disagrees].sum() / items.sum()) if self.counts.models else 0.0

    @property
    def _first(self) -> np.ndarray:
        assert self.counts.models is not None
        return self.counts.models.first

    @property
    def _right(self) -> np.ndarray:
        assert self.counts.models is not None
        return self.counts.models.find_right(self.counts.label)

    @property
    def n_items(self) -> int:
        """Items, all of them labelled."""
        return int(self.counts.n_items.sum())

    def infer(self, counts: CountTable) -> JointPosterior:
        """Return the posterior on exactly these items."""
        return infer_joint(counts, fl.accuracy, n_classes=self.n_classes, finite_pool=True, n_draws=N_DRAWS)

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Draw random items: how many of every kind."""
        return self.run.labelled.draw(rng, self.run.labelled.n_items, n)

    def average(self, revealed: np.ndarray) -> np.ndarray:
        """The share of labelled items on which each model is right."""
        return revealed @ (self._first == self._right[:, None]) / max(int(revealed.sum()), 1)

    def paired_error(self, n: int) -> float:
        """The standard error of the mean difference of two models over n random items."""
        right = (self._first == self._right[:, None]).astype(float)
        n, items = min(n, self.n_items), self.counts.n_items
        outcome = right[:, 1] - right[:, 0]
        variance = float(outcome**2 @ items / self.n_items) - float(self.truth[1] - self.truth[0]) ** 2
        return float(np.sqrt(variance / n * (self.n_items - n) / max(self.n_items - 1, 1)))


def measure_pair(pair: Family, runs: int) -> Iterator[Row]:
    """Yield the errors and coverage of a pair, of labels at random and asked for."""
    play = Replays(pair, fl.CompareModels(rope=0.0))
    for run in range(runs):
        rng = np.random.default_rng([run, 7])
        for n in RANDOM:
            if n <= MOST * play.n_items:
                revealed = play.draw(rng, n)
                posterior = play.infer(play.run.labelled.count(revealed).merged())
                yield describe_pair("random", play, n, run, posterior, play.average(revealed))
        average = play.average(play.draw(rng, min(ASKED, play.n_items)))
        yield describe_pair("asked", play, ASKED, run, play.infer(ask(play, rng)), average)


def ask(play: Replays, rng: np.random.Generator) -> CountTable:
    """Ask for labels, and return the counts with them."""
    for n, posterior in play.run.label_in_batches(rng, (ASKED,)):
        found = posterior
        if n >= ASKED:
            break
    return find_joint("bench", found).tally


def describe_pair(how: str, play: Replays, n: int, run: int, posterior: JointPosterior, average: np.ndarray) -> Row:
    """Return one run of a pair as a row; `average` are the models' shares among as many random labels."""
    drawn, delta = posterior.overall[:, 1] - posterior.overall[:, 0], float(play.truth[1] - play.truth[0])
    low, high = np.quantile(drawn, [0.025, 0.975])
    below, above = float((drawn < -ROPE).mean()), float((drawn > ROPE).mean())
    chances = {"below": below, "equivalent": 1 - below - above, "above": above}
    true = "equivalent" if abs(delta) <= ROPE + ROUNDING else "below" if delta < 0 else "above"
    said = max(chances, key=lambda side: chances[side])
    return {
        "table": "pairs", "how": how, "pair": play.family.name, "n_items": play.n_items, "disagree": play.disagree, "n_labels": n,
        "run": run, "delta": delta, "error": float(drawn.mean()) - delta, "width": float(high - low),
        "covered": int(low - ROUNDING <= delta <= high + ROUNDING), "average": float(average[1] - average[0]) - delta,
        "beside": play.paired_error(BESIDE if how == "asked" else n), "p_verdict": chances[said], "right": int(said == true),
    }  # fmt: skip


def measure_family(family: Family, runs: int) -> Iterator[Row]:
    """Yield how much worse than the best the chosen model is, by labels asked for and by random ones."""
    play = Replays(family, fl.BestModel(rope=0.0))
    for run in range(runs):
        rng = np.random.default_rng([run, 8])
        for n, posterior in play.run.label_in_batches(rng, BUDGETS):
            if n in BUDGETS:
                joint = find_joint("bench", posterior)
                chosen = int(joint.regret().argmin())
                said = {"p_best": float(joint.weigh_best()[chosen]), "expected": float(joint.regret()[chosen])}
                yield {**describe_choice("asked", play, n, run, chosen), **said}
            if n >= BUDGETS[-1]:
                break
        revealed = np.zeros_like(play.counts.n_items)
        for n in GENEROUS:
            more = min(n, play.n_items) - int(revealed.sum())
            revealed = revealed + play.run.labelled.draw(rng, play.counts.n_items - revealed, more)
            yield describe_choice("random", play, n, run, int(play.average(revealed).argmax()))


def describe_choice(how: str, play: Replays, n: int, run: int, chosen: int) -> Row:
    """Return one choice as a row."""
    loss = float(play.truth.max() - play.truth[chosen])
    return {"table": "families", "how": how, "family": play.family.name, "models": len(play.truth), "n_labels": n, "run": run, "loss": loss}  # fmt: skip


def measure(options: argparse.Namespace, _: Rows) -> Iterator[Rows]:
    """Yield all rows so far after every family: one per pair or family, number of labels and run."""
    rows: list[Row] = []
    for family in read_families(options.pools):
        if matches(family.name, ",".join(word.split()[0] for word in options.only.split(",") if word)):
            rows += measure_family(family, options.replays)
            for pair in family.pairs:
                if matches(pair.name, options.only):
                    rows += measure_pair(pair, options.runs)
            yield rows


BENCHMARK = Benchmark("models", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, and write the page."""
    parser = BENCHMARK.make_parser()
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument(
        "--only", default="", help="parts of names of pairs, joined by commas; their first words are of families"
    )
    parser.add_argument("--replays", type=int, default=20, help="runs of every family of models")
    add_pools_option(parser)
    start_in_batches(BENCHMARK, parser, measure, words)


if __name__ == "__main__":
    main()
