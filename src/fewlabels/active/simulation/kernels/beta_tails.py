"""A threshold in the lower tail of a Beta, its exact probability, and draws from below and above it.

With it Thompson sampling leaves most groups undrawn: a group falls below its threshold with a small known probability;
otherwise the threshold bounds its gain.
"""

import math

from fewlabels.active.simulation.kernels.beta_quantiles import TINIEST, beta_cdf, guess_log_odds, solve_log_odds
from fewlabels.active.simulation.kernels.jit import compiled
from fewlabels.active.simulation.kernels.random_variates import draw_beta
from fewlabels.distributions.randomness import Rng

MIN_ACCEPTANCE = 0.3  # smallest acceptance rate for a power of y as envelope
NEAR_ONE = 1.0 - 1e-9


@compiled
def place_threshold(a: float, b: float, threshold: float, max_tail: float) -> tuple[float, float]:
    """Threshold of Beta(a, b) with a probability below it of at most `max_tail`, starting from an earlier one (0: none).

    Returned with this probability; (0, 0) if there is no fast draw from the tail.
    """
    if threshold > 0.0:
        chance = beta_cdf(a, b, threshold)
        if max_tail / 8.0 <= chance <= max_tail and can_draw_tail(a, b, threshold):
            return threshold, chance
        guess = math.log(threshold) - math.log1p(-threshold)
    else:
        guess = guess_log_odds(a, b, max_tail / 2.0)
    threshold = 1.0 / (1.0 + math.exp(-solve_log_odds(a, b, max_tail / 2.0, guess, 0.01)))
    chance = beta_cdf(a, b, threshold)
    if chance <= max_tail and can_draw_tail(a, b, threshold):
        return threshold, chance
    return 0.0, 0.0


@compiled
def can_draw_tail(a: float, b: float, threshold: float) -> bool:
    """Does one of the two envelopes of `draw_tail` fit the lower tail of the Beta?"""
    if not TINIEST < threshold < NEAR_ONE:
        return False
    if fits_power(a, b, threshold):
        return True
    log_density_slope = (a - 1.0) / threshold - (b - 1.0) / (1.0 - threshold)
    return log_density_slope > 0.0 and (a - 1.0) / threshold**2 + (b - 1.0) / (1.0 - threshold) ** 2 >= 0.0


@compiled
def fits_power(a: float, b: float, threshold: float) -> bool:
    """Is (1 − y)^(b−1) nearly constant in the tail of Beta(a, b)? If it increases, where y^(a−1) has most mass."""
    if b < 1.0:
        return (1.0 - b) * math.log1p(threshold / (max(a, 1.0) * (1.0 - threshold))) < -math.log(MIN_ACCEPTANCE)
    return (b - 1.0) * -math.log1p(-threshold) < -math.log(MIN_ACCEPTANCE)


@compiled
def draw_tail(rng: Rng, a: float, b: float, threshold: float) -> float:
    """Draw from the lower tail of Beta(a, b), below the threshold, by rejection.

    Proposals are from the power y^(a−1), or from the exponential tangent to the density at the threshold.
    """
    if fits_power(a, b, threshold):
        most = max(0.0, (b - 1.0) * math.log1p(-threshold))
        while True:
            y = threshold * math.exp(-rng.standard_exponential() / a)
            if -rng.standard_exponential() <= (b - 1.0) * math.log1p(-y) - most:
                return y
    log_density_slope = (a - 1.0) / threshold - (b - 1.0) / (1.0 - threshold)
    while True:
        step = rng.standard_exponential() / log_density_slope
        y = threshold - step
        if y > 0.0:
            log_ratio = (a - 1.0) * math.log(y / threshold) + (b - 1.0) * math.log((1.0 - y) / (1.0 - threshold))
            if -rng.standard_exponential() <= log_ratio + log_density_slope * step:
                return y


@compiled
def draw_above_threshold(rng: Rng, a: float, b: float, threshold: float) -> float:
    """Draw from Beta(a, b) without its lower tail, at or above the threshold, by rejection."""
    while True:
        y = draw_beta(rng, a, b)
        if y >= threshold:
            return y
