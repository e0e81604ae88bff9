"""A distribution that is known by its draws: samples of one quantity per group."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fewlabels.distributions.quantiles import Array
from fewlabels.distributions.randomness import Rng
from fewlabels.distributions.trimming import trim_interval


@dataclass(frozen=True)
class Draws:
    """Samples of a quantity per group."""

    groups: tuple[str, ...]
    samples: Float[np.ndarray, "draw group"]
    is_skewed: bool = False  # is its figure the median? of a distance the mean is mostly noise where it is near 0
    is_discrete: bool = False  # does it take few values, as in a finite pool?

    def mean(self) -> Float[np.ndarray, " group"]:
        """Average over the draws; their median where the quantity is skewed."""
        return np.median(self.samples, axis=0) if self.is_skewed else self.samples.mean(axis=0)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Quantiles of the draws; trimmed where there are few values."""
        if self.is_discrete:
            return trim_interval(self.samples, level)
        low, high = np.quantile(self.samples, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        """Resample joint draws with replacement."""
        return self.samples[rng.integers(len(self.samples), size=n)]
