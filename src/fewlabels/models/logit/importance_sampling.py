"""Importance sampling around normal approximations, for posteriors that are far from normal.

Draws of a mixture of multivariate t distributions are weighted by the ratio of posterior to proposal density. The shape of
the weights' tail (Pareto k; Vehtari, Simpson, Gelman, Yao and Gabry, 2024) says whether their averages can be trusted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, logsumexp, softmax

DEGREES_OF_FREEDOM = 8.0  # of the proposal: heavier tails than most posteriors
N_POINTS, SEED = 512, 18
MAX_ROUNDS = 5  # of proposals, each adapted to the weights of those before
MAX_PARETO_K = 0.7  # shape of the weights' tail from which their averages converge too slowly
MIN_SAMPLE_SIZE = 50.0  # effective sample size at which a round is enough
INFLATION = 1.5  # factor of the covariance of adapted proposals
MIN_VARIANCE = 1e-6
NEGLIGIBLE = 1e-4  # weight, relative to the largest, up to which a point is dropped
Points = Float[np.ndarray, "point parameter"]
Weights = Float[np.ndarray, " point"]
Square = Float[np.ndarray, "parameter parameter"]


@dataclass(frozen=True)
class Normal:
    """A normal approximation of a part of the posterior, and the part's weight."""

    weight: float
    mean: Float[np.ndarray, " parameter"]
    covariance: Square


@dataclass(frozen=True)
class ImportanceSample:
    """Weighted points; negligible ones are dropped."""

    points: Points
    weight: Weights  # sums to one
    pareto_k: float

    @property
    def effective_size(self) -> float:
        """Kish's effective size of the importance sample."""
        return float(1 / (self.weight**2).sum())

    @property
    def is_reliable(self) -> bool:
        """Do averages over the importance sample converge, and are there enough points?"""
        return self.pareto_k <= MAX_PARETO_K and self.effective_size >= MIN_SAMPLE_SIZE

    @property
    def moments(self) -> Normal:
        """Mean and covariance of the importance sample."""
        mean = self.weight @ self.points
        away = self.points - mean
        return Normal(1.0, mean, (self.weight * away.T) @ away)


def sample(log_density: Callable[[Points], Weights], near: Sequence[Normal]) -> ImportanceSample:
    """Sample by importance around normal approximations; the proposal is adapted until the weights are reliable."""
    rng, proposals = np.random.default_rng(SEED), tuple(near)
    points, values = np.zeros((0, len(near[0].mean))), np.zeros(0)
    counts: list[tuple[tuple[Normal, ...], int]] = []
    for _ in range(MAX_ROUNDS):
        drawn = draw_points(rng, proposals, N_POINTS)
        points, values = np.concatenate([points, drawn]), np.concatenate([values, log_density(drawn)])
        counts.append((proposals, len(drawn)))
        log_ratio = values - _log_mixture(points, counts)
        found = weigh(points, log_ratio)
        if found.is_reliable:
            break
        proposals = (_adapt(points, log_ratio),)
    return found


def _adapt(points: Points, log_ratio: Weights) -> Normal:
    """Return a proposal with the moments of the importance sample, whose weights are tempered to rest on enough points."""
    found = weigh(points, log_ratio)
    while found.effective_size < min(MIN_SAMPLE_SIZE, len(points) / 4):
        log_ratio = log_ratio / 2
        found = weigh(points, log_ratio)
    moments = found.moments
    return replace(moments, covariance=INFLATION * moments.covariance + MIN_VARIANCE * np.eye(points.shape[1]))


def weigh(points: Points, log_ratio: Weights) -> ImportanceSample:
    """Normalise the importance weights, and find the shape of their tail."""
    weight = softmax(log_ratio)
    kept = weight > NEGLIGIBLE * weight.max()
    return ImportanceSample(points[kept], weight[kept] / weight[kept].sum(), estimate_pareto_k(log_ratio))


def draw_points(rng: np.random.Generator, parts: Sequence[Normal], n: int) -> Points:
    """Draw antithetic pairs for importance sampling from a mixture of t distributions, by proportion of its parts."""
    weight = np.array([part.weight for part in parts])
    n_pairs = np.maximum(1, np.round(weight / weight.sum() * n / 2)).astype(int)
    drawn = []
    for part, pairs in zip(parts, n_pairs, strict=True):
        radius = np.sqrt(rng.chisquare(DEGREES_OF_FREEDOM, (pairs, 1)) / DEGREES_OF_FREEDOM)
        away = rng.standard_normal((pairs, len(part.mean))) / radius @ np.linalg.cholesky(part.covariance).T
        drawn += [part.mean + away, part.mean - away]
    return np.concatenate(drawn)


def _log_mixture(points: Points, counts: Sequence[tuple[Sequence[Normal], int]]) -> Weights:
    """Log density of all proposals of the importance sample together, each weighted by its number of points."""
    total = sum(n for _, n in counts)
    parts = []
    for proposals, n in counts:
        whole = sum(part.weight for part in proposals)
        parts += [np.log(n / total * part.weight / whole) + _log_t(points, part) for part in proposals]
    found: Weights = logsumexp(parts, axis=0)
    return found


def _log_t(points: Points, part: Normal) -> Weights:
    """Log density of a multivariate t, a proposal of importance sampling."""
    root = np.linalg.cholesky(part.covariance)
    square = (np.linalg.solve(root, (points - part.mean).T) ** 2).sum(axis=0)
    nu, dimension = DEGREES_OF_FREEDOM, len(part.mean)
    level = gammaln((nu + dimension) / 2) - gammaln(nu / 2) - dimension / 2 * np.log(nu * np.pi)
    return level - np.log(np.diag(root)).sum() - (nu + dimension) / 2 * np.log1p(square / nu)


def estimate_pareto_k(log_ratio: Weights) -> float:
    """Shape k of the Pareto tail of the largest importance weights (Zhang and Stephens, 2009).

    >>> rng = np.random.default_rng(0)
    >>> round(estimate_pareto_k(np.log(rng.pareto(2.0, 20_000) + 1)), 1)
    0.5
    """
    ratio = np.sort(np.exp(log_ratio - log_ratio.max()))
    n_tail = int(min(0.2 * len(ratio), 3 * np.sqrt(len(ratio))))
    if n_tail < 5 or ratio[-1] <= ratio[-n_tail - 1]:
        return -np.inf if n_tail >= 5 else np.inf
    over = np.maximum(ratio[-n_tail:] - ratio[-n_tail - 1], np.finfo(float).tiny)
    n_values = 30 + int(np.sqrt(n_tail))
    middle = over[int(n_tail / 4 + 0.5) - 1]
    theta = 1 / over[-1] + (1 - np.sqrt(n_values / (np.arange(n_values) + 0.5))) / (3 * middle)
    shape = np.log1p(-theta[:, None] * over).mean(axis=1)
    likelihood = n_tail * (np.log(-theta / shape) - shape - 1)
    best = softmax(likelihood) @ theta
    found = np.log1p(-best * over).mean()
    return float((n_tail * found + 5) / (n_tail + 10))  # shrunk towards a half, as few points say little
