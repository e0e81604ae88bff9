"""Densities of draws are smooth, and those of the distribution the draws come from."""

import numpy as np
import pytest
from scipy.stats import beta, norm

from fewlabels.reporting.plots.densities import estimate_density


@pytest.mark.parametrize("distribution", [norm(0.3, 0.02), beta(8, 3), beta(20, 4)], ids=["normal", "skewed", "wide"])
def test_a_density_is_that_of_its_distribution(distribution) -> None:
    points, density = estimate_density(distribution.rvs(20_000, random_state=0))
    true = distribution.pdf(points)
    assert np.abs(density - true).max() < 0.08 * true.max()
    assert np.sum(density) * (points[1] - points[0]) == pytest.approx(1, abs=0.02)
    assert np.sum(np.diff(np.sign(np.diff(density))) != 0) <= 25  # of 256 points: a histogram turns at every other


def test_equal_draws_have_none_and_two_values_have_two_modes() -> None:
    assert estimate_density(np.full(100, 0.4)) is None
    points, density = estimate_density(np.repeat([0.2, 0.8], 500))
    assert np.isfinite(density).all()
    assert density[np.abs(points - 0.5).argmin()] < 0.5 * density.max()
