"""From which label on is a measure good enough? Twice: where it first is, and from where on it stays so.

The paper takes the first logged step at which the mean over runs passes 0.99, or in its code 99 % of the most that the
mean ever is, if that is less; a mean that rises and falls again passes it earlier than it stays above it.
"""

from collections.abc import Callable

import numpy as np

from experiments.replays import Curve, Floats, Ints

TARGET = 0.99
RESAMPLES = 200
Crossing = Callable[[Ints, Floats], float]


def find_first(n_labels: Ints, mean: Floats) -> float:
    """Return the first count past the target, or past 99 % of the greatest mean where that never reaches it."""
    return float(n_labels[(mean >= TARGET * min(1.0, mean.max()) - 1e-9).argmax()])


def find_lasting(n_labels: Ints, mean: Floats) -> float:
    """Return the first count from which the mean stays past the target; nan where there is none."""
    stays = np.logical_and.accumulate((mean >= TARGET - 1e-9)[::-1])[::-1]
    return float(n_labels[stays.argmax()]) if stays.any() else float("nan")


def locate(curve: Curve, crossing: Crossing) -> tuple[float, float]:
    """Return a crossing of the mean over runs, and its standard error by resampling runs."""
    rng, runs = np.random.default_rng(0), len(curve.values)
    drawn = (curve.values[rng.integers(runs, size=runs)].mean(axis=0) for _ in range(RESAMPLES))
    again = np.array([crossing(curve.n_labels, mean) for mean in drawn])
    found = again[~np.isnan(again)]
    return crossing(curve.n_labels, curve.mean), float(found.std(ddof=1)) if len(found) > 1 else float("nan")
