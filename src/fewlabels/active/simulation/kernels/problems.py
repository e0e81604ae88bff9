"""Labelling problems as plain arrays: a pool, its outcomes, a prior, and the gain of a label.

A problem builds its state once, and every run gets a copy. Gains are linear in the rate of the group (Rate, Variance,
Rope), a sum over its cells (Gap, Variance), or linear in the shares of classes (Cost, Spread).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from fewlabels.active.simulation.kernels.beta_state import COMPARISON_GAIN, VALUE_GAIN, VARIANCE_GAIN, BetaState
from fewlabels.active.simulation.kernels.beta_sum_state import BetaSumState
from fewlabels.active.simulation.kernels.dirichlet_state import DirichletState
from fewlabels.active.simulation.kernels.item_queue import Ints
from fewlabels.active.simulation.kernels.pool import Pool
from fewlabels.active.simulation.kernels.pruning import PruningTable
from fewlabels.active.simulation.kernels.state_layout import make_beta_state, make_beta_sum_state, make_dirichlet_state

PerItem = Float[np.ndarray, " item"]
PerCell = Float[np.ndarray, " cell"]
PerClass = Float[np.ndarray, "cell class"]
KernelState = BetaState | BetaSumState | DirichletState
State = TypeVar("State", bound=KernelState | PruningTable)


@runtime_checkable
class Problem(Protocol):
    """Interface that `choose` needs."""

    @property
    def pool(self) -> Pool:
        """Items of the labelling problem."""
        ...

    @property
    def eligible_groups(self) -> Ints:
        """Groups that can be chosen in the labelling problem."""
        ...

    def start(self) -> KernelState:
        """Return the state of a labelling problem before any label, for one run."""
        ...


def copy_state(state: State) -> State:
    """Copy the arrays of the state of a labelling problem, for one run."""
    copies: Any = [
        x.copy() if isinstance(x, np.ndarray) else copy_state(x) if isinstance(x, PruningTable) else x for x in state
    ]
    return type(state)(*copies)


@dataclass(frozen=True)
class _StoredState:
    """A labelling problem that builds its state once."""

    pool: Pool

    @cached_property
    def _state(self) -> KernelState:
        """The state of the labelling problem before any label, kept for all runs."""
        raise NotImplementedError

    def start(self) -> KernelState:
        """Return the state of the labelling problem before any label, for one run."""
        return copy_state(self._state)


@dataclass(frozen=True)
class _AllGroups(_StoredState):
    """A labelling problem in which every group can be chosen."""

    @property
    def eligible_groups(self) -> Ints:
        """All groups: each can be chosen in the labelling problem."""
        return np.arange(self.pool.n_groups)


@dataclass(frozen=True)
class Rate(_AllGroups):
    """Find the groups of smallest (sign −1) or largest (+1) rate: gain sign · θ; one cell per group."""

    right: PerItem  # in [0, 1]
    alpha: PerCell
    beta: PerCell
    sign: float = -1.0

    @cached_property
    def _state(self) -> BetaState:
        """The state of the problem to find extreme rates: one Beta per group."""
        return make_beta_state(self.pool, self.alpha, self.beta, self.right, VALUE_GAIN, slope=self.sign)


@dataclass(frozen=True)
class CalibrationError(_AllGroups):
    """Find the groups of largest calibration error: gain sign · Σ_b w_b |θ_b − s_b| over the cells of a group."""

    right: PerItem
    alpha: PerCell
    beta: PerCell
    score: PerCell
    sign: float = 1.0

    @cached_property
    def _state(self) -> BetaSumState:
        """The state of the problem to find large calibration errors: several Betas per group."""
        kink = self.sign * self.pool.weight
        return make_beta_sum_state(self.pool, self.alpha, self.beta, self.right, kink=kink, score=self.score)


@dataclass(frozen=True)
class Cost(_AllGroups):
    """Find the groups of largest expected cost: gain sign · Σ_c w_c Σ_j price_cj θ_cj."""

    label: Int[np.ndarray, " item"]
    alpha: PerClass
    price: PerClass
    sign: float = 1.0

    @cached_property
    def _state(self) -> DirichletState:
        """The state of the problem to find large expected costs: a Dirichlet per cell."""
        slope = self.sign * self.pool.weight
        return make_dirichlet_state(self.pool, self.alpha, self.label, slope=slope, price=self.price)


@dataclass(frozen=True)
class Variance(_AllGroups):
    """Estimate rates: gain Σ_c p_g k_c (Var θ_c − E_z Var(θ_c given z)), z ~ Bernoulli(θ_c)."""

    right: PerItem
    alpha: PerCell
    beta: PerCell
    coefficient: PerCell

    @cached_property
    def _state(self) -> BetaState | BetaSumState:
        """The state of the problem to estimate rates: a Beta per cell, with variance gains."""
        scale = self.pool.share[self.pool.group] * self.coefficient
        if self.pool.has_one_cell_per_group:
            return make_beta_state(self.pool, self.alpha, self.beta, self.right, VARIANCE_GAIN, scale=scale)
        return make_beta_sum_state(self.pool, self.alpha, self.beta, self.right, scale=scale)


@dataclass(frozen=True)
class ShareVariance(_AllGroups):
    """Estimate shares of classes: as Variance, with the summed variance of a Dirichlet."""

    label: Int[np.ndarray, " item"]
    alpha: PerClass
    coefficient: PerCell

    @cached_property
    def _state(self) -> DirichletState:
        """The state of the problem to estimate shares of classes: a Dirichlet per cell, with variance gains."""
        scale = self.pool.share[self.pool.group] * self.coefficient
        return make_dirichlet_state(self.pool, self.alpha, self.label, scale=scale)


@dataclass(frozen=True)
class RopeComparison(_StoredState):
    """Compare two groups: gain the expected probability of the likeliest of Δ < −ε, |Δ| ≤ ε, Δ > ε; one cell each."""

    right: PerItem
    alpha: PerCell
    beta: PerCell
    a: int
    b: int
    margin: float

    @property
    def eligible_groups(self) -> Ints:
        """The two groups that the problem compares."""
        return np.array([self.a, self.b])

    @cached_property
    def _state(self) -> BetaState:
        """The state of the problem to compare two groups: one Beta each."""
        return make_beta_state(
            self.pool, self.alpha, self.beta, self.right, COMPARISON_GAIN, compared=(self.a, self.b), margin=self.margin
        )
