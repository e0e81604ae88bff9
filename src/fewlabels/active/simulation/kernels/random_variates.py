"""Random variates that NumPy's generator does not provide, or not as fast."""

import math

from fewlabels.active.simulation.kernels.jit import compiled
from fewlabels.distributions.randomness import Rng

MAX_SUMMED_EXPONENTIALS = 4  # integer shapes up to which a sum of exponentials is the fastest Gamma


@compiled
def draw_index(rng: Rng, n: int) -> int:
    """Random variate: a uniform integer in 0 … n − 1."""
    return int(rng.random() * n)


@compiled
def draw_beta(rng: Rng, a: float, b: float) -> float:
    """Random variate of Beta(a, b); in logarithms (Jöhnk) if both shapes are small and both Gammas could underflow."""
    if a == 1.0 and b == 1.0:
        return rng.random()
    if a > 1.0 or b > 1.0:
        first, second = rng.standard_gamma(a), rng.standard_gamma(b)
        return first / (first + second)
    while True:
        first, second = -rng.standard_exponential() / a, -rng.standard_exponential() / b
        largest = max(first, second)
        both = largest + math.log(math.exp(first - largest) + math.exp(second - largest))
        if both <= 0.0:
            return math.exp(first - both)


@compiled
def draw_integer_gamma(rng: Rng, shape: float) -> float:
    """Random variate of a Gamma with an integer shape."""
    if shape > MAX_SUMMED_EXPONENTIALS:
        return rng.standard_gamma(shape)
    total = 0.0
    for _ in range(int(shape)):
        total += rng.standard_exponential()
    return total
