"""Which class wrong predictions truly are: the fit, its draws, and the rates made of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from makers import make_tally
from scipy.special import gammaln, logsumexp

import fewlabels as fl
from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.metrics.metric import METRICS
from fewlabels.models import metric_sampler as limits
from fewlabels.models.baselines import IndependentBetas
from fewlabels.models.inference import infer
from fewlabels.models.logit import true_classes
from fewlabels.models.logit.joint_shares import JointShares, UnlabelledShares
from fewlabels.models.logit.true_classes import (
    SCALE_PRIOR,
    SCALES,
    STRENGTH_PRIOR,
    STRENGTHS,
    WrongLabels,
    fit_settings,
    fit_true_classes,
)

N, K = 12, 12


def confusion_tally(seed=0, n_labels=40, vanished=None, sizes=60):
    """Cells by predicted class of a model whose errors are of class 0 five times as often as its probabilities say."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(N):
        chance = np.ones(K)
        chance[0] = 5.0
        chance[k] = 0.0
        if vanished is not None:
            chance[vanished] = 0.0
        right = 0.7 * (k != vanished)
        p = (1 - right) * chance / chance.sum()
        p[k] = right
        labels = rng.choice(K, n_labels, p=p / p.sum())
        rows += [(k, j, c, c) for j, c in zip(*np.unique(labels, return_counts=True), strict=True)]
        rows.append((k, -1, sizes, 0))
    predicted, label, n_items, n = np.array(rows).T
    right = np.where(predicted == label, n, 0).astype(float)
    return make_tally(
        group=predicted, predicted=predicted, label=label, n_items=n_items, n_labels=n, right=right, k=K, by="predicted"
    )


def cells_of(tally):
    return tally.cells(("predicted",))


# -- the fit --------------------------------------------------------------------------------------------------


def test_the_gradient_and_the_hessian_are_those_of_the_likelihood():
    """Central differences of the log likelihood of three rows and four classes."""
    rng = np.random.default_rng(1)
    base = rng.dirichlet(np.ones(4), 3)
    labels = WrongLabels(base, np.array([0, 0, 1, 2]), np.array([1, 2, 0, 3]), np.array([3.0, 1.0, 2.0, 5.0]))
    strength, effects = np.array([4.0]), rng.normal(size=(1, 4))

    def evaluate(r):
        return labels.log_likelihood(labels.share(r), strength)[0]

    step, share = 1e-4, labels.share(effects)
    shifts = step * np.eye(4)
    gradient, information = labels.differentiate(share, strength)
    assert gradient[0] == pytest.approx(
        [(evaluate(effects + s) - evaluate(effects - s)) / (2 * step) for s in shifts], abs=1e-5
    )
    hessian = [
        (labels.differentiate(labels.share(effects + s), strength)[0][0]
         - labels.differentiate(labels.share(effects - s), strength)[0][0]) / (2 * step)
        for s in shifts
    ]  # fmt: skip
    assert (information + labels.curve(share, strength))[0] == pytest.approx(-np.array(hessian), abs=1e-5)


def test_settings_are_weighed_as_quadrature_over_the_effects_weighs_them():
    """Two effects, integrated on a grid of 161 x 161 points; Laplace is within a tenth of a weight."""
    base = np.array([[0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])
    rows, classes, counts = np.array([0, 0, 1, 1]), np.array([1, 2, 0, 2]), np.array([9.0, 2.0, 1.0, 6.0])
    found = fit_settings(WrongLabels(base, rows, classes, counts), 60.0)
    grid = np.linspace(-8, 8, 161)
    weights = {}
    for scale in SCALES:
        a, b = (x.reshape(-1) for x in np.meshgrid(scale * grid / 2, scale * grid / 2))
        for strength in STRENGTHS:  # the third effect adds to both others: shift it out, its prior integrates to one
            effects = np.stack([a, b, np.zeros_like(a)], axis=1)
            share = base * np.exp(effects)[:, None, :]
            prior = strength * (share / share.sum(axis=2, keepdims=True))[:, rows, classes]
            total = np.bincount(rows, counts)
            likelihood = (gammaln(prior + counts) - gammaln(prior)).sum(axis=1)
            likelihood += (gammaln(strength) - gammaln(strength + total)).sum()
            # (r0 - r2, r1 - r2) is normal with variance 2 and covariance 1, in units of scale squared
            quadratic = (2 * a**2 - 2 * a * b + 2 * b**2) / (3 * scale**2)
            log = logsumexp(likelihood - quadratic / 2) - logsumexp(-quadratic / 2)
            log += np.log(scale) - np.log1p((scale / SCALE_PRIOR) ** 2)
            weights[scale, strength] = log - (np.log(strength / 60.0) / STRENGTH_PRIOR) ** 2 / 2
    values = np.array(list(weights.values()))
    expected = dict(zip(weights, np.exp(values - logsumexp(values)), strict=True))
    by_strength = {a: sum(w for (_, b), w in expected.items() if b == a) for a in STRENGTHS}
    for strength in STRENGTHS:
        assert sum(s.weight for s in found if s.strength == strength) == pytest.approx(by_strength[strength], abs=0.1)


def test_a_class_that_is_missed_often_is_missed_often_in_cells_without_labels():
    tally = confusion_tally(n_labels=40)
    cells = cells_of(tally)
    labels = cells.labels.copy()
    labels[5:] = 0
    shares = fit_true_classes(replace(cells, labels=labels)).mean()
    assert np.all(shares[6:, 0] > 0.15)  # evenly it would be 0.09, truly it is 5 / 15


def test_a_class_that_never_occurs_is_learned_as_such():
    found = fit_true_classes(cells_of(confusion_tally(n_labels=100, vanished=3)))
    shares = np.delete(found.mean(), 3, axis=0)
    assert np.all(shares[:, 3] < 0.02)


def test_without_labels_the_shares_are_those_of_the_probabilities():
    tally = make_tally(group=[0, 1, 2], predicted=[0, 1, 2], n_items=[10, 10, 10], k=3, by="predicted")
    probability = np.array([[0.7, 0.2, 0.1], [0.0, 0.9, 0.1], [0.1, 0.1, 0.8]])
    cells = replace(cells_of(tally), probability=probability)
    shares = fit_true_classes(cells).mean()
    assert shares[0] == pytest.approx([0, 2 / 3, 1 / 3], abs=0.02)
    assert shares[1] == pytest.approx([0, 0, 1], abs=0.02)
    assert np.diag(shares).tolist() == [0, 0, 0]
    assert shares.sum(axis=1) == pytest.approx(1.0)


def test_a_label_enters_once():
    """A cell whose errors are all of one class: its share is (A π + w) / (A + w) with π from the effects, never more."""
    cells = cells_of(confusion_tally(n_labels=0))
    labels = np.zeros((N, K))
    labels[1, 2] = 1.0
    found = fit_true_classes(replace(cells, labels=labels))
    even = 1 / (K - 1)
    most = (STRENGTHS[0] * 0.2 + 1) / (STRENGTHS[0] + 1)
    assert even < found.mean()[1, 2] < most


# -- joint draws ----------------------------------------------------------------------------------------------


def joint_shares(n_labels=5, *, finite, residual_variance=None, sizes=60):
    cells = cells_of(confusion_tally(n_labels=n_labels, sizes=sizes))
    accuracies = IndependentBetas(Beta(cells.names, np.full(N, 14.0), np.full(N, 6.0)))
    rest = cells.n_items - cells.n_labels
    unlabelled = UnlabelledShares(cells.labels, rest, residual_variance) if finite else None
    return JointShares(
        cells.names, accuracies, fit_true_classes(cells), cells.predicted, cells.n_items, unlabelled
    ), cells


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("n_labels", [1, 30])
def test_masses_of_classes_have_the_quantiles_of_dense_draws(finite, n_labels):
    shares, cells = joint_shares(n_labels, finite=finite)
    n, size = 20_000, cells.n_items.astype(float)
    dense = (size[:, None] * shares.draw(np.random.default_rng(0), n)).sum(axis=1)
    masses = shares.draw_class_masses(np.random.default_rng(1), np.tile(size, (n, 1)), np.zeros(N, dtype=int), 1)
    assert masses.actual.sum(axis=2) == pytest.approx(size.sum())
    quantiles = [0.025, 0.25, 0.5, 0.75, 0.975]
    one, other = (np.quantile(each, quantiles, axis=0) for each in (dense, masses.actual[:, 0]))
    assert np.all(np.abs(one - other) < 0.08 * (one[-1] - one[0]) + 1e-9)


def test_masses_of_groups_add_up_to_those_of_the_whole():
    shares, cells = joint_shares(finite=True)
    scope = np.arange(N) % 3
    size = np.tile(cells.n_items.astype(float), (50, 1))
    drawn = shares.draw_class_masses(np.random.default_rng(0), size, scope, 3)
    assert drawn.sum_scopes(3).shape == (50, 3, K)
    assert drawn.sum_scopes(1)[:, 0] == pytest.approx(drawn.sum_scopes(3).sum(axis=1))


def test_a_confusion_that_never_happens_may_be_exactly_zero():
    """The residual variance of right or wrong must not move the shares of classes off whole items."""
    shares, cells = joint_shares(30, finite=True, residual_variance=np.full(N, 0.3))
    low, _ = shares.interval()
    counts = cells.n_items[:, None] * shares.draw(np.random.default_rng(0), 200)
    assert counts == pytest.approx(counts.round(), abs=1e-9)
    never = (cells.labels == 0) & (np.arange(K)[:, None] != np.arange(K))
    assert np.all(low[never] == 0)


def test_with_all_labels_known_draws_are_the_counts():
    cells = cells_of(confusion_tally(n_labels=30, sizes=0))
    accuracies = IndependentBetas(Beta(cells.names, np.full(N, 14.0), np.full(N, 6.0)))
    unlabelled = UnlabelledShares(cells.labels, np.zeros(N, dtype=np.int64), None)
    shares = JointShares(cells.names, accuracies, fit_true_classes(cells), cells.predicted, cells.n_items, unlabelled)
    truth = cells.labels / cells.labels.sum(axis=1, keepdims=True)
    assert shares.mean() == pytest.approx(truth)
    size = np.tile(cells.n_items.astype(float), (5, 1))
    drawn = shares.draw_class_masses(np.random.default_rng(0), size, np.zeros(N, dtype=int), 1)
    assert drawn.actual[:, 0] == pytest.approx(np.tile(cells.labels.sum(axis=0), (5, 1)))


# -- metrics --------------------------------------------------------------------------------------------------


def sample_pool(seed=0, n=2000, k=10, skill=0.8, labelled=0.05):
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    predicted = np.where(rng.random(n) < skill, truth, rng.integers(k, size=n))
    label = truth.astype(str).astype(object)
    label[rng.random(n) >= labelled] = None
    return pd.DataFrame({"id": np.arange(n), "predicted": predicted.astype(str), "label": label}), truth, predicted


@pytest.mark.parametrize("prior", [fl.flat(), fl.calibrated()], ids=lambda p: p.name)
@pytest.mark.parametrize("metric", [fl.recall, fl.precision, fl.f1, fl.balanced_accuracy], ids=lambda m: m.name)
def test_ten_classes_and_a_hundred_labels_are_enough_for_the_level(metric, prior):
    """At 5 labels per class a flat Dirichlet is biased by tens of points; the learned level covers the truth."""
    pool, truth, predicted = sample_pool()
    found = fl.assess(pool, metric=metric, prior=prior, finite_pool=True, n_draws=2000)
    true = np.mean([(predicted[truth == j] == j).mean() for j in range(10)])
    assert found.overall.low <= true <= found.overall.high
    assert found.overall.high - found.overall.low < 0.25
    assert abs(found.overall.mean - true) < 0.08


def test_a_stated_strength_is_not_learned():
    pool, *_ = sample_pool()
    stated, learned = (fl.assess(pool, metric=fl.recall, prior=p, n_draws=500) for p in (fl.flat(1.0), fl.flat()))
    assert stated.posterior.joint is None
    assert learned.posterior.joint is not None


def test_precision_under_a_flat_prior_has_the_level_of_accuracy():
    """1 / K was the prior mean of a flat Dirichlet: precision of a class without labels then was below 0.1."""
    pool, *_ = sample_pool(labelled=0.02)
    found = fl.assess(pool, metric=fl.precision, prior=fl.flat(), finite_pool=True, n_draws=2000)
    assert all(row.mean > 0.5 for row in found.groups)


def test_balanced_accuracy_is_of_the_classes_of_the_pool_however_few_were_seen():
    """Three labels of ten classes: the average is of all ten, not of those among the labels."""
    tally = make_tally(
        group=np.repeat(np.arange(10), 2), predicted=np.repeat(np.arange(10), 2),
        label=[0, -1, 1, -1, 2, -1, *[-1] * 14], n_items=[1, 99] * 10, n_labels=[1, 0] * 3 + [0, 0] * 7,
        right=[1.0, 0.0] * 3 + [0.0] * 14, k=10, by="predicted",
    )  # fmt: skip
    wide, narrow = (
        infer(tally, METRICS[name], fl.calibrated(), finite_pool=True, n_draws=2000).overall
        for name in ("balanced-accuracy", "recall")
    )
    assert wide.mean()[0] == pytest.approx(narrow.mean()[0], abs=0.02)


def test_a_class_that_may_not_occur_counts_as_far_as_it_is_expected_to():
    """Recall averages over true classes: 1 for a, and b, predicted once, occurs in half of the draws."""
    metric = METRICS["balanced-accuracy"]
    tally = make_tally(group=[0, 0], predicted=[0, 1], n_items=[9, 1], k=2, by="all")
    posterior = infer(tally, metric, fl.flat(1.0), finite_pool=True, n_draws=10)
    theta = np.array([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
    assert posterior.values(theta)[:, 0] == pytest.approx([0.9, 1.0])


def test_masses_serve_many_classes_and_dense_draws_few(monkeypatch):
    pool, *_ = sample_pool()
    drawn = fl.assess(pool, metric=fl.recall, prior=fl.calibrated(), finite_pool=True).draws
    monkeypatch.setattr(limits, "MAX_DENSE", 10**9)
    dense = fl.assess(pool, metric=fl.recall, prior=fl.calibrated(), finite_pool=True).draws
    assert len(drawn) == len(dense) == 10_000
    error = dense.std(axis=0) * np.sqrt(2 / 10_000)
    assert np.all(np.abs(dense.mean(axis=0) - drawn.mean(axis=0)) < 5 * error + 0.01 * dense.std(axis=0))
    assert np.allclose(dense.std(axis=0), drawn.std(axis=0), rtol=0.1)


def test_settings_of_large_problems_are_fitted_in_blocks(monkeypatch):
    cells = cells_of(confusion_tally())
    whole = fit_true_classes(cells)
    monkeypatch.setattr(true_classes, "BLOCK", 1)
    pieces = fit_true_classes(cells)
    assert [s.weight for s in pieces.settings] == pytest.approx([s.weight for s in whole.settings], abs=0.01)
