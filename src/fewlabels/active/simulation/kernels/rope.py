"""Probabilities that one Beta is below, within or above another by a margin, now and after one more label.

One quadrature over the density of the narrower Beta, in its log-odds, against the distribution function of the wider.
One more outcome multiplies a density by θ or 1 − θ, and adds one term to a distribution function, so the same pass
gives the probabilities after each of the four possible labels.
"""

import math
from typing import NamedTuple

import numpy as np

from fewlabels.active.simulation.kernels.beta_quantiles import cdf_and_derivative, log_beta
from fewlabels.active.simulation.kernels.item_queue import Floats
from fewlabels.active.simulation.kernels.jit import compiled, entry_point

N_NODES = 16
NODES, WEIGHTS = np.polynomial.legendre.leggauss(N_NODES)
TOLERANCE = 1e-7
LOG_DROP = 13.0  # a density below e^-13 of its mode is negligible
SMOOTH = 2.0  # shape from which a distribution function is smooth at its ends
WIDTH = 5.5  # of a panel, in standard deviations of the log-odds, and in log-odds
MAX_LOG_ODDS = 36.0  # log-odds beyond which a probability is 0 or 1
NOW, A_RIGHT, A_WRONG, B_RIGHT, B_WRONG = range(5)


class Shapes(NamedTuple):
    """Shape parameters of two Betas."""

    a_right: float
    a_wrong: float
    b_right: float
    b_wrong: float


@compiled
def softplus(u: float) -> float:
    """log(1 + e^u), for the densities that ROPE probabilities integrate."""
    return u + math.log1p(math.exp(-u)) if u > 0.0 else math.log1p(math.exp(u))


@compiled
def find_lower_end(alpha: float, beta: float) -> float:
    """Log-odds at which ROPE integrals start: a Beta has negligible mass below.

    By Newton's method on a concave function, from the left.
    """
    peak = math.log(alpha / beta)
    target = alpha * peak - (alpha + beta) * softplus(peak) - LOG_DROP
    u = target / alpha
    for _ in range(20):
        value = alpha * u - (alpha + beta) * softplus(u) - target
        step = -value / (alpha - (alpha + beta) / (1.0 + math.exp(-u)))
        u += step
        if step < 0.05:
            break
    return max(u, -MAX_LOG_ODDS)


@compiled
def variance(alpha: float, beta: float) -> float:
    """Variance of a Beta, for ROPE probabilities: they are integrated over the narrower of two."""
    return alpha * beta / ((alpha + beta) ** 2 * (alpha + beta + 1.0))


@compiled
def add_node(table: Floats, shapes: Shapes, log_b: float, t: float, mass: float, margin: float) -> None:
    """Add a node of the narrower Beta to the ROPE probabilities of a − b, now and after each label."""
    mean_a = shapes.a_right / (shapes.a_right + shapes.a_wrong)
    for side in range(2):
        at = t + margin if side == 0 else t - margin
        below, rate = cdf_and_derivative(shapes.b_right, shapes.b_wrong, at, log_b, TOLERANCE)
        right, wrong = below - rate / shapes.b_right, below + rate / shapes.b_wrong
        if side == 0:
            below, right, wrong = 1.0 - below, 1.0 - right, 1.0 - wrong
        table[NOW, side] += mass * below
        table[A_RIGHT, side] += mass * below * t / mean_a
        table[A_WRONG, side] += mass * below * (1.0 - t) / (1.0 - mean_a)
        table[B_RIGHT, side] += mass * right
        table[B_WRONG, side] += mass * wrong


@compiled
def add_panel(table: Floats, shapes: Shapes, low: float, high: float, margin: float, clusters_nodes: bool) -> None:
    """Integrate ROPE probabilities between two log-odds of the narrower Beta; nodes are clustered near kinks."""
    log_a, log_b = log_beta(shapes.a_right, shapes.a_wrong), log_beta(shapes.b_right, shapes.b_wrong)
    for i in range(N_NODES):
        s = 0.5 * (NODES[i] + 1.0)
        weight = 0.5 * WEIGHTS[i] * (high - low)
        if clusters_nodes:
            weight *= 6.0 * s * (1.0 - s)
            s = s * s * (3.0 - 2.0 * s)
        u = low + (high - low) * s
        mass = math.exp(shapes.a_right * u - (shapes.a_right + shapes.a_wrong) * softplus(u) - log_a)
        add_node(table, shapes, log_b, 1.0 / (1.0 + math.exp(-u)), mass * weight, margin)


@compiled
def add_ends(table: Floats, shapes: Shapes, margin: float) -> None:
    """Add the mass at 0 and 1 to ROPE probabilities, which is large for very small shapes."""
    log_b = log_beta(shapes.b_right, shapes.b_wrong)
    for end in range(2):
        one, other = (shapes.a_right, shapes.a_wrong) if end == 0 else (shapes.a_wrong, shapes.a_right)
        mass = math.exp(-one * MAX_LOG_ODDS - log_beta(one, other)) / one
        if mass > 1e-12:
            add_node(table, shapes, log_b, float(end), mass, margin)


@compiled
def integrate_between_kinks(
    table: Floats, shapes: Shapes, low: float, high: float, margin: float, clusters_nodes: bool
) -> None:
    """Integrate ROPE probabilities between two kinks, with panels scaled to the width of the density."""
    scale = math.sqrt(1.0 / shapes.a_right + 1.0 / shapes.a_wrong)
    n = 1 + int((high - low) / min(WIDTH * scale, WIDTH))
    for i in range(n):
        start, end = low + i * (high - low) / n, low + (i + 1) * (high - low) / n
        add_panel(table, shapes, start, end, margin, clusters_nodes)


@compiled
def integrate(table: Floats, shapes: Shapes, margin: float) -> None:
    """Fill `table` of ROPE probabilities if a is the narrower; split at the kinks of the other's distribution."""
    table[:] = 0.0
    low, high = find_lower_end(shapes.a_right, shapes.a_wrong), -find_lower_end(shapes.a_wrong, shapes.a_right)
    kink = math.log(margin / (1.0 - margin)) if margin > 0.0 else -np.inf
    clusters_nodes = min(shapes.b_right, shapes.b_wrong) < SMOOTH and (low < kink < high or low < -kink < high)
    for edge in (min(kink, -kink), max(kink, -kink)):
        if low < edge < high:
            integrate_between_kinks(table, shapes, low, edge, margin, clusters_nodes)
            low = edge
    integrate_between_kinks(table, shapes, low, high, margin, clusters_nodes)
    add_ends(table, shapes, margin)


@compiled
def fill_table(table: Floats, shapes: Shapes, margin: float) -> None:
    """ROPE probabilities P(Δ < −margin) and P(Δ > margin), Δ = a − b: now, and after one more outcome of either."""
    if variance(shapes.a_right, shapes.a_wrong) <= variance(shapes.b_right, shapes.b_wrong):
        integrate(table, shapes, margin)
        return
    integrate(table, Shapes(shapes.b_right, shapes.b_wrong, shapes.a_right, shapes.a_wrong), margin)
    swapped = table.copy()
    for row in range(5):
        source = row if row == NOW else (row + 1) % 4 + 1
        table[row, 0], table[row, 1] = swapped[source, 1], swapped[source, 0]


@compiled
def likeliest_region_probability(table: Floats, row: int) -> float:
    """λ, the probability of the likeliest of the three regions: below, within and above the ROPE."""
    below, above = table[row, 0], table[row, 1]
    return max(below, 1.0 - below - above, above)


@entry_point
def region_probabilities(
    a_right: float, a_wrong: float, b_right: float, b_wrong: float, margin: float
) -> tuple[float, float]:
    """ROPE probabilities P(a − b < −margin) and P(a − b > margin); exactly equal if a and b are."""
    table = np.empty((5, 2))
    fill_table(table, Shapes(a_right, a_wrong, b_right, b_wrong), margin)
    below, above = table[NOW, 0], table[NOW, 1]
    if a_right == b_right and a_wrong == b_wrong:
        below = above = 0.5 * (below + above)
    return below, above
