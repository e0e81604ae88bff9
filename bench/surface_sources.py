"""Pools whose every arm is known: real ones, and made-up ones."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, logit

import fewlabels as fl
from experiments.terrains import LARGE, SMALL, make_terrain
from fewlabels.analyses.surface.attributes import resolve_attributes
from fewlabels.data.aggregate import aggregate_pool
from fewlabels.data.counts import NONE, STRATA, Axis, CountTable
from fewlabels.data.groups import Cross, Groups
from fewlabels.data.tabulation import to_count_table

FEWEST = 5  # items of an arm whose accuracy is known
Floats = np.ndarray
CELEBA = ("male", "young", "eyeglasses", "smiling", "chubby", "heavy_makeup")
NUMBERS = ("tier", "fam_inc", "age", "edu_level", "lsat")  # written as text in the pools


@dataclass(frozen=True, eq=False)
class ArmPool:
    """Items of arms: which arm, whether the prediction is right, and its score (nan without)."""

    axes: tuple[Axis, ...]
    level: Floats  # of every arm, on every axis
    arm: Floats
    right: Floats
    score: Floats
    predicted: Floats  # number of the predicted class

    @property
    def has_scores(self) -> bool:
        """Are there scores?"""
        return not np.isnan(self.score).any()

    @cached_property
    def n_items(self) -> Floats:
        """Items of every arm."""
        return np.bincount(self.arm, minlength=len(self.level))

    @cached_property
    def truth(self) -> Floats:
        """Accuracy of every arm."""
        return np.bincount(self.arm, weights=self.right, minlength=len(self.level)) / np.maximum(self.n_items, 1)

    @cached_property
    def known_arms(self) -> Floats:
        """Arms with enough items to tell."""
        return np.nonzero(self.n_items >= FEWEST)[0]

    def count(self, labelled: Floats) -> CountTable:
        """Count items and labels of every arm and stratum of the score."""
        stratum = np.digitize(self.score, STRATA[1:-1]) if self.has_scores else np.zeros(len(self.arm), dtype=np.int64)
        width = len(STRATA)
        n_classes = int(self.predicted.max()) + 1
        key = (self.arm * n_classes + self.predicted) * width + stratum
        entry, where = np.unique(key, return_inverse=True)
        total = partial(np.bincount, where.reshape(-1), minlength=len(entry))
        nothing = np.full(len(entry), NONE)
        return CountTable(
            by="arm", groups=tuple(map(str, range(len(self.level)))), classes=tuple(map(str, range(n_classes))), bins=(), group=entry // width // n_classes,
            predicted=entry // width % n_classes, bin=nothing, label=nothing, n_items=total(), n_labels=total(weights=labelled).astype(np.int64),
            score=total(weights=self.score), right=total(weights=self.right * labelled), axes=self.axes, level=self.level,
            stratum=entry % width if self.has_scores else None,
        )  # fmt: skip


@dataclass(frozen=True)
class Source:
    """Where a pool comes from: from the folder of pools, a run, and whether scores are seen."""

    make: Callable[[Path, int, bool], ArmPool]
    has_scores: bool = True


def read_table(pools: Path, name: str, model: str | None) -> pd.DataFrame:
    """Read a pool; predictions are those of the model whose score of the positive class is named."""
    table = pd.read_parquet(pools / f"{name}.parquet")
    if name == "fair_adult_race":  # the same people in the same order as the pool of their sex
        table["sex"] = pd.read_parquet(pools / "fair_adult_sex.parquet", columns=["sex"])["sex"]
    if model is not None:
        chance = table[f"score_{model}"].astype(float)
        table["predicted"] = np.where(chance >= 0.5, "1", "0")
        table["score"] = np.maximum(chance, 1 - chance)
    return table.assign(**{name: table[name].astype(float) for name in NUMBERS if name in table})


def read_pool(
    name: str, attributes: tuple[str, ...], model: str | None, pools: Path, run: int, scored: bool
) -> ArmPool:
    """Read a pool; numeric attributes are cut as `fewlabels surface` cuts them."""
    del run  # the pool is the same in every run
    table = read_table(pools, name, model)
    return tabulate(table, attributes, scored)


def tabulate(table: pd.DataFrame, attributes: tuple[str, ...], scored: bool) -> ArmPool:
    """Find the arm of every item, with attributes resolved as `fewlabels surface` does."""
    columns = {one: table[one] for one in attributes}
    pool = fl.Predictions.read(
        pd.DataFrame(
            {"id": range(len(table)), "predicted": "a", "label": "a", **{f"x_{k}": v for k, v in columns.items()}}
        )
    )
    parts = resolve_attributes(pool, tuple(f"x_{one}" for one in attributes))
    by = Cross(tuple(part for part in parts if isinstance(part, Groups)))
    counts = to_count_table(aggregate_pool(pool, by, most_groups=50_000))
    assert counts.level is not None
    level = np.stack([[axis.find(value) for value in table[axis.name[2:]]] for axis in counts.axes], axis=1)
    place = {tuple(row): i for i, row in enumerate(counts.level.tolist())}
    arm = np.array([place[tuple(row)] for row in level.tolist()])
    right = (table["predicted"].astype(str) == table["label"].astype(str)).to_numpy().astype(float)
    score = table["score"].to_numpy() if scored else np.full(len(table), np.nan)
    return ArmPool(counts.axes, counts.level, arm, right, score, pd.factorize(table["predicted"])[0])


def make_pool(kind: str, shape: tuple[int, ...], pools: Path, run: int, scored: bool) -> ArmPool:  # noqa: ARG001
    """Make up a pool of `experiments.terrains`."""
    terrain = make_terrain(shape, kind, run)
    arm = np.repeat(np.arange(len(terrain.level)), terrain.n_items)
    first = np.cumsum(terrain.n_items) - terrain.n_items
    right = (np.arange(len(arm)) - first[arm] < terrain.right[arm]).astype(float)
    there = terrain.n_items > 0
    place = np.cumsum(there) - 1
    return ArmPool(
        terrain.axes,
        terrain.level[there],
        place[arm],
        right,
        np.full(len(arm), np.nan),
        np.zeros(len(arm), dtype=np.int64),
    )


def make_scored(shape: tuple[int, ...], tails: float, pools: Path, run: int, scored: bool) -> ArmPool:  # noqa: ARG001
    """Make up a pool with scores: over-confident by 1.4, main effects beyond the score, and arms of Student's t."""
    rng = np.random.default_rng([run, len(shape), 77])
    level = np.indices(shape).reshape(len(shape), -1).T
    share = rng.gamma(0.7, size=len(level)) + 1e-3
    n_items = rng.multinomial(20_000, share / share.sum())
    arm = np.repeat(np.arange(len(level)), n_items)
    mains = [rng.normal(0, 0.5, n) for n in shape]
    beyond = [rng.normal(0, 0.25, n) for n in shape]
    height = 1.2 + np.sum([m[level[:, i]] for i, m in enumerate(mains)], axis=0)
    own = 0.3 * rng.standard_t(tails, len(level))
    seen = height[arm] + rng.normal(0, 1.0, len(arm))
    truth = seen + np.sum([b[level[arm, i]] for i, b in enumerate(beyond)], axis=0) + own[arm]
    right = (rng.random(len(arm)) < expit(truth)).astype(float)
    score = expit(1.4 * seen + 0.2)
    axes = tuple(Axis(f"a{i}", tuple(map(str, range(n))), ordered=False) for i, n in enumerate(shape))
    there = n_items > 0
    place = np.cumsum(there) - 1
    return ArmPool(
        axes,
        level[there],
        place[arm],
        right,
        score if scored else np.full(len(arm), np.nan),
        np.zeros(len(arm), dtype=np.int64),
    )


def logits(score: Floats) -> Floats:
    """Logits of scores, away from 0 and 1."""
    return logit(np.clip(score, 1e-5, 1 - 1e-5))


_REAL = {
    "law_lr": ("fair_law", ("sex", "race", "tier", "fam_inc", "fulltime", "lsat"), "lr"),
    "law_rf": ("fair_law", ("sex", "race", "tier", "fam_inc", "fulltime"), "rf"),
    "dutch_lr": ("fair_dutch", ("sex", "age", "edu_level", "citizenship", "marital_status", "economic_status"), "lr"),
    "dutch_nb": ("fair_dutch", ("sex", "age", "edu_level", "marital_status"), "nb"),
    "celeba_lr": ("fair_celeba", CELEBA, "lr"),
    "celeba_gb": (
        "fair_celeba",
        (*CELEBA, "wearing_hat", "bald", "pale_skin", "blurry", "gray_hair", "big_nose"),
        "gb",
    ),
    "adult_rf": ("fair_adult_race", ("race", "sex", "predicted"), "rf"),
    "hatecheck_perspective": ("hatecheck_perspective", ("functionality", "target_ident"), None),
    "hatecheck_bert": ("hatecheck_bert", ("functionality", "target_ident"), None),
}
_MADE = {"smooth": SMALL, "interactions": SMALL, "rough": SMALL, "sparse": LARGE, "uneven": LARGE}
SOURCES = {
    **{name: Source(partial(read_pool, *what), what[2] is not None) for name, what in _REAL.items()},
    **{
        f"{kind}, {int(np.prod(shape)):,} arms": Source(partial(make_pool, kind, shape), has_scores=False)
        for kind, shape in _MADE.items()
    },
    "scored, 320 arms": Source(partial(make_scored, SMALL, 30.0)),
    "scored, heavy tails, 320 arms": Source(partial(make_scored, SMALL, 2.5)),
}
REAL = tuple(_REAL)
