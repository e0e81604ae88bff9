"""Distribution function and quantiles of a Beta, for compiled code, which cannot call SciPy.

The variable is the log-odds u: in it the distribution function is log-concave for all shapes, so Newton's method on its
logarithm converges from any start.
"""

import math

from fewlabels.active.simulation.kernels.jit import compiled, entry_point

TINIEST, TOLERANCE = 1e-300, 1e-15
MAX_LOG_ODDS = 700.0  # log-odds beyond which probabilities underflow


@compiled
def log_beta(a: float, b: float) -> float:
    """Logarithm of the Beta function, for compiled quantiles."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@compiled
def continued_fraction(a: float, b: float, x: float, tolerance: float) -> float:
    """Compiled continued fraction of a Beta's distribution function, by Lentz's method; fast below (a+1)/(a+b+2)."""
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > TINIEST else TINIEST)
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        d = 1.0 + even * d
        d = 1.0 / (d if abs(d) > TINIEST else TINIEST)
        c = 1.0 + even / (c if abs(c) > TINIEST else TINIEST)
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        d = 1.0 + odd * d
        d = 1.0 / (d if abs(d) > TINIEST else TINIEST)
        c = 1.0 + odd / (c if abs(c) > TINIEST else TINIEST)
        value *= d * c
        if abs(d * c - 1.0) < tolerance:
            break
    return value


@compiled
def cdf_and_derivative(a: float, b: float, x: float, log_b: float, tolerance: float) -> tuple[float, float]:
    """P(θ < x) of a Beta and its derivative by the log-odds of x, to solve for quantiles.

    The derivative is also the change by one more outcome.
    """
    if x <= 0.0:
        return 0.0, 0.0
    if x >= 1.0:
        return 1.0, 0.0
    rate = math.exp(a * math.log(x) + b * math.log1p(-x) - log_b)
    if x < (a + 1.0) / (a + b + 2.0):
        return rate * continued_fraction(a, b, x, tolerance) / a, rate
    return 1.0 - rate * continued_fraction(b, a, 1.0 - x, tolerance) / b, rate


@entry_point
def beta_cdf(a: float, b: float, x: float) -> float:
    """Compiled P(θ < x) for θ ~ Beta(a, b), which quantiles invert: the regularised incomplete Beta function."""
    return cdf_and_derivative(a, b, x, log_beta(a, b), TOLERANCE)[0]


@compiled
def log_cdf_and_slope(a: float, b: float, u: float, log_b: float) -> tuple[float, float]:
    """Logarithm of P(log-odds of θ < u) and its derivative, to solve for quantiles.

    Also if the probability itself underflows.
    """
    left, right = math.log1p(math.exp(-u)), math.log1p(math.exp(u))
    log_rate, x = -a * left - b * right - log_b, math.exp(-left)
    if x < (a + 1.0) / (a + b + 2.0):
        value = continued_fraction(a, b, x, TOLERANCE) / a
        return log_rate + math.log(value), 1.0 / value
    rate = math.exp(log_rate)
    below = 1.0 - rate * continued_fraction(b, a, math.exp(-right), TOLERANCE) / b
    return math.log(below), rate / below


@compiled
def solve_log_odds(a: float, b: float, p: float, u: float, tolerance: float) -> float:
    """Compiled log-odds of the p-quantile of a Beta by Newton's method, from a start u."""
    log_b, log_p = log_beta(a, b), math.log(p)
    for _ in range(100):
        value, slope = log_cdf_and_slope(a, b, u, log_b)
        step = (log_p - value) / max(slope, TINIEST)
        moved = min(max(u + step, -MAX_LOG_ODDS), MAX_LOG_ODDS)
        converged = abs(moved - u) <= tolerance * (1.0 + abs(u))
        u = moved
        if converged:
            break
    return u


@compiled
def guess_log_odds(a: float, b: float, p: float) -> float:
    """Compiled first guess of a Beta's quantile: normal in the log-odds, or the leading term of a long tail."""
    if a < 1.0:
        return max((math.log(p) + math.log(a) + log_beta(a, b)) / a, -MAX_LOG_ODDS)
    t = math.sqrt(-2.0 * math.log(p))
    z = t - (2.30753 + 0.27061 * t) / (1.0 + 0.99229 * t + 0.04481 * t * t)
    return max(math.log(a / b) - z * math.sqrt(1.0 / a + 1.0 / b), -MAX_LOG_ODDS)


@entry_point
def beta_quantile(a: float, b: float, p: float) -> float:
    """Compiled quantile of a Beta: the x with P(θ < x) = p for θ ~ Beta(a, b)."""
    if p <= 0.0 or p >= 1.0:
        return 0.0 if p <= 0.0 else 1.0
    if p <= 0.5:
        return 1.0 / (1.0 + math.exp(-solve_log_odds(a, b, p, guess_log_odds(a, b, p), 1e-14)))
    return 1.0 / (1.0 + math.exp(solve_log_odds(b, a, 1.0 - p, guess_log_odds(b, a, 1.0 - p), 1e-14)))
