import numpy as np
import pytest
from makers import beta, dirichlet
from scipy import stats

from fewlabels.distributions.draws import Draws

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
    assert belief.observe_hypothetical(1).mean().tolist() == [[0.5, 0.5]]


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
    added = parameters(belief.observe_hypothetical(outcome)) - parameters(belief)
    assert added.tolist() == [np.eye(2)[outcome].tolist()] * 2


@pytest.mark.parametrize("belief", CONJUGATE)
def test_what_we_expect_to_believe_after_one_more_label_is_what_we_believe(belief):
    now = np.reshape(belief.mean(), (2, -1))[:, 0]
    then = [np.reshape(belief.observe_hypothetical(z).mean(), (2, -1))[:, 0] for z in (0, 1)]
    assert now * then[0] + (1 - now) * then[1] == pytest.approx(now, abs=1e-12)


# -- draws ----------------------------------------------------------------------------------------------------


def test_draws_summarise_themselves_and_keep_groups_together():
    samples = np.array([[0.0, 1.0], [0.2, 0.8], [0.4, 0.6]])
    belief = Draws(("a", "b"), samples)
    assert belief.mean() == pytest.approx([0.2, 0.8])
    low, high = belief.interval(0.5)
    assert (low.tolist(), high.tolist()) == (pytest.approx([0.1, 0.7]), pytest.approx([0.3, 0.9]))
    assert belief.draw(np.random.default_rng(0), 50).sum(axis=1) == pytest.approx(1)
