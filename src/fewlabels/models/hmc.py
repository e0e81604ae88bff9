"""Hamiltonian Monte Carlo with vectorised chains.

One call of the density evaluates all chains, so NumPy is fast enough for models with tens of parameters and nothing needs
compiling. During warm-up the covariance of all chains together becomes the metric (inverse mass matrix). Step sizes are
random, so that path lengths vary and trajectories are not periodic.

Where a block of parameters can change sign without changing the density, every draw has its mirror images. `Reflections`
keeps one of them: the covariance of both together would be that of no mode, and steps would be far too short.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, exp, log, sqrt

import numpy as np
from jaxtyping import Bool, Float, Int

from fewlabels.distributions.randomness import Rng

PATH_LENGTH = 2.5  # in standard deviations, 0.4 of a period
MIN_STEP_SHARE = 0.3  # least share of the step size
MAX_STEPS = 40
FIRST_STEP, FIRST_SPREAD = 0.3, 0.2  # initial step size, and standard deviations of the initial metric
MAX_DENSE = 300  # largest number of parameters with a dense metric; the warm-up has too few draws for more
DIVERGENT = 1000.0  # energy error from which a transition counts as divergent
DELAY, RATE, DECAY = 10.0, 0.05, 0.75  # of dual averaging: t0, gamma, kappa
Points = Float[np.ndarray, "chain parameter"]
PerChain = Float[np.ndarray, " chain"]
Square = Float[np.ndarray, "parameter parameter"]
Density = Callable[[Points], tuple[PerChain, Points]]  # log density and its gradient
Enough = Callable[[Float[np.ndarray, "draw chain parameter"]], bool]


@dataclass(frozen=True)
class ChainSettings:
    """Lengths of the warm-up rounds, draws per batch, the most batches, and the target acceptance."""

    warm_up: tuple[int, ...] = (40, 40, 50, 60)
    n_draws: int = 250
    batches: int = 4
    acceptance: float = 0.95  # target of dual averaging


@dataclass(frozen=True)
class Chains:
    """Draws of all chains, the number of divergences, and the mean acceptance."""

    draws: Float[np.ndarray, "draw chain parameter"]
    divergences: int
    acceptance: float

    @property
    def n_transitions(self) -> int:
        """Transitions of all HMC chains."""
        return self.draws.shape[0] * self.draws.shape[1]


@dataclass(frozen=True)
class Reflections:
    """Blocks of parameters that can change sign together without changing the density.

    After every transition a block is reflected so that its first parameter is positive. That leaves the posterior as it is
    only if the metric is the same for all mirror images: it has no covariances between different blocks.
    """

    block: Int[np.ndarray, " parameter"]  # 0 for parameters that keep their sign

    @cached_property
    def _first(self) -> Int[np.ndarray, " parameter"]:
        """Index of the first parameter of the block of every parameter, as chains are reflected."""
        _, first, which = np.unique(self.block, return_index=True, return_inverse=True)
        return first[which]

    @cached_property
    def is_together(self) -> Bool[np.ndarray, "parameter parameter"]:
        """Which pairs of parameters are of one block, for HMC chains that are reflected."""
        return self.block[:, None] == self.block

    def find_signs(self, at: Points) -> Points:
        """Signs that move each chain to the mirror image whose blocks begin with a positive parameter."""
        return np.where((at[:, self._first] < 0) & (self.block > 0), -1.0, 1.0)


@dataclass(frozen=True)
class _ChainState:
    """Position, log density and gradient of every chain."""

    at: Points
    value: PerChain
    gradient: Points

    def reflect(self, reflections: Reflections | None) -> "_ChainState":
        """Return the mirror image of the HMC chains, with positive leading parameters."""
        if reflections is None:
            return self
        signs = reflections.find_signs(self.at)
        return replace(self, at=signs * self.at, gradient=signs * self.gradient)


@dataclass(frozen=True)
class _ChainMetric:
    """Estimated posterior covariance (dense), or variances (diagonal) where parameters are many: the metric of HMC."""

    covariance: Square | Float[np.ndarray, " parameter"]

    @cached_property
    def _root(self) -> Square | Float[np.ndarray, " parameter"]:
        """Inverse of the Cholesky factor of the covariance, for HMC's momenta."""
        if self.covariance.ndim == 1:
            return 1 / np.sqrt(self.covariance)
        return np.linalg.inv(np.linalg.cholesky(self.covariance))

    def draw_momentum(self, rng: Rng, n_chains: int) -> Points:
        """Draw momenta for Hamiltonian Monte Carlo; their covariance is the inverse of the posterior's."""
        free = rng.standard_normal((n_chains, len(self.covariance)))
        return free * self._root if self.covariance.ndim == 1 else free @ self._root

    def velocity(self, momentum: Points) -> Points:
        """Return velocities for these momenta of HMC."""
        return momentum * self.covariance if self.covariance.ndim == 1 else momentum @ self.covariance

    def kinetic_energy(self, momentum: Points) -> PerChain:
        """Kinetic energy of the Hamiltonian."""
        return 0.5 * np.einsum("cp,cp->c", self.velocity(momentum), momentum)


@dataclass(frozen=True)
class _StepSize:
    """Step size of HMC, adapted by dual averaging to a target acceptance."""

    aim: float
    start: float
    at: float
    settled: float
    lag: float = 0.0
    n: int = 0

    def adapt(self, acceptance: float) -> "_StepSize":
        """Update the step size of HMC with the acceptance of one transition."""
        n = self.n + 1
        lag = self.lag + (self.aim - acceptance - self.lag) / (n + DELAY)
        trial = float(np.clip(log(10 * self.start) - sqrt(n) / RATE * lag, -7.0, 1.0))
        share = n**-DECAY
        settled = share * trial + (1 - share) * log(self.settled)
        return replace(self, at=exp(trial), settled=exp(settled), lag=lag, n=n)


def run_chains(
    density: Density,
    start: Points,
    rng: Rng,
    settings: ChainSettings | None = None,
    enough: Enough = lambda _: True,
    *,
    reflections: Reflections | None = None,
) -> Chains:
    """Run chains of Hamiltonian Monte Carlo: warm up, then draw batches until `enough` accepts the draws."""
    with np.errstate(all="ignore"):  # divergent trajectories overflow; they are rejected
        return _run_chains_once(density, start, rng, settings or ChainSettings(), enough, reflections)


def _run_chains_once(
    density: Density,
    start: Points,
    rng: Rng,
    settings: ChainSettings,
    enough: Enough,
    reflections: Reflections | None,
) -> Chains:
    """Warm up Hamiltonian Monte Carlo, and draw."""
    state, metric, step = _add_warm_start(density, _ChainState(start, *density(start)), rng, settings, reflections)
    draws, lost, taken = np.empty((0, *start.shape)), 0, []
    for i in range(settings.batches):
        if i and enough(draws):
            break
        batch = np.empty((settings.n_draws, *start.shape))
        for draw in batch:
            state, accepted, divergent = _transition(density, state, rng, metric, step)
            state = state.reflect(reflections)
            draw[:] = state.at
            lost += int(divergent.sum())
            taken.append(float(accepted.mean()))
        draws = np.concatenate([draws, batch])
    return Chains(draws, lost, float(np.mean(taken)))


def _add_warm_start(
    density: Density, state: _ChainState, rng: Rng, settings: ChainSettings, reflections: Reflections | None
) -> tuple[_ChainState, _ChainMetric, float]:
    """Reach the posterior by HMC in a warm-up, and adapt the metric and the step size."""
    metric, step = _ChainMetric(np.full(state.at.shape[1], FIRST_SPREAD**2)), FIRST_STEP
    for i, n in enumerate(settings.warm_up):
        seen, step_size = [], _StepSize(settings.acceptance, step, step, step)
        for _ in range(n):
            state, accepted, _ = _transition(density, state, rng, metric, step_size.at)
            state = state.reflect(reflections)
            step_size = step_size.adapt(float(accepted.mean()))
            seen.append(state.at)
        step = step_size.settled
        if i < len(settings.warm_up) - 1:  # the last round adapts the step size to the final metric
            metric, step = _estimate_metric(seen[n // 3 :], reflections), FIRST_STEP
    return state, metric, step


def _transition(
    density: Density, state: _ChainState, rng: Rng, metric: _ChainMetric, step: float
) -> tuple[_ChainState, PerChain, Bool[np.ndarray, " chain"]]:
    """Make one HMC transition of every chain; also return acceptance probabilities and divergences."""
    momentum = metric.draw_momentum(rng, len(state.at))
    n_steps = min(MAX_STEPS, ceil(PATH_LENGTH / step))
    each = step * rng.uniform(MIN_STEP_SHARE, 1.0, size=(len(momentum), 1))  # short steps help where curvature is high
    end, pushed = _leapfrog(density, state, momentum, metric, each, n_steps)
    gain = end.value - metric.kinetic_energy(pushed) - state.value + metric.kinetic_energy(momentum)
    gain = np.where(np.isfinite(gain), gain, -np.inf)
    stays = np.log(rng.random(len(gain))) < gain
    value = np.where(stays, end.value, state.value)
    at, gradient = (
        np.where(stays[:, None], new, old) for new, old in ((end.at, state.at), (end.gradient, state.gradient))
    )
    return _ChainState(at, value, gradient), np.exp(np.minimum(gain, 0.0)), gain < -DIVERGENT


def _leapfrog(
    density: Density,
    state: _ChainState,
    momentum: Points,
    metric: _ChainMetric,
    step: Float[np.ndarray, "chain 1"],
    n_steps: int,
) -> tuple[_ChainState, Points]:
    """Leapfrog integration of the Hamiltonian dynamics."""
    for _ in range(n_steps):
        momentum = momentum + 0.5 * step * state.gradient
        at = state.at + step * metric.velocity(momentum)
        state = _ChainState(at, *density(at))
        momentum = momentum + 0.5 * step * state.gradient
    return state, momentum


def _estimate_metric(seen: list[Points], reflections: Reflections | None) -> _ChainMetric:
    """Estimate HMC's metric, the covariance of all chains; for each parameter of a block, one pseudo-draw shrinks it."""
    draws = np.concatenate(seen)
    n, n_parameters = draws.shape
    spread = draws.var(axis=0) + 1e-6
    if n_parameters > MAX_DENSE:
        return _ChainMetric(spread)
    together = np.ones((n_parameters, n_parameters), dtype=bool) if reflections is None else reflections.is_together
    share = n / (n + together.sum(axis=0))
    return _ChainMetric(share * together * np.atleast_2d(np.cov(draws.T)) + np.diag((1 - share) * spread))
