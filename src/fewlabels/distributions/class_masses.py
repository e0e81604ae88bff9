"""Draws of what rates of classes need: each cell's share of right predictions, and the mass of each true class by scope.

A joint draw of all shares has cells × classes numbers; these have cells + scopes × classes.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from fewlabels.distributions.randomness import Rng


@dataclass(frozen=True)
class ClassMassDraws:
    """Joint draws of the share of right predictions per cell, and of the mass of each true class per scope."""

    right: Float[np.ndarray, "draw cell"]
    actual: Float[np.ndarray, "draw scope class"]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Draws, cells and classes of these masses."""
        return (*self.right.shape, self.actual.shape[2])

    def sum_scopes(self, n_scopes: int) -> Float[np.ndarray, "draw scope class"]:
        """Return the masses of each scope, or of all scopes together."""
        return self.actual.sum(axis=1, keepdims=True) if n_scopes == 1 else self.actual


@runtime_checkable
class ClassMassBelief(Protocol):
    """A belief about cells that can be drawn as masses of classes."""

    def draw_class_masses(
        self, rng: Rng, weight: Float[np.ndarray, "draw cell"], scope: Int[np.ndarray, " cell"], n_scopes: int
    ) -> ClassMassDraws:
        """Joint draws for cells of these sizes in these scopes."""
        ...
