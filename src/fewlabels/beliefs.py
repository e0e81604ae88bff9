"""What we believe about one quantity per group: exact where exact exists (Beta, Dirichlet), samples elsewhere.

The narrow waist of the house: everything that estimates makes a Belief, everything that shows is made from one.
Values, not objects with moods: observing returns a new belief. Axes are (draw, group, outcome).
"""

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from scipy.special import betaincinv, betaln

Array = Float[np.ndarray, "..."]
Rng = np.random.Generator
TINY = 1e-12
EXACT_UP_TO = 20_000  # unlabelled items of a group beyond which quantiles of their outcomes are approximated
BLOCK = 2_000_000  # numbers held at a time


@runtime_checkable
class Belief(Protocol):
    """What we believe about one quantity per group."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Names, along the group axis."""
        ...

    def mean(self) -> Array:
        """Expected value, (group, ...)."""
        ...

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Equal-tailed credible interval, two of (group, ...)."""
        ...

    def draw(self, rng: Rng, n: int) -> Array:
        """Joint samples, (draw, group, ...)."""
        ...


@runtime_checkable
class Conjugate(Belief, Protocol):
    """A belief that counts can be added to."""

    def variance(self) -> Array:
        """Variance, (group, ...)."""
        ...

    def observe(self, counts: Float[np.ndarray, "group outcome"]) -> "Conjugate":
        """Return the belief after seeing these outcomes."""
        ...

    def imagine(self, outcome: int) -> "Conjugate":
        """Return the belief had every group shown this outcome once more."""
        ...

    def strength(self) -> Float[np.ndarray, " group"]:
        """How many outcomes it is worth."""
        ...


@dataclass(frozen=True)
class Beta:
    """A probability of being right per group; outcome 0 is right, outcome 1 wrong.

    >>> Beta(("a",), np.array([1.0]), np.array([1.0])).observe(np.array([[3.0, 1.0]])).mean()
    array([0.66666667])
    """

    groups: tuple[str, ...]
    alpha: Float[np.ndarray, " group"]
    beta: Float[np.ndarray, " group"]

    def mean(self) -> Float[np.ndarray, " group"]:
        """α / (α + β)."""
        return self.alpha / (self.alpha + self.beta)

    def variance(self) -> Float[np.ndarray, " group"]:
        """αβ / ((α + β)² (α + β + 1))."""
        total = self.alpha + self.beta
        return self.alpha * self.beta / (total**2 * (total + 1))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Quantiles, exact."""
        return _beta_interval(self.alpha, self.beta, level)

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        """Independent over groups; certain where a parameter vanishes."""
        drawn = rng.beta(np.maximum(self.alpha, TINY), np.maximum(self.beta, TINY), size=(n, len(self.groups)))
        return np.where(self.alpha <= 0, 0.0, np.where(self.beta <= 0, 1.0, drawn))

    def observe(self, counts: Float[np.ndarray, "group 2"]) -> "Beta":
        """Add right and wrong outcomes."""
        return replace(self, alpha=self.alpha + counts[:, 0], beta=self.beta + counts[:, 1])

    def imagine(self, outcome: int) -> "Beta":
        """One more right (0) or wrong (1) outcome in every group."""
        return self.observe(np.tile(np.eye(2)[outcome], (len(self.groups), 1)))

    def strength(self) -> Float[np.ndarray, " group"]:
        """α + β."""
        return self.alpha + self.beta


@dataclass(frozen=True)
class Dirichlet:
    """A distribution over outcomes (true classes) per group."""

    groups: tuple[str, ...]
    alpha: Float[np.ndarray, "group outcome"]

    def mean(self) -> Float[np.ndarray, "group outcome"]:
        """α_j / Σ α."""
        return self.alpha / self.alpha.sum(axis=1, keepdims=True)

    def variance(self) -> Float[np.ndarray, "group outcome"]:
        """Of each share."""
        total = self.alpha.sum(axis=1, keepdims=True)
        mean = self.alpha / total
        return mean * (1 - mean) / (total + 1)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Of each share: its marginal is a Beta."""
        return _beta_interval(self.alpha, self.alpha.sum(axis=1, keepdims=True) - self.alpha, level)

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group outcome"]:
        """Normalised Gammas; where all of them underflow, the limit: one outcome takes everything."""
        gammas = rng.standard_gamma(self.alpha, size=(n, *self.alpha.shape))
        total = gammas.sum(axis=2, keepdims=True)
        for i, g in zip(*np.nonzero(total[:, :, 0] < 1e-290), strict=True):
            gammas[i, g] = rng.multinomial(1, self.alpha[g] / self.alpha[g].sum())
            total[i, g] = 1.0
        return gammas / total

    def observe(self, counts: Float[np.ndarray, "group outcome"]) -> "Dirichlet":
        """Add counts of outcomes."""
        return replace(self, alpha=self.alpha + counts)

    def imagine(self, outcome: int) -> "Dirichlet":
        """One more of this outcome in every group."""
        return self.observe(np.tile(np.eye(self.alpha.shape[1])[outcome], (len(self.groups), 1)))

    def strength(self) -> Float[np.ndarray, " group"]:
        """Σ α."""
        return self.alpha.sum(axis=1)

    def marginal(self, outcome: Int[np.ndarray, " group"]) -> Beta:
        """Belief about the share of one outcome per group."""
        alpha = np.take_along_axis(self.alpha, outcome[:, None], axis=1)[:, 0]
        return Beta(self.groups, alpha, self.alpha.sum(axis=1) - alpha)


@dataclass(frozen=True)
class Draws:
    """Samples of a quantity per group."""

    groups: tuple[str, ...]
    samples: Float[np.ndarray, "draw group"]

    def mean(self) -> Float[np.ndarray, " group"]:
        """Average over draws."""
        return self.samples.mean(axis=0)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Quantiles of the draws."""
        low, high = np.quantile(self.samples, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        """Draws of the draws, groups kept together."""
        return self.samples[rng.integers(len(self.samples), size=n)]


@dataclass(frozen=True)
class Finite:
    """The share of right outcomes among exactly these items: what is labelled is known, the rest is predicted.

    With every item labelled it is a point.
    """

    belief: Beta
    known: Float[np.ndarray, "group 2"]
    rest: Int[np.ndarray, " group"]

    @property
    def groups(self) -> tuple[str, ...]:
        """Names, along the group axis."""
        return self.belief.groups

    def mean(self) -> Float[np.ndarray, " group"]:
        """(known + rest · E θ) / size."""
        return (self.known[:, 0] + self.rest * self.belief.mean()) / self._size()

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Quantiles of known + beta-binomial, exact up to EXACT_UP_TO unlabelled items."""
        tails = ((1 - level) / 2, (1 + level) / 2)
        low, high = (beta_binomial_quantile(self.rest, self.belief.alpha, self.belief.beta, tail) for tail in tails)
        return (self.known[:, 0] + low) / self._size(), (self.known[:, 0] + high) / self._size()

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        """Draw θ, then the outcomes of the rest."""
        return (self.known[:, 0] + rng.binomial(self.rest, self.belief.draw(rng, n))) / self._size()

    def _size(self) -> Float[np.ndarray, " group"]:
        return self.known.sum(axis=1) + self.rest


@dataclass(frozen=True)
class FiniteShares:
    """The shares of each outcome among exactly these items."""

    belief: Dirichlet
    known: Float[np.ndarray, "group outcome"]
    rest: Int[np.ndarray, " group"]

    @property
    def groups(self) -> tuple[str, ...]:
        """Names, along the group axis."""
        return self.belief.groups

    def mean(self) -> Float[np.ndarray, "group outcome"]:
        """(known + rest · E θ) / size."""
        return (self.known + self.rest[:, None] * self.belief.mean()) / self._size()

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Of each share: known + beta-binomial."""
        alpha = self.belief.alpha
        beta = alpha.sum(axis=1, keepdims=True) - alpha
        rest = np.broadcast_to(self.rest[:, None], alpha.shape)
        tails = ((1 - level) / 2, (1 + level) / 2)
        low, high = (beta_binomial_quantile(rest, alpha, beta, tail) for tail in tails)
        return (self.known + low) / self._size(), (self.known + high) / self._size()

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group outcome"]:
        """Draw θ, then the outcomes of the rest."""
        theta = self.belief.draw(rng, n)
        return (self.known + rng.multinomial(self.rest, theta)) / self._size()

    def marginal(self, outcome: Int[np.ndarray, " group"]) -> Finite:
        """Belief about the share of one outcome per group."""
        known = np.take_along_axis(self.known, outcome[:, None], axis=1)[:, 0]
        return Finite(
            self.belief.marginal(outcome),
            np.stack([known, self.known.sum(axis=1) - known], axis=1),
            self.rest,
        )

    def _size(self) -> Float[np.ndarray, "group 1"]:
        return (self.known.sum(axis=1) + self.rest)[:, None]


def restrict(
    belief: Conjugate, counts: Float[np.ndarray, "group outcome"], rest: Int[np.ndarray, " group"]
) -> Finite | FiniteShares:
    """Narrow a belief down to exactly these items: the counted ones are known, the rest follows the belief."""
    if isinstance(belief, Beta):
        return Finite(belief, counts, rest)
    assert isinstance(belief, Dirichlet)
    return FiniteShares(belief, counts, rest)


def beta_binomial_quantile(
    n: Int[np.ndarray, "*shape"], alpha: Float[np.ndarray, "*shape"], beta: Float[np.ndarray, "*shape"], q: float
) -> Float[np.ndarray, "*shape"]:
    """Return the smallest k whose cumulative probability among n reaches q, element by element."""
    size, a, b = n.reshape(-1), alpha.reshape(-1), beta.reshape(-1)
    out = np.empty(len(size))
    large = size > EXACT_UP_TO
    out[large] = _matched_quantile(size[large].astype(np.float64), a[large], b[large], q)
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


def _matched_quantile(n: Array, alpha: Array, beta: Array, q: float) -> Array:
    """Take the Beta with the same mean and variance: for many items it differs by a count or so."""
    total = alpha + beta
    mean = alpha / total
    strength = n / (1 + (n - 1) / (total + 1)) - 1
    return np.round(n * _beta_quantile(mean * strength, (1 - mean) * strength, q))


def _beta_interval(alpha: Array, beta: Array, level: float) -> tuple[Array, Array]:
    return _beta_quantile(alpha, beta, (1 - level) / 2), _beta_quantile(alpha, beta, (1 + level) / 2)


def _beta_quantile(alpha: Array, beta: Array, q: float) -> Array:
    """Quantile of a Beta, with its limits 0 and 1 where a parameter vanishes."""
    inner = betaincinv(np.where(alpha > 0, alpha, 1.0), np.where(beta > 0, beta, 1.0), q)
    return np.where(alpha <= 0, 0.0, np.where(beta <= 0, 1.0, inner))
