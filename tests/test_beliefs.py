import numpy as np
import pytest
from makers import beta, dirichlet
from scipy import stats

from fewlabels.beliefs import EXACT_UP_TO, Draws, Finite, FiniteShares, beta_binomial_quantile

BETAS = [(1.0, 1.0), (0.5, 0.5), (3.0, 1.0), (280.0, 203.0), (1e-3, 4.0), (50_000.0, 3.0)]
SIGMAS = 5  # a moment of draws strays this many standard errors once in 1.7 million


def tails(level):
    return (1 - level) / 2, (1 + level) / 2


# -- Beta -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), BETAS)
def test_a_beta_has_the_moments_of_its_closed_form(a, b):
    known = stats.beta(a, b)
    assert beta(a, b).mean()[0] == pytest.approx(known.mean(), abs=1e-12)
    assert beta(a, b).variance()[0] == pytest.approx(known.var(), abs=1e-12)
    assert beta(a, b).strength()[0] == a + b


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("a", "b"), BETAS)
def test_a_beta_interval_is_equal_tailed_and_exact(a, b, level):
    low, high = beta(a, b).interval(level)
    assert [low[0], high[0]] == pytest.approx(stats.beta(a, b).ppf(tails(level)), abs=1e-9)


@pytest.mark.parametrize(("prior", "right", "wrong"), [((1, 1), 3, 1), ((0.5, 0.5), 0, 7), ((1.6, 0.4), 20, 30)])
def test_a_posterior_is_prior_times_likelihood_on_a_grid(prior, right, wrong):
    u = (np.arange(2_000_000) + 0.5) / 2_000_000
    theta, jacobian = u**4 * (5 - 4 * u), 20 * u**3 * (1 - u)  # a grid that is finest where densities are steep
    theta = 0.5 * (theta + 1 - theta[::-1])
    jacobian = 0.5 * (jacobian + jacobian[::-1])
    mass = stats.beta.pdf(theta, *prior) * theta**right * (1 - theta) ** wrong * jacobian
    mass /= mass.sum()
    after = beta(*prior).observe(np.array([[right, wrong]], float))
    mean = mass @ theta
    assert after.mean()[0] == pytest.approx(mean, abs=1e-6)
    assert after.variance()[0] == pytest.approx(mass @ (theta - mean) ** 2, abs=1e-6)
    cumulative = np.cumsum(mass) - mass / 2
    low, high = after.interval()
    assert [low[0], high[0]] == pytest.approx(np.interp(tails(0.95), cumulative, theta), abs=1e-6)


def test_the_limits_of_a_beta_are_points():
    low, high = beta([0, 3], [2, 0]).interval()
    assert low.tolist() == high.tolist() == [0, 1]


def test_draws_of_a_beta_have_its_moments():
    belief, n = beta([1, 280, 0.01], [1, 203, 2]), 20_000
    draws = belief.draw(np.random.default_rng(1), n)
    assert draws.shape == (n, 3)
    error = np.sqrt(belief.variance() / n)
    assert np.all(np.abs(draws.mean(axis=0) - belief.mean()) < SIGMAS * error)
    fourth = ((draws - belief.mean()) ** 4).mean(axis=0)
    assert np.all(np.abs(draws.var(axis=0) - belief.variance()) < SIGMAS * np.sqrt(fourth / n))


# -- Dirichlet ------------------------------------------------------------------------------------------------


def test_each_share_of_a_dirichlet_is_a_beta():
    belief = dirichlet([1 / 3, 1 / 3, 1 / 3], [5.5, 0.25, 40])
    low, high = belief.interval(0.9)
    for g, j in np.ndindex(2, 3):
        share = stats.beta(belief.alpha[g, j], belief.alpha[g].sum() - belief.alpha[g, j])
        assert belief.mean()[g, j] == pytest.approx(share.mean(), abs=1e-12)
        assert belief.variance()[g, j] == pytest.approx(share.var(), abs=1e-12)
        assert [low[g, j], high[g, j]] == pytest.approx(share.ppf(tails(0.9)), abs=1e-9)


def test_a_marginal_picks_one_outcome_per_group():
    belief = dirichlet([1, 2, 3], [4, 5, 6])
    marginal = belief.marginal(np.array([2, 0]))
    assert marginal.alpha.tolist() == [3, 4]
    assert marginal.beta.tolist() == [3, 11]
    assert marginal.groups == belief.groups
    assert belief.strength().tolist() == [6, 15]


def test_draws_of_a_dirichlet_have_its_means_and_covariances():
    belief, n = dirichlet([0.3, 2.0, 5.0]), 40_000
    draws = belief.draw(np.random.default_rng(2), n)[:, 0]
    mean, total = belief.mean()[0], belief.strength()[0]
    covariance = (np.diag(mean) - np.outer(mean, mean)) / (total + 1)
    products = (draws - mean)[:, :, None] * (draws - mean)[:, None, :]
    assert np.all(np.abs(draws.mean(axis=0) - mean) < SIGMAS * draws.std(axis=0) / np.sqrt(n))
    assert np.all(np.abs(products.mean(axis=0) - covariance) < SIGMAS * products.std(axis=0) / np.sqrt(n))


@pytest.mark.parametrize("alpha", [1e-2, 1e-4, 1e-9])
def test_draws_of_a_tiny_dirichlet_are_shares(alpha):
    draws = dirichlet([alpha] * 3, [alpha, 2 * alpha, 0]).draw(np.random.default_rng(3), 3000)
    assert np.isfinite(draws).all()
    assert draws.sum(axis=2) == pytest.approx(1, abs=1e-12)
    share = np.array([[1 / 3] * 3, [1 / 3, 2 / 3, 0]])
    error = np.sqrt(share * (1 - share) / 3000)
    assert np.all(np.abs(draws.mean(axis=0) - share) <= SIGMAS * error + 1e-12)


def test_an_outcome_the_prior_rules_out_stays_out_until_it_is_seen():
    belief = dirichlet([1.0, 0.0])
    low, high = belief.interval()
    assert (low[0, 1], high[0, 1]) == (0, 0)
    assert belief.draw(np.random.default_rng(0), 5)[:, 0, 1].tolist() == [0] * 5
    assert belief.imagine(1).mean().tolist() == [[0.5, 0.5]]


# -- the algebra of observing ---------------------------------------------------------------------------------

CONJUGATE = [beta([1, 2], [3, 0.5]), dirichlet([1, 3], [2, 0.5])]


def parameters(belief):
    return np.stack([belief.alpha, belief.beta], axis=1) if hasattr(belief, "beta") else belief.alpha


@pytest.mark.parametrize("belief", CONJUGATE)
def test_observing_twice_is_observing_the_sum(belief):
    one, two = np.array([[1.0, 2], [0, 4]]), np.array([[0.0, 7], [0.25, 0.75]])
    assert np.array_equal(parameters(belief.observe(one).observe(two)), parameters(belief.observe(two + one)))


@pytest.mark.parametrize("belief", CONJUGATE)
def test_observing_nothing_changes_nothing_and_observing_never_changes_the_old_belief(belief):
    before = parameters(belief).copy()
    assert np.array_equal(parameters(belief.observe(np.zeros((2, 2)))), before)
    belief.observe(np.ones((2, 2)))
    assert np.array_equal(parameters(belief), before)


@pytest.mark.parametrize("belief", CONJUGATE)
@pytest.mark.parametrize("outcome", [0, 1])
def test_imagining_adds_one_outcome_to_every_group(belief, outcome):
    added = parameters(belief.imagine(outcome)) - parameters(belief)
    assert added.tolist() == [np.eye(2)[outcome].tolist()] * 2


@pytest.mark.parametrize("belief", CONJUGATE)
def test_what_we_expect_to_believe_after_one_more_label_is_what_we_believe(belief):
    now = np.reshape(belief.mean(), (2, -1))[:, 0]
    then = [np.reshape(belief.imagine(z).mean(), (2, -1))[:, 0] for z in (0, 1)]
    assert now * then[0] + (1 - now) * then[1] == pytest.approx(now, abs=1e-12)


# -- draws ----------------------------------------------------------------------------------------------------


def test_draws_summarise_themselves_and_keep_groups_together():
    samples = np.array([[0.0, 1.0], [0.2, 0.8], [0.4, 0.6]])
    belief = Draws(("a", "b"), samples)
    assert belief.mean() == pytest.approx([0.2, 0.8])
    low, high = belief.interval(0.5)
    assert (low.tolist(), high.tolist()) == (pytest.approx([0.1, 0.7]), pytest.approx([0.3, 0.9]))
    assert belief.draw(np.random.default_rng(0), 50).sum(axis=1) == pytest.approx(1)


# -- exactly these items --------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [1e-6, 0.025, 0.3, 0.5, 0.975, 1 - 1e-9])
@pytest.mark.parametrize("n", [0, 1, 7, 400])
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.3, 4.0), (90.0, 2.0)])
def test_a_count_quantile_is_that_of_the_beta_binomial(n, a, b, q):
    found = beta_binomial_quantile(np.array([n]), np.array([a]), np.array([b]), q)
    assert found[0] == (stats.betabinom.ppf(q, n, a, b) if n else 0)


def test_a_count_quantile_of_a_certain_outcome_is_none_or_all():
    found = beta_binomial_quantile(np.array([5, 5]), np.array([0.0, 2.0]), np.array([2.0, 0.0]), 0.5)
    assert found.tolist() == [0, 5]


@pytest.mark.parametrize(
    ("n", "a", "b"), [(EXACT_UP_TO + 5000, 60_000.0, 40_000.0), (EXACT_UP_TO + 1, 3.0, 5.0), (10**6, 9e4, 1e4)]
)
@pytest.mark.parametrize("q", [0.025, 0.975])
def test_a_count_quantile_of_a_large_rest_has_the_spread_of_the_beta_binomial(n, a, b, q):
    """Within 1 % of its distance from the mean: the rest is itself a sample, however large."""
    found = beta_binomial_quantile(np.array([n]), np.array([a]), np.array([b]), q)[0]
    k = np.arange(n + 1)
    exact = np.searchsorted(np.cumsum(stats.betabinom.pmf(k, n, a, b)), q)
    mean = n * a / (a + b)
    assert found - mean == pytest.approx(exact - mean, rel=0.01)


def test_a_large_group_does_not_blur_the_small_one_beside_it():
    found = beta_binomial_quantile(
        np.array([EXACT_UP_TO + 1, 1]), np.array([100.0, 100.0]), np.array([10.0, 10.0]), 0.025
    )
    assert found[1] == stats.betabinom.ppf(0.025, 1, 100, 10) == 0


def test_many_cells_do_not_blur_each_other():
    """A confusion matrix of 150 classes has 22,500 entries, each with a handful of unlabelled items."""
    m = EXACT_UP_TO + 1
    found = beta_binomial_quantile(np.full(m, 2), np.full(m, 30.0), np.full(m, 10.0), 0.025)
    assert found[0] == stats.betabinom.ppf(0.025, 2, 30, 10)


def finite(a, b, right, wrong, rest):
    return Finite(
        beta(a, b).observe(np.array([[right, wrong]], float)), np.array([[right, wrong]], float), np.array([rest])
    )


@pytest.mark.parametrize(("right", "wrong", "rest"), [(3, 1, 6), (0, 0, 4), (10, 0, 1)])
def test_a_finite_share_equals_its_enumeration(right, wrong, rest):
    belief = finite(1, 1, right, wrong, rest)
    k = np.arange(rest + 1)
    p = stats.betabinom.pmf(k, rest, 1 + right, 1 + wrong)
    share = (right + k) / (right + wrong + rest)
    assert belief.mean()[0] == pytest.approx(p @ share, abs=1e-9)
    low, high = belief.interval(0.8)
    assert [low[0], high[0]] == pytest.approx(share[np.searchsorted(np.cumsum(p), tails(0.8))], abs=1e-9)


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
    return FiniteShares(dirichlet([1, 1, 1], [0.5, 0.2, 3]).observe(KNOWN), KNOWN, np.array(rest))


def test_each_finite_share_is_a_beta_binomial():
    belief, rest = finite_shares([6, 9]), [6, 9]
    low, high = belief.interval(0.9)
    for g, j in np.ndindex(2, 3):
        a = belief.belief.alpha[g, j]
        count = stats.betabinom(rest[g], a, belief.belief.alpha[g].sum() - a)
        size = KNOWN[g].sum() + rest[g]
        assert belief.mean()[g, j] == pytest.approx((KNOWN[g, j] + count.mean()) / size, abs=1e-9)
        assert [low[g, j], high[g, j]] == pytest.approx((KNOWN[g, j] + count.ppf(tails(0.9))) / size, abs=1e-9)


def test_a_marginal_of_finite_shares_is_a_finite_share():
    belief = finite_shares([6, 9])
    marginal = belief.marginal(np.array([0, 2]))
    assert isinstance(marginal, Finite)
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
    belief = FiniteShares(dirichlet([1, 1, 1]).observe(KNOWN[:1]), KNOWN[:1], np.array([0]))
    low, high = belief.interval()
    assert low.tolist() == high.tolist() == belief.mean().tolist() == [[0.8, 0.2, 0]]
