"""Chances that one Beta lies below, within, or above another by more than a margin, now and after one more label.

One pass over the density of the narrower of the two, in its log-odds, against the distribution function of the wider.
One more outcome multiplies a density by its chance, and adds a term of the same series to a distribution function: so
all four imagined labels come out of the same pass.
"""

import math
from typing import NamedTuple

import numpy as np

from fewlabels.active.simulation.kernels.jit import door, inner
from fewlabels.active.simulation.kernels.quantiles import chance_and_rate, log_beta
from fewlabels.active.simulation.kernels.queue import Floats

N_NODES = 16
NODES, WEIGHTS = np.polynomial.legendre.leggauss(N_NODES)
FINE = 1e-7
DROP = 13.0  # a density e^-13 of its peak is nothing
SMOOTH = 2.0  # shape from which the end of a distribution function can be integrated over as it is
WIDTH = 5.5  # of a panel, in standard deviations of the log-odds, and in log-odds
FARTHEST = 36.0  # log-odds beyond which a chance is 0 or 1
NOW, A_RIGHT, A_WRONG, B_RIGHT, B_WRONG = range(5)


class Shapes(NamedTuple):
    """Two Betas."""

    a_right: float
    a_wrong: float
    b_right: float
    b_wrong: float


@inner
def softplus(u: float) -> float:
    """log(1 + e^u)."""
    return u + math.log1p(math.exp(-u)) if u > 0.0 else math.log1p(math.exp(u))


@inner
def find_end(alpha: float, beta: float) -> float:
    """Log-odds to the left of which a Beta has no mass to speak of; Newton on a concave function, from outside."""
    peak = math.log(alpha / beta)
    target = alpha * peak - (alpha + beta) * softplus(peak) - DROP
    u = target / alpha
    for _ in range(20):
        value = alpha * u - (alpha + beta) * softplus(u) - target
        step = -value / (alpha - (alpha + beta) / (1.0 + math.exp(-u)))
        u += step
        if step < 0.05:
            break
    return max(u, -FARTHEST)


@inner
def variance(alpha: float, beta: float) -> float:
    """Of a Beta."""
    return alpha * beta / ((alpha + beta) ** 2 * (alpha + beta + 1.0))


@inner
def add_node(table: Floats, shapes: Shapes, log_b: float, t: float, mass: float, margin: float) -> None:
    """Add what a point of the narrower (a) says about P(a − b < −margin) and P(a − b > margin), five times."""
    mean_a = shapes.a_right / (shapes.a_right + shapes.a_wrong)
    for side in range(2):
        at = t + margin if side == 0 else t - margin
        below, rate = chance_and_rate(shapes.b_right, shapes.b_wrong, at, log_b, FINE)
        right, wrong = below - rate / shapes.b_right, below + rate / shapes.b_wrong
        if side == 0:
            below, right, wrong = 1.0 - below, 1.0 - right, 1.0 - wrong
        table[NOW, side] += mass * below
        table[A_RIGHT, side] += mass * below * t / mean_a
        table[A_WRONG, side] += mass * below * (1.0 - t) / (1.0 - mean_a)
        table[B_RIGHT, side] += mass * right
        table[B_WRONG, side] += mass * wrong


@inner
def add_panel(table: Floats, shapes: Shapes, low: float, high: float, margin: float, crowded: bool) -> None:
    """Integrate between two log-odds of the narrower, with the points crowded at the ends where a kink is there."""
    log_a, log_b = log_beta(shapes.a_right, shapes.a_wrong), log_beta(shapes.b_right, shapes.b_wrong)
    for i in range(N_NODES):
        s = 0.5 * (NODES[i] + 1.0)
        weight = 0.5 * WEIGHTS[i] * (high - low)
        if crowded:
            weight *= 6.0 * s * (1.0 - s)
            s = s * s * (3.0 - 2.0 * s)
        u = low + (high - low) * s
        mass = math.exp(shapes.a_right * u - (shapes.a_right + shapes.a_wrong) * softplus(u) - log_a)
        add_node(table, shapes, log_b, 1.0 / (1.0 + math.exp(-u)), mass * weight, margin)


@inner
def add_ends(table: Floats, shapes: Shapes, margin: float) -> None:
    """Where hardly any outcome was seen, much of the mass sits at 0 and 1 themselves."""
    log_b = log_beta(shapes.b_right, shapes.b_wrong)
    for end in range(2):
        one, other = (shapes.a_right, shapes.a_wrong) if end == 0 else (shapes.a_wrong, shapes.a_right)
        mass = math.exp(-one * FARTHEST - log_beta(one, other)) / one
        if mass > 1e-12:
            add_node(table, shapes, log_b, float(end), mass, margin)


@inner
def add_stretch(table: Floats, shapes: Shapes, low: float, high: float, margin: float, crowded: bool) -> None:
    """Integrate between two kinks, in as many panels as the density has turns."""
    scale = math.sqrt(1.0 / shapes.a_right + 1.0 / shapes.a_wrong)
    n = 1 + int((high - low) / min(WIDTH * scale, WIDTH))
    for i in range(n):
        start, end = low + i * (high - low) / n, low + (i + 1) * (high - low) / n
        add_panel(table, shapes, start, end, margin, crowded)


@inner
def integrate(table: Floats, shapes: Shapes, margin: float) -> None:
    """Fill `table` for a the narrower; stretches meet where the other's distribution function has its ends."""
    table[:] = 0.0
    low, high = find_end(shapes.a_right, shapes.a_wrong), -find_end(shapes.a_wrong, shapes.a_right)
    kink = math.log(margin / (1.0 - margin)) if margin > 0.0 else -np.inf
    crowded = min(shapes.b_right, shapes.b_wrong) < SMOOTH and (low < kink < high or low < -kink < high)
    for edge in (min(kink, -kink), max(kink, -kink)):
        if low < edge < high:
            add_stretch(table, shapes, low, edge, margin, crowded)
            low = edge
    add_stretch(table, shapes, low, high, margin, crowded)
    add_ends(table, shapes, margin)


@inner
def fill_table(table: Floats, shapes: Shapes, margin: float) -> None:
    """P(Δ < −margin) and P(Δ > margin), Δ = a − b: now, and after one more outcome of either."""
    if variance(shapes.a_right, shapes.a_wrong) <= variance(shapes.b_right, shapes.b_wrong):
        integrate(table, shapes, margin)
        return
    integrate(table, Shapes(shapes.b_right, shapes.b_wrong, shapes.a_right, shapes.a_wrong), margin)
    swapped = table.copy()
    for row in range(5):
        source = row if row == NOW else (row + 1) % 4 + 1
        table[row, 0], table[row, 1] = swapped[source, 1], swapped[source, 0]


@inner
def surest(table: Floats, row: int) -> float:
    """λ, the chance of the likeliest of the three regions."""
    below, above = table[row, 0], table[row, 1]
    return max(below, 1.0 - below - above, above)


@door
def weigh_regions(a_right: float, a_wrong: float, b_right: float, b_wrong: float, margin: float) -> tuple[float, float]:
    """P(a − b < −margin) and P(a − b > margin); exactly the same where a and b are."""
    table = np.empty((5, 2))
    fill_table(table, Shapes(a_right, a_wrong, b_right, b_wrong), margin)
    below, above = table[NOW, 0], table[NOW, 1]
    if a_right == b_right and a_wrong == b_wrong:
        below = above = 0.5 * (below + above)
    return below, above
