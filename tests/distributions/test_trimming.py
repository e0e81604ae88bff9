"""Intervals of draws that take few values cover their level, and hardly more."""

import numpy as np
import pytest
from scipy import stats

from fewlabels.distributions.beta_binomial import count_interval
from fewlabels.distributions.trimming import trim_interval


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("n", [1, 3, 12, 60, 500])
def test_counts_are_trimmed_as_their_closed_form_is(n, level):
    """200,000 draws of a beta-binomial: the ends differ by one count where a probability is near the level's edge."""
    drawn = stats.betabinom(n, 8.0, 3.0).rvs(200_000, random_state=1).astype(float)
    low, high = trim_interval(drawn[:, None], level)
    expected = count_interval(np.array([n]), np.array([8.0]), np.array([3.0]), level)
    assert np.abs([low[0] - expected[0][0], high[0] - expected[1][0]]).max() <= 1
    assert ((drawn >= low[0]) & (drawn <= high[0])).mean() >= level - 1e-9


def test_few_values_cover_less_than_equal_tails_do_and_still_the_level():
    rng = np.random.default_rng(0)
    drawn = rng.binomial(12, rng.beta(20, 5, (10_000, 50))) / 12
    covered, equal = [], []
    for low, high, kept in (
        (*trim_interval(drawn, 0.95), covered),
        (*np.quantile(drawn, [0.025, 0.975], axis=0), equal),
    ):
        kept.extend(((drawn >= low) & (drawn <= high)).mean(axis=0))
    assert min(covered) >= 0.95
    assert np.mean(covered) < np.mean(equal) - 0.005


def test_many_values_have_equal_tails():
    drawn = np.random.default_rng(0).normal(size=(10_000, 3))
    low, high = trim_interval(drawn, 0.9)
    assert np.abs(np.array([low, high]) - np.quantile(drawn, [0.05, 0.95], axis=0)).max() < 0.01


def test_a_point_and_any_shape_are_kept():
    low, high = trim_interval(np.full((100, 2, 3), 0.4), 0.95)
    assert low.shape == high.shape == (2, 3)
    assert np.all(low == 0.4)
    assert np.all(high == 0.4)
