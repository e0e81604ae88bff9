"""Labelling problems as plain arrays: a pool, its outcomes, a prior, and the gain of a label.

A problem builds its state once, and every run gets a copy. Gains are linear in the rate of the group (Rate, Variance,
Rope), a sum over its cells (Gap, Variance), or linear in the shares of classes (Cost, Spread).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from fewlabels.active.simulation.kernels.beta import COMPARING, SHRINKING, STEADY, Chances
from fewlabels.active.simulation.kernels.dirichlet import Columns
from fewlabels.active.simulation.kernels.layout import lay_chances, lay_columns, lay_sums
from fewlabels.active.simulation.kernels.pool import Pool
from fewlabels.active.simulation.kernels.pruning import Climbs
from fewlabels.active.simulation.kernels.queue import Ints
from fewlabels.active.simulation.kernels.sums import Sums

PerItem = Float[np.ndarray, " item"]
PerCell = Float[np.ndarray, " cell"]
PerClass = Float[np.ndarray, "cell class"]
State = TypeVar("State", bound=Chances | Sums | Columns | Climbs)


@runtime_checkable
class Problem(Protocol):
    """Interface that `choose` needs."""

    @property
    def pool(self) -> Pool:
        """Items."""
        ...

    @property
    def contestants(self) -> Ints:
        """Groups that can be chosen."""
        ...

    def start(self) -> Chances | Sums | Columns:
        """Return the state before any label, for one run."""
        ...


def copy_state(state: State) -> State:
    """Copy the arrays of a state, for one run."""
    copies: Any = [
        x.copy() if isinstance(x, np.ndarray) else copy_state(x) if isinstance(x, Climbs) else x for x in state
    ]
    return type(state)(*copies)


@dataclass(frozen=True)
class _Open:
    """A problem in which every group can be chosen."""

    pool: Pool

    @property
    def contestants(self) -> Ints:
        """All groups."""
        return np.arange(self.pool.n_groups)


@dataclass(frozen=True)
class Rate(_Open):
    """Find the groups of smallest (sign −1) or largest (+1) rate: gain sign · θ; one cell per group."""

    right: PerItem  # in [0, 1]
    alpha: PerCell
    beta: PerCell
    sign: float = -1.0

    @cached_property
    def _state(self) -> Chances:
        return lay_chances(self.pool, self.alpha, self.beta, self.right, STEADY, slope=self.sign)

    def start(self) -> Chances:
        """Return the state before any label, for one run."""
        return copy_state(self._state)


@dataclass(frozen=True)
class Gap(_Open):
    """Find the groups of largest calibration error: gain sign · Σ_b w_b |θ_b − s_b| over the cells of a group."""

    right: PerItem
    alpha: PerCell
    beta: PerCell
    score: PerCell
    sign: float = 1.0

    @cached_property
    def _state(self) -> Sums:
        bend = self.sign * self.pool.weight
        return lay_sums(self.pool, self.alpha, self.beta, self.right, bend=bend, score=self.score)

    def start(self) -> Sums:
        """Return the state before any label, for one run."""
        return copy_state(self._state)


@dataclass(frozen=True)
class Cost(_Open):
    """Find the groups of largest expected cost: gain sign · Σ_c w_c Σ_j price_cj θ_cj."""

    label: Int[np.ndarray, " item"]
    alpha: PerClass
    price: PerClass
    sign: float = 1.0

    @cached_property
    def _state(self) -> Columns:
        slope = self.sign * self.pool.weight
        return lay_columns(self.pool, self.alpha, self.label, slope=slope, price=self.price)

    def start(self) -> Columns:
        """Return the state before any label, for one run."""
        return copy_state(self._state)


@dataclass(frozen=True)
class Variance(_Open):
    """Estimate rates: gain Σ_c p_g k_c (Var θ_c − E_z Var(θ_c given z)), z ~ Bernoulli(θ_c)."""

    right: PerItem
    alpha: PerCell
    beta: PerCell
    coefficient: PerCell

    @cached_property
    def _state(self) -> Chances | Sums:
        scale = self.pool.share[self.pool.group] * self.coefficient
        if self.pool.is_plain:
            return lay_chances(self.pool, self.alpha, self.beta, self.right, SHRINKING, scale=scale)
        return lay_sums(self.pool, self.alpha, self.beta, self.right, scale=scale)

    def start(self) -> Chances | Sums:
        """Return the state before any label, for one run."""
        return copy_state(self._state)


@dataclass(frozen=True)
class Spread(_Open):
    """Estimate shares of classes: as Variance, with the summed variance of a Dirichlet."""

    label: Int[np.ndarray, " item"]
    alpha: PerClass
    coefficient: PerCell

    @cached_property
    def _state(self) -> Columns:
        scale = self.pool.share[self.pool.group] * self.coefficient
        return lay_columns(self.pool, self.alpha, self.label, scale=scale)

    def start(self) -> Columns:
        """Return the state before any label, for one run."""
        return copy_state(self._state)


@dataclass(frozen=True)
class Rope:
    """Compare two groups: gain the expected probability of the likeliest of Δ < −ε, |Δ| ≤ ε, Δ > ε; one cell each."""

    pool: Pool
    right: PerItem
    alpha: PerCell
    beta: PerCell
    a: int
    b: int
    margin: float

    @property
    def contestants(self) -> Ints:
        """The two compared groups."""
        return np.array([self.a, self.b])

    @cached_property
    def _state(self) -> Chances:
        return lay_chances(
            self.pool, self.alpha, self.beta, self.right, COMPARING, compared=(self.a, self.b), margin=self.margin
        )

    def start(self) -> Chances:
        """Return the state before any label, for one run."""
        return copy_state(self._state)
