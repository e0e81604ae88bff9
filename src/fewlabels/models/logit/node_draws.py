"""Continuous draws from distributions on grids: each draw is spread over the interval of its node.

The grid of a random effect has parts: the nodes of the Student t, one of groups that are never right, which is a point,
and those of outliers. Intervals end half-way to the next node of the same part, and draws of a part are contracted so that
they keep the mean and variance of its nodes.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.models.logit.random_effects import N_SHIFTS, N_T, NODES

EDGE = 1e-6
PARTS = slice(0, N_T), slice(N_SHIFTS, NODES)  # of nodes that are spread; the point between them is not
PART = np.repeat([0, 2, 1], [N_T, 1, NODES - N_SHIFTS])  # of each node; the last is the point
PerPart = Float[np.ndarray, "component cell part"]


@dataclass(frozen=True)
class NodeDraws:
    """Nodes of every cell and their probabilities."""

    at: Float[np.ndarray, "component cell node"]
    probability: Float[np.ndarray, "component cell node"]

    def spread(
        self,
        components: Int[np.ndarray, " draw"],
        node: Int[np.ndarray, "draw cell"],
        offset: Float[np.ndarray, "draw cell"],
    ) -> Float[np.ndarray, "draw cell"]:
        """Return a value in the interval of each drawn node, at an offset between −1 and 1 of its half width."""
        cell = np.arange(node.shape[1])
        where, part = (components[:, None], cell, node), (components[:, None], cell, PART[node])
        drawn = self.at[where] + offset * np.where(offset < 0, self._half_gaps[0][where], self._half_gaps[1][where])
        return self._moments.mean[part] + self._moments.factor[part] * (drawn - self._moments.spread_mean[part])

    @cached_property
    def _half_gaps(self) -> tuple[Float[np.ndarray, "component cell node"], Float[np.ndarray, "component cell node"]]:
        """Half the distances from each node to the next lower and higher ones of its part."""
        below, above = np.zeros_like(self.at), np.zeros_like(self.at)
        for part in PARTS:
            below[:, :, part], above[:, :, part] = _half_gaps(self.at[:, :, part])
        return below, above

    @cached_property
    def _moments(self) -> "_Moments":
        """Moments of the nodes, by which spread draws keep the grid's mean and variance."""
        shape = (*self.at.shape[:2], 3)
        mean, moved, factor = np.zeros(shape), np.zeros(shape), np.ones(shape)
        for i, part in enumerate(PARTS):
            at, below, above = self.at[:, :, part], *(gaps[:, :, part] for gaps in self._half_gaps)
            weight = self.probability[:, :, part]
            weight = weight / np.maximum(weight.sum(axis=2, keepdims=True), EDGE)
            move, square = (above - below) / 4, (above**2 + below**2) / 6
            mean[:, :, i], moved[:, :, i] = ((weight * values).sum(axis=2) for values in (at, at + move))
            away = at - moved[:, :, i, None]
            variance = (weight * (at - mean[:, :, i, None]) ** 2).sum(axis=2)
            spread = (weight * (away**2 + 2 * away * move + square)).sum(axis=2)
            factor[:, :, i] = np.sqrt(variance / np.maximum(spread, EDGE))
        return _Moments(mean, moved, factor)


@dataclass(frozen=True)
class _Moments:
    """Mean of the nodes of each part, mean of draws spread over their intervals, and ratio of standard deviations."""

    mean: PerPart
    spread_mean: PerPart
    factor: PerPart


def _half_gaps(
    at: Float[np.ndarray, "component cell some"],
) -> tuple[Float[np.ndarray, "component cell some"], Float[np.ndarray, "component cell some"]]:
    """Half the distances from nodes to the next lower and higher ones; at the ends, as far as on the other side."""
    order = np.argsort(at, axis=2)
    gaps = np.diff(np.take_along_axis(at, order, axis=2), axis=2) / 2
    below = np.concatenate([gaps[:, :, :1], gaps], axis=2)
    above = np.concatenate([gaps, gaps[:, :, -1:]], axis=2)
    back = np.argsort(order, axis=2)
    return np.take_along_axis(below, back, axis=2), np.take_along_axis(above, back, axis=2)
