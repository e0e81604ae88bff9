"""Surfaces to estimate: real services on HateCheck, and made-up ones whose every arm is known.

Made-up pools have 50,000 items over 320 arms (one attribute of ten values, five of two) or 4,096 (twelve of two). The
logit of being right is 1.2 plus
- smooth: an effect of every value, 0.7 wide;
- sparse: effects of two attributes and of one pair alone, 1.3 and 1.5 wide;
- interactions: effects 0.6 wide, and 1.0 of a sixth of all pairs;
- uneven: as interactions, but a tenth of the arms have most of the items;
- rough: effects 0.4 wide, and 0.8 of every arm by itself;
and, but for the last, 0.25 of every arm by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit

from experiments.replays import Floats, Ints
from fewlabels.active.simulation.labelled_pool import LabelledPool
from fewlabels.data.counts import NONE, Axis, CountTable

FEWEST, WORST = 5, 50  # items of an arm whose accuracy is known; how many of the worst are looked at
N_ITEMS = 50_000
SMALL, LARGE = (10, 2, 2, 2, 2, 2), (2,) * 12
HEIGHT, OWN = 1.2, {"rough": 0.8}
MAIN = {"smooth": 0.7, "sparse": 0.0, "interactions": 0.6, "uneven": 0.6, "rough": 0.4}
KINDS = tuple(MAIN)
POINTS, MASSES = hermegauss(15)
SERVICES = ("hatecheck_perspective", "hatecheck_bert")


@dataclass(frozen=True, eq=False)
class Terrain:
    """Arms, how many items each has, and how many of these are right."""

    axes: tuple[Axis, ...]
    level: Ints
    n_items: Ints
    right: Ints
    expected: Floats  # chance of being right by attributes alone, what is an arm's own averaged out; nan where nobody knows it

    @property
    def truth(self) -> Floats:
        """Accuracy of every arm; nan without an item."""
        return self.right / np.where(self.n_items > 0, self.n_items, np.nan)

    @property
    def known(self) -> Ints:
        """Arms with enough items to tell."""
        return np.nonzero(self.n_items >= FEWEST)[0]

    @property
    def worst(self) -> Ints:
        """The least accurate of these."""
        return self.known[np.argsort(self.truth[self.known], kind="stable")[:WORST]]

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Label so many items at random: labels of every arm, and how many of them are right."""
        n_labels = rng.multivariate_hypergeometric(self.n_items, n)
        return n_labels, rng.hypergeometric(self.right, self.n_items - self.right, n_labels)

    def count(self, n_labels: Ints, right: Ints) -> CountTable:
        """Put labels as counts; arms without items are left out."""
        there = self.n_items > 0
        n, nothing = int(there.sum()), np.full(int(there.sum()), NONE)
        return CountTable(
            by="arm", groups=tuple(map(str, np.nonzero(there)[0])), classes=(), bins=(), group=np.arange(n),
            predicted=nothing, bin=nothing, label=nothing, n_items=self.n_items[there], n_labels=n_labels[there],
            score=np.full(n, np.nan), right=right[there].astype(float), axes=self.axes, level=self.level[there],
        )  # fmt: skip

    def labelled(self) -> LabelledPool:
        """Lay the items out for replays."""
        nothing = np.zeros(len(self.n_items), dtype=np.int64)
        there = self.n_items > 0
        n, right = self.n_items[there], self.right[there]
        first = np.repeat(np.cumsum(n) - n, n)
        is_right = np.arange(n.sum()) - first < np.repeat(right, n)
        entry = np.repeat(np.arange(len(n)), n)
        return LabelledPool(self.count(nothing, nothing), entry, np.full(len(entry), NONE), is_right.astype(float))

    def spread(self, values: Floats) -> Floats:
        """Put figures of the arms that have items among all arms."""
        out = np.full(len(self.n_items), np.nan)
        out[self.n_items > 0] = values
        return out


@dataclass(frozen=True)
class Site:
    """Where terrains come from, one for every seed."""

    name: str
    n_labels: int
    make: Callable[[int], Terrain]


def list_sites(pools: Path) -> tuple[Site, ...]:
    """Return all that surfaces are measured on."""
    made = [
        Site(f"{kind}, {int(np.prod(shape)):,} arms", 2000, partial(make_terrain, shape, kind))
        for shape in (SMALL, LARGE)
        for kind in KINDS
    ]
    real = [Site(name, 800, partial(read_terrain, pools, name)) for name in SERVICES]
    return (*made, *real)


def make_terrain(shape: tuple[int, ...], kind: str, seed: int) -> Terrain:
    """Draw a surface and its items."""
    rng = np.random.default_rng([seed, len(shape), KINDS.index(kind)])
    level = np.array(list(product(*map(range, shape))))
    height, width_of_own = np.full(len(level), HEIGHT), OWN.get(kind, 0.25)
    own = width_of_own * rng.standard_normal(len(level))
    for axis, n in enumerate(shape):
        effect = rng.standard_normal(n)
        width = 1.3 * (axis in (0, 2)) if kind == "sparse" else MAIN[kind]
        height += width * (effect - effect.mean())[level[:, axis]]
    for (one, other), width in _choose_pairs(shape, kind, rng):
        height += width * rng.standard_normal((shape[one], shape[other]))[level[:, one], level[:, other]]
    share = rng.gamma(0.15 if kind == "uneven" else 1.0, size=len(level)) + 1e-4
    n_items = rng.multinomial(N_ITEMS, share / share.sum())
    axes = tuple(Axis(f"a{i}", tuple(map(str, range(n))), ordered=False) for i, n in enumerate(shape))
    right = rng.binomial(n_items, expit(height + own))
    return Terrain(
        axes, level, n_items, right, expit(height[:, None] + width_of_own * POINTS) @ (MASSES / MASSES.sum())
    )


def read_terrain(pools: Path, name: str, seed: int) -> Terrain:  # noqa: ARG001
    """Read a real service's predictions: functionality by target; the same whatever the seed."""
    table = pd.read_parquet(pools / f"{name}.parquet")
    columns = [pd.Categorical(table[column].astype(str)) for column in ("functionality", "target_ident")]
    axes = tuple(
        Axis(name, tuple(map(str, column.categories)), ordered=False)
        for name, column in zip(("functionality", "target"), columns, strict=True)
    )
    level, where = np.unique(np.stack([column.codes for column in columns], axis=1), axis=0, return_inverse=True)
    right = (table["predicted"].astype(str) == table["label"].astype(str)).to_numpy()
    n_items, n_right = np.bincount(where.reshape(-1)), np.bincount(where.reshape(-1)[right], minlength=len(level))
    return Terrain(axes, level.astype(np.int64), n_items, n_right, np.full(len(level), np.nan))


def _choose_pairs(shape: tuple[int, ...], kind: str, rng: np.random.Generator) -> list[tuple[tuple[int, int], float]]:
    """Return which attributes act together, and how strongly."""
    if kind == "sparse":
        return [((0, 1), 1.5)]
    if kind not in ("interactions", "uneven"):
        return []
    pairs = list(combinations(range(len(shape)), 2))
    return [(pairs[i], 1.0) for i in rng.permutation(len(pairs))[: max(2, len(pairs) // 6)]]
