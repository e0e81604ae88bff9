import itertools

import numpy as np
import pytest

from fewlabels.distributions.covariance import CellCovariance, independent_cells
from fewlabels.models.additive import covariance as tying
from fewlabels.models.additive.arm_posterior import ArmPosterior, ArmPosteriorComponent


def make_ties(n=6, factors=3, seed=0):
    rng = np.random.default_rng(seed)
    shared, own = 0.1 * rng.standard_normal((n, factors)), 0.02 * rng.random(n)
    return CellCovariance(shared, own, np.zeros(n), 0.1 + 0.1 * rng.random(n))


def cover(covariance):
    """The covariance of all chances."""
    return covariance.shared @ covariance.shared.T + np.diag(covariance.own + covariance.outlier)


def test_labels_leave_what_conditioning_a_normal_leaves():
    """Outcomes are chances and noise: Σ − Σ_s (Σ_ss + noise / n)⁻¹ Σ_s, cell by cell and all together."""
    covariance, n = make_ties(), np.array([0.0, 3.0, 0.0, 1.0, 7.0, 0.0])
    whole, told = cover(covariance), np.nonzero(n)[0]
    within = whole[np.ix_(told, told)] + np.diag(covariance.noise[told] / n[told])
    expected = whole - whole[:, told] @ np.linalg.solve(within, whole[told])
    assert cover(covariance.observe(n)) == pytest.approx(expected, abs=1e-12)


def test_labels_come_one_by_one_or_together():
    covariance, n = make_ties(), np.array([2.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    one_by_one = covariance
    for cell in (2, 0, 5, 0):
        one_by_one = one_by_one.observe(np.eye(6)[cell])
    assert cover(one_by_one) == pytest.approx(cover(covariance.observe(n)), abs=1e-12)


def test_without_labels_nothing_changes():
    covariance = make_ties()
    assert covariance.observe(np.zeros(6)) is covariance


def test_a_stranger_is_found_out_by_its_first_label():
    covariance = make_ties()
    covariance = CellCovariance(covariance.shared, covariance.own, np.full(6, 0.03), covariance.noise)
    after = covariance.observe(np.eye(6)[1])
    assert after.outlier.tolist() == [0.03, 0.0, 0.03, 0.03, 0.03, 0.03]


WORLDS = np.array([[0.9, 0.8, 0.3], [0.6, 0.7, 0.2], [0.95, 0.4, 0.5], [0.5, 0.9, 0.1]])  # chances of three cells
LIKELY = np.array([0.4, 0.3, 0.2, 0.1])


def tie_worlds():
    """The ties of a handful of possible worlds, exactly."""
    mean = LIKELY @ WORLDS
    off = np.sqrt(LIKELY)[:, None] * (WORLDS - mean)
    variance = (off**2).sum(axis=0)
    return CellCovariance(off.T, np.zeros(3), np.zeros(3), mean * (1 - mean) - variance)


def enumerate_fall(quantity, cell):
    """Fall of the variance of a quantity, (world, outcome of the item), once the item of a cell has its label."""
    joint = LIKELY[:, None] * np.stack([1 - WORLDS[:, cell], WORLDS[:, cell]], axis=1)
    before = _variance(joint, quantity)
    after = sum(
        joint[:, z].sum() * _variance(joint[:, z : z + 1] / joint[:, z].sum(), quantity[:, z : z + 1]) for z in (0, 1)
    )
    return before - after


def _variance(p, x):
    return (p * x**2).sum() - (p * x).sum() ** 2


@pytest.mark.parametrize("cell", [0, 1, 2])
def test_what_a_label_tells_is_what_enumerating_the_worlds_says(cell):
    """Two aims, of two cells and of one; the item itself counts for a fifth of its cell."""
    aim, weight, worth = np.array([0, 0, 1]), np.array([0.7, 0.3, 0.8]), np.array([1.0, 2.5])
    item = np.array([0.1, 0.05, 0.2])
    expected = 0.0
    for g in (0, 1):
        chances = (WORLDS * weight * (aim == g)).sum(axis=1)
        own = item[cell] * (aim[cell] == g) * np.array([0.0, 1.0])
        expected += worth[g] * enumerate_fall(chances[:, None] + own[None] - _expect_own(own, cell), cell)
    assert tie_worlds().expect_variance_reduction(aim, weight, item, worth)[cell] == pytest.approx(expected, rel=1e-9)


def _expect_own(own, cell):
    """What is expected of the item in each world is part of its cell already; only its own noise is new."""
    return (WORLDS[:, cell] * own[1])[:, None]


def test_cells_that_stand_alone_tell_nothing_of_each_other():
    covariance = independent_cells(np.array([0.02, 0.01]), np.array([0.2, 0.25]))
    fall = covariance.expect_variance_reduction(np.array([0, 1]), np.ones(2), np.zeros(2), np.ones(2))
    assert fall == pytest.approx(np.array([0.02, 0.01]) ** 2 / np.array([0.2, 0.25]))
    assert covariance.observe(np.array([1.0, 0.0])).variance[1] == 0.01


@pytest.mark.parametrize("n_terms", [5, 90])
def test_a_relief_ties_its_arms_together_as_its_draws_vary(n_terms):
    """Of narrow logits: what draws of chances show; few directions carry what many terms do."""
    rng = np.random.default_rng(1)
    loadings = 0.1 * rng.standard_normal((30, 4)) @ rng.standard_normal((4, n_terms)) / np.sqrt(n_terms)
    part = ArmPosteriorComponent(1.0, rng.normal(1.0, 0.5, 30), loadings, np.eye(n_terms), np.full(30, 0.05))
    posterior = ArmPosterior((part,), np.zeros(30))
    covariance = tying.build_covariance(posterior, np.zeros(30))
    assert covariance.shared.shape[1] == min(n_terms, tying.N_FACTORS)
    drawn = np.cov(posterior.draw(np.random.default_rng(2), 100_000).T)
    for a, b in itertools.product((0, 7, 20), repeat=2):
        assert cover(covariance)[a, b] == pytest.approx(drawn[a, b], abs=2e-5, rel=0.06)


def test_a_chance_varies_no_more_than_the_relief_says_however_little_is_known_of_its_logit():
    part = ArmPosteriorComponent(1.0, np.array([0.0, 1.5, -3.0]), np.full((3, 1), 2.0), np.eye(1), np.full(3, 1.0))
    posterior = ArmPosterior((part,), np.zeros(3))
    drawn = posterior.draw(np.random.default_rng(3), 200_000).var(axis=0)
    assert posterior.variance == pytest.approx(drawn, rel=0.03)  # draws are off by half a percent, nine points by two
    assert tying.build_covariance(posterior, np.zeros(3)).variance == pytest.approx(posterior.variance)
