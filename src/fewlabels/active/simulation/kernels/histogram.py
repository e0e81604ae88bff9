"""A Beta discretized into slots of equal width, for convolutions.

A draw of a slot, then of a value within it, is a draw of the Beta. After an outcome, the probability below every edge
changes by one term (DLMF 8.17.20 and 8.17.21).
"""

import math

import numpy as np

from fewlabels.active.simulation.kernels.beta_quantiles import TINIEST, TOLERANCE, cdf_and_derivative, log_beta
from fewlabels.active.simulation.kernels.item_queue import Floats
from fewlabels.active.simulation.kernels.jit import compiled, entry_point
from fewlabels.distributions.randomness import Rng

N_SLOTS = 32
WIDTH = 1.0 / N_SLOTS
EDGES = np.arange(N_SLOTS + 1) / N_SLOTS
LOG_EDGES = np.log(np.maximum(EDGES, TINIEST))


@entry_point
def discretize_betas(alpha: Floats, beta: Floats) -> Floats:
    """Make histograms of Betas: the probabilities below each edge, (beta, edge)."""
    below = np.empty((len(alpha), N_SLOTS + 1))
    for i in range(len(alpha)):
        discretize_beta(below[i], alpha[i], beta[i])
    return below


@compiled
def discretize_beta(below: Floats, a: float, b: float) -> None:
    """Make the histogram of Beta(a, b): its probabilities below each edge."""
    log_b = log_beta(a, b)
    for j in range(N_SLOTS + 1):
        below[j] = cdf_and_derivative(a, b, EDGES[j], log_b, TOLERANCE)[0]


@compiled
def add_outcome(below: Floats, a: float, b: float, right: bool) -> None:
    """Update the histogram of Beta(a, b) to that of Beta(a + 1, b) or Beta(a, b + 1)."""
    log_scale = log_beta(a, b) + math.log(a if right else b)
    for j in range(1, N_SLOTS):
        term = math.exp(a * LOG_EDGES[j] + b * LOG_EDGES[N_SLOTS - j] - log_scale)
        below[j] += -term if right else term


@compiled
def draw_within_slot(rng: Rng, a: float, b: float, slot: int) -> float:
    """Draw from Beta(a, b) within a slot of its histogram, by rejection."""
    if slot == 0:
        return draw_edge(rng, a, b)
    if slot == N_SLOTS - 1:
        return 1.0 - draw_edge(rng, b, a)
    low, high = EDGES[slot], EDGES[slot + 1]
    most = max(log_density(a, b, low), log_density(a, b, high))
    if a > 1.0 and b > 1.0:
        most = log_density(a, b, min(max((a - 1.0) / (a + b - 2.0), low), high))
    while True:
        y = low + WIDTH * rng.random()
        if -rng.standard_exponential() <= log_density(a, b, y) - most:
            return y


@compiled
def draw_edge(rng: Rng, a: float, b: float) -> float:
    """Draw from Beta(a, b) within the lowest slot of its histogram, from y^(a−1): the density may be infinite."""
    most = max(0.0, (b - 1.0) * math.log1p(-WIDTH))
    while True:
        y = WIDTH * math.exp(-rng.standard_exponential() / a)
        if -rng.standard_exponential() <= (b - 1.0) * math.log1p(-y) - most:
            return y


@compiled
def log_density(a: float, b: float, y: float) -> float:
    """Log density of Beta(a, b) up to a constant, to draw within a slot of its histogram."""
    return (a - 1.0) * math.log(y) + (b - 1.0) * math.log1p(-y)
