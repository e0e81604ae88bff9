"""A threshold in the lower tail of a Beta, its exact probability, and draws from below and above it.

With it Thompson sampling leaves most groups undrawn: a group falls below its threshold with a small known probability;
otherwise the threshold bounds its gain.
"""

import math

from fewlabels.active.simulation.kernels.jit import inner
from fewlabels.active.simulation.kernels.quantiles import SMALLEST, chance_below, guess_odds, solve_odds
from fewlabels.active.simulation.kernels.variates import draw_beta
from fewlabels.distributions.belief import Rng

FLAT = 0.3  # smallest acceptance rate for a power of y as envelope
NEAR_ONE = 1.0 - 1e-9


@inner
def place_threshold(a: float, b: float, threshold: float, cap: float) -> tuple[float, float]:
    """Threshold of Beta(a, b) with a probability below it of at most `cap`, starting from an earlier one (0: none).

    Returned with this probability; (0, 0) if there is no fast draw from the tail.
    """
    if threshold > 0.0:
        chance = chance_below(a, b, threshold)
        if cap / 8.0 <= chance <= cap and can_draw_tail(a, b, threshold):
            return threshold, chance
        guess = math.log(threshold) - math.log1p(-threshold)
    else:
        guess = guess_odds(a, b, cap / 2.0)
    threshold = 1.0 / (1.0 + math.exp(-solve_odds(a, b, cap / 2.0, guess, 0.01)))
    chance = chance_below(a, b, threshold)
    if chance <= cap and can_draw_tail(a, b, threshold):
        return threshold, chance
    return 0.0, 0.0


@inner
def can_draw_tail(a: float, b: float, threshold: float) -> bool:
    """Does one of the two envelopes of `draw_tail` fit?"""
    if not SMALLEST < threshold < NEAR_ONE:
        return False
    if fits_power(a, b, threshold):
        return True
    rising = (a - 1.0) / threshold - (b - 1.0) / (1.0 - threshold)
    return rising > 0.0 and (a - 1.0) / threshold**2 + (b - 1.0) / (1.0 - threshold) ** 2 >= 0.0


@inner
def fits_power(a: float, b: float, threshold: float) -> bool:
    """Is (1 − y)^(b−1) nearly constant in the tail? If it increases, where y^(a−1) has most of its mass."""
    if b < 1.0:
        return (1.0 - b) * math.log1p(threshold / (max(a, 1.0) * (1.0 - threshold))) < -math.log(FLAT)
    return (b - 1.0) * -math.log1p(-threshold) < -math.log(FLAT)


@inner
def draw_tail(rng: Rng, a: float, b: float, threshold: float) -> float:
    """Draw from Beta(a, b) below the threshold, by rejection.

    Proposals are from the power y^(a−1), or from the exponential tangent to the density at the threshold.
    """
    if fits_power(a, b, threshold):
        most = max(0.0, (b - 1.0) * math.log1p(-threshold))
        while True:
            y = threshold * math.exp(-rng.standard_exponential() / a)
            if -rng.standard_exponential() <= (b - 1.0) * math.log1p(-y) - most:
                return y
    rising = (a - 1.0) / threshold - (b - 1.0) / (1.0 - threshold)
    while True:
        step = rng.standard_exponential() / rising
        y = threshold - step
        if y > 0.0:
            surplus = (a - 1.0) * math.log(y / threshold) + (b - 1.0) * math.log((1.0 - y) / (1.0 - threshold))
            if -rng.standard_exponential() <= surplus + rising * step:
                return y


@inner
def draw_rest(rng: Rng, a: float, b: float, threshold: float) -> float:
    """Draw from Beta(a, b) at or above the threshold, by rejection."""
    while True:
        y = draw_beta(rng, a, b)
        if y >= threshold:
            return y
