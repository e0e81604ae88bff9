"""The paper's surfaces: likelihoods against SciPy, pooling against a loop, the bound against the evidence itself."""

import doctest
import subprocess
import sys

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit, gammaln, log_expit, logsumexp
from scipy.stats import betabinom, dirichlet

from fewlabels.errors import InputError

jnp = pytest.importorskip("jax.numpy")

import jax  # noqa: E402

from fewlabels.models.deep import kernels  # noqa: E402
from fewlabels.models.deep.fit import fit_deep  # noqa: E402
from fewlabels.models.deep.kernels import Kernel, embed, encode_arms, kernel_matrix  # noqa: E402
from fewlabels.models.deep.likelihoods import log_bernoulli, log_beta_binomial, log_dirichlet  # noqa: E402
from fewlabels.models.deep.pooling import find_neighbours, pool_sparse  # noqa: E402
from fewlabels.models.deep.variational import ArmData, bound_evidence, init_adam, run_adam  # noqa: E402

KINDS = ["bern-gp", "beta-gp", "beta-gp-sl", "beta-gp-slp"]
SIZES = (6, 2, 2, 2, 2)
LEVEL = np.stack(np.meshgrid(*map(np.arange, SIZES), indexing="ij"), axis=-1).reshape(-1, len(SIZES))
STEPS = 200


def make_surface(n_labels=400):
    """Main effects on the logit; labels are spread unevenly."""
    rng = np.random.default_rng(3)
    logit = 1.0 + sum(rng.normal(0, 0.7, size)[at] for size, at in zip(SIZES, LEVEL.T, strict=True))
    share = np.exp(sum(rng.normal(0, 0.5, size)[at] for size, at in zip(SIZES, LEVEL.T, strict=True)))
    n = rng.multinomial(n_labels, share / share.sum()).astype(float)
    return expit(logit), n, rng.binomial(n.astype(int), expit(logit)).astype(float)


TRUTH, N, RIGHT = make_surface()


@pytest.fixture(scope="module")
def fits():
    return {kind: fit_deep(LEVEL, SIZES, N, RIGHT, kind=kind, steps=STEPS) for kind in KINDS}


def test_the_beta_binomial_is_that_of_scipy():
    n, right = np.array([0.0, 1, 7, 40]), np.array([0.0, 1, 2, 33])
    f, g = np.array([0.3, -1.0, 2.0, 1.0]), np.array([1.0, -2.0, 3.0, 30.0])
    scale = np.logaddexp(0, g)
    ways = gammaln(n + 1) - gammaln(right + 1) - gammaln(n - right + 1)
    expected = betabinom.logpmf(right, n, expit(f) * scale, expit(-f) * scale) - ways
    assert np.asarray(log_beta_binomial(*map(jnp.asarray, (f, g, n, right)))) == pytest.approx(expected, abs=1e-3)


def test_a_beta_binomial_of_great_scale_is_binomial():
    f, n, right = jnp.array([0.7]), jnp.array([9.0]), jnp.array([4.0])
    binomial = np.asarray(log_bernoulli(f, n, right))
    assert binomial == pytest.approx(4 * log_expit(0.7) + 5 * log_expit(-0.7), abs=1e-5)
    assert np.asarray(log_beta_binomial(f, jnp.array([3000.0]), n, right)) == pytest.approx(binomial, abs=0.02)


def test_shares_of_labels_have_the_dirichlet_density():
    scale, share = np.array([0.4, 2.0, 11.0]), np.array([0.1, 0.2, 0.7])
    got = log_dirichlet(jnp.asarray(scale)[None], jnp.ones(1), jnp.log(jnp.asarray(share)))
    assert float(got) == pytest.approx(dirichlet.logpdf(share, scale), abs=1e-4)


def test_kernels_are_as_printed():
    left, right = np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32)
    kernel = Kernel(jnp.log(jnp.array([2.0, 0.5])), jnp.log(jnp.array([1.5, 9.0])))
    square = ((left[:, None] - right) ** 2).sum(axis=-1)
    expected = [2.0 * np.exp(-square / 1.5), 0.5 * np.exp(-square / 9.0)]
    assert np.allclose(kernel_matrix(kernel, jnp.asarray(left), jnp.asarray(right)), expected, rtol=1e-4)


def test_sparse_arms_borrow_from_their_three_nearest_others():
    rng = np.random.default_rng(1)
    embedding, length = rng.normal(size=(40, 2)), 0.8
    n = rng.integers(0, 12, 40) + 0.1
    right = n * rng.random(40)
    pooled = pool_sparse(embedding, length, (n, right))
    for a in range(40):
        square = ((embedding - embedding[a]) ** 2).sum(axis=1)
        nearest = [b for b in np.argsort(square) if b != a][:3]
        weight = np.exp(-square[nearest] / length)
        for own, got in zip((n, right), pooled, strict=True):
            lent = (weight * own[nearest]).sum() / weight.sum() if n[a] < 5 else 0.0
            assert got[a] == pytest.approx(own[a] + lent)


@pytest.mark.parametrize("n_arms", [2, 3, 9])
def test_no_arm_is_its_own_neighbour_even_where_all_are_alike(n_arms):
    other, square = find_neighbours(np.zeros((n_arms, 2)))
    assert other.shape == (n_arms, min(3, n_arms - 1))
    assert not (other == np.arange(n_arms)[:, None]).any()
    assert not square.any()


def test_the_bound_is_just_below_the_evidence():
    """Three arms have labels, so the evidence is an integral over three values of f."""
    n, right = np.zeros(len(LEVEL)), np.zeros(len(LEVEL))
    heard = [0, 5, 77]
    n[heard], right[heard] = [4, 9, 6], [4, 3, 5]
    code = encode_arms(LEVEL, SIZES)
    seen = ArmData(*(jnp.asarray(part, jnp.float32) for part in (code, n, right, n)))
    start = init_adam(np.random.default_rng(0), code, n + 0.1, n_processes=1)
    found = run_adam(start, seen, STEPS, n_steps=STEPS, supervised=False).end.at
    bound = float(jax.jit(bound_evidence, static_argnames="supervised")(found, seen, supervised=False))

    embedding = embed(found.network, jnp.asarray(code[heard]))
    root = np.linalg.cholesky(
        np.asarray(kernel_matrix(found.kernel, embedding, embedding)[0], np.float64) + 1e-6 * np.eye(3)
    )
    nodes, mass = hermegauss(40)
    white = np.stack(np.meshgrid(nodes, nodes, nodes), axis=-1).reshape(-1, 3)
    log_mass = np.log(np.stack(np.meshgrid(mass, mass, mass), axis=-1).reshape(-1, 3) / mass.sum()).sum(axis=1)
    f = white @ root.T
    evidence = logsumexp(log_mass + (right[heard] * log_expit(f) + (n - right)[heard] * log_expit(-f)).sum(axis=1))
    assert evidence - 0.5 < bound < evidence


@pytest.mark.parametrize("kind", KINDS)
def test_every_surface_beats_independent_betas(fits, kind):
    error, alone = (((mean - TRUTH) ** 2).mean() for mean in (fits[kind].mean, (RIGHT + 1) / (N + 2)))
    assert error < 0.6 * alone


@pytest.mark.parametrize("kind", KINDS)
def test_draws_have_the_mean_and_the_variance(fits, kind):
    fit = fits[kind]
    draws = fit.draw(np.random.default_rng(0), 4000)
    assert draws.shape == (4000, len(N))
    assert ((draws >= 0) & (draws <= 1)).all()
    assert draws.mean(axis=0) == pytest.approx(fit.mean, abs=5 * np.sqrt(fit.variance.max() / 4000))
    assert draws.var(axis=0) == pytest.approx(fit.variance, rel=0.25)


@pytest.mark.parametrize("kind", ["beta-gp-sl", "beta-gp-slp"])
def test_arms_with_many_labels_vary_less_where_scales_are_supervised(fits, kind):
    order = np.argsort(N)
    few, many = order[:30], order[-30:]
    relative = fits[kind].variance / (fits[kind].mean * (1 - fits[kind].mean))
    assert relative[many].mean() < 0.7 * relative[few].mean()


@pytest.mark.parametrize("kind", KINDS)
def test_the_climb_gets_somewhere_and_settles(fits, kind):
    trace = fits[kind].trace
    assert len(trace) == STEPS
    assert trace[-1] > trace[0] + 50
    assert np.ptp(trace[-20:]) < 0.05 * np.ptp(trace)


def test_the_seed_decides_all(fits):
    again, other = (fit_deep(LEVEL, SIZES, N, RIGHT, kind="bern-gp", steps=STEPS, seed=seed) for seed in (0, 1))
    assert again.mean == pytest.approx(fits["bern-gp"].mean, abs=1e-4)
    assert other.mean == pytest.approx(again.mean, abs=0.15)
    assert (other.mean != again.mean).any()


def test_without_any_label_nothing_is_known():
    none = np.zeros(len(LEVEL))
    fit = fit_deep(LEVEL, SIZES, none, none, kind="beta-gp", steps=STEPS)
    assert fit.mean == pytest.approx(0.5, abs=0.05)
    assert fit.variance.min() > 0.05


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"right": N + 1}, "arm 0 has .* right predictions among .* labels"),
        ({"level": LEVEL + 1}, r"arm 1 has levels \[1, 1, 1, 1, 2\], but the attributes have"),
        ({"level": LEVEL[:1], "n": N[:1], "right": RIGHT[:1]}, "a surface needs at least two arms"),
    ],
)
def test_what_is_no_surface_is_refused(change, words):
    given = {"level": LEVEL, "n": N, "right": RIGHT, **change}
    with pytest.raises(InputError, match=words):
        fit_deep(sizes=SIZES, kind="bern-gp", **given)


def test_examples_are_true():
    assert doctest.testmod(kernels) == (0, 1)


def test_only_this_room_loads_jax_and_says_what_it_needs():
    look = "import sys, fewlabels, fewlabels.analyses.surface; assert 'jax' not in sys.modules; sys.modules['jax'] = None; import fewlabels.models.deep"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=False)
    assert "InputError: this estimator needs the extra 'deep': pip install 'fewlabels[deep]'" in done.stderr
