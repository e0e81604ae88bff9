import numpy as np
import pytest
from makers import PRICE, STATED, learned, make_tally, of, partly_labelled, pending
from scipy import stats

import fewlabels as fl
from fewlabels.active.acquisition import AcquisitionView
from fewlabels.distributions import budgets
from fewlabels.distributions.belief import Belief
from fewlabels.distributions.budgets import N_DRAWS_ROUGH
from fewlabels.distributions.draws import Draws
from fewlabels.metrics.metric import METRICS
from fewlabels.models.inference import infer

# -- a belief like any other ----------------------------------------------------------------------------------

SAME = [
    *[("g", metric, True) for metric in ("accuracy", "ece", "confusion", "recall", "f1", "cost")],
    *[("predicted", metric, True) for metric in ("accuracy", "ece", "confusion", "recall", "precision", "cost")],
    ("g", "accuracy", False),
    *[("predicted", metric, False) for metric in ("accuracy", "confusion", "precision", "cost")],
    *[("g", metric, False) for metric in ("ece", "confusion", "recall", "f1", "cost")],
]  # fmt: skip


@pytest.mark.parametrize(("by", "metric", "finite"), SAME)
def test_knowledge_says_what_inference_says_of_the_same_counts(by, metric, finite):
    """Closed forms agree exactly; two samples of one distribution are called different once in 100,000."""
    metric = {**METRICS, "cost": PRICE.for_classes(("0", "1"))}[metric]
    found = infer(partly_labelled(by), metric, fl.flat(), finite_pool=finite, seed=1)
    known = of(metric, by, finite_pool=finite)
    if not isinstance(found.per_group, Draws):
        assert known.mean() == pytest.approx(found.per_group.mean(), abs=1e-12)
        assert np.array(known.interval(0.9)) == pytest.approx(np.array(found.per_group.interval(0.9)), abs=1e-12)
    draws = known.draw(np.random.default_rng(2), 10_000)
    for g in range(len(known.groups)):
        assert stats.ks_2samp(draws[:, g].round(9), found.draws[:, g].round(9), method="asymp").pvalue > 1e-5
    error = np.sqrt(found.draws.var(axis=0) / len(found.draws) + draws.var(axis=0) / known.n_draws)
    assert np.all(np.abs(draws.mean(axis=0) - found.draws.mean(axis=0)) <= 5 * error + 1e-9)  # once in 1.7 million


METRICS_OF_EVERY_KIND = [fl.accuracy, fl.ece, fl.confusion, fl.recall, fl.f1, PRICE]


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("metric", METRICS_OF_EVERY_KIND, ids=lambda m: m.name)
def test_knowledge_is_a_belief(metric, finite):
    known = of(metric, finite_pool=finite)
    assert isinstance(known, Belief)
    low, high = known.interval()
    assert np.all(low <= known.mean())
    assert np.all(known.mean() <= high)
    assert known.width() == pytest.approx(high - low, abs=1e-12)
    assert known.draw(np.random.default_rng(0), 300).shape == (300, 3)


@pytest.mark.parametrize("metric", [fl.accuracy, fl.recall], ids=lambda m: m.name)
def test_intervals_are_at_the_level_one_asks_for_or_that_of_the_knowledge(metric):
    narrow, wide = of(metric, level=0.5), of(metric, level=0.95)
    assert np.all(narrow.width() < wide.width())
    assert np.array_equal(narrow.interval(0.95), wide.interval())


@pytest.mark.parametrize("metric", [fl.ece, fl.recall], ids=lambda m: m.name)
def test_the_same_seed_gives_the_same_figures(metric):
    assert np.array_equal(of(metric, seed=3).mean(), of(metric, seed=3).mean())
    assert not np.array_equal(of(metric, seed=3).mean(), of(metric, seed=4).mean())


def test_very_many_cells_are_drawn_less_often(monkeypatch):
    monkeypatch.setattr(budgets, "ACQUISITION_BUDGET", 12 * 250)  # six cells of two outcomes
    assert len(of(fl.recall).draw(np.random.default_rng(0), 1000)) == 250
    monkeypatch.setattr(budgets, "ACQUISITION_BUDGET", 1)
    assert len(of(fl.recall).draw(np.random.default_rng(0), 1000)) == 200


def test_whoever_asks_for_few_draws_gets_few():
    assert len(of(fl.recall).draw(np.random.default_rng(0), 7)) == 7


@pytest.mark.parametrize("metric", [fl.tpr, fl.fpr], ids=lambda m: m.name)
def test_a_rate_of_nothing_could_be_anything(metric):
    """Of three items none may be positive; then there is nothing to be found."""
    tally = make_tally(group=[0, 0], predicted=[0, 1], label=[-1, -1], n_items=[2, 1], n_labels=[0, 0])
    found = infer(tally, metric, fl.flat(), finite_pool=True, seed=0)
    assert infer(tally, metric, fl.flat(), finite_pool=True).mean() == pytest.approx(found.per_group.mean(), abs=0.05)


# -- what it is made of ---------------------------------------------------------------------------------------


def test_the_labels_of_a_tally_are_known_and_its_other_items_can_be_asked_about():
    known = of(fl.accuracy)
    assert known.groups == ("0", "1", "2")
    assert known.counts.tolist() == [[9, 8], [9, 7], [0, 0]]
    assert known.belief.mean() == pytest.approx(np.array([10 / 19, 10 / 18, 1 / 2]), abs=1e-12)
    assert known.pending.tolist() == [0, 0, 0]
    assert known.left.tolist() == [9, 5, 8]
    assert known.n_items.tolist() == [26, 21, 8]
    assert known.n_labels.tolist() == [17, 16, 0]
    assert known.share == pytest.approx(np.array([26, 21, 8]) / 55, abs=1e-12)
    assert known.position("1") == 1


def test_a_metric_that_reads_labels_counts_the_labels_of_every_cell():
    known = of(fl.recall)
    assert known.counts.tolist() == [[9, 0], [8, 0], [3, 7], [0, 6], [0, 0], [0, 0]]
    assert known.weight == pytest.approx(np.array([14 / 26, 12 / 26, 12 / 21, 9 / 21, 6 / 8, 2 / 8]), abs=1e-12)
    assert known.sum_by_group(known.weight) == pytest.approx(np.ones(3), abs=1e-12)
    assert known.n_labels.tolist() == [17, 16, 0]


def test_prices_are_laid_out_over_the_classes():
    assert of(PRICE).metric.matrix.tolist() == [[0, 3], [5, 1]]


def test_agreement_in_part_is_counted_in_part():
    known = learned([2.5, 0.0], [1.5, 3.0], [6, 7])
    assert known.counts.tolist() == [[2.5, 1.5], [0, 3]]
    assert known.left.tolist() == [6, 7]
    assert np.all(known.simulate_completion(np.random.default_rng(0)).counts.sum(axis=1) == [10, 10])


@pytest.mark.parametrize(
    ("prior", "heard"), [(fl.flat(), [True, False]), (fl.flat(1e6), [True, False]), (STATED, [True, True])]
)
def test_only_labels_are_heard_where_the_prior_is_a_guess(prior, heard):
    assert learned([1, 0], [0, 0], [4, 5], prior).is_informed.tolist() == heard


def test_a_pending_item_is_not_heard_yet():
    assert pending(learned([1, 0], [0, 0], [4, 5]), 0, 3).is_informed.tolist() == [True, False]


def test_one_label_in_any_cell_makes_a_group_heard():
    assert of(fl.recall).is_informed.tolist() == [True, True, False]


# -- pending answers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS_OF_EVERY_KIND, ids=lambda m: m.name)
def test_pending_answers_keep_the_means_and_shrink_the_variance_where_they_are(metric):
    plain = of(metric)
    n = np.arange(len(plain.pending)) % 3
    known = pending(plain, *n)
    assert known.with_pending.mean() == pytest.approx(plain.belief.mean(), abs=1e-12)
    assert known.with_pending.strength() == pytest.approx(plain.belief.strength() + n, abs=1e-12)
    assert np.all(known.with_pending.variance()[n > 0] < plain.belief.variance()[n > 0])
    assert np.array_equal(known.with_pending.variance()[n == 0], plain.belief.variance()[n == 0])


def test_pending_answers_are_counted_as_labels_but_tell_nothing():
    plain = learned([3, 4], [1, 0], [10, 10])
    known = pending(plain, 5, 0)
    assert known.n_labels.tolist() == [9, 4]
    assert np.array_equal(known.interval(), plain.interval())
    assert np.array_equal(known.expect(), plain.expect())


def test_with_nothing_pending_nothing_is_foreseen():
    known = of(fl.recall)
    assert known.with_pending is known.belief


@pytest.mark.parametrize("metric", [fl.accuracy, fl.recall], ids=lambda m: m.name)
def test_what_is_imagined_reckons_with_pending_answers(metric):
    """20,000 draws; their mean strays 5 standard errors once in 1.7 million, their variance less than 7 %."""
    known = pending(of(metric), *range(1, len(of(metric).pending) + 1))
    drawn = known.draw_cells(np.random.default_rng(0), 20_000)
    mean, variance = known.with_pending.mean(), known.with_pending.variance()
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < 5 * np.sqrt(variance / len(drawn)))
    assert drawn.var(axis=0) == pytest.approx(variance, rel=0.1)
    assert known.expect() == pytest.approx(mean[None], abs=1e-12)


def test_values_are_the_metric_were_the_cells_like_this():
    known = of(fl.confusion)
    truth = known.expect()
    right = truth[0, np.arange(6), [0, 1, 0, 1, 0, 1]]
    assert known.values(truth)[0] == pytest.approx(
        np.array([14 * right[0] + 12 * right[1], 12 * right[2] + 9 * right[3], 6 * right[4] + 2 * right[5]])
        / [26, 21, 8],
        abs=1e-12,
    )


# -- possible futures -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS_OF_EVERY_KIND, ids=lambda m: m.name)
def test_in_a_finished_future_every_item_is_labelled(metric):
    known = of(metric)
    done = pending(known, *[2] * len(known.pending)).simulate_completion(np.random.default_rng(0))
    assert np.array_equal(done.counts.sum(axis=1), known.evaluation.cells.n_items)
    assert np.all(done.counts >= known.counts)
    assert done.left.tolist() == [0, 0, 0]
    assert not done.pending.any()
    assert done.is_informed.all()
    assert done.n_draws == N_DRAWS_ROUGH


@pytest.mark.parametrize("metric", METRICS_OF_EVERY_KIND, ids=lambda m: m.name)
def test_a_finite_pool_is_known_exactly_once_it_is_finished(metric):
    done = of(metric, finite_pool=True).simulate_completion(np.random.default_rng(0))
    assert done.width() == pytest.approx(np.zeros(3), abs=1e-12)


FUTURES = 2000


def assert_counts_follow(counts, known, rest, alpha, beta):
    """Chi-square over beta-binomial counts, rare ones taken together; fails by chance once in 100,000."""
    chance = stats.betabinom(rest, alpha, beta).pmf(np.arange(rest + 1))
    seen = np.bincount((counts - known).astype(int), minlength=rest + 1)
    common = chance * len(counts) >= 10
    seen, chance = (np.append(x[common], x[~common].sum()) for x in (seen, chance))
    keep = chance * len(counts) > 1
    assert stats.chisquare(seen[keep], chance[keep] / chance[keep].sum() * seen[keep].sum()).pvalue > 1e-5


def test_outcomes_of_a_future_follow_the_belief():
    known, rng = learned([3, 0], [1, 0], [12, 7]), np.random.default_rng(5)
    right = np.array([known.simulate_completion(rng).counts[:, 0] for _ in range(FUTURES)])
    assert_counts_follow(right[:, 0], 3, 12, 4.0, 2.0)
    assert_counts_follow(right[:, 1], 0, 7, 1.0, 1.0)
    assert abs(stats.pearsonr(right[:, 0], right[:, 1]).statistic) < 5 / np.sqrt(FUTURES)  # groups are independent


def test_labels_of_a_future_follow_the_belief():
    tally = make_tally(group=[0, 0], predicted=[0, 0], label=[2, -1], n_items=[3, 9], n_labels=[3, 0], k=3)
    known, rng = infer(tally, fl.confusion, fl.flat(3.0)), np.random.default_rng(6)
    counts = np.array([known.simulate_completion(rng).counts[0] for _ in range(FUTURES)])
    for j, (seen, alpha) in enumerate([(0, 1.0), (0, 1.0), (3, 4.0)]):
        assert_counts_follow(counts[:, j], seen, 9, alpha, 6 - alpha)


# -- what a policy sees of it ---------------------------------------------------------------------------------


def at_face_value(known, truth):
    """A label is worth what the cells are like."""
    return truth if truth.ndim == 2 else known.values(truth)


def test_nothing_can_be_asked_where_a_label_is_worth_nothing_to_the_goal():
    known = learned([3, 0, 0], [1, 2, 0], [0, 4, 5])
    prospect = AcquisitionView(known, lambda known, truth: np.where([False, True, False], -np.inf, truth))
    assert prospect.left.tolist() == [0, 0, 5]
    assert prospect.is_open.tolist() == [False, False, True]
    assert prospect.expect().tolist() == [-np.inf, -np.inf, 0.5]
    drawn = prospect.draw(np.random.default_rng(0), 50)
    assert np.isneginf(drawn[:, :2]).all()
    assert np.isfinite(drawn[:, 2]).all()


def test_a_prospect_shows_sizes_and_labels_with_pending_ones_and_not_the_knowledge_itself():
    prospect = AcquisitionView(pending(learned([3, 0], [1, 2], [6, 4]), 0, 3), at_face_value)
    assert prospect.n_items.tolist() == [10, 6]
    assert prospect.n_labels.tolist() == [4, 5]
    assert "Posterior" not in repr(prospect)


def test_what_a_label_may_be_worth_is_drawn_from_what_is_foreseen():
    """20,000 draws of two Betas; 5 standard errors are exceeded once in 1.7 million."""
    known = pending(learned([3, 0], [1, 2], [6, 4]), 0, 3)
    drawn = AcquisitionView(known, at_face_value).draw(np.random.default_rng(0), 20_000)
    for g, beta in enumerate([stats.beta(4, 2), stats.beta(1 + 3 / 4, 3 + 9 / 4)]):
        assert abs(drawn[:, g].mean() - beta.mean()) < 5 * beta.std() / np.sqrt(len(drawn))
        assert stats.kstest(drawn[:, g], beta.cdf).pvalue > 1e-5


@pytest.mark.parametrize(("metric", "half"), [(fl.accuracy, 1.0), (fl.recall, 0.5)], ids=["Beta", "Dirichlet"])
def test_the_spread_of_an_outcome_is_averaged_over_the_cells_of_a_group(metric, half):
    """By hand, m (1 − m) in each cell; with two classes, a Dirichlet's spread is a Beta's."""
    known = of(metric)
    right, wrong = (known.counts + half).T
    by_cell = known.weight * right * wrong / (right + wrong) ** 2
    expected = [np.sqrt(by_cell[known.evaluation.cells.group == g].sum()) for g in range(3)]
    assert AcquisitionView(known, at_face_value).outcome_standard_deviation() == pytest.approx(
        np.array(expected), abs=1e-12
    )
