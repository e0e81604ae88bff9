"""Beliefs about exactly these items: what is labelled is known, only the rest is uncertain.

The rest comes out as its chances have it. Were all items alike, that is a binomial; where scores tell them apart, some
nearly certain to be right and others hardly, less is left to chance than their mean chance would say.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import betaln

from fewlabels.beliefs import TINY, Array, Beta, Conjugate, Dirichlet, Rng, beta_quantile

EXACT_UP_TO = 20_000  # unlabelled items of a group beyond which quantiles of their outcomes are approximated
BLOCK = 2_000_000  # numbers held at a time
Luck = Float[np.ndarray, " group"] | None
"""How much of the variance of an outcome its chance leaves open, 0 to 1; None: all of it, items being alike."""


@dataclass(frozen=True)
class Finite:
    """The share of right outcomes among exactly these items: what is labelled is known, the rest is predicted.

    With every item labelled it is a point.
    """

    belief: Beta
    known: Float[np.ndarray, "group 2"]
    rest: Int[np.ndarray, " group"]
    luck: Luck = None

    @property
    def groups(self) -> tuple[str, ...]:
        """Names, along the group axis."""
        return self.belief.groups

    def mean(self) -> Float[np.ndarray, " group"]:
        """(known + rest · E θ) / size."""
        return (self.known[:, 0] + self.rest * self.belief.mean()) / self._size()

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Quantiles of what is known and the count of the rest."""
        tails = ((1 - level) / 2, (1 + level) / 2)
        alpha, beta = self.belief.alpha, self.belief.beta
        low, high = (count_quantile(self.rest, alpha, beta, tail, self.luck) for tail in tails)
        return (self.known[:, 0] + low) / self._size(), (self.known[:, 0] + high) / self._size()

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        """Draw θ, then the outcomes of the rest."""
        theta = self.belief.draw(rng, n)
        return (self.known[:, 0] + calm(rng.binomial(self.rest, theta), self.rest * theta, self.luck)) / self._size()

    def _size(self) -> Float[np.ndarray, " group"]:
        return self.known.sum(axis=1) + self.rest


@dataclass(frozen=True)
class FiniteShares:
    """The shares of each outcome among exactly these items."""

    belief: Dirichlet
    known: Float[np.ndarray, "group outcome"]
    rest: Int[np.ndarray, " group"]
    luck: Luck = None

    @property
    def groups(self) -> tuple[str, ...]:
        """Names, along the group axis."""
        return self.belief.groups

    def mean(self) -> Float[np.ndarray, "group outcome"]:
        """(known + rest · E θ) / size."""
        return (self.known + self.rest[:, None] * self.belief.mean()) / self._size()

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Of each share: quantiles of what is known and the count of the rest."""
        alpha = self.belief.alpha
        beta = alpha.sum(axis=1, keepdims=True) - alpha
        rest = np.broadcast_to(self.rest[:, None], alpha.shape)
        tails = ((1 - level) / 2, (1 + level) / 2)
        left = None if self.luck is None else np.broadcast_to(self.luck[:, None], alpha.shape)
        low, high = (count_quantile(rest, alpha, beta, tail, left) for tail in tails)
        return (self.known + low) / self._size(), (self.known + high) / self._size()

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group outcome"]:
        """Draw θ, then the outcomes of the rest."""
        theta = self.belief.draw(rng, n)
        drawn = rng.multinomial(self.rest, theta)
        return (self.known + calm(drawn, self.rest[:, None] * theta, _turn(self.luck))) / self._size()

    def marginal(self, outcome: Int[np.ndarray, " group"]) -> Finite:
        """Belief about the share of one outcome per group."""
        known = np.take_along_axis(self.known, outcome[:, None], axis=1)[:, 0]
        return Finite(
            self.belief.marginal(outcome),
            np.stack([known, self.known.sum(axis=1) - known], axis=1),
            self.rest,
            self.luck,
        )

    def _size(self) -> Float[np.ndarray, "group 1"]:
        return (self.known.sum(axis=1) + self.rest)[:, None]


def restrict(
    belief: Conjugate, counts: Float[np.ndarray, "group outcome"], rest: Int[np.ndarray, " group"], luck: Luck = None
) -> Finite | FiniteShares:
    """Narrow a belief down to exactly these items: the counted ones are known, the rest follows the belief."""
    if isinstance(belief, Beta):
        return Finite(belief, counts, rest, luck)
    assert isinstance(belief, Dirichlet)
    return FiniteShares(belief, counts, rest, luck)


def calm(drawn: Int[np.ndarray, "*shape"], expected: Float[np.ndarray, "*shape"], luck: Array | None) -> Array:
    """Bring binomial counts nearer to what was expected, so that they vary by as much as is open."""
    return drawn.astype(np.float64) if luck is None else expected + np.sqrt(luck) * (drawn - expected)


def count_quantile(
    n: Int[np.ndarray, "*shape"],
    alpha: Float[np.ndarray, "*shape"],
    beta: Float[np.ndarray, "*shape"],
    q: float,
    luck: Float[np.ndarray, "*shape"] | None,
) -> Float[np.ndarray, "*shape"]:
    """Return the quantile of a count of right outcomes among n: beta-binomial where items are alike."""
    if luck is None:
        return beta_binomial_quantile(n, alpha, beta, q)
    out, alike = np.empty(n.shape), luck >= 1
    out[alike] = beta_binomial_quantile(n[alike], alpha[alike], beta[alike], q)
    out[~alike] = _match_quantile(n[~alike].astype(np.float64), alpha[~alike], beta[~alike], q, luck[~alike])
    return out


def beta_binomial_quantile(
    n: Int[np.ndarray, "*shape"], alpha: Float[np.ndarray, "*shape"], beta: Float[np.ndarray, "*shape"], q: float
) -> Float[np.ndarray, "*shape"]:
    """Return the smallest k whose cumulative probability among n reaches q, element by element."""
    size, a, b = n.reshape(-1), alpha.reshape(-1), beta.reshape(-1)
    out = np.empty(len(size))
    large = size > EXACT_UP_TO
    out[large] = _match_quantile(size[large].astype(np.float64), a[large], b[large], q)
    for m in np.unique(size[~large]).tolist():
        (same,) = np.nonzero(size == m)
        for part in np.array_split(same, -(-len(same) * (m + 1) // BLOCK)):
            out[part] = _summed_quantile(m, a[part], b[part], q)
    return out.reshape(n.shape)


def _summed_quantile(n: int, alpha: Array, beta: Array, q: float) -> Array:
    """Add up the probabilities of 0 … n."""
    k = np.arange(n + 1)
    a, b = np.maximum(alpha, TINY)[:, None], np.maximum(beta, TINY)[:, None]
    log_p = betaln(k + a, n - k + b) - betaln(a, b) - betaln(n - k + 1, k + 1) - np.log(n + 1)
    reached = np.cumsum(np.exp(log_p), axis=1) >= q * (1 - 1e-12)
    found = np.where(reached.any(axis=1), reached.argmax(axis=1), n).astype(np.float64)
    return np.where(alpha <= 0, 0.0, np.where(beta <= 0, float(n), found))


def _match_quantile(n: Array, alpha: Array, beta: Array, q: float, luck: Array | float = 1.0) -> Array:
    """Take the Beta with the same mean and variance, and round: for many items it differs by a count or so."""
    total = alpha + beta
    mean = alpha / total
    strength = np.maximum(n / (luck + (n - 1) / (total + 1)) - 1, TINY)
    return np.round(n * beta_quantile(mean * strength, (1 - mean) * strength, q))


def _turn(luck: Luck) -> Float[np.ndarray, "group 1"] | None:
    return None if luck is None else luck[:, None]
