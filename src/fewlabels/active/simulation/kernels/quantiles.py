"""Distribution function and quantiles of a Beta, for compiled code, which cannot call SciPy.

The variable is the log-odds u: in it the distribution function is log-concave for all shapes, so Newton's method on its
logarithm converges from any start.
"""

import math

from fewlabels.active.simulation.kernels.jit import door, inner

SMALLEST, FINEST = 1e-300, 1e-15
FARTHEST = 700.0  # log-odds beyond which probabilities underflow


@inner
def log_beta(a: float, b: float) -> float:
    """Logarithm of the Beta function."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@inner
def fraction(a: float, b: float, x: float, tolerance: float) -> float:
    """Continued fraction of the incomplete Beta function by Lentz's method; fast for x below (a+1)/(a+b+2)."""
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > SMALLEST else SMALLEST)
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        d = 1.0 + even * d
        d = 1.0 / (d if abs(d) > SMALLEST else SMALLEST)
        c = 1.0 + even / (c if abs(c) > SMALLEST else SMALLEST)
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        d = 1.0 + odd * d
        d = 1.0 / (d if abs(d) > SMALLEST else SMALLEST)
        c = 1.0 + odd / (c if abs(c) > SMALLEST else SMALLEST)
        value *= d * c
        if abs(d * c - 1.0) < tolerance:
            break
    return value


@inner
def chance_and_rate(a: float, b: float, x: float, log_b: float, tolerance: float) -> tuple[float, float]:
    """P(θ < x), and its derivative by the log-odds of x, which is also the change by one more outcome."""
    if x <= 0.0:
        return 0.0, 0.0
    if x >= 1.0:
        return 1.0, 0.0
    rate = math.exp(a * math.log(x) + b * math.log1p(-x) - log_b)
    if x < (a + 1.0) / (a + b + 2.0):
        return rate * fraction(a, b, x, tolerance) / a, rate
    return 1.0 - rate * fraction(b, a, 1.0 - x, tolerance) / b, rate


@door
def chance_below(a: float, b: float, x: float) -> float:
    """P(θ < x) for θ ~ Beta(a, b): the regularised incomplete Beta function."""
    return chance_and_rate(a, b, x, log_beta(a, b), FINEST)[0]


@inner
def log_chance(a: float, b: float, u: float, log_b: float) -> tuple[float, float]:
    """Logarithm of P(log-odds of θ < u), and its derivative; also if the probability itself underflows."""
    left, right = math.log1p(math.exp(-u)), math.log1p(math.exp(u))
    log_rate, x = -a * left - b * right - log_b, math.exp(-left)
    if x < (a + 1.0) / (a + b + 2.0):
        value = fraction(a, b, x, FINEST) / a
        return log_rate + math.log(value), 1.0 / value
    rate = math.exp(log_rate)
    below = 1.0 - rate * fraction(b, a, math.exp(-right), FINEST) / b
    return math.log(below), rate / below


@inner
def solve_odds(a: float, b: float, p: float, u: float, tolerance: float) -> float:
    """Log-odds of the p-quantile by Newton's method, from a start u."""
    log_b, log_p = log_beta(a, b), math.log(p)
    for _ in range(100):
        value, slope = log_chance(a, b, u, log_b)
        step = (log_p - value) / max(slope, SMALLEST)
        moved = min(max(u + step, -FARTHEST), FARTHEST)
        arrived = abs(moved - u) <= tolerance * (1.0 + abs(u))
        u = moved
        if arrived:
            break
    return u


@inner
def guess_odds(a: float, b: float, p: float) -> float:
    """Starting value of the solver: normal in the log-odds, or the leading term if the lower tail is long."""
    if a < 1.0:
        return max((math.log(p) + math.log(a) + log_beta(a, b)) / a, -FARTHEST)
    t = math.sqrt(-2.0 * math.log(p))
    z = t - (2.30753 + 0.27061 * t) / (1.0 + 0.99229 * t + 0.04481 * t * t)
    return max(math.log(a / b) - z * math.sqrt(1.0 / a + 1.0 / b), -FARTHEST)


@door
def beta_quantile(a: float, b: float, p: float) -> float:
    """The x with P(θ < x) = p for θ ~ Beta(a, b)."""
    if p <= 0.0 or p >= 1.0:
        return 0.0 if p <= 0.0 else 1.0
    if p <= 0.5:
        return 1.0 / (1.0 + math.exp(-solve_odds(a, b, p, guess_odds(a, b, p), 1e-14)))
    return 1.0 / (1.0 + math.exp(solve_odds(b, a, 1.0 - p, guess_odds(b, a, 1.0 - p), 1e-14)))
