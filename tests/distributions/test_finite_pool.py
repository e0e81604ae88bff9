import numpy as np
import pytest
from makers import beta, dirichlet
from scipy import stats

from fewlabels.distributions.finite_pool import FinitePoolBeta, FinitePoolDirichlet

SIGMAS = 5  # a moment of draws strays this many standard errors once in 1.7 million


def find_run(p, level):
    """The shortest run of counts that holds enough within equal tails, by trying all of them."""
    first, last = np.searchsorted(np.cumsum(p), [(1 - level) / 2, (1 + level) / 2])
    runs = [(i, j) for i in range(first, last + 1) for j in range(i, last + 1) if p[i : j + 1].sum() >= level - 1e-12]
    return min(runs, key=lambda run: (run[1] - run[0], -p[run[0] : run[1] + 1].sum()))


def finite(a, b, right, wrong, rest):
    return FinitePoolBeta(
        beta(a, b).observe(np.array([[right, wrong]], float)), np.array([[right, wrong]], float), np.array([rest])
    )


@pytest.mark.parametrize(("right", "wrong", "rest"), [(3, 1, 6), (1, 0, 4), (10, 0, 1)])
def test_a_finite_share_equals_its_enumeration(right, wrong, rest):
    belief = finite(1, 1, right, wrong, rest)
    k = np.arange(rest + 1)
    p = stats.betabinom.pmf(k, rest, 1 + right, 1 + wrong)
    share = (right + k) / (right + wrong + rest)
    assert belief.mean()[0] == pytest.approx(p @ share, abs=1e-9)
    low, high = belief.interval(0.8)
    first, last = share[list(find_run(p, 0.8))]
    assert [low[0], high[0]] == pytest.approx([min(first, p @ share), max(last, p @ share)], abs=1e-9)


def test_draws_of_a_finite_share_have_the_probabilities_of_its_enumeration():
    n, p = 20_000, stats.betabinom.pmf(np.arange(7), 6, 4, 2)
    draws = finite(1, 1, 3, 1, 6).draw(np.random.default_rng(4), n)[:, 0]
    seen = np.bincount(np.round(draws * 10 - 3).astype(int), minlength=7) / n
    assert np.all(np.abs(seen - p) < SIGMAS * np.sqrt(p * (1 - p) / n))


def test_when_everything_is_labelled_a_finite_share_is_a_point():
    belief = finite(1, 1, 7, 3, 0)
    low, high = belief.interval()
    assert belief.mean()[0] == low[0] == high[0] == 0.7
    assert set(belief.draw(np.random.default_rng(0), 20)[:, 0]) == {0.7}


KNOWN = np.array([[4.0, 1.0, 0.0], [0.0, 0.0, 0.0]])


def finite_shares(rest):
    return FinitePoolDirichlet(dirichlet([1, 1, 1], [0.5, 0.2, 3]).observe(KNOWN), KNOWN, np.array(rest))


def test_each_finite_share_is_a_beta_binomial():
    belief, rest = finite_shares([6, 9]), [6, 9]
    low, high = belief.interval(0.9)
    for g, j in np.ndindex(2, 3):
        a = belief.belief.alpha[g, j]
        count = stats.betabinom(rest[g], a, belief.belief.alpha[g].sum() - a)
        size = KNOWN[g].sum() + rest[g]
        assert belief.mean()[g, j] == pytest.approx((KNOWN[g, j] + count.mean()) / size, abs=1e-9)
        assert [low[g, j], high[g, j]] == pytest.approx(
            (KNOWN[g, j] + find_run(count.pmf(np.arange(rest[g] + 1)), 0.9)) / size, abs=1e-9
        )


def test_a_marginal_of_finite_shares_is_a_finite_share():
    belief = finite_shares([6, 9])
    marginal = belief.marginal(np.array([0, 2]))
    assert isinstance(marginal, FinitePoolBeta)
    assert marginal.groups == belief.groups == ("0", "1")
    assert marginal.mean() == pytest.approx([belief.mean()[0, 0], belief.mean()[1, 2]], abs=1e-12)
    for mine, theirs in zip(marginal.interval(), belief.interval(), strict=True):
        assert mine.tolist() == [theirs[0, 0], theirs[1, 2]]


def test_draws_of_finite_shares_add_up_and_average_to_the_mean():
    belief, n = finite_shares([6, 9]), 20_000
    draws = belief.draw(np.random.default_rng(5), n)
    assert draws.sum(axis=2) == pytest.approx(1, abs=1e-12)
    error = draws.std(axis=0) / np.sqrt(n)
    assert np.all(np.abs(draws.mean(axis=0) - belief.mean()) < SIGMAS * error)
    assert np.all(draws[:, 0, 0] >= 4 / 11)


def test_when_everything_is_labelled_finite_shares_are_a_point():
    belief = FinitePoolDirichlet(dirichlet([1, 1, 1]).observe(KNOWN[:1]), KNOWN[:1], np.array([0]))
    low, high = belief.interval()
    assert low.tolist() == high.tolist() == belief.mean().tolist() == [[0.8, 0.2, 0]]


# -- items that are not alike ---------------------------------------------------------------------------------

CHANCES = {
    "apart": np.repeat([0.02, 0.5, 0.98], [10, 20, 30]),
    "mostly sure": np.repeat([0.7, 0.995], [15, 85]),
    "a handful": np.array([0.1, 0.5, 0.9, 0.9]),
}


def count_rightly(chances):
    """Distribution of the number of right ones, by adding one item after the other."""
    p = np.ones(1)
    for chance in chances:
        p = np.convolve(p, [1 - chance, chance])
    return p


def of_chances(chances, strength=1e9):
    mean, n = chances.mean(), len(chances)
    residual_variance = (chances * (1 - chances)).mean() / (mean * (1 - mean))
    return FinitePoolBeta(
        beta(strength * mean, strength * (1 - mean)), np.zeros((1, 2)), np.array([n]), np.array([residual_variance])
    )


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("name", CHANCES)
def test_items_that_are_told_apart_leave_as_much_open_as_adding_them_up_does(name, level):
    chances = CHANCES[name]
    expected = np.searchsorted(np.cumsum(count_rightly(chances)), [(1 - level) / 2, (1 + level) / 2])
    low, high = of_chances(chances).interval(level)
    assert np.abs(np.array([low[0], high[0]]) * len(chances) - expected).max() <= 1.0 + 1e-9


@pytest.mark.parametrize("name", CHANCES)
def test_draws_of_items_that_are_told_apart_vary_as_these_do(name):
    chances, n = CHANCES[name], 40_000
    draws = of_chances(chances).draw(np.random.default_rng(1), n)[:, 0] * len(chances)
    variance = (chances * (1 - chances)).sum()
    assert abs(draws.mean() - chances.sum()) < SIGMAS * np.sqrt(variance / n)
    assert draws.var() == pytest.approx(variance, rel=0.05)  # its own error is 0.7 %


def test_shares_of_items_that_are_told_apart_add_up_and_vary_less():
    alike, apart = finite_shares([6, 9]), finite_shares([6, 9])
    apart = FinitePoolDirichlet(apart.belief, apart.known, apart.rest, np.array([0.25, 1.0]))
    drawn = apart.draw(np.random.default_rng(2), 20_000)
    assert drawn.sum(axis=2) == pytest.approx(1, abs=1e-12)
    spread = alike.draw(np.random.default_rng(3), 20_000).std(axis=0) / drawn.std(axis=0)
    assert np.all(spread[0] > 1.05)
    assert spread[1] == pytest.approx(1.0, rel=0.05)
    (low, high), (lowest, highest) = apart.interval(), alike.interval()
    assert np.all(low[1] == lowest[1]) and np.all(high - low <= highest - lowest)  # noqa: PT018


def test_a_single_item_is_right_or_wrong_however_much_is_known():
    one = FinitePoolBeta(beta(1.2, 0.8), np.zeros((1, 2)), np.array([1]), np.array([1.0]))
    assert [float(end[0]) for end in one.interval()] == [0.0, 1.0]
