"""Simulation-based calibration: draw a truth from the prior, labels from the truth, and see whether beliefs hold it.

Each group of one large Tally is one replication, so a single call of `infer` judges thousands. Coverage is allowed to
stray 3.5 binomial standard errors (once in 2,000 per test were the seeds not fixed); ranks of the truth among draws
must look uniform to a chi-square test at one in 10,000.
"""

import numpy as np
import pytest
from makers import beta, make_tally
from scipy import stats
from scipy.special import expit

import fewlabels as fl
from fewlabels.distributions.difference import BetaDifference
from fewlabels.distributions.partial_pooling import EDGE, FACTORS
from fewlabels.metrics.metric import METRICS
from fewlabels.models.inference import infer

N = 3000  # replications
LEVEL = 0.95
VAST = 10**9  # items per cell of a pool so large that its shares are those of the population


def assert_covers(truth, low, high, *, discrete=False):
    covered = np.mean((low - 1e-9 <= truth) & (truth <= high + 1e-9))
    error = 3.5 * np.sqrt(LEVEL * (1 - LEVEL) / truth.size)
    assert covered > LEVEL - error
    assert discrete or covered < LEVEL + error


def assert_uniform(rng, truth, draws, n_bins=10):
    """The rank of the truth among 99 draws is uniform on 0..99; ties are broken at random."""
    below, equal = (draws[:99] < truth - 1e-12).sum(axis=0), (np.abs(draws[:99] - truth) <= 1e-12).sum(axis=0)
    rank = below + rng.integers(0, equal + 1)
    assert stats.chisquare(np.bincount(rank * n_bins // 100, minlength=n_bins)).pvalue > 1e-4


def ask(tally, metric, prior, seed=1, n_draws=1000, **choices):
    return infer(tally, metric, prior, n_draws=n_draws, **choices, seed=seed)


def outcomes_from_prior(seed, prior_alpha, prior_beta, n_items, score=None, n=N):
    """Truths from a Beta, labels of some items, and the outcomes of the rest."""
    rng = np.random.default_rng(seed)
    theta = rng.beta(prior_alpha, prior_beta, n)
    n_labels = rng.integers(0, 30, n)
    right = rng.binomial(n_labels, theta)
    rest = rng.binomial(n_items - n_labels, theta)
    tally = make_tally(
        group=np.arange(n), n_items=np.full(n, n_items), n_labels=n_labels, right=right,
        score=None if score is None else score * n_items,
    )  # fmt: skip
    return rng, theta, (right + rest) / n_items, tally


# -- accuracy -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "strength"), [("flat", None), ("flat", 8.0), ("scores", None), ("scores", 12.0)])
def test_intervals_of_a_group_s_accuracy_hold_the_truth(kind, strength):
    score = np.random.default_rng(5).uniform(0.3, 0.99, N) if kind == "scores" else np.full(N, 0.5)
    n0 = strength or 2.0
    rng, theta, _, tally = outcomes_from_prior(1, n0 * score, n0 * (1 - score), 1000, score)
    found = ask(tally, fl.accuracy, fl.from_scores(strength) if kind == "scores" else fl.flat(strength))
    assert_covers(theta, *found.per_group.interval(LEVEL))
    assert_uniform(rng, theta, found.draws)


@pytest.mark.parametrize("n_items", [30, 400])
def test_intervals_of_exactly_these_items_hold_the_truth(n_items):
    """Counts are discrete, so an interval may hold more than it promises, never less."""
    rng, _, share, tally = outcomes_from_prior(2, 1.0, 1.0, n_items)
    found = ask(tally, fl.accuracy, fl.flat(), finite_pool=True)
    assert_covers(share, *found.per_group.interval(LEVEL), discrete=True)
    assert_uniform(rng, share, found.draws)


def test_intervals_of_small_groups_hold_the_truth_beside_a_vast_one():
    """10,000 replications: an undercoverage of 2 % must not hide in the tolerance, as it would among 1,500."""
    _, _, share, tally = outcomes_from_prior(3, 9.0, 1.0, 32, n=10_000)
    n_items = tally.n_items.copy()
    n_items[0] = 10**6
    vast = make_tally(
        group=tally.group, n_items=n_items, n_labels=tally.n_labels, right=tally.right, score=n_items * 0.9
    )
    prior = fl.from_scores(10.0)
    low, high = ask(vast, fl.accuracy, prior, finite_pool=True, n_draws=100).per_group.interval(LEVEL)
    assert_covers(share[1:], low[1:], high[1:], discrete=True)


def test_intervals_of_a_vast_pool_that_is_mostly_labelled_hold_the_truth():
    rng = np.random.default_rng(4)
    theta = rng.beta(1, 1, 1000)
    right, rest = rng.binomial(60_000, theta), rng.binomial(25_000, theta)
    tally = make_tally(
        group=np.arange(1000), n_items=np.full(1000, 85_000), n_labels=np.full(1000, 60_000), right=right
    )
    found = ask(tally, fl.accuracy, fl.flat(), finite_pool=True, n_draws=100)
    assert_covers((right + rest) / 85_000, *found.per_group.interval(LEVEL), discrete=True)


@pytest.mark.parametrize("finite", [False, True])
def test_intervals_of_overall_accuracy_hold_the_truth_however_unevenly_groups_were_labelled(finite):
    """200 pools of four groups each; of the population when the pool is vast, of these items otherwise."""
    rng = np.random.default_rng(6)
    size = np.array([50, 120, 20, 400])
    truth, low, high, draws = [], [], [], []
    for seed in range(200):
        theta = rng.beta(1, 1, 4)
        n_labels = np.array([40, 3, 0, 10])
        right = rng.binomial(n_labels, theta)
        rest = rng.binomial(size - n_labels, theta)
        n_items = size if finite else size * VAST
        tally = make_tally(group=np.arange(4), n_items=n_items, n_labels=n_labels, right=right)
        found = ask(tally, fl.accuracy, fl.flat(), seed, finite_pool=finite).overall
        truth.append((right + rest).sum() / size.sum() if finite else theta @ size / size.sum())
        one, other = found.interval(LEVEL)
        low.append(one[0])
        high.append(other[0])
        draws.append(found.samples[:99, 0])
    assert_covers(np.array(truth), np.array(low), np.array(high), discrete=finite)
    assert_uniform(rng, np.array(truth), np.array(draws).T)


def test_intervals_of_overall_accuracy_hold_the_truth_when_the_level_of_the_prior_is_learned():
    """200 pools of 40 groups with a label or two each, their level and strength from what `fit_prior_level` assumes."""
    rng = np.random.default_rng(11)
    truth, low, high, draws = [], [], [], []
    for seed in range(200):
        mean, strength = expit(rng.logistic()), 2 * rng.choice(FACTORS)
        theta = rng.beta(strength * mean + EDGE, strength * (1 - mean) + EDGE, 40)
        size, n_labels = rng.integers(1, 10, 40), rng.integers(0, 3, 40)
        tally = make_tally(
            group=np.arange(40), n_items=size * VAST, n_labels=n_labels, right=rng.binomial(n_labels, theta)
        )
        found = ask(tally, fl.accuracy, fl.flat(), seed).overall
        truth.append(theta @ size / size.sum())
        one, other = found.interval(LEVEL)
        low.append(one[0])
        high.append(other[0])
        draws.append(found.samples[:99, 0])
    assert_covers(np.array(truth), np.array(low), np.array(high))
    assert_uniform(rng, np.array(truth), np.array(draws).T)


# -- confusion, and what is made of it ------------------------------------------------------------------------

K = 3


def labels_from_prior(seed, n_cells, strength, n_items, most=25):
    """For each cell, shares of K classes from a flat Dirichlet, labels of some items and classes of the rest."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(K, strength / K), n_cells)
    n_labels = rng.integers(0, most, n_cells)
    seen = rng.multinomial(n_labels, theta)
    rest = rng.multinomial(np.minimum(n_items - n_labels, 10**6), theta)
    return rng, theta, seen, rest


def tally_of(seen, n_items, group, predicted, by="g"):
    """Entries: one per cell and label, and one per cell for the unlabelled."""
    n = len(seen)
    label = np.concatenate([np.tile(np.arange(K), n), np.full(n, -1)])
    cell = np.concatenate([np.repeat(np.arange(n), K), np.arange(n)])
    n_labels = np.concatenate([seen.reshape(-1), np.zeros(n, int)])
    items = np.concatenate([seen.reshape(-1), n_items - seen.sum(axis=1)])
    keep = items > 0
    return make_tally(
        group=group[cell][keep], predicted=predicted[cell][keep], label=label[keep], n_items=items[keep],
        n_labels=n_labels[keep], k=K, by=by,
    )  # fmt: skip


@pytest.mark.parametrize("strength", [1.0, 6.0])
@pytest.mark.parametrize("finite", [False, True])
def test_intervals_of_confusion_entries_hold_the_truth(strength, finite):
    rng, theta, seen, rest = labels_from_prior(7, N, strength, 40)
    predicted = np.arange(N) % K
    tally = tally_of(seen, np.full(N, 40), np.arange(N), predicted)
    found = ask(tally, fl.confusion, fl.flat(strength), finite_pool=finite, n_draws=200)
    truth = (seen + rest) / 40 if finite else theta
    low, high = found.cell_posterior.interval(LEVEL)
    for j in range(K):
        assert_covers(truth[:, j], low[:, j], high[:, j], discrete=finite)
    assert_uniform(rng, truth[np.arange(N), predicted], found.draws)


@pytest.mark.parametrize("name", ["recall", "f1", "tpr", "fpr", "for", "mcc"])
@pytest.mark.parametrize("finite", [False, True])
def test_intervals_of_rates_hold_the_truth(name, finite):
    """Six hundred groups of K cells; the truth goes through the same formula, which is tested elsewhere."""
    n_groups = 600
    rng, theta, seen, rest = labels_from_prior(8, n_groups * K, 3.0, 40)
    group, predicted = np.repeat(np.arange(n_groups), K), np.tile(np.arange(K), n_groups)
    size = np.tile([40, 40, 40], n_groups) if finite else np.tile([10, 40, 25], n_groups) * VAST
    tally = tally_of(seen, size, group, predicted)
    found = ask(tally, METRICS[name], fl.flat(3.0), finite_pool=finite, n_draws=1000)
    share = (seen + rest) / 40 if finite else theta
    joint = (share * size[:, None]).reshape(n_groups, K, K) / size.reshape(n_groups, K).sum(axis=1)[:, None, None]
    truth = RATES[name](joint)
    assert_covers(truth, *found.per_group.interval(LEVEL), discrete=finite)
    assert_uniform(rng, truth, found.draws)


def _diagonal(joint):
    return joint[:, np.arange(K), np.arange(K)]


def _ratio(a, b):
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def _matthews(joint):
    said, true = joint.sum(axis=2), joint.sum(axis=1)
    spread = (1 - (said**2).sum(axis=1)) * (1 - (true**2).sum(axis=1))
    return _ratio(_diagonal(joint).sum(axis=1) - (said * true).sum(axis=1), np.sqrt(spread))


RATES = {  # of joint shares (group, predicted, label)
    "recall": lambda m: _ratio(_diagonal(m), m.sum(axis=1)).mean(axis=1),
    "f1": lambda m: _ratio(2 * _diagonal(m), m.sum(axis=1) + m.sum(axis=2)).mean(axis=1),
    "tpr": lambda m: _ratio(m[:, 1, 1], m[:, :, 1].sum(axis=1)),
    "fpr": lambda m: _ratio(m[:, 1].sum(axis=1) - m[:, 1, 1], 1 - m[:, :, 1].sum(axis=1)),
    "for": lambda m: _ratio(m[:, :, 1].sum(axis=1) - m[:, 1, 1], 1 - m[:, 1].sum(axis=1)),
    "mcc": _matthews,
}


# -- calibration error ----------------------------------------------------------------------------------------

B = 6


@pytest.mark.parametrize("strength", [2.0, 10.0])
@pytest.mark.parametrize("finite", [False, True])
def test_intervals_of_calibration_error_hold_the_truth(strength, finite):
    """Six hundred groups of six bins; accuracies of the bins from the scores prior."""
    n_groups = 600
    rng = np.random.default_rng(9)
    score = np.tile(np.linspace(0.4, 0.98, B), n_groups)
    theta = rng.beta(strength * score, strength * (1 - score))
    size = np.tile([20, 30, 25, 40, 60, 100], n_groups)
    n_labels = rng.integers(0, 20, n_groups * B)
    right = rng.binomial(n_labels, theta)
    accuracy = (right + rng.binomial(size - n_labels, theta)) / size if finite else theta
    n_items = size if finite else size * VAST
    tally = make_tally(
        group=np.repeat(np.arange(n_groups), B), bin=np.tile(np.arange(B), n_groups), n_items=n_items,
        n_labels=n_labels, right=right, score=score * n_items,
    )  # fmt: skip
    found = ask(tally, fl.ece, fl.from_scores(strength), finite_pool=finite, n_draws=1000)
    gap = (size * np.abs(accuracy - score)).reshape(n_groups, B)
    truth = gap.sum(axis=1) / size[:B].sum()
    assert_covers(truth, *found.per_group.interval(LEVEL), discrete=finite)
    assert_uniform(rng, truth, found.draws)


# -- differences ----------------------------------------------------------------------------------------------


def test_chances_of_a_difference_come_true_as_often_as_they_say():
    """Among pairs given a chance p of lying below the rope, a share p does: summed, within 3.5 standard errors."""
    rng = np.random.default_rng(10)
    theta = rng.beta(1, 1, (400, 2))
    n_labels = rng.integers(1, 40, (400, 2))
    right = rng.binomial(n_labels, theta)
    wrong = n_labels - right
    chance = np.array([
        BetaDifference(beta(r[0] + 1, w[0] + 1), beta(r[1] + 1, w[1] + 1)).below(-0.05)
        for r, w in zip(right, wrong, strict=True)
    ])  # fmt: skip
    below = theta[:, 0] - theta[:, 1] < -0.05
    for some in (chance < 0.2, (chance >= 0.2) & (chance < 0.8), chance >= 0.8):
        p = chance[some]
        assert abs(below[some].sum() - p.sum()) < 3.5 * np.sqrt((p * (1 - p)).sum())
