"""Acquisition: the value of one more label in each group, from a posterior and a goal. Policies see only this."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from fewlabels.distributions.budgets import limit_acquisition_draws
from fewlabels.distributions.randomness import Rng
from fewlabels.metrics.evaluate import Theta
from fewlabels.models.posterior import PerGroup, Posterior

Acquisition = Callable[[Posterior, Theta], Float[np.ndarray, "draw group"]]


@dataclass(frozen=True)
class AcquisitionView:
    """Distribution of the gain of one label in each group, and which groups still have items to label."""

    posterior: Posterior = field(repr=False)
    gain: Acquisition
    plays: int = 1  # groups the goal seeks

    @cached_property
    def left(self) -> Int[np.ndarray, " group"]:
        """Items per group that can still be labelled; 0 where a label has no value for the goal."""
        gain = self.gain(self.posterior, self.posterior.expect())[0]
        return np.where(np.isneginf(gain) | np.isnan(gain) | self.posterior.undefined, 0, self.posterior.left)

    @property
    def is_open(self) -> Bool[np.ndarray, " group"]:
        """Does the group have items left to label?"""
        return self.left > 0

    @property
    def n_items(self) -> Int[np.ndarray, " group"]:
        """Items per group."""
        return self.posterior.n_items

    @property
    def n_labels(self) -> PerGroup:
        """Labels per group, pending ones included."""
        return self.posterior.n_labels

    def draw(self, rng: Rng, n: int = 1) -> Float[np.ndarray, "draw group"]:
        """Draw the gain of one label in each group; minus infinity in closed groups."""
        n = limit_acquisition_draws(n, self.posterior.counts.size)
        gain = self.gain(self.posterior, self.posterior.draw_cells(rng, n))
        return self._mask_closed(np.where(np.isnan(gain), self.expect(), gain))  # nan: 0/0 in this draw

    def expect(self) -> PerGroup:
        """Return the gain of one label in each group at the posterior mean."""
        return self._mask_closed(self.gain(self.posterior, self.posterior.expect()))[0]

    def outcome_standard_deviation(self) -> PerGroup:
        """Return the standard deviation of one outcome within the cells of each group, at the posterior mean."""
        mean = self.posterior.with_pending.mean()
        each = 2 * mean * (1 - mean) if mean.ndim == 1 else 1 - (mean**2).sum(axis=1)
        return np.sqrt(self.posterior.sum_by_group(self.posterior.weight * each / 2))

    def _mask_closed(self, gain: Float[np.ndarray, "draw group"]) -> Float[np.ndarray, "draw group"]:
        return np.where(self.is_open, gain, -np.inf)


Policy = Callable[[Rng, AcquisitionView], Sequence[int]]  # returns groups: one item of each is labelled next
