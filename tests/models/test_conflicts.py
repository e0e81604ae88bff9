"""Groups whose own labels contradict the model: what their intervals hold, and that ordinary groups stay as they are."""

from dataclasses import dataclass

import numpy as np
import pytest
from makers import make_tally
from scipy import stats
from scipy.special import polygamma

import fewlabels as fl
from fewlabels.models.inference import infer
from fewlabels.models.logit.conflicts import (
    CHANCE,
    JEFFREYS,
    ConflictingAccuracies,
    _approximate_trigamma,
    include_conflicts,
    weigh_conflicts,
)


@dataclass(frozen=True)
class Independent:
    """A model whose cells are independent Betas, its own labels included."""

    alpha: np.ndarray
    beta: np.ndarray

    @property
    def mean(self):
        return self.alpha / (self.alpha + self.beta)

    @property
    def within_variance(self):
        return np.full(len(self.alpha), 0.01)

    def interval(self, level):
        return tuple(stats.beta.ppf((1 + side * level) / 2, self.alpha, self.beta) for side in (-1, 1))

    def draw(self, rng, n):
        return rng.beta(self.alpha, self.beta, size=(n, len(self.alpha)))


def weigh(model, right, wrong):
    return weigh_conflicts(model.mean, model.interval(0.95), right, wrong)


def pulled(right, wrong, *, alpha=45.0, beta=5.0):
    """A model that expects 45 of 50, after these labels of each of its cells."""
    right, wrong = (np.array(n, dtype=float) for n in (right, wrong))
    return Independent(alpha + right, beta + wrong), right, wrong


def test_labels_that_are_as_expected_or_missing_have_no_weight():
    assert weigh(*pulled([0, 9, 18, 8, 2], [0, 1, 2, 2, 0])).tolist() == [0.0] * 5


def test_the_weight_grows_with_the_conflict_and_has_its_sign():
    weight = weigh(*pulled([6, 5, 10], [4, 5, 10]))
    assert -1 < weight[2] < weight[1] < weight[0] < 0
    assert weigh(*pulled([80], [0], alpha=25.0, beta=25.0))[0] > 0.5


@pytest.mark.parametrize("n", [5, 20, 80])
def test_one_in_so_many_ordinary_groups_is_in_conflict(n):
    """Accuracies and labels drawn from the model itself: 4,000 groups, within 4 standard errors of at most CHANCE."""
    rng = np.random.default_rng(n)
    right = rng.binomial(n, rng.beta(45.0, 5.0, 4000))
    weight = weigh(*pulled(right, n - right))
    assert 0.01 < np.mean(weight != 0) < CHANCE + 4 * np.sqrt(CHANCE * (1 - CHANCE) / 4000)


def test_figures_are_those_of_their_draws():
    model, right, wrong = pulled([12, 27], [28, 3])
    found = ConflictingAccuracies(model, model.interval(0.95), right, wrong, np.array([-0.6, 0.0]))
    draws = found.draw(np.random.default_rng(0), 400_000)
    assert found.mean == pytest.approx(draws.mean(axis=0), abs=0.002)
    for end, q in zip(found.interval(0.95), (0.025, 0.975), strict=True):
        assert end == pytest.approx(np.quantile(draws, q, axis=0), abs=0.004)


def test_many_labels_leave_intervals_as_wide_as_these_labels_are():
    """The model has seen the same labels: agreeing with them makes neither figures nor draws surer than they are."""
    model, right, wrong = pulled([2550], [2450], alpha=18.0, beta=2.0)
    found = ConflictingAccuracies(model, model.interval(0.95), right, wrong, np.array([-0.8]))
    draws = found.draw(np.random.default_rng(0), 100_000)[:, 0]
    alone = stats.beta.interval(0.95, 2550 + JEFFREYS, 2450 + JEFFREYS)
    ends = np.array(found.interval(0.95))[:, 0]
    assert ends == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.0005)
    assert np.ptp(ends) == pytest.approx(np.ptp(alone), rel=0.03)
    assert found.mean[0] == pytest.approx(draws.mean(), abs=0.0005)


def test_the_interval_spans_the_model_and_the_own_labels():
    model, right, wrong = pulled([12], [28])
    low, high = include_conflicts([model], right, wrong)[0].interval(0.95)
    own = stats.beta.ppf(0.25, 12 + JEFFREYS, 28 + JEFFREYS)
    assert low[0] < own < model.mean[0] < high[0] <= model.interval(0.95)[1][0]


def test_trigamma_is_accurate_to_one_percent():
    x = np.geomspace(0.5, 1000, 50)
    assert _approximate_trigamma(x) == pytest.approx(polygamma(1, x), rel=0.01)


def test_a_broken_group_is_in_its_interval_where_the_others_are_alike():
    """Nine groups at 0.9 with 40 labels each, and one of which 15 of 30 are right: its labels overrule the pattern."""
    right = np.array([36.0] * 9 + [15.0])
    n_labels = np.array([40] * 9 + [30])
    tally = make_tally(group=np.arange(10), n_items=[800] * 10, n_labels=n_labels, right=right, score=[0.9 * 800] * 10)
    low, high = (end[-1] for end in infer(tally, fl.accuracy, fl.calibrated(), finite_pool=True).interval())
    assert low < 0.4
    assert high > 0.6
