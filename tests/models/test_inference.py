from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from makers import VANISHING, make_tally
from scipy import stats

import fewlabels as fl
from fewlabels.distributions import budgets, sparse_draws
from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.distributions.draws import Draws
from fewlabels.distributions.finite_pool import FinitePoolBeta
from fewlabels.metrics.metric import METRICS
from fewlabels.models import metric_sampler as limits
from fewlabels.models.inference import infer

STATED = replace(fl.flat(), guesses_level=False)  # a prior taken at its word, also about the whole
SIGMAS = 5  # a mean of draws strays this many standard errors once in 1.7 million
RIGHT, WRONG, ITEMS = np.array([7, 2, 0]), np.array([3, 2, 0]), np.array([100, 40, 10])


def outcomes(right=RIGHT, wrong=WRONG, items=ITEMS):
    """A Tally of groups that are single cells."""
    return make_tally(group=np.arange(len(items)), n_items=items, n_labels=right + wrong, right=right)


def answer(tally, metric=fl.accuracy, prior=None, seed=0, **choices):
    return infer(tally, metric, prior or fl.flat(), **choices, seed=seed)


def assert_alike(draws, expected):
    """Kolmogorov-Smirnov calls two samples of one distribution different once in 100,000; ulps are rounded away."""
    assert stats.ks_2samp(draws.round(9), expected.round(9), method="asymp").pvalue > 1e-5


def assert_mean(draws, expected):
    assert abs(draws.mean() - expected) < SIGMAS * draws.std() / np.sqrt(len(draws))


# -- closed forms ---------------------------------------------------------------------------------------------


def test_accuracy_per_group_is_a_beta():
    found = answer(outcomes()).per_group
    assert isinstance(found, Beta)
    assert found.alpha.tolist() == (RIGHT + 1).tolist()
    assert found.beta.tolist() == (WRONG + 1).tolist()


def test_accuracy_of_exactly_these_items_is_known_plus_a_beta_binomial():
    found = answer(outcomes(), finite_pool=True).per_group
    assert isinstance(found, FinitePoolBeta)
    for g in range(3):
        rest = ITEMS[g] - RIGHT[g] - WRONG[g]
        count = stats.betabinom(rest, RIGHT[g] + 1, WRONG[g] + 1)
        assert found.mean()[g] == pytest.approx((RIGHT[g] + count.mean()) / ITEMS[g], abs=1e-9)
        low, high = (RIGHT[g] + count.ppf([0.025, 0.975])) / ITEMS[g]
        assert [x[g] for x in found.interval()] == pytest.approx([low, high], abs=1e-9)


@pytest.mark.parametrize("metric", [fl.confusion, fl.precision, fl.ppv], ids=lambda m: m.name)
def test_by_predicted_class_being_right_is_a_share_of_a_dirichlet(metric):
    tally = make_tally(
        group=[0, 0, 1, 1], predicted=[0, 0, 1, 1], label=[0, 1, 0, 1], n_items=[5, 2, 3, 9], k=2, by="predicted"
    )
    found = answer(tally, metric, STATED).per_group
    assert isinstance(found, Beta)
    assert found.alpha.tolist() == [5.5, 9.5]
    assert found.beta.tolist() == [2.5, 3.5]


@pytest.mark.parametrize("finite", [False, True])
def test_draws_of_a_closed_form_average_to_its_mean(finite):
    found = answer(outcomes(), finite_pool=finite, n_draws=20_000)
    for g in range(3):
        assert_mean(found.draws[:, g], found.per_group.mean()[g])


# -- overall --------------------------------------------------------------------------------------------------


def test_overall_accuracy_of_these_items_weighs_groups_by_their_known_shares():
    found = answer(outcomes(), prior=STATED, finite_pool=True, n_draws=20_000)
    share = ITEMS / ITEMS.sum()
    assert_mean(found.overall.samples[:, 0], share @ found.per_group.mean())
    assert found.overall.samples[:, 0] == pytest.approx(found.draws @ share, abs=1e-12)


def test_overall_accuracy_of_the_population_knows_its_shares_only_from_the_pool():
    """Var Σ w θ for w ~ Dirichlet(n) and independent Betas, in closed form; 40,000 draws."""
    found = answer(outcomes(), prior=STATED, n_draws=40_000)
    mean, variance = found.per_group.mean(), found.per_group.variance()
    n = ITEMS.sum()
    share = ITEMS / n
    spread = (np.diag(share) - np.outer(share, share)) / (n + 1)
    expected = (np.diag(spread) + share**2) @ variance + mean @ spread @ mean
    draws = found.overall.samples[:, 0]
    assert_mean(draws, share @ mean)
    assert_mean((draws - share @ mean) ** 2, expected)


# -- by draws -------------------------------------------------------------------------------------------------

# (group, predicted, label, items); NONE marks the unlabelled
ENTRIES = np.array([
    (0, 0, 0, 8), (0, 0, 1, 3), (0, 0, -1, 20), (0, 1, 0, 2), (0, 1, 1, 5), (0, 1, -1, 9),
    (1, 0, 0, 4), (1, 0, -1, 30), (1, 1, 1, 1), (1, 1, 0, 1), (1, 1, -1, 2),
])  # fmt: skip


def partly_labelled():
    group, predicted, label, n = ENTRIES.T
    return make_tally(group=group, predicted=predicted, label=label, n_items=n, n_labels=np.where(label < 0, 0, n))


def simulate(rng, n, finite):
    """Masses of (draw, group, predicted, label) drawn one by one, as the model is written on paper."""
    out = np.zeros((n, 2, 2, 2))
    for i in range(n):
        for g, k in np.ndindex(2, 2):
            mine = ENTRIES[(ENTRIES[:, 0] == g) & (ENTRIES[:, 1] == k)]
            seen = np.array([mine[mine[:, 2] == j, 3].sum() for j in (0, 1)])
            rest = mine[mine[:, 2] < 0, 3].sum()
            theta = rng.dirichlet(seen + 0.5)
            out[i, g, k] = seen + rng.multinomial(rest, theta) if finite else rng.gamma(seen.sum() + rest) * theta
    return out


RATES = {
    "tpr": lambda m: m[..., 1, 1] / m[..., :, 1].sum(-1),
    "fpr": lambda m: m[..., 1, 0] / m[..., :, 0].sum(-1),
    "ppv": lambda m: m[..., 1, 1] / m[..., 1, :].sum(-1),
    "for": lambda m: m[..., 0, 1] / m[..., 0, :].sum(-1),
    "confusion": lambda m: (m[..., 0, 0] + m[..., 1, 1]) / m.sum((-1, -2)),
    "f1": lambda m: (
        m[..., 1, 1] / (2 * m[..., 1, 1] + m[..., 0, 1] + m[..., 1, 0])
        + m[..., 0, 0] / (2 * m[..., 0, 0] + m[..., 0, 1] + m[..., 1, 0])
    ),
}
SIMULATED = {finite: simulate(np.random.default_rng(8), 4000, finite) for finite in (False, True)}


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("name", RATES)
def test_a_rate_of_a_partly_labelled_pool_is_what_a_plain_simulation_draws(name, finite):
    found = answer(partly_labelled(), METRICS[name], STATED, finite_pool=finite, n_draws=4000, seed=1)
    for g in (0, 1):
        assert_alike(found.draws[:, g], RATES[name](SIMULATED[finite][:, g]))
    assert_alike(found.overall.samples[:, 0], RATES[name](SIMULATED[finite].sum(axis=1)))
    assert isinstance(found.per_group, Draws)


def test_calibration_error_is_what_a_plain_simulation_draws():
    tally = make_tally(
        group=[0, 0, 0], bin=[0, 1, 2], n_items=[10, 30, 60], n_labels=[4, 5, 20], right=[1, 2, 18], score=[2, 15, 57]
    )
    rng, s = np.random.default_rng(3), np.array([0.2, 0.5, 0.95])
    theta = rng.beta(np.array([2, 3, 19]), np.array([4, 4, 3]), (20_000, 3))
    expected = np.abs(theta - s) @ [0.1, 0.3, 0.6]
    large = make_tally(
        group=[0, 0, 0], bin=[0, 1, 2], n_items=np.array([10, 30, 60]) * 10**7, n_labels=[4, 5, 20], right=[1, 2, 18],
        score=np.array([2, 15, 57]) * 10**7,
    )  # fmt: skip
    found = answer(large, fl.ece, n_draws=20_000)
    assert_alike(found.draws[:, 0], expected)
    here = np.abs((np.array([1, 2, 18]) + rng.binomial([6, 25, 40], theta)) / [10, 30, 60] - s) @ [0.1, 0.3, 0.6]
    assert_alike(answer(tally, fl.ece, finite_pool=True, n_draws=20_000).draws[:, 0], here)


def test_bins_of_the_whole_pool_pool_their_groups_before_the_gap_is_taken():
    """One group is right too often, the other too rarely: each is off, together they are calibrated."""
    tally = make_tally(group=[0, 1], bin=[0, 0], n_items=[10, 10], right=[10, 0], score=[5, 5])
    found = answer(tally, fl.ece, fl.flat(VANISHING), finite_pool=True, n_draws=100)
    assert found.per_group.mean() == pytest.approx([0.5, 0.5], abs=1e-9)
    assert found.overall.mean() == pytest.approx([0.0], abs=1e-9)


# -- how it is computed does not matter -----------------------------------------------------------------------


@pytest.mark.parametrize("metric", [fl.accuracy, fl.recall], ids=lambda m: m.name)
def test_the_same_seed_gives_the_same_draws(metric):
    one, other = (answer(partly_labelled(), metric, seed=5) for _ in range(2))
    assert np.array_equal(one.draws, other.draws)
    assert not np.array_equal(one.draws, answer(partly_labelled(), metric, seed=6).draws)


@pytest.mark.parametrize("metric", [fl.accuracy, fl.recall], ids=lambda m: m.name)
def test_small_blocks_give_as_many_draws_with_the_same_moments(metric, monkeypatch):
    whole = answer(partly_labelled(), metric)
    monkeypatch.setattr(limits, "BLOCK", 1000)
    pieces = answer(partly_labelled(), metric, seed=1)
    assert pieces.draws.shape == whole.draws.shape == (10_000, 2)
    error = np.sqrt(2) * whole.draws.std(axis=0) / 100
    assert np.all(np.abs(pieces.draws.mean(axis=0) - whole.draws.mean(axis=0)) < SIGMAS * error)


def test_a_dear_metric_gets_fewer_draws_but_at_least_4000(monkeypatch):
    monkeypatch.setattr(budgets, "BUDGET", 8 * 6000)
    assert len(answer(partly_labelled(), fl.recall).draws) == 6000
    monkeypatch.setattr(budgets, "BUDGET", 1)
    assert len(answer(partly_labelled(), fl.recall).draws) == 4000
    assert len(answer(partly_labelled(), fl.recall, n_draws=200).draws) == 200
    monkeypatch.setattr(budgets, "MAX_BUDGET", 1)
    assert len(answer(partly_labelled(), fl.recall).draws) == 1000


@pytest.mark.parametrize("metric", [fl.accuracy, fl.recall, fl.confusion], ids=lambda m: m.name)
def test_the_order_of_entries_does_not_matter(metric):
    tally = partly_labelled()
    order = np.random.default_rng(0).permutation(len(ENTRIES))
    group, predicted, label, n = ENTRIES[order].T
    shuffled = make_tally(group=group, predicted=predicted, label=label, n_items=n, n_labels=np.where(label < 0, 0, n))
    assert np.array_equal(answer(tally, metric).draws, answer(shuffled, metric).draws)


def test_prior_and_posterior_are_kept_beside_the_answer():
    found = answer(outcomes())
    assert found.prior.strength().tolist() == [2, 2, 2]
    assert found.belief.strength().tolist() == (RIGHT + WRONG + 2).tolist()


@pytest.fixture(scope="module")
def many_classes():
    rng = np.random.default_rng(0)
    predicted = rng.integers(60, size=3000)
    label = np.where(rng.random(3000) < 0.7, predicted, rng.integers(60, size=3000)).astype(str).astype(object)
    label[rng.random(3000) < 0.8] = None
    return pd.DataFrame({"id": np.arange(3000), "predicted": predicted.astype(str), "label": label})


@pytest.mark.parametrize("metric", [fl.recall, fl.f1, fl.fpr, fl.mcc], ids=lambda m: m.name)
def test_sparse_draws_have_the_moments_of_dense_ones(metric, many_classes, monkeypatch):
    by = fl.everything if metric is fl.mcc else fl.predicted
    dense = fl.assess(many_classes, metric=metric, by=by, prior=STATED).draws
    monkeypatch.setattr(budgets, "BUDGET", 1)
    drawn = []
    monkeypatch.setattr(
        sparse_draws, "_draw_jumps", lambda *given, inner=sparse_draws._draw_jumps: drawn.append(1) or inner(*given)
    )
    sparsely = fl.assess(many_classes, metric=metric, by=by, prior=STATED).draws
    assert drawn
    assert len(sparsely) == 4000
    error = dense.std(axis=0) * np.sqrt(1 / len(dense) + 1 / 4000)
    assert np.all(np.abs(dense.mean(axis=0) - sparsely.mean(axis=0)) < 5 * error)
    assert np.allclose(dense.std(axis=0), sparsely.std(axis=0), rtol=0.15)
