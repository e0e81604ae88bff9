"""A smooth density of draws, for plots: a fine histogram, smoothed by a normal kernel."""

import numpy as np
from jaxtyping import Float

N_POINTS = 256
KERNEL = 0.9  # bandwidth in standard deviations, times the number of draws to the power of -1/5 (Silverman)

Line = Float[np.ndarray, " point"]


def estimate_density(draws: Float[np.ndarray, " draw"]) -> tuple[Line, Line] | None:
    """Return points and the smooth density of draws there; None if all draws are equal.

    >>> points, density = estimate_density(np.random.default_rng(0).normal(size=10_000))
    >>> bool(abs(density.max() - 0.399) < 0.02)
    True
    """
    first, last = float(draws.min()), float(draws.max())
    if last - first < 1e-12:
        return None
    height, edges = np.histogram(draws, bins=N_POINTS, range=(first, last), density=True)
    return (edges[1:] + edges[:-1]) / 2, smooth_density(height, draws.std() / (edges[1] - edges[0]), len(draws))


def smooth_density(height: Line, deviation: float, n_draws: int) -> Line:
    """Smooth a histogram by a normal kernel; `deviation` is the standard deviation of the draws, in bins."""
    bandwidth = max(KERNEL * deviation * n_draws**-0.2, 1.0)  # in bins
    reach = np.arange(-int(4 * bandwidth), int(4 * bandwidth) + 1)
    weight = np.exp(-0.5 * (reach / bandwidth) ** 2)
    padded = np.pad(height, int(4 * bandwidth))
    return np.convolve(padded, weight / weight.sum(), mode="valid")
