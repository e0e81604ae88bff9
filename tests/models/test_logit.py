"""The engine of curve and departures: derivatives against differences, sums against brute force, draws against both."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln, digamma, expit
from scipy.stats import norm, t

from fewlabels.models.logit.cells import CellLogits, _quantile, project_to_cells
from fewlabels.models.logit.laplace import LogitComponent, LogitFit, _evaluate_points, _find_modes, fit, integrate
from fewlabels.models.logit.log_posterior import LogPosterior, trace_gradient
from fewlabels.models.logit.model import MISCALIBRATION, MISCALIBRATION_WEIGHTS, OUTLIER_PRIOR, Model, Observations
from fewlabels.models.logit.random_effects import LOOSE, N_SHIFTS, NODES, OutlierGrid, RandomEffects, Spread

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
    return Observations(design[seen], group[seen], right[seen], total[seen], np.zeros((seen.sum(), 3)))


CENTRE, SPREAD = np.array([0.0, 1.0, 0.0]), np.array([1.5, 0.5, 0.5])
MODEL = Model(CENTRE, SPREAD, np.array([True, True, False]))
ONE_SCALE = Model(CENTRE, SPREAD, np.ones(3, dtype=bool), miscalibration=(1.0,), miscalibration_weights=(1.0,))
NOTHING = Observations(np.zeros((0, 3)), np.zeros(0, int), np.zeros(0), np.zeros(0), np.zeros((0, 3)))


def draw_prior(rng, n, n_groups, has_never_right=True):
    """Terms, random effects (−20 for groups that are never right), and accuracies of outliers (nan for other groups)."""
    factor = rng.choice(MISCALIBRATION, size=n, p=MISCALIBRATION_WEIGHTS)[:, None]
    terms = rng.normal(CENTRE, SPREAD * np.where(MODEL.is_curve, factor, 1.0))
    scale = 0.4 * np.exp(0.7 * rng.standard_normal(n))
    never = has_never_right * expit(rng.normal(-4.3, 1.5, size=n))
    effect = scale[:, None] * rng.standard_t(4, size=(n, n_groups))
    is_never = rng.random(effect.shape) < never[:, None]
    share = expit(rng.normal(*OUTLIER_PRIOR, size=n))
    is_outlier = ~is_never & (rng.random(effect.shape) < share[:, None])
    return terms, np.where(is_never, -20.0, effect), np.where(is_outlier, rng.random(effect.shape), np.nan)


def combine(logit, alone):
    """Probabilities of being right: those of outliers do not depend on the curve."""
    return np.where(np.isnan(alone), expit(logit), alone)


@pytest.mark.parametrize(
    "at", [np.array([0.2, 0.8, -0.1, -0.6, -3.0, -2.0]), np.array([-0.5, 1.3, 0.3, 0.9, 0.4, 0.6])]
)
@pytest.mark.parametrize("trait", [0.0, 0.7])
def test_derivatives_are_those_of_the_log_posterior(at, trait):
    seen, step = make_evidence(), 1e-3
    traits = np.outer(trait * np.sin(seen.group), [0.0, 0.0, 1.0])  # of the last term, which is also the curve's
    problem = LogPosterior(replace(seen, traits=traits), ONE_SCALE)
    view = problem.evaluate(at)
    for i in range(len(at)):
        ahead, behind = (problem.evaluate(at + sign * step * np.eye(len(at))[i]) for sign in (1, -1))
        assert view.gradient[i] == pytest.approx((ahead.value - behind.value) / (2 * step), abs=0.15)
        assert view.hessian[i] == pytest.approx((ahead.gradient - behind.gradient) / (2 * step), abs=0.15)


@pytest.mark.parametrize("trait", [0.0, 0.7])
def test_the_gradient_of_the_trace_is_that_of_the_hessian(trait):
    seen, step, at = make_evidence(), 1e-2, np.array([0.2, 0.8, -0.1, -0.6, -3.0, -1.0])
    traits = np.outer(trait * np.sin(seen.group), [0.0, 0.0, 1.0])
    problem = LogPosterior(replace(seen, traits=traits), ONE_SCALE)
    covariance = np.array([[0.4, 0.1, -0.1], [0.1, 0.3, 0.0], [-0.1, 0.0, 0.2]])
    found = trace_gradient(problem.evaluate(at), covariance)
    for i in range(3):
        ahead, behind = (problem.evaluate(at + sign * step * np.eye(6)[i]).hessian[:3, :3] for sign in (1, -1))
        assert found[i] == pytest.approx(np.trace(covariance @ (ahead - behind)) / (2 * step), abs=0.05)


def test_the_mean_of_terms_is_shifted_from_their_mode_as_the_posterior_is_skewed():
    """One stratum of 46 right of 50: the posterior of a flat prior has mean accuracy 46/50 where the mode has it, too."""
    seen = Observations(np.ones((1, 1)), np.zeros(1, int), np.array([46.0]), np.array([50.0]), np.zeros((1, 1)))
    model = Model(
        np.zeros(1), np.full(1, 30.0), np.ones(1, dtype=bool), has_never_right=False, scale=0.01, scale_deviation=0.01,
        miscalibration=(1.0,), miscalibration_weights=(1.0,), outliers=(-20.0, 0.1),
    )  # fmt: skip
    found = fit(seen, model)
    exact = digamma(46) - digamma(4)
    assert found.components[0].terms[0] == pytest.approx(np.log(46 / 4), abs=0.01)
    assert found.mean[0] == pytest.approx(exact, abs=0.02)
    cell = project_to_cells(found, np.ones((1, 1)), [np.ones(1)], np.zeros(1, int), np.zeros(1, int), np.zeros((1, 1)))[
        0
    ]
    assert cell.mean[0] == pytest.approx(46 / 50, abs=0.003)


@pytest.mark.parametrize("most", [1, 500, 10**6])
def test_many_points_are_looked_at_in_one_pass_as_one_by_one(most):
    problem, points = LogPosterior(make_evidence(), MODEL), RNG.normal(size=(7, 6))
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
        found += project_to_cells(integrate(seen, near), design, [np.ones(4)], cell, cell, np.zeros((4, 3)))
    scatter = np.std([logits.mean for logits in found], axis=0)
    error = np.mean([logits.error for logits in found], axis=0)
    assert np.all((0.4 * scatter < error) & (error < 4 * scatter))  # rather too large than too small


def density_never(seen, base, best):
    p = expit(base - 20)
    return np.exp((seen.right * np.log(p) + (seen.total - seen.right) * np.log1p(-p)).sum() - best)


@pytest.mark.parametrize("scale", [0.05, 0.6, 2.0])
@pytest.mark.parametrize("labels", [2, 5, 300])
def test_departures_are_summed_out_as_their_density_says(labels, scale):
    """One group, three strata: the grid against adaptive quadrature, for few labels and many, small scales and large."""
    seen = make_evidence(n_groups=1, labels=labels)
    at, never, outlier = np.concatenate([TERMS, [np.log(scale), -2.0, -1.5]]), expit(-2.0), expit(-1.5)
    base = seen.design @ TERMS

    def density(u):
        p = expit(base + u)
        likely = (seen.right * np.log(p) + (seen.total - seen.right) * np.log1p(-p)).sum()
        return t.pdf(u / scale, 4) / scale * np.exp(likely - best)

    best = (seen.right * np.log(seen.right.clip(0.5) / seen.total)).sum()  # or the density is nothing to a computer
    borders = np.sort([*(scale * np.array([-9, -3, 0, 3, 9])), *np.linspace(-15, 15, 61)])
    exact = sum(quad(density, a, b)[0] for a, b in pairwise(borders) if b > a)
    right, n = seen.right.sum(), seen.total.sum()
    alone = np.exp(betaln(right + 1, n - right + 1) - best)
    exact = (1 - never) * ((1 - outlier) * exact + outlier * alone) + never * density_never(seen, base, best)
    found = LogPosterior(seen, MODEL).evaluate(at).value - MODEL.log_prior(at) - best
    assert found == pytest.approx(np.log(exact), abs=0.05)


@pytest.mark.parametrize(("right", "total"), [(0, 0), (0, 1), (3, 3), (20, 50), (400, 400)])
def test_the_grid_of_outliers_sums_a_uniform_accuracy_out(right, total):
    grid = OutlierGrid.build(np.array([float(right)]), np.array([float(total)]))
    likely = np.exp(grid.log_likelihood) * grid.weight
    assert np.log(likely.sum()) == pytest.approx(betaln(right + 1, total - right + 1), abs=0.01)
    assert (likely @ expit(grid.nodes).T)[0, 0] / likely.sum() == pytest.approx((right + 1) / (total + 2), abs=0.005)


def test_the_parts_of_a_grid_have_their_probabilities():
    spread = Spread(0.5, np.full((1, 1), 0.1), 0.2)
    none = np.zeros(1)
    weight = RandomEffects().build_grid(spread, none, none + LOOSE, OutlierGrid.build(none, none)).weight[0]
    assert weight[:N_SHIFTS].sum() == pytest.approx(0.1 + 0.9 * 0.8, abs=0.005)
    assert weight[N_SHIFTS:].sum() == pytest.approx(0.9 * 0.2, abs=0.005)


def test_the_prior_averages_over_the_scale_of_miscalibration():
    at, other = np.array([0.2, 0.8, -0.1, -0.6, -3.0, -4.0]), np.array([-4.2, 1.4, 0.3, 0.4, 0.5, -1.0])

    def density(a):
        spreads = [SPREAD * np.where(MODEL.is_curve, factor, 1.0) for factor in MISCALIBRATION]
        terms = sum(w * norm.pdf(a[:3], CENTRE, s).prod() for w, s in zip(MISCALIBRATION_WEIGHTS, spreads, strict=True))
        hyper = norm.logpdf(a[3:], [np.log(0.4), -4.3, OUTLIER_PRIOR[0]], [0.7, 1.5, OUTLIER_PRIOR[1]])
        return np.log(terms) + hyper.sum()

    assert MODEL.log_prior(at) - MODEL.log_prior(other) == pytest.approx(density(at) - density(other))


@pytest.mark.parametrize("labels", [0, 1, 3, 30])
def test_the_mode_is_where_the_gradient_vanishes(labels):
    seen = make_evidence(labels=labels) if labels else NOTHING
    found = fit(seen, ONE_SCALE)
    view = _find_modes(seen, ONE_SCALE)[0].view
    assert view.gradient @ np.linalg.solve(-view.hessian, view.gradient) < 2e-3  # what another step would gain
    assert np.linalg.eigvalsh(found.covariance).min() > 0
    assert sum(component.weight for component in fit(seen, MODEL).components) == pytest.approx(1.0)


@pytest.mark.parametrize("level", [0.0, 3.0, -3.0])
def test_the_scale_of_miscalibration_is_learned(level):
    """The first labels move the level further where it is far from the scores than the narrowest prior would let it."""
    rng, x = np.random.default_rng(0), np.linspace(-1, 2, 8)
    design = np.stack([np.ones(8), x, np.maximum(x - 1, 0)], axis=1)
    right = rng.binomial(2, expit(x + level)).astype(float)
    seen = Observations(design, np.arange(8), right, np.full(8, 2.0), np.zeros((8, 3)))
    models = [Model(CENTRE, 0.4 * SPREAD, np.ones(3, dtype=bool), **scales) for scales in ({}, {"miscalibration": (0.5,), "miscalibration_weights": (1.0,)})]  # fmt: skip
    learned, narrow = (fit(seen, model).mean[0] for model in models)
    assert abs(learned) - abs(narrow) > 0.5 if level else abs(learned - narrow) < 0.2


@pytest.mark.parametrize(("never", "low"), [(0, 0.0), (30, 0.5)])
def test_the_share_of_groups_that_are_never_right_is_learned(never, low):
    rng = np.random.default_rng(1)
    right = np.concatenate([np.zeros(never), rng.binomial(4, 0.8, size=60 - never)]).astype(float)
    design = np.tile([1.0, 1.0, 0.0], (60, 1))
    seen = Observations(design, np.arange(60), right, np.full(60, 4.0), np.zeros((60, 3)))
    cell = project_to_cells(fit(seen, MODEL), design[:1], [np.ones(1)], np.array([0]), np.array([99]), np.zeros((1, 3)))
    share = (cell[0].draw(rng, 20_000) < 1e-3).mean()  # of a group without labels
    assert share > 0.25 if low else share < 0.05


def test_the_traits_of_groups_that_are_never_right_are_learned():
    """Labels only in groups with the trait, none of them ever right: groups without it are not taken to be like them."""
    right = np.concatenate([np.zeros(30), np.full(10, 4.0)])
    trait = np.concatenate([np.full(30, 2.0), np.full(10, -2.0)])
    design = np.tile([1.0, 1.0, 0.0], (40, 1))
    model = Model(np.array([0.0, 1.0, 1.0]), np.array([1.5, 0.5, 0.5]), np.array([True, True, False]))
    seen = Observations(design, np.arange(40), right, np.full(40, 4.0), np.outer(trait, [0.0, 0.0, 1.0]))
    unlabelled = np.outer([2.0, -2.0], [0.0, 0.0, 1.0])
    found = project_to_cells(fit(seen, model), design[:2], [np.ones(2)], np.arange(2), np.array([98, 99]), unlabelled)
    never = (found[0].draw(np.random.default_rng(0), 20_000) < 1e-3).mean(axis=0)
    assert never[0] > 0.8
    assert never[1] < 0.1


# -- what it implies for cells ---------------------------------------------------------------------------------


def explore(seen, design, weight, cell, group, n=150_000):
    """Accuracies of cells by importance sampling from the prior of everything: slow, and right."""
    rng = np.random.default_rng(1)
    terms, departure, alone = draw_prior(rng, n, group.max() + 1)
    p = np.clip(combine(terms @ seen.design.T + departure[:, seen.group], alone[:, seen.group]), 1e-12, 1 - 1e-12)
    log = (seen.right * np.log(p) + (seen.total - seen.right) * np.log1p(-p)).sum(axis=1)
    importance = np.exp(log - log.max())
    right = combine(terms @ design.T + departure[:, group[cell]], alone[:, group[cell]])
    value = np.stack([(right[:, cell == c] * weight[cell == c]).sum(axis=1) / weight[cell == c].sum() for c in range(len(group))], axis=1)  # fmt: skip
    picked = rng.choice(n, size=4000, p=importance / importance.sum())
    return value[picked], importance.sum() ** 2 / (importance**2).sum()


@pytest.mark.parametrize("labels", [0, 2, 5])
def test_cells_are_believed_what_the_whole_model_says_of_them(labels):
    """Means within a third of a standard deviation of brute force, widths within a third; unlabelled groups too."""
    seen = make_evidence(n_groups=5, n_each=3, labels=labels, seed=3) if labels else NOTHING
    rng = np.random.default_rng(8)
    cell = np.repeat(np.arange(6), 4)  # the last group has no label
    x = rng.normal(1.0, 1.5, size=len(cell))
    design = np.stack([np.ones(len(x)), x, np.maximum(x - 1, 0)], axis=1)
    weight, group = rng.integers(1, 9, size=len(cell)).astype(float), np.arange(6)
    exact, size = explore(seen, design, weight, cell, group)
    assert size > 200
    found = project_to_cells(fit(seen, MODEL), design, [weight], cell, group, np.zeros((6, 3)))[0]
    drawn = found.draw(np.random.default_rng(2), 4000)
    error = 4 * exact.std(axis=0) / np.sqrt(min(size, 4000))
    assert np.all(np.abs(found.mean - exact.mean(axis=0)) < exact.std(axis=0) / 3 + error)
    assert np.all(np.abs(drawn.mean(axis=0) - found.mean) < 0.02 + 0.02 * (labels == 0))
    for level in (0.5, 0.9):
        widths = [np.diff(np.quantile(sample, [(1 - level) / 2, (1 + level) / 2], axis=0), axis=0)[0] for sample in (drawn, exact)]  # fmt: skip
        assert np.all(widths[0] / widths[1] > 0.75)
        assert np.all(widths[0] / widths[1] < 1.35)


def test_cells_of_one_group_move_together():
    found = fit(make_evidence(n_groups=4, labels=3), MODEL)
    design = np.tile([1.0, 1.0, 0.0], (3, 1))
    drawn = project_to_cells(found, design, [np.ones(3)], np.arange(3), np.array([0, 0, 1]), np.zeros((3, 3)))[0].draw(
        RNG, 4000
    )
    together = np.corrcoef(drawn, rowvar=False)
    assert together[0, 1] > 0.999  # the same score and the same departure
    assert 0 < together[0, 2] < 0.9  # the same curve, another departure


def test_quantiles_lie_between_the_nodes():
    at, probability = np.array([[0.0, 1.0, 2.0, 3.0]]), np.array([[0.1, 0.4, 0.4, 0.1]])
    assert _quantile(at, probability, 0.5)[0] == pytest.approx(1.5)
    assert _quantile(at, probability, 0.001)[0] == pytest.approx(0.0)
    assert _quantile(at, probability, 0.999)[0] == pytest.approx(3.0)


@pytest.mark.parametrize(("has_never_right", "bound"), [(False, 0.045), (True, 0.07)])  # of groups that are never right
def test_ranks_of_the_truth_are_uniform_where_the_model_holds(has_never_right, bound):
    """Simulation-based calibration: draw everything from the prior, and see where the truth falls among the draws."""
    rng, ranks = np.random.default_rng(11), []
    for _ in range(200):
        terms, departure, alone = (values[0] for values in draw_prior(rng, 1, 8, has_never_right))
        group = np.repeat(np.arange(8), 3)
        x = rng.normal(1.0, 1.0, size=len(group))
        design = np.stack([np.ones(len(x)), x, np.maximum(x - 1, 0)], axis=1)
        total = rng.integers(0, 4, size=len(x)).astype(float)
        p = combine(design @ terms + departure[group], alone[group])
        right = rng.binomial(total.astype(int), p).astype(float)
        seen = total > 0
        found = fit(
            Observations(design[seen], group[seen], right[seen], total[seen], np.zeros((seen.sum(), 3))),
            replace(MODEL, has_never_right=has_never_right),
        )
        drawn = project_to_cells(found, design, [np.ones(len(x))], group, np.arange(8), np.zeros((8, 3)))[0].draw(
            rng, 99
        )
        drawn, truth = (np.clip(v, 1e-4, 1 - 1e-4) for v in (drawn, np.bincount(group, weights=p) / 3))
        alike = (drawn == truth).sum(axis=0)  # at the very ends: any place among them will do
        ranks += ((drawn < truth).sum(axis=0) + rng.integers(0, alike + 1)).tolist()
    counts = np.bincount(np.array(ranks) // 20, minlength=5)
    assert np.abs(counts / len(ranks) - 0.2).max() < bound  # groups of one run hang together: not 1,600 tries but fewer


def test_a_cell_that_does_not_follow_the_curve_is_not_widened_by_its_uncertainty():
    """All weight on an outlier's node: the interval is that node, however uncertain the curve is."""
    at = np.zeros((1, 2, NODES))
    probability = np.zeros((1, 2, NODES))
    probability[0, 0, 0] = probability[0, 1, -1] = 1.0
    one, none = np.ones(1), np.zeros((0, NODES))
    component = LogitComponent(np.zeros(4), np.zeros(1), 1.0, np.eye(1), none, none, np.zeros((0, NODES, 1)))
    model = Model(one, one, np.ones(1, dtype=bool))
    fitted = LogitFit(model, np.zeros(4), np.eye(4), np.zeros(0, dtype=np.int64), (component,), ())
    found = CellLogits(fitted, np.arange(2), at, probability, np.ones((1, 2, 1)), np.zeros(2))
    low, high = found.interval(0.95)
    assert high[0] - low[0] > 0.5
    assert high[1] - low[1] < 1e-6
