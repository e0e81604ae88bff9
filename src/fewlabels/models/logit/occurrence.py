"""Classes that never occur: a model may know classes that a pool has no item of.

A class without a label is absent with probability expit(a + b x), x the log of how many items the probabilities expect of
it, relative to other classes: small classes are absent more often. Settings of a and b on a grid are averaged by how well they
explain which classes have labels. If present, a class with λ expected labels has none with probability (1 + λ / c)^−c.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import expit, softmax

from fewlabels.data.counts import NONE, Cells
from fewlabels.distributions.randomness import Rng

LEVELS, SLOPES = np.linspace(-8.0, 4.0, 25), np.array([0.0, -0.5, -1.0, -2.0])  # grids of a and b
LEVEL_PRIOR = (-4.0, 2.0)  # prior mean and standard deviation of a
SPREAD = 2.0  # c: how closely labels follow what the probabilities expect
HALF_ITEM = 0.5  # fewer right items than this are none
TINY = 1e-300


@dataclass(frozen=True)
class Occurrence:
    """Posterior probability of each class to be absent, for each setting of the grid."""

    weight: Float[np.ndarray, " setting"]
    absent: Float[np.ndarray, "setting class"]  # 0 for classes with labels

    def draw(self, rng: Rng, hits: Float[np.ndarray, "draw class"]) -> Bool[np.ndarray, "draw class"]:
        """Draw which classes are absent, given how many items are rightly predicted to be of them: none if absent.

        Among the draws without such items a class is absent so often that its probability over all draws is kept.
        """
        n = len(hits)
        chance = self.absent[rng.choice(len(self.weight), size=n, p=self.weight)]
        possible = hits < HALF_ITEM
        often = possible.mean(axis=0)
        return possible & (rng.random(hits.shape) * np.maximum(often, 1 / n) < chance)


def fit_occurrence(cells: Cells) -> Occurrence:
    """Fit the occurrence of classes: which are absent, from which classes have labels."""
    expected = _expect_shares(cells)
    size, n_labels = cells.n_items @ expected, cells.labels.sum(axis=1) @ expected
    trait = np.log((size + HALF_ITEM) / (size.mean() + HALF_ITEM))
    is_seen = cells.labels.any(axis=0)
    level, slope = (grid.reshape(-1, 1) for grid in np.meshgrid(LEVELS, SLOPES, indexing="ij"))
    prior = -(((level[:, 0] - LEVEL_PRIOR[0]) / LEVEL_PRIOR[1]) ** 2) / 2
    rho = expit(level + slope * trait)
    unseen = rho + (1 - rho) * (1 + n_labels / SPREAD) ** -SPREAD
    evidence = np.log(np.where(is_seen, 1 - rho, unseen) + TINY).sum(axis=1)
    return Occurrence(softmax(prior + evidence), np.where(is_seen, 0.0, rho / unseen))


def _expect_shares(cells: Cells) -> Float[np.ndarray, "cell class"]:
    """Probability that each class occurs in each cell; without probabilities, that of the predicted one is the score."""
    if cells.probability is not None:
        return cells.probability
    score = np.where(np.isnan(cells.score), 0.5, cells.score)
    out = np.repeat(((1 - score) / cells.labels.shape[1])[:, None], cells.labels.shape[1], axis=1)
    (said,) = np.nonzero(cells.predicted != NONE)
    out[said, cells.predicted[said]] += score[said]
    return out
