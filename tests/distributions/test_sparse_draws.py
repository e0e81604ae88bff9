"""Sparse draws of Dirichlet rows have the distribution of dense ones."""

import numpy as np
import pytest
from scipy.stats import beta, gamma, kstest

from fewlabels.distributions.beta_dirichlet import Dirichlet
from fewlabels.distributions.sparse_draws import SMALLEST_JUMP, count_entries, draw_dirichlet, draw_gammas, fill_empty

ALPHA = np.array([[0.01] * 60 + [3.01, 0.51], [0.02] * 30 + [0.01] * 31 + [40.0]])
N = 4000


@pytest.fixture(scope="module")
def shares():
    return draw_dirichlet(np.random.default_rng(0), ALPHA, N)


def test_shares_add_up_to_one(shares):
    assert np.allclose(shares.sum_cells(), 1)
    assert shares.to_dense().shape == (N, *ALPHA.shape)


def test_moments_are_those_of_the_dirichlet(shares):
    exact, dense = Dirichlet(("a", "b"), ALPHA), shares.to_dense()
    sd = np.sqrt(exact.variance())
    assert np.all(np.abs(dense.mean(axis=0) - exact.mean()) < 5 * sd / np.sqrt(N))
    assert dense.std(axis=0).sum() == pytest.approx(sd.sum(), rel=0.05)


@pytest.mark.parametrize("outcome", [60, 61])
def test_a_share_has_its_beta_marginal(shares, outcome):
    a = ALPHA[0, outcome]
    assert kstest(shares.to_dense()[:, 0, outcome], beta(a, ALPHA[0].sum() - a).cdf).pvalue > 1e-3


def test_the_sum_of_classes_without_labels_has_its_beta_marginal(shares):
    rest = shares.to_dense()[:, 0, :60].sum(axis=1)
    assert kstest(rest, beta(0.6, ALPHA[0].sum() - 0.6).cdf).pvalue > 1e-3


def test_jumps_of_small_shapes_add_up_to_a_gamma():
    alpha = np.full((1, 100), 0.02)
    drawn = draw_gammas(np.random.default_rng(1), alpha, N)
    assert kstest(drawn.sum_cells()[:, 0], gamma(2.0).cdf).pvalue > 1e-3
    each = drawn.to_dense()[:, 0].reshape(-1)
    for x in (1e-5, 1e-3, 0.1, 1.0):
        p = gamma(0.02).sf(x)
        assert (each > x).mean() == pytest.approx(p, abs=5 * np.sqrt(p / each.size) + 100 * SMALLEST_JUMP)


def test_a_cell_without_jumps_gets_one_outcome():
    alpha = np.full((1, 20), 0.001)
    drawn = fill_empty(np.random.default_rng(0), draw_gammas(np.random.default_rng(0), alpha, 50), alpha)
    assert (drawn.sum_cells() > 0).all()


def test_entries_are_counted(shares):
    assert len(shares.value) / N < count_entries(ALPHA) < 60
