"""The model of grades: against Hamiltonian Monte Carlo, and calibrated under its own prior."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import kstest

from fewlabels.models.grades.design import (
    CellTraits,
    EffectBlock,
    find_scale_prior,
    find_shapes,
    list_blocks,
    list_scales,
    standardize_grades,
)
from fewlabels.models.grades.fit import fit_effects
from fewlabels.models.grades.laplace import GradeLikelihood, fit_normals
from fewlabels.models.hmc import ChainSettings, run_chains

GROUPS, BINS = 6, 4


def make_traits() -> CellTraits:
    group, bins = np.divmod(np.arange(GROUPS * BINS), BINS)
    return CellTraits(group, bins[:, None], ((bins - bins.mean()) / bins.std())[:, None], np.log1p(group) - 1)


def predict(blocks: tuple[EffectBlock, ...], terms: list[np.ndarray], n: int) -> np.ndarray:
    return softmax(sum(block.predict(one, n) for block, one in zip(blocks, terms, strict=True)), axis=2)


def draw_prior(rng: np.random.Generator, blocks: tuple[EffectBlock, ...], n: int) -> np.ndarray:
    """The distribution of grades in every cell, drawn from the prior."""
    names = list_scales(blocks)
    middle, spread = find_scale_prior(names)
    scales = dict(zip(names, np.exp(middle + spread * rng.standard_normal(len(names))), strict=True))
    terms = [block.mean + (block.fixed_scale or scales[block.name]) * rng.standard_normal((1, block.n_terms)) for block in blocks]  # fmt: skip
    return predict(blocks, terms, n)[0]


def draw_grades(rng: np.random.Generator, theta: np.ndarray, per_group: int) -> np.ndarray:
    sizes = rng.multinomial(per_group, np.ones(BINS) / BINS, size=GROUPS).ravel()
    return np.stack([rng.multinomial(n, p / p.sum()) for n, p in zip(sizes, theta, strict=True)]).astype(float)


def fit(
    rng: np.random.Generator, blocks: tuple[EffectBlock, ...], counts: np.ndarray, n_draws: int = 2000
) -> np.ndarray:
    (cells,) = np.nonzero(counts.sum(axis=1))
    drawn = fit_effects(rng, blocks, cells, counts[cells], n_draws)
    return predict(blocks, list(drawn.terms), len(counts))


def test_shapes_are_orthogonal_to_the_line() -> None:
    score = np.linspace(-1, 1, 5)
    shapes = find_shapes(score, 1)
    assert shapes.shape == (5, 3)
    assert np.allclose(shapes.T @ np.stack([np.ones(5), score], axis=1), 0)
    assert np.allclose(shapes.T @ shapes, np.eye(3))


@pytest.mark.parametrize("values", [np.array([0.0, 1.0]), np.array([1.0, 5.0])])
def test_two_grades_are_a_logistic_regression(values: np.ndarray) -> None:
    assert standardize_grades(values, np.array([3.0, 7.0])).tolist() == [-0.5, 0.5]


def test_a_block_predicts_what_its_columns_say() -> None:
    rng = np.random.default_rng(0)
    traits = make_traits()
    for block in list_blocks(traits, np.linspace(-1, 1, 5), rng.integers(0, 7, traits.n)):
        terms = rng.standard_normal((3, block.n_terms))
        columns = block.expand(np.arange(traits.n))
        assert np.allclose(np.einsum("ckt,dt->dck", columns, terms), block.predict(terms, traits.n))


def test_the_information_is_minus_the_derivative_of_the_gradient() -> None:
    rng = np.random.default_rng(1)
    likelihood = GradeLikelihood(rng.standard_normal((4, 3, 5)), rng.integers(0, 9, (4, 3)).astype(float))
    at, step = rng.standard_normal((1, 5)), 1e-5
    gradient, information = likelihood.expand(at)
    for i in range(5):
        ahead, back = (at + sign * step * np.eye(5)[i] for sign in (1, -1))
        assert (likelihood.value(ahead) - likelihood.value(back))[0] / (2 * step) == pytest.approx(gradient[0, i], rel=1e-4)  # fmt: skip
        change = (likelihood.expand(ahead)[0] - likelihood.expand(back)[0])[0] / (2 * step)
        assert np.allclose(-change, information[0, i], rtol=1e-4, atol=1e-5)


def test_the_evidence_is_that_of_a_normal_model_where_it_is_one() -> None:
    """Without grades, the evidence of every setting is 1."""
    likelihood = GradeLikelihood(np.ones((1, 2, 3)) * [[[1.0], [0.0]]], np.zeros((1, 2)))
    found = fit_normals(likelihood, np.zeros(3), np.array([[0.5, 1.0, 2.0], [3.0, 1.0, 1.0]]), np.ones((2, 3)))
    assert np.allclose(found.mode, 0)
    assert np.allclose(found.evidence, 0)


@pytest.mark.parametrize(("n_grades", "per_group"), [(2, 3), (5, 6)])
def test_draws_agree_with_hamiltonian_monte_carlo(n_grades: int, per_group: int) -> None:
    rng = np.random.default_rng(4)
    traits, values = make_traits(), np.linspace(0, 1, n_grades)
    score = standardize_grades(values, np.full(n_grades, 10.0))
    blocks = list_blocks(traits, score)
    counts = draw_grades(rng, draw_prior(rng, blocks, traits.n), per_group)
    ours, theirs = (theta @ values for theta in (fit(rng, blocks, counts, 4000), sample_hmc(rng, blocks, counts)))
    groups = [one.reshape(len(one), GROUPS, BINS).mean(axis=2) for one in (ours, theirs)]
    means, spreads = zip(*((one.mean(axis=0), one.std(axis=0)) for one in groups), strict=True)
    assert np.abs(means[0] - means[1]).max() < 0.35 * spreads[1].min()
    assert np.allclose(spreads[0], spreads[1], rtol=0.15)


def sample_hmc(rng: np.random.Generator, blocks: tuple[EffectBlock, ...], counts: np.ndarray) -> np.ndarray:
    """The same posterior by Hamiltonian Monte Carlo over standardised effects and the logarithms of their scales."""
    names, n_terms = list_scales(blocks), [block.n_terms for block in blocks]
    columns = np.concatenate([block.expand(np.arange(len(counts))) for block in blocks], axis=2)
    flat, total = columns.reshape(counts.size, -1), sum(n_terms)
    mean = np.repeat([block.mean for block in blocks], n_terms)
    fixed = np.repeat([block.fixed_scale or 0.0 for block in blocks], n_terms)
    owner = np.repeat(
        [names.index(block.name) if block.fixed_scale is None else len(names) for block in blocks], n_terms
    )
    middle, spreads = find_scale_prior(names)

    def scale(free: np.ndarray) -> np.ndarray:
        learned = np.column_stack([np.exp(middle + spreads * free), np.zeros(len(free))])
        return np.where(fixed > 0, fixed, learned[:, owner])

    def density(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        normal, free = at[:, :total], at[:, total:]
        spread = scale(free)
        eta = ((mean + spread * normal) @ flat.T).reshape(len(at), *counts.shape)
        log_p = eta - np.log(np.exp(eta).sum(axis=2, keepdims=True))
        score = ((counts - counts.sum(axis=1)[:, None] * np.exp(log_p)).reshape(len(at), -1)) @ flat
        pull = score * spread * normal
        slopes = np.stack([spreads[i] * pull[:, owner == i].sum(axis=1) for i in range(len(names))], axis=1)
        value = (log_p * counts).sum(axis=(1, 2)) - (at**2).sum(axis=1) / 2
        return value, np.concatenate([score * spread, slopes], axis=1) - at

    start = 0.1 * rng.standard_normal((8, total + len(names)))
    drawn = run_chains(density, start, rng, ChainSettings(n_draws=400, batches=1, acceptance=0.9)).draws
    drawn = drawn.reshape(-1, drawn.shape[2])
    terms = mean + scale(drawn[:, total:]) * drawn[:, :total]
    return predict(blocks, np.split(terms, np.cumsum(n_terms)[:-1], axis=1), len(counts))


def test_the_posterior_is_calibrated_under_its_prior() -> None:
    """Simulation-based calibration: the truth's rank among the draws is uniform; 40 simulations of three grades."""
    traits, values = make_traits(), np.array([0.0, 0.5, 1.0])
    score = standardize_grades(values, np.full(3, 10.0))
    blocks, ranks, covered = list_blocks(traits, score), [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        theta = draw_prior(rng, blocks, traits.n)
        drawn = fit(rng, blocks, draw_grades(rng, theta, 4), 600) @ values
        truth = (theta @ values).mean()
        overall = drawn.mean(axis=1)
        ranks.append((overall < truth).mean())
        groups = drawn.reshape(-1, GROUPS, BINS).mean(axis=2)
        low, high = np.quantile(groups, [0.025, 0.975], axis=0)
        known = (theta @ values).reshape(GROUPS, BINS).mean(axis=1)
        covered.append((low <= known) & (known <= high))
    assert kstest(ranks, "uniform").pvalue > 0.01
    assert 0.91 < np.mean(covered) < 0.985
