"""Surfaces whose attributes are told by real classifiers: CelebA's `male` and `young`, predicted from other attributes.

Run it from the project's folder: python -m bench.surface_uncertain --runs 5 --out bench/surface_uncertain.md
A logistic regression per attribute, fitted to 5,000 other items, predicts `male` and `young` from the ten other attributes of
the pool, some of which are attributes of the surface as well. 500 items are checked: their attributes and labels are
known. Further labels are of random items. The truth is the accuracy of the other 35,000 items, arm by arm.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from bench.harness.main import Benchmark, start
from bench.harness.page import figure, points, show_table, text
from bench.harness.pools import add_pools_option
from bench.harness.rows import Row, Rows, find_settings, select
from bench.surface_sources import FEWEST, Floats
from fewlabels.analyses.surface.uncertain_attributes import SoftAssignment, fit_uncertain
from fewlabels.data.counts import Axis
from fewlabels.models.membership.classifier_terms import describe_classifier
from fewlabels.models.membership.context import attribute_in_context
from fewlabels.models.membership.fit import METHODS

TOLD, KNOWN = ("male", "young"), ("eyeglasses", "smiling")
N_TRAIN, N_CHECKED, MORE = 5000, 500, (0, 500, 1500)
WAYS = (*METHODS, "known", "ignored")
LARGE = 200  # items of an arm whose accuracy is nearly that of the population
MODELS = ("lr", "nb")


class Told:
    """Items of CelebA: their attributes, what classifiers say of two, and whether the prediction is right."""

    def __init__(self, pools: Path, model: str, *, scored: bool) -> None:
        table = pd.read_parquet(pools / "fair_celeba.parquet")
        chance = table[f"score_{model}"].to_numpy(float)
        others = [name for name in table if table[name].isin(["y", "n"]).all() and name not in TOLD]
        order = np.random.default_rng(9).permutation(len(table))
        train, rest = order[:N_TRAIN], order[N_TRAIN:]
        design = (table[others] == "y").to_numpy(float)
        place = np.stack([(table[name] == "y").to_numpy(dtype=np.int64) for name in (*TOLD, *KNOWN)], axis=1)
        told = [
            LogisticRegression(max_iter=500).fit(design[train], place[train, k]).predict_proba(design)
            for k in range(len(TOLD))
        ]
        sure = [np.eye(2)[place[:, k]] for k in range(len(TOLD), place.shape[1])]
        self.scores = tuple(one[rest] for one in (*told, *sure))
        self.place, self.predicted = place[rest], (chance >= 0.5).astype(np.int64)[rest]
        self.right = ((chance >= 0.5) == (table["label"] == "1").to_numpy()).astype(float)[rest]
        self.score = np.maximum(chance, 1 - chance)[rest] if scored else np.full(len(rest), np.nan)
        self.arm = np.ravel_multi_index(tuple(self.place.T), (2,) * self.place.shape[1])
        self.size = np.bincount(self.arm)
        self.truth = np.bincount(self.arm, weights=self.right) / self.size

    def assign(self, way: str, checked: Floats, outcome: Floats) -> SoftAssignment:
        """Assign items to arms in one of the ways."""
        n, k = self.place.shape
        axes = tuple(Axis(name, ("n", "y"), ordered=False) for name in (*TOLD, *KNOWN))
        if way in ("known", "ignored"):
            axes = axes if way == "known" else axes[len(TOLD) :]
            place = self.place[:, k - len(axes) :]
            level = np.indices((2,) * len(axes)).reshape(len(axes), -1).T
            at = np.ravel_multi_index(tuple(place.T), (2,) * len(axes))
            chance = csr_array((np.ones(n), (np.arange(n), at)), shape=(n, len(level)))
            return SoftAssignment(axes, level, chance, outcome, self.score, (), self.predicted)
        method = next(name for name in METHODS if name == way)
        found = attribute_in_context(self.scores, self.place, checked, self.score, self.predicted, method=method)
        said = tuple(describe_classifier(one) for one in self.scores[: len(TOLD)])
        return SoftAssignment(axes, found.arms, found.chance, outcome, self.score, said, self.predicted, found.others)

    def judge(self, way: str, order: Floats, more: int) -> Row:
        """Fit in one of the ways, and compare with the truth."""
        outcome = np.full(len(order), np.nan)
        labelled = order[: N_CHECKED + more]
        outcome[labelled] = self.right[labelled]
        posterior = fit_uncertain(self.assign(way, order[:N_CHECKED], outcome)).posterior
        mean, (low, high) = posterior.mean, posterior.interval(0.95)
        if way == "ignored":  # the same for all values of what is ignored
            mean, low, high = (np.tile(values, len(self.truth) // len(mean)) for values in (mean, low, high))
        inside, large, enough = (low <= self.truth) & (self.truth <= high), self.size >= LARGE, self.size >= FEWEST
        error = 100 * ((mean - self.truth)[enough] ** 2).mean()
        return {"error": error, "coverage": inside[large].mean(), "width": (high - low)[enough].mean()}


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for every way and number of labels, averaged over runs."""
    for model in options.models:
        for scored in (False, True):
            pool = Told(options.pools, model, scored=scored)
            for more in MORE:
                for way in WAYS:
                    orders = (np.random.default_rng(run).permutation(len(pool.right)) for run in range(options.runs))
                    found = [pool.judge(way, order, more) for order in orders]
                    means = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
                    yield {
                        "table": "ways",
                        "model": model,
                        "scored": int(scored),
                        "labels": N_CHECKED + more,
                        "way": way,
                        **means,
                    }


COLUMNS = (
    ("attributes", text("way")),
    ("labels", figure("labels", ",")),
    ("squared error × 100", figure("error", ".2f")),
    ("95 % intervals cover", points("coverage", ".0f")),
    ("width", points("width", ".0f")),
)


def render(rows: Rows) -> Iterator[str]:
    """Yield the parts of the page."""
    settings = find_settings(rows)
    yield "# Attributes told by real classifiers"
    yield f"`{settings['command']}`"
    yield (
        f"{settings['runs']} runs. `known`: all attributes are known; `ignored`: a surface over the known attributes alone. Errors are "
        f"over the 16 arms alike; coverage is of arms of at least {LARGE} items, as intervals are about the population."
    )
    for model in settings["models"].split():
        for scored, said in enumerate(("without scores", "with scores")):
            yield f"## CelebA, {model}, {said}"
            yield show_table(COLUMNS, select(rows, "ways", model=model, scored=scored))


BENCHMARK = Benchmark("surface_uncertain", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or make the page again."""
    parser = BENCHMARK.make_parser()
    add_pools_option(parser)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--models", nargs="*", default=list(MODELS), help="whose predictions are assessed")
    start(BENCHMARK, parser, measure, words)


if __name__ == "__main__":
    main()
