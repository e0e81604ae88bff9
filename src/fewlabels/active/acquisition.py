"""Acquisition: the value of one more label in each group, from a posterior and a goal. Policies see only this."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from fewlabels.active.pricing import Pricing
from fewlabels.distributions.budgets import limit_acquisition_draws
from fewlabels.distributions.randomness import Rng
from fewlabels.metrics.evaluate import Theta
from fewlabels.models.posterior import PerGroup, Posterior

MAX_ROUNDS, MIN_DRAWN = 50, 8  # of draws that prices thin out
Acquisition = Callable[[Posterior, Theta], Float[np.ndarray, "draw group"]]


@dataclass(frozen=True)
class AcquisitionView:
    """Distribution of the gain of one label in each group, and which groups still have items to label."""

    posterior: Posterior = field(repr=False)
    gain: Acquisition
    plays: int = 1  # groups the goal seeks
    prices: PerGroup | None = None  # of a label in each group
    pricing: Pricing | None = None  # how prices enter; None without prices

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
        if self.prices is not None and self.pricing == "resample":
            return self._draw_by_price(rng, n)
        return self._divide_by_price(self._draw_gain(rng, n))

    def _draw_gain(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        """Draw the gain of one label in each group, the acquisition value before prices."""
        n = limit_acquisition_draws(n, self.posterior.counts.size)
        gain = self.gain(self.posterior, self.posterior.draw_cells_jointly(rng, n))
        return self._mask_closed(np.where(np.isnan(gain), self._expect_gain(), gain))  # nan: 0/0 in this draw

    def _divide_by_price(self, gain: Float[np.ndarray, "draw group"]) -> Float[np.ndarray, "draw group"]:
        """Divide the acquisition value by the price of a label, if the goal wants that."""
        return gain if self.prices is None or self.pricing != "divide" else gain / self.prices

    def _draw_by_price(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        """Keep draws in inverse proportion to the price of their best group.

        Gains that say which group is extreme have no unit, so it is the number of labels of each group that a price lowers.
        """
        assert self.prices is not None
        least, kept = self.prices[self.is_open].min(), np.zeros((0, len(self.prices)))
        for _ in range(MAX_ROUNDS):
            drawn = self._draw_gain(rng, max(n - len(kept), MIN_DRAWN))
            keep = rng.random(len(drawn)) < least / self.prices[drawn.argmax(axis=1)]
            kept = np.concatenate([kept, drawn[keep]])
            if len(kept) >= n:
                return kept[:n]
        return np.concatenate([kept, drawn])[:n]

    def expect(self) -> PerGroup:
        """Return the gain of one label in each group at the posterior mean, per price where gains have a unit."""
        return self._divide_by_price(self._expect_gain()[None])[0]

    def _expect_gain(self) -> PerGroup:
        """Return the gain of one label in each group at the posterior mean, before prices."""
        return self._mask_closed(self.gain(self.posterior, self.posterior.expect()))[0]

    def outcome_standard_deviation(self) -> PerGroup:
        """Return the standard deviation of one outcome within the cells of each group, at the posterior mean."""
        mean = self.posterior.with_pending.mean()
        each = 2 * mean * (1 - mean) if mean.ndim == 1 else 1 - (mean**2).sum(axis=1)
        return np.sqrt(self.posterior.sum_by_group(self.posterior.weight * each / 2))

    def _mask_closed(self, gain: Float[np.ndarray, "draw group"]) -> Float[np.ndarray, "draw group"]:
        """Set the acquisition value of closed groups to minus infinity."""
        return np.where(self.is_open, gain, -np.inf)


Policy = Callable[[Rng, AcquisitionView], Sequence[int]]  # returns groups: one item of each is labelled next


@runtime_checkable
class BatchPolicy(Protocol):
    """A policy that can choose many groups from one posterior at once."""

    def choose_batch(self, rng: Rng, prospect: AcquisitionView, n: int) -> Sequence[int]:
        """Return the groups of the next `n` labels, or of fewer, by acquisition values."""
        ...
