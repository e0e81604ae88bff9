"""Distributions of a metric on a finite pool: labelled items are known, only unlabelled items are uncertain.

For exchangeable items the number right among the unlabelled is binomial given the accuracy. Where scores separate items
into likely and unlikely ones, its variance is smaller than the binomial's; the residual variance is the factor.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.distributions.belief import Conjugate, include_mean
from fewlabels.distributions.beta_binomial import count_interval
from fewlabels.distributions.beta_dirichlet import Beta, Dirichlet
from fewlabels.distributions.matched_counts import draw_matched_counts
from fewlabels.distributions.quantiles import Array
from fewlabels.distributions.randomness import Rng

ResidualVariance = Float[np.ndarray, " group"] | None
"""Share of an outcome's variance, 0 to 1, that remains given the item's own probability; None is 1: exchangeable items."""


@dataclass(frozen=True)
class FinitePoolBeta:
    """The share of right outcomes in a finite pool: known counts plus a beta-binomial prediction of the rest.

    With every item labelled it is a point mass.
    """

    belief: Beta
    known: Float[np.ndarray, "group 2"]
    rest: Int[np.ndarray, " group"]
    residual_variance: ResidualVariance = None

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the pool's groups, along the group axis."""
        return self.belief.groups

    def mean(self) -> Float[np.ndarray, " group"]:
        """Mean share in the finite pool: (known + rest · E θ) / size."""
        return (self.known[:, 0] + self.rest * self.belief.mean()) / self._size()

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Interval in the finite pool: known counts plus the unlabelled count's, widened to contain the mean."""
        low, high = count_interval(self.rest, self.belief.alpha, self.belief.beta, level, self.residual_variance)
        ends = (self.known[:, 0] + low) / self._size(), (self.known[:, 0] + high) / self._size()
        return include_mean(self.mean(), ends)

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        """Draw θ, then the outcomes of the rest of the pool."""
        theta = self.belief.draw(rng, n)
        return (self.known[:, 0] + draw_right(rng, self.rest, theta, self.residual_variance)) / self._size()

    def _size(self) -> Float[np.ndarray, " group"]:
        """Items of every group of the finite pool."""
        return self.known.sum(axis=1) + self.rest


@dataclass(frozen=True)
class FinitePoolDirichlet:
    """The share of each outcome in a finite pool."""

    belief: Dirichlet
    known: Float[np.ndarray, "group outcome"]
    rest: Int[np.ndarray, " group"]
    residual_variance: ResidualVariance = None

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the pool's groups, along the group axis."""
        return self.belief.groups

    def mean(self) -> Float[np.ndarray, "group outcome"]:
        """Mean shares in the finite pool: (known + rest · E θ) / size."""
        return (self.known + self.rest[:, None] * self.belief.mean()) / self._size()

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Interval of each share of the finite pool: known counts plus the interval of the unlabelled count."""
        alpha = self.belief.alpha
        beta = alpha.sum(axis=1, keepdims=True) - alpha
        rest = np.broadcast_to(self.rest[:, None], alpha.shape)
        left = None if self.residual_variance is None else np.broadcast_to(self.residual_variance[:, None], alpha.shape)
        low, high = count_interval(rest, alpha, beta, level, left)
        return include_mean(self.mean(), ((self.known + low) / self._size(), (self.known + high) / self._size()))

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group outcome"]:
        """Draw θ, then the outcomes of the rest of the pool."""
        return (
            self.known + draw_outcomes(rng, self.rest, self.belief.draw(rng, n), self.residual_variance)
        ) / self._size()

    def marginal(self, outcome: Int[np.ndarray, " group"]) -> FinitePoolBeta:
        """Return the marginal of one outcome per group."""
        known = np.take_along_axis(self.known, outcome[:, None], axis=1)[:, 0]
        return FinitePoolBeta(
            self.belief.marginal(outcome),
            np.stack([known, self.known.sum(axis=1) - known], axis=1),
            self.rest,
            self.residual_variance,
        )

    def _size(self) -> Float[np.ndarray, "group 1"]:
        """Items of every group of the finite pool."""
        return (self.known.sum(axis=1) + self.rest)[:, None]


def restrict_to_pool(
    belief: Conjugate,
    counts: Float[np.ndarray, "group outcome"],
    rest: Int[np.ndarray, " group"],
    residual_variance: ResidualVariance = None,
) -> FinitePoolBeta | FinitePoolDirichlet:
    """Restrict a belief to a finite pool: counted items are known, the rest follow the belief."""
    if isinstance(belief, Beta):
        return FinitePoolBeta(belief, counts, rest, residual_variance)
    assert isinstance(belief, Dirichlet)
    return FinitePoolDirichlet(belief, counts, rest, residual_variance)


def draw_outcomes(
    rng: Rng,
    rest: Int[np.ndarray, " group"],
    theta: Float[np.ndarray, "draw group outcome"],
    residual_variance: ResidualVariance,
) -> Int[np.ndarray, "draw group outcome"]:
    """Draw how many unlabelled items of a finite pool have each outcome: whole numbers, 0 among them.

    Where items differ, the residual share of the items is multinomial, and the others are allotted in proportion
    (systematic sampling), so that variances are the residual share of the multinomial's, up to rounding.

    >>> drawn = draw_outcomes(np.random.default_rng(0), np.array([1000]), np.full((5000, 1, 2), 0.5), np.array([0.4]))
    >>> drawn.sum(axis=2).min(), round(float(drawn.var(axis=0)[0, 0]) / 100)
    (np.int64(1000), 1)
    """
    if residual_variance is None:
        return rng.multinomial(rest, theta)
    n_open = np.floor(rest * residual_variance + rng.random(theta.shape[:2])).astype(np.int64)
    allotted = np.cumsum(theta, axis=2) * (rest - n_open)[:, :, None]
    allotted[:, :, -1] = rest - n_open  # the sum, without rounding
    steps = np.floor(allotted + rng.random(theta.shape[:2])[:, :, None]).astype(np.int64)
    return rng.multinomial(n_open, theta) + np.diff(steps, axis=2, prepend=0)


def draw_right(
    rng: Rng,
    rest: Int[np.ndarray, " group"],
    accuracy: Float[np.ndarray, "draw group"],
    residual_variance: ResidualVariance,
) -> Float[np.ndarray, "draw group"]:
    """Draw how many of the unlabelled items of a finite pool are right, given their mean accuracy.

    Where items differ, the variance is the residual share of the binomial's. The rarer outcome is drawn, so that all right
    and all wrong stay possible.

    >>> rng = np.random.default_rng(0)
    >>> n = draw_right(rng, np.array([10]), np.full((100_000, 1), 0.2), np.array([0.5]))
    >>> round(float(n.mean()), 1), round(float(n.var()), 1), float(n.min())
    (2.0, 0.8, 0.0)
    """
    if residual_variance is None:
        return rng.binomial(rest, accuracy).astype(np.float64)
    rare = np.minimum(accuracy, 1 - accuracy)
    drawn = draw_matched_counts(rng, rest * rare, residual_variance * (rest * rare * (1 - rare)))
    return np.where(accuracy > rare, rest - drawn, drawn).astype(np.float64)
