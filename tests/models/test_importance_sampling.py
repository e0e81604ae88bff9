"""Importance sampling: weights' tails, adapted proposals, and hard posteriors against long chains of Metropolis steps."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fewlabels.models.logit.cells import project_to_cells
from fewlabels.models.logit.importance_sampling import ImportanceSample, Normal, estimate_pareto_k, sample
from fewlabels.models.logit.laplace import _evaluate_points, fit, from_sample, integrate
from fewlabels.models.logit.log_posterior import LogPosterior
from fewlabels.models.logit.model import AT_NEVER, Model, Observations

MODEL = Model(np.array([0.0, 1.0]), np.array([1.0, 0.5]), np.ones(2, dtype=bool))
COVARIANCE = np.array([[1.0, 0.3], [0.3, 0.5]])
START = Normal(1.0, np.zeros(2), np.eye(2))


@pytest.mark.parametrize("shape", [0.3, 0.7, 1.2])
def test_the_shape_of_a_tail_is_estimated(shape):
    drawn = np.random.default_rng(0).pareto(1 / shape, 50_000) + 1
    assert estimate_pareto_k(np.log(drawn)) == pytest.approx(shape, abs=0.15)


def test_equal_weights_have_no_tail_and_few_points_no_verdict():
    assert estimate_pareto_k(np.zeros(100)) == -np.inf
    assert estimate_pareto_k(np.zeros(4)) == np.inf


def test_a_proposal_that_is_off_is_adapted(monkeypatch):
    """Too wide a proposal, three standard deviations away, is unreliable in the first round, and not in a later one."""
    target = multivariate_normal([2.0, -2.0], COVARIANCE / 16)
    found = sample(target.logpdf, [START])
    assert found.is_reliable
    assert found.moments.mean == pytest.approx([2.0, -2.0], abs=0.1)
    assert np.diag(found.moments.covariance) == pytest.approx(np.diag(COVARIANCE) / 16, rel=0.4)
    monkeypatch.setattr("fewlabels.models.logit.importance_sampling.MAX_ROUNDS", 1)
    assert not sample(target.logpdf, [START]).is_reliable


def test_a_target_that_no_proposal_reaches_is_called_unreliable():
    """Two narrow modes, far apart, of which the proposal knows neither."""
    places = [multivariate_normal(sign * np.array([40.0, 40.0]), 1e-6 * np.eye(2)) for sign in (1, -1)]
    found = sample(lambda points: np.logaddexp(*(place.logpdf(points) for place in places)), [START])
    assert not found.is_reliable


def test_parts_of_a_mixture_are_all_sampled():
    parts = [Normal(0.7, np.zeros(2), np.eye(2)), Normal(0.3, np.array([9.0, 0.0]), np.eye(2) / 9)]
    densities = [multivariate_normal(part.mean, part.covariance) for part in parts]
    found = sample(
        lambda points: np.logaddexp(
            *(np.log(p.weight) + d.logpdf(points) for p, d in zip(parts, densities, strict=True))
        ),
        parts,
    )
    assert found.weight @ (found.points[:, 0] > 6) == pytest.approx(0.3, abs=0.03)
    assert found.effective_size > 150


def make_case(right, total, logit):
    """A stratum per group: right of total labels, at a score's logit."""
    design = np.stack([np.ones(len(right)), np.array(logit, dtype=float)], axis=1)
    seen = np.array(total) > 0
    group = np.arange(len(right))
    counts = (np.array(values, dtype=float)[seen] for values in (right, total))
    return design, Observations(design[seen], group[seen], *counts, np.zeros((seen.sum(), 2)))


CASES = {
    "saturated scores": make_case([90, 2, 1], [90, 4, 3], [6.0, 0.5, 1.0]),
    "all right": make_case([5, 4, 6, 5, 0], [5, 4, 6, 5, 0], [2.0, 1.0, 3.0, 2.0, 2.0]),
    "one group": make_case([7], [9], [1.0]),
    "three labels": make_case([1, 1, 0, 0], [1, 1, 1, 0], [2.0, 0.5, 1.0, 1.5]),
    "all wrong at high scores": make_case([0, 0, 0, 0], [8, 6, 7, 0], [4.0, 5.0, 4.5, 4.0]),
}


def run_metropolis(problem, near, n_chains=240, n_steps=500, seed=4):
    """Random-walk Metropolis from many starting points; the last half of the steps, thinned."""
    rng = np.random.default_rng(seed)
    evaluate = lambda points: _evaluate_points(problem, points)[0]  # noqa: E731
    size = len(near.mean)
    root = np.linalg.cholesky(near.covariance) * 2.0 / np.sqrt(size)
    at = near.mean + rng.standard_normal((n_chains, size)) @ np.linalg.cholesky(near.covariance).T
    value, kept = evaluate(at), []
    for step in range(n_steps):
        ahead = at + rng.standard_normal(at.shape) @ root.T * rng.choice([0.3, 1.0, 2.5], size=(n_chains, 1))
        found = evaluate(ahead)
        accepted = np.log(rng.random(n_chains)) < found - value
        at, value = np.where(accepted[:, None], ahead, at), np.where(accepted, found, value)
        if step >= n_steps // 2 and step % 50 == 49:
            kept.append(at)
    points = np.concatenate(kept)
    return from_sample(problem, near, ImportanceSample(points, np.full(len(points), 1 / len(points)), 0.0))


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """A case, its fit, and draws of the cells' accuracies from long chains."""
    design, seen = CASES[request.param]
    near = fit(seen, MODEL)
    return design, seen, near, draw_cells(design, run_metropolis(LogPosterior(seen, MODEL), near))


def draw_cells(design, found):
    cell = np.arange(len(design))
    project = project_to_cells(found, design, [np.ones(len(cell))], cell, cell, np.zeros((len(cell), 2)))
    return project[0].draw(np.random.default_rng(1), 8000)


@pytest.mark.parametrize(("approximate", "bound"), [(lambda seen, near: near, 0.02), (integrate, 0.015)])
def test_hard_posteriors_agree_with_long_chains(case, approximate, bound):
    """Probabilities beyond the ends of each cell's 95 % interval: of the normal mixture, and importance-sampled."""
    design, seen, near, long = case
    low, high = np.quantile(long, [0.025, 0.975], axis=0)
    drawn = draw_cells(design, approximate(seen, near))
    beyond = (drawn < low - 0.005).mean(axis=0), (drawn > high + 0.005).mean(axis=0)
    assert np.max(beyond) < 0.025 + bound
    assert np.all(np.abs(drawn.mean(axis=0) - long.mean(axis=0)) < 0.15 * long.std(axis=0) + 0.005)


def test_importance_sampling_of_hard_posteriors_is_reliable(case):
    _, seen, near, _ = case
    assert integrate(seen, near).sample.is_reliable


def test_labels_all_wrong_have_a_mode_with_a_low_curve_too():
    """Eight wrong of eight at high scores: a group that is never right, or a curve that is low; not the first alone."""
    design, seen = CASES["all wrong at high scores"]
    found = fit(seen, MODEL)
    assert max(part.weight for part in found.normals if part.mean[AT_NEVER] < -3) > 0.5
    assert np.quantile(draw_cells(design, found)[:, 0], 0.975) > 0.03
