import numpy as np
import pytest
from scipy import stats

from fewlabels.distributions.beta_binomial import EXACT_UP_TO, beta_binomial_probabilities, count_interval

SHAPES = [(1.0, 1.0), (0.3, 4.0), (90.0, 2.0), (0.2, 0.3), (12.0, 12.0)]


def interval(n, a, b, level=0.95):
    low, high = count_interval(np.array([n]), np.array([a]), np.array([b]), level)
    return int(low[0]), int(high[0])


@pytest.mark.parametrize("n", [0, 1, 7, 400])
@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_probabilities_are_those_of_the_beta_binomial(n, a, b):
    expected = stats.betabinom.pmf(np.arange(n + 1), n, a, b) if n else [1.0]
    assert beta_binomial_probabilities(n, np.array([a]), np.array([b]))[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("n", [1, 2, 7, 30, 400])
@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_an_interval_holds_enough_and_neither_end_could_go(n, a, b, level):
    p = stats.betabinom.pmf(np.arange(n + 1), n, a, b)
    low, high = interval(n, a, b, level)
    held = p[low : high + 1].sum()
    assert held >= level - 1e-9
    ends = sorted([p[low], p[high]])
    least = ends[0] + ends[1] if ends[1] - ends[0] < 1e-9 * ends[1] else ends[0]
    assert low == high or held - least < level


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("n", [1, 2, 7, 30, 400])
@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_an_interval_lies_within_equal_tails(n, a, b, level):
    low, high = interval(n, a, b, level)
    first, last = stats.betabinom.ppf([(1 - level) / 2, (1 + level) / 2], n, a, b)
    assert first <= low <= high <= last


@pytest.mark.parametrize("n", [2, 5, 8, 31])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_what_is_as_likely_either_way_has_an_interval_that_is(n, level):
    low, high = interval(n, 3.0, 3.0, level)
    assert low == n - high


def test_a_certain_outcome_is_none_or_all():
    low, high = count_interval(np.array([5, 5]), np.array([0.0, 2.0]), np.array([2.0, 0.0]), 0.5)
    assert low.tolist() == high.tolist() == [0, 5]


@pytest.mark.parametrize(
    ("n", "a", "b"), [(EXACT_UP_TO + 5000, 60_000.0, 40_000.0), (EXACT_UP_TO + 1, 3.0, 5.0), (10**6, 9e4, 1e4)]
)
def test_an_interval_of_many_has_the_spread_of_the_beta_binomial(n, a, b):
    """Within 1 % of its distance from the mean: the rest is itself a sample, however large."""
    k = np.arange(n + 1)
    exact = np.searchsorted(np.cumsum(stats.betabinom.pmf(k, n, a, b)), [0.025, 0.975])
    mean = n * a / (a + b)
    assert np.array(interval(n, a, b)) - mean == pytest.approx(exact - mean, rel=0.01)


def test_where_counts_are_added_up_and_where_not_they_end_alike():
    """So that a pool does not change its intervals by growing by an item."""
    few, many = (interval(n, 40.0, 3.0) for n in (EXACT_UP_TO, EXACT_UP_TO + 1))
    assert few == pytest.approx(many, abs=2e-4 * EXACT_UP_TO)


def test_a_large_group_does_not_blur_the_small_one_beside_it():
    sizes = np.array([EXACT_UP_TO + 1, 1])
    low, high = count_interval(sizes, np.array([100.0, 100.0]), np.array([10.0, 10.0]), 0.95)
    assert (low[1], high[1]) == (0, 1)


def test_many_cells_do_not_blur_each_other():
    """A confusion matrix of 150 classes has 22,500 entries, each with a handful of unlabelled items."""
    m = EXACT_UP_TO + 1
    low, high = count_interval(np.full(m, 2), np.full(m, 30.0), np.full(m, 10.0), 0.95)
    assert {*low.tolist()} == {0} and {*high.tolist()} == {2}  # noqa: PT018
    assert interval(2, 30.0, 10.0) == (0, 2)


@pytest.mark.parametrize("n", [6, 12, 50])
def test_intervals_hold_at_least_what_they_say_and_not_much_more(n):
    """Chances drawn from the prior, 20,000 times: the error of a share is 0.15 %, and four of these are allowed."""
    rng = np.random.default_rng(n)
    right = rng.binomial(n, rng.beta(16.0, 4.0, 20_000))
    low, high = interval(n, 16.0, 4.0)
    covered = ((low <= right) & (right <= high)).mean()
    assert 0.944 < covered < 0.985
