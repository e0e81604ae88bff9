import numpy as np
import pytest
from makers import beta
from scipy import stats
from scipy.signal import fftconvolve
from scipy.special import betainc, betaln

import fewlabels as fl
from fewlabels.distributions.difference import BetaDifference, DrawnDifference

HUMAN, TREES = (280.0, 203.0), (351.0, 162.0)  # 002, supplement: ResNet-110 on CIFAR-100
PAIRS = [
    (HUMAN, TREES),
    ((1.0, 1.0), (1.0, 1.0)),
    ((3.0, 2.0), (20.0, 1.5)),
    ((0.5, 0.5), (0.5, 0.5)),
    ((5000.0, 100.0), (6000.0, 110.0)),
    ((1.0, 1.0), (1e5, 1e5)),
    ((1e5, 1e5), (1.0, 1.0)),
]


def difference(a, b):
    return BetaDifference(beta(*a), beta(*b))


def below_by_grid(a, b, x):
    """∫ f(a) P(b ≥ a − x) da on a fine grid of the logit of a, where the density of a Beta is smooth and bounded."""
    u = np.linspace(-60, 60, 200_001)
    log_a, log_rest = -np.logaddexp(0, -u), -np.logaddexp(0, u)
    mass = np.exp(a[0] * log_a + a[1] * log_rest - betaln(*a)) * (u[1] - u[0])
    keep = mass > 1e-18
    return float(mass[keep] @ (1 - betainc(*b, np.clip(np.exp(log_a[keep]) - x, 0, 1))))


@pytest.mark.parametrize("x", [-0.05, 0.0, 0.013])
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_the_chance_of_a_difference_equals_a_grid_integral(a, b, x):
    assert difference(a, b).below(x) == pytest.approx(below_by_grid(a, b, x), abs=1e-6)


@pytest.mark.parametrize("x", [-0.1, -0.05, 0.0])
def test_the_chance_of_a_difference_equals_a_double_sum_over_a_grid(x):
    h = 1 / 40_000
    at = np.arange(h, 1, h)
    one, other = (stats.beta.pdf(at, *p) * h for p in (HUMAN, TREES))
    joint = fftconvolve(one, other[::-1])  # the mass of every difference, a double sum
    delta = (np.arange(len(joint)) - (len(at) - 1)) * h
    on_border = np.isclose(delta, x, atol=h / 10)
    expected = joint[(delta < x) & ~on_border].sum() + joint[on_border].sum() / 2
    assert difference(HUMAN, TREES).below(x) == pytest.approx(expected, abs=1e-6)


def test_human_against_trees_as_printed_in_the_paper():
    assert round(difference(HUMAN, TREES).below(-0.05), 2) == 0.96


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_the_difference_matches_draws(a, b):
    """400,000 draws; a share of them strays 5 standard errors once in 1.7 million."""
    rng, n = np.random.default_rng(6), 400_000
    draws = rng.beta(*a, n) - rng.beta(*b, n)
    exact = difference(a, b)
    for x in (-0.05, 0.0, 0.05, *exact.interval(0.9)):
        p = exact.below(x)
        assert abs((draws <= x).mean() - p) < 5 * np.sqrt(p * (1 - p) / n) + 1e-5
    assert exact.mean() == pytest.approx(draws.mean(), abs=5 * draws.std() / np.sqrt(n))


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_an_interval_leaves_equal_tails(a, b, level):
    exact = difference(a, b)
    low, high = exact.interval(level)
    assert exact.below(low) == pytest.approx((1 - level) / 2, abs=1e-5)
    assert exact.below(high) == pytest.approx((1 + level) / 2, abs=1e-5)


def test_two_uniforms_differ_by_a_triangle():
    exact = difference((1, 1), (1, 1))
    for x in (-0.9, -0.5, 0.0, 0.3):
        assert exact.below(x) == pytest.approx((1 + x) ** 2 / 2 if x <= 0 else 1 - (1 - x) ** 2 / 2, abs=1e-6)
    assert exact.interval(0.95)[0] == pytest.approx(np.sqrt(0.05) - 1, abs=1e-6)


def test_swapping_the_groups_mirrors_the_difference():
    one, other = difference(HUMAN, TREES), difference(TREES, HUMAN)
    assert one.below(-0.05) == pytest.approx(1 - other.below(0.05), abs=1e-9)
    assert one.interval() == pytest.approx([-x for x in reversed(other.interval())], abs=1e-9)


def test_alike_groups_are_as_likely_above_as_below_even_when_both_are_all_but_certain():
    """A score of 1 under the scores prior; each Beta sits on 1 as far as a float can tell."""
    sure = (1.999998, 2e-6)
    assert difference(sure, sure).below(0.05) == pytest.approx(1, abs=1e-5)
    assert difference(sure, sure).below(-0.05) == pytest.approx(0, abs=1e-5)


def test_a_difference_never_leaves_minus_one_to_one():
    exact = difference((3, 2), (20, 1.5))
    assert exact.below(-1.0) == pytest.approx(0, abs=1e-12)
    assert exact.below(1.0) == pytest.approx(1, abs=1e-12)


def test_a_difference_of_draws_counts_them():
    drawn = DrawnDifference(np.array([-0.2, -0.1, 0.0, 0.3]))
    assert drawn.mean() == pytest.approx(0)
    assert drawn.below(-0.15) == 0.25
    assert drawn.interval(0.5) == pytest.approx((-0.125, 0.075))


def test_an_interval_holds_a_mean_that_few_draws_move():
    drawn = DrawnDifference(np.array([-0.01] + [0.0] * 99))
    assert drawn.mean() == pytest.approx(-0.0001)
    assert drawn.interval(0.95) == (drawn.mean(), 0.0)


@pytest.mark.parametrize("finite_pool", [True, False])
def test_differences_of_pools_that_are_all_but_labelled_lie_in_their_intervals(finite_pool):
    right = [i % 7 > 0 for i in range(400)]
    label = [("a" if i % 2 else "b") if ok else "c" for i, ok in enumerate(right)]
    items = {"id": list(range(400)), "predicted": ["b", "a"] * 200, "g": ["x", "x", "y", "y"] * 100}
    pool = items | {"label": [None if i in (3, 200) else one for i, one in enumerate(label)]}
    other = items | {"predicted": [*items["predicted"][:398], "a", "b"]}
    rows = [fl.compare(pool, ("x", "y"), by="g", finite_pool=finite_pool)]
    rows += fl.compare_models({"old": pool, "new": other}, by="g", finite_pool=finite_pool).differences
    rows += fl.fairness(pool, by="g", metrics=("accuracy",), method="frequency", finite_pool=finite_pool).gaps
    for row in rows:
        assert row.low <= row.mean <= row.high
