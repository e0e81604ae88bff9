"""The engine of curve and departures: derivatives against differences, sums against brute force, draws against both."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import cauchy, norm, t

from fewlabels.models.logit.cells import _quantile, project_to_cells
from fewlabels.models.logit.laplace import _evaluate_points, _Problem, fit, integrate
from fewlabels.models.logit.model import Model, Observations
from fewlabels.models.logit.random_effects import RandomEffects

RNG = np.random.default_rng(5)
TERMS = np.array([0.4, 0.9, -0.3])


def make_evidence(n_groups=6, n_each=4, seed=0, scale=0.7, labels=5):
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), n_each)
    x = rng.normal(1.0, 1.5, size=len(group))
    design = np.stack([np.ones(len(x)), x, np.maximum(x - 1, 0)], axis=1)
    departure = scale * rng.standard_t(4, size=n_groups)
    total = rng.integers(0, labels + 1, size=len(x)).astype(float)
    right = rng.binomial(total.astype(int), expit(design @ TERMS + departure[group])).astype(float)
    seen = total > 0
    return Observations(design[seen], group[seen], right[seen], total[seen])


MODEL = Model(np.array([0.0, 1.0, 0.0]), np.array([1.5, 0.5, 0.5]))


@pytest.mark.parametrize("at", [np.array([0.2, 0.8, -0.1, -0.6]), np.array([-0.5, 1.3, 0.3, 0.9])])
def test_derivatives_are_those_of_the_log_posterior(at):
    problem, step = _Problem(make_evidence(), MODEL), 1e-3
    view = problem.evaluate(at)
    for i in range(len(at)):
        ahead, behind = (problem.evaluate(at + sign * step * np.eye(len(at))[i]) for sign in (1, -1))
        assert view.gradient[i] == pytest.approx((ahead.value - behind.value) / (2 * step), abs=0.15)
        assert view.hessian[i] == pytest.approx((ahead.gradient - behind.gradient) / (2 * step), abs=0.15)


@pytest.mark.parametrize("most", [1, 500, 10**6])
def test_many_points_are_looked_at_in_one_pass_as_one_by_one(most):
    problem, points = _Problem(make_evidence(), MODEL), RNG.normal(size=(7, 4))
    value, place, probability = _evaluate_points(problem, points, most)
    views = [problem.evaluate(at) for at in points]
    assert value == pytest.approx([view.value for view in views])
    assert place == pytest.approx(np.array([view.grid.nodes for view in views]))
    assert probability == pytest.approx(np.array([view.probability for view in views]))


def test_the_error_of_a_mean_is_how_far_means_from_other_points_are_off(monkeypatch):
    seen, cell = make_evidence(n_groups=3), np.arange(4)
    design = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 3.0, 2.0], [1.0, -2.0, 0.0]])
    near, found = fit(seen, MODEL), []
    for seed in range(20):
        monkeypatch.setattr("fewlabels.models.logit.importance_sampling.SEED", seed)
        found += project_to_cells(integrate(seen, near), design, [np.ones(4)], cell, cell)
    scatter = np.std([logits.mean for logits in found], axis=0)
    error = np.mean([logits.error for logits in found], axis=0)
    assert np.all((0.4 * scatter < error) & (error < 2.5 * scatter))


@pytest.mark.parametrize("scale", [0.05, 0.6, 2.0])
@pytest.mark.parametrize("labels", [2, 5, 300])
def test_departures_are_summed_out_as_their_density_says(labels, scale):
    """One group, three strata: the grid against adaptive quadrature, for few labels and many, small scales and large."""
    seen = make_evidence(n_groups=1, labels=labels)
    at = np.append(TERMS, np.log(scale))
    base = seen.design @ TERMS

    def density(u):
        p = expit(base + u)
        likely = (seen.right * np.log(p) + (seen.total - seen.right) * np.log1p(-p)).sum()
        return (0.98 * t.pdf(u / scale, 4) / scale + 0.02 * norm.pdf(u, 0, 4)) * np.exp(likely - best)

    best = (seen.right * np.log(seen.right.clip(0.5) / seen.total)).sum()  # or the density is nothing to a computer
    borders = np.sort([*(scale * np.array([-9, -3, 0, 3, 9])), *np.linspace(-15, 15, 61)])
    exact = sum(quad(density, a, b)[0] for a, b in pairwise(borders) if b > a)
    assert RandomEffects().outlier_weight == 0.02
    found = _Problem(seen, MODEL).evaluate(at).value - MODEL.log_prior(at) - best
    assert found == pytest.approx(np.log(exact), abs=0.05)


def test_the_prior_is_normal_and_half_cauchy():
    at, other = np.array([0.2, 0.8, -0.1, -0.6]), np.array([-0.2, 1.4, 0.3, 0.4])

    def density(a):
        return norm.logpdf(a[:-1], MODEL.centre, MODEL.spread).sum() + cauchy.logpdf(np.exp(a[-1]), 0, 0.4) + a[-1]

    assert MODEL.log_prior(at) - MODEL.log_prior(other) == pytest.approx(density(at) - density(other))


@pytest.mark.parametrize("labels", [0, 1, 3, 30])
def test_the_mode_is_where_the_slope_vanishes(labels):
    seen = (
        make_evidence(labels=labels)
        if labels
        else Observations(np.zeros((0, 3)), np.zeros(0, int), np.zeros(0), np.zeros(0))
    )
    found = fit(seen, MODEL)
    view = _Problem(seen, MODEL).evaluate(found.mode)
    assert view.gradient @ np.linalg.solve(-view.hessian, view.gradient) < 2e-3  # what another step would gain
    assert np.linalg.eigvalsh(found.covariance).min() > 0
    assert sum(component.weight for component in found.components) == pytest.approx(1.0)


def test_an_earlier_mode_leads_to_the_same_place():
    seen = make_evidence(labels=8)
    one, other = fit(seen, MODEL), fit(seen, MODEL, np.array([1.0, 0.2, 0.5, 0.5]))
    assert one.mode == pytest.approx(other.mode, abs=0.05)


# -- what it implies for cells ---------------------------------------------------------------------------------


def explore(seen, design, weight, cell, group, n=60_000):
    """Accuracies of cells by importance sampling from the prior of everything: slow, and right."""
    rng = np.random.default_rng(1)
    terms = rng.normal(MODEL.centre, MODEL.spread, size=(n, 3))
    scale = np.abs(rng.standard_cauchy(n)) * 0.4
    n_groups = group.max() + 1
    departure = scale[:, None] * rng.standard_t(4, size=(n, n_groups))
    departure = np.where(rng.random(departure.shape) < 0.02, rng.normal(0, 4, size=departure.shape), departure)
    p = np.clip(expit(terms @ seen.design.T + departure[:, seen.group]), 1e-12, 1 - 1e-12)
    log = (seen.right * np.log(p) + (seen.total - seen.right) * np.log1p(-p)).sum(axis=1)
    importance = np.exp(log - log.max())
    right = expit(terms @ design.T + departure[:, group[cell]])
    value = np.stack([(right[:, cell == c] * weight[cell == c]).sum(axis=1) / weight[cell == c].sum() for c in range(len(group))], axis=1)  # fmt: skip
    picked = rng.choice(n, size=4000, p=importance / importance.sum())
    return value[picked], importance.sum() ** 2 / (importance**2).sum()


@pytest.mark.parametrize("labels", [0, 2, 5])
def test_cells_are_believed_what_the_whole_model_says_of_them(labels):
    """Means within a third of a standard deviation of brute force, widths within a third; unlabelled groups too."""
    seen = make_evidence(n_groups=5, n_each=3, labels=labels, seed=3) if labels else Observations(np.zeros((0, 3)), np.zeros(0, int), np.zeros(0), np.zeros(0))  # fmt: skip
    rng = np.random.default_rng(8)
    cell = np.repeat(np.arange(6), 4)  # the last group has no label
    x = rng.normal(1.0, 1.5, size=len(cell))
    design = np.stack([np.ones(len(x)), x, np.maximum(x - 1, 0)], axis=1)
    weight, group = rng.integers(1, 9, size=len(cell)).astype(float), np.arange(6)
    exact, size = explore(seen, design, weight, cell, group)
    assert size > 200
    found = project_to_cells(fit(seen, MODEL), design, [weight], cell, group)[0]
    drawn = found.draw(np.random.default_rng(2), 4000)
    error = 4 * exact.std(axis=0) / np.sqrt(min(size, 4000))
    assert np.all(np.abs(found.mean - exact.mean(axis=0)) < exact.std(axis=0) / 3 + error)
    assert np.all(np.abs(drawn.mean(axis=0) - found.mean) < 0.02)
    for level in (0.5, 0.9):
        widths = [np.diff(np.quantile(sample, [(1 - level) / 2, (1 + level) / 2], axis=0), axis=0)[0] for sample in (drawn, exact)]  # fmt: skip
        assert np.all(widths[0] / widths[1] > 0.75)
        assert np.all(widths[0] / widths[1] < 1.35)


def test_cells_of_one_group_move_together():
    found = fit(make_evidence(n_groups=4, labels=3), MODEL)
    design = np.tile([1.0, 1.0, 0.0], (3, 1))
    drawn = project_to_cells(found, design, [np.ones(3)], np.arange(3), np.array([0, 0, 1]))[0].draw(RNG, 4000)
    together = np.corrcoef(drawn, rowvar=False)
    assert together[0, 1] > 0.999  # the same score and the same departure
    assert 0 < together[0, 2] < 0.9  # the same curve, another departure


def test_quantiles_lie_between_the_nodes():
    at, probability = np.array([[0.0, 1.0, 2.0, 3.0]]), np.array([[0.1, 0.4, 0.4, 0.1]])
    assert _quantile(at, probability, 0.5)[0] == pytest.approx(1.5)
    assert _quantile(at, probability, 0.001)[0] == pytest.approx(0.0)
    assert _quantile(at, probability, 0.999)[0] == pytest.approx(3.0)


def test_ranks_of_the_truth_are_uniform_where_the_model_holds():
    """Simulation-based calibration: draw everything from the prior, and see where the truth falls among the draws."""
    rng, ranks = np.random.default_rng(11), []
    for _ in range(200):
        terms, scale = rng.normal(MODEL.centre, MODEL.spread), abs(rng.standard_cauchy()) * 0.4
        group = np.repeat(np.arange(8), 3)
        x = rng.normal(1.0, 1.0, size=len(group))
        design = np.stack([np.ones(len(x)), x, np.maximum(x - 1, 0)], axis=1)
        outlier_weight = rng.random(8) < 0.02
        departure = np.where(outlier_weight, rng.normal(0, 4, size=8), scale * rng.standard_t(4, size=8))
        total = rng.integers(0, 4, size=len(x)).astype(float)
        p = expit(design @ terms + departure[group])
        right = rng.binomial(total.astype(int), p).astype(float)
        seen = total > 0
        found = fit(Observations(design[seen], group[seen], right[seen], total[seen]), MODEL)
        drawn = project_to_cells(found, design, [np.ones(len(x))], group, np.arange(8))[0].draw(rng, 99)
        drawn, truth = (np.clip(v, 1e-4, 1 - 1e-4) for v in (drawn, np.bincount(group, weights=p) / 3))
        alike = (drawn == truth).sum(axis=0)  # at the very ends: any place among them will do
        ranks += ((drawn < truth).sum(axis=0) + rng.integers(0, alike + 1)).tolist()
    counts = np.bincount(np.array(ranks) // 20, minlength=5)
    assert np.abs(counts / len(ranks) - 0.2).max() < 0.045  # groups of one run hang together: not 1,600 tries but fewer
