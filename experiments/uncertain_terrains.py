"""Surfaces over attributes that only classifiers tell: made-up ones, and a real service with made-up classifiers.

Attributes occur together: by pairs (a potential of every two of them), or by latent classes (eight kinds of items, which
makes interactions of every order). A classifier sees its attribute through normal noise, 0.8 to 2.2 standard deviations
between values, is biased, and 1.5 to 4 times too sure of itself; where errors go together, half of the noise is one and
the same for all classifiers. The logit of being right is 1.3 plus effects of every value 0.45 wide, of every pair 0.15
and of every arm 0.3.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.special import expit, softmax

from experiments.replays import Floats, Ints
from experiments.terrains import FEWEST, LARGE, SERVICES, SMALL, read_terrain
from fewlabels.data.counts import Axis

N_ITEMS = 20_000
SHARP, OVERSURE = (0.8, 2.2), (1.5, 4.0)
STRENGTH, N_CLASSES, CLASS_STRENGTH = 0.6, 8, 1.9
BIAS, COMMON = 0.5, 0.5
HEIGHT, EFFECT, TOGETHER, OWN = 1.3, 0.45, 0.15, 0.3
Shape = tuple[int, ...]
Share = Callable[[np.random.Generator, Ints, Shape], Floats]


@dataclass(frozen=True, eq=False)
class Hearsay:
    """Items: what classifiers say of their attributes, what these are, and whether the prediction is right."""

    axes: tuple[Axis, ...]
    scores: tuple[Floats, ...]  # (item, value) of every attribute
    place: Ints  # (item, attribute)
    right: Floats
    chance: Floats | None = None  # of being right, of every arm of the grid, where it is known

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values every attribute has."""
        return tuple(score.shape[1] for score in self.scores)

    @property
    def arm(self) -> Ints:
        """The arm of every item, by its place in the grid."""
        return np.ravel_multi_index(tuple(self.place.T), self.sizes)

    @property
    def truth(self) -> Floats:
        """Accuracy of every arm of the grid, of its items where nothing better is known; nan with too few of these."""
        n_arms = int(np.prod(self.sizes))
        n_items = np.bincount(self.arm, minlength=n_arms)
        found = np.bincount(self.arm, weights=self.right, minlength=n_arms) / np.maximum(n_items, 1)
        return np.where(n_items >= FEWEST, found if self.chance is None else self.chance, np.nan)


@dataclass(frozen=True)
class Place:
    """Where such items come from, a pool for every seed."""

    name: str
    make: Callable[[int], Hearsay]


def list_places(pools: Path, n_items: int = N_ITEMS) -> tuple[Place, ...]:
    """Return all that uncertain attributes are measured on."""
    made = [
        Place(f"{name}, {int(np.prod(shape)):,} arms", partial(make_hearsay, n_items, shape, share, common))
        for shape in (SMALL, LARGE)
        for name, share, common in (
            ("pairs", share_by_pairs, 0.0),
            ("latent classes", share_by_classes, 0.0),
            ("errors together", share_by_pairs, COMMON),
        )
    ]
    return (*made, *(Place(name, partial(read_hearsay, pools, name)) for name in SERVICES))


def make_hearsay(n_items: int, shape: Shape, share: Share, common: float, seed: int) -> Hearsay:
    """Draw a surface, its items, and what classifiers say of them."""
    rng = np.random.default_rng([seed, len(shape)])
    level = np.indices(shape).reshape(len(shape), -1).T
    arm = rng.choice(len(level), size=n_items, p=share(rng, level, shape))
    height = HEIGHT + OWN * rng.standard_normal(len(level))
    for axis, n in enumerate(shape):
        height += EFFECT * rng.standard_normal(n)[level[:, axis]]
    for one, other in combinations(range(len(shape)), 2):
        height += TOGETHER * rng.standard_normal((shape[one], shape[other]))[level[:, one], level[:, other]]
    axes = tuple(Axis(f"a{i}", tuple(map(str, range(n))), ordered=False) for i, n in enumerate(shape))
    right = (rng.random(n_items) < expit(height[arm])).astype(float)
    return Hearsay(axes, tell(rng, level[arm], shape, common), level[arm], right, expit(height))


def read_hearsay(pools: Path, name: str, seed: int) -> Hearsay:
    """Take a real service and its real attributes, and let classifiers tell of them."""
    terrain = read_terrain(pools, name, seed)
    place = np.repeat(terrain.level, terrain.n_items, axis=0)
    first = np.repeat(np.cumsum(terrain.n_items) - terrain.n_items, terrain.n_items)
    right = np.arange(len(place)) - first < np.repeat(terrain.right, terrain.n_items)
    shape = tuple(len(axis.levels) for axis in terrain.axes)
    return Hearsay(terrain.axes, tell(np.random.default_rng(seed), place, shape, 0.0), place, right.astype(float))


def share_by_pairs(rng: np.random.Generator, level: Ints, shape: Shape) -> Floats:
    """How common every arm is, where attributes go together by twos."""
    height = np.zeros(len(level))
    for axis, n in enumerate(shape):
        height += 0.5 * rng.standard_normal(n)[level[:, axis]]
    for one, other in combinations(range(len(shape)), 2):
        height += STRENGTH * rng.standard_normal((shape[one], shape[other]))[level[:, one], level[:, other]]
    return np.asarray(softmax(height))


def share_by_classes(rng: np.random.Generator, level: Ints, shape: Shape) -> Floats:
    """How common every arm is, where items are of several kinds, each with attributes of its own."""
    share = np.zeros(len(level))
    for weight in rng.dirichlet(np.full(N_CLASSES, 2.0)):
        chances = [softmax(CLASS_STRENGTH * rng.standard_normal(n)) for n in shape]
        share += weight * np.prod([chance[level[:, axis]] for axis, chance in enumerate(chances)], axis=0)
    return share / share.sum()


def tell(rng: np.random.Generator, place: Ints, shape: Shape, common: float) -> tuple[Floats, ...]:
    """Say of every item how likely each value of each attribute is, as classifiers would."""
    shared, scores = rng.standard_normal((len(place), 1)), []
    for axis, n in enumerate(shape):
        apart = rng.uniform(*SHARP) * (1.3 if n > 2 else 1.0)
        noise = np.sqrt(1 - common) * rng.standard_normal((len(place), n))
        noise += np.sqrt(common) * shared * rng.choice([-1.0, 1.0], n)
        seen = apart * (place[:, [axis]] == np.arange(n)) + noise
        share = np.bincount(place[:, axis], minlength=n) / len(place) + 1e-3
        honest = apart * seen + np.log(share) + BIAS * rng.standard_normal(n)
        scores.append(np.asarray(softmax(rng.uniform(*OVERSURE) * honest, axis=1)))
    return tuple(scores)
