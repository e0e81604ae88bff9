"""Credible intervals for the share of right outcomes in a finite pool: known labels plus a beta-binomial rest.

Compiled equivalent of `fewlabels.distributions.finite_pool.FinitePoolBeta.interval`.
"""

import numpy as np

from fewlabels.active.simulation.kernels.beta_quantiles import beta_quantile
from fewlabels.active.simulation.kernels.item_queue import Floats, Ints
from fewlabels.active.simulation.kernels.jit import compiled, entry_point
from fewlabels.distributions.beta_binomial import EXACT_UP_TO, TIE_TOLERANCE
from fewlabels.distributions.quantiles import TINY

NEGLIGIBLE = 1e-100  # relative to the largest probability
ROUNDING = 1e-9  # of a share


@compiled
def fill_probabilities(p: Floats, alpha: float, beta: float) -> None:
    """Compiled beta-binomial probabilities of 0 … n, by ratios from the mode outwards.

    These avoid under- and overflow.
    """
    n = len(p) - 1
    start = 0.0 if alpha <= 1.0 else float(n)
    if alpha > 1.0 and beta > 1.0:
        start = (n * (alpha - 1.0) + 1.0 - beta) / (alpha + beta - 2.0)
    top = int(min(max(start, 0.0), float(n)))
    for k in range(n + 1):
        p[k] = 1.0 if k == top else 0.0
    for k in range(top, n):
        p[k + 1] = p[k] * (n - k) * (k + alpha) / ((k + 1.0) * (n - k - 1.0 + beta))
        if p[k + 1] < NEGLIGIBLE and beta >= 1.0:
            break
    for k in range(top, 0, -1):
        p[k - 1] = p[k] * k * (n - k + beta) / ((n - k + 1.0) * (k - 1.0 + alpha))
        if p[k - 1] < NEGLIGIBLE and alpha >= 1.0:
            break


@compiled
def find_discrete_quantile(p: Floats, q: float) -> int:
    """Compiled quantile of a beta-binomial: the smallest k whose cumulative probability is at least q."""
    target, total = 0.0, 0.0
    for k in range(len(p)):
        target += q * (1.0 - TINY) * p[k]
    for k in range(len(p)):
        total += p[k]
        if total >= target:
            return k
    return len(p) - 1


@compiled
def find_moment_matched_quantile(n: int, alpha: float, beta: float, q: float) -> int:
    """Compiled quantile of a beta-binomial by n times the Beta of the same mean and variance."""
    total = alpha + beta
    strength = n / (1.0 + (n - 1.0) / (total + 1.0)) - 1.0
    return round(n * beta_quantile(alpha / total * strength, beta / total * strength, q))


@compiled
def find_interval(n: int, alpha: float, beta: float, level: float) -> tuple[int, int]:
    """Compiled credible interval of a beta-binomial: the number of right outcomes among n more."""
    a, b, low, high = max(alpha, TINY), max(beta, TINY), (1.0 - level) / 2.0, (1.0 + level) / 2.0
    if n > EXACT_UP_TO:
        return find_moment_matched_quantile(n, a, b, low), find_moment_matched_quantile(n, a, b, high)
    p = np.empty(n + 1)
    fill_probabilities(p, a, b)
    return trim_interval(p, find_discrete_quantile(p, low), find_discrete_quantile(p, high), level)


@compiled
def expect_rest(n: int, alpha: float, beta: float) -> float:
    """Compiled mean of a beta-binomial: right outcomes among n more; intervals are extended to contain it."""
    a, b = max(alpha, TINY), max(beta, TINY)
    return n * a / (a + b)


@compiled
def trim_interval(p: Floats, low: int, high: int, level: float) -> tuple[int, int]:
    """Drop the less probable end of a compiled beta-binomial interval while the level is kept.

    Equal ends are dropped together or not at all.
    """
    excess = (TINY - level) * p.sum()
    for k in range(low, high + 1):
        excess += p[k]
    while low < high:
        same = abs(p[low] - p[high]) <= TIE_TOLERANCE * max(p[low], p[high])
        probability = p[low] + p[high] if same else min(p[low], p[high])
        if probability > excess:
            break
        excess -= probability
        rises = p[low] < p[high]
        if same or rises:
            low += 1
        if same or not rises:
            high -= 1
    return low, high


@entry_point
def measure_coverage(
    counts: Floats, size: Ints, right: Floats, alpha: Floats, beta: Floats, level: float
) -> tuple[Floats, Floats]:
    """Coverage by beta-binomial intervals of groups, and mean width, per checkpoint; counts (checkpoint, group, 2).

    Compares numbers of items, which may be fractional; recomputes only groups with new labels.
    """
    n_checkpoints, n_groups = counts.shape[:2]
    covered, width = np.zeros(n_groups), np.zeros(n_groups)
    coverage, mean_width = np.zeros(n_checkpoints), np.zeros(n_checkpoints)
    for i in range(n_checkpoints):
        for g in range(n_groups):
            known, n = counts[i, g, 0], counts[i, g, 1]
            if i == 0 or n != counts[i - 1, g, 1]:
                low, high = find_interval(size[g] - int(n), alpha[g] + known, beta[g] + n - known, level)
                slack, mean = ROUNDING * size[g], expect_rest(size[g] - int(n), alpha[g] + known, beta[g] + n - known)
                covered[g] = 1.0 if min(low, mean) - slack <= right[g] - known <= max(high, mean) + slack else 0.0
                width[g] = (max(float(high), mean) - min(float(low), mean)) / size[g]
            coverage[i] += covered[g]
            mean_width[i] += width[g]
    return coverage / n_groups, mean_width / n_groups
