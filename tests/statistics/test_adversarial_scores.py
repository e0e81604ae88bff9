"""Scores that mislead: intervals of the calibrated prior must still hold the truth, above all where there are no labels.

A pool of ten classes, some of their items labelled at random; one class is silently broken, or scores are inverted,
constant, shuffled or tied.
"""

import numpy as np
import pytest
from scipy.special import expit

import fewlabels as fl
from fewlabels.active.simulation.labelled_pool import make_labelled_pool
from fewlabels.data.counts import STRATA
from fewlabels.models.inference import infer

K, N = 10, 2000
SIZES = [20, 60, 200]  # labels


def make_pool(seed, scores="honest", broken=None):
    """A pool of over-confident scores; of the broken class 45 % of the right labels are changed."""
    rng = np.random.default_rng(seed)
    said = rng.integers(0, K, N)
    logit = rng.normal(1.8, 1.2, N) + rng.normal(0, 0.4, K)[said]
    right = rng.random(N) < expit(logit)
    if broken is not None:
        right &= (said != broken) | (rng.random(N) > 0.45)
    shown = {
        "honest": expit(1.5 * logit), "inverted": expit(-1.5 * logit), "constant": np.full(N, 0.8),
        "shuffled": rng.permutation(expit(1.5 * logit)), "tied": np.round(expit(1.5 * logit) * 5) / 5,
    }  # fmt: skip
    return {"predicted": said.astype(str), "score": shown[scores], "right": right}


def assess(pool, labelled):
    """Assess a pool of which these items are labelled, about exactly these items."""
    said = pool["predicted"]
    label = np.where(pool["right"], said, np.roll(np.arange(K).astype(str), 1)[said.astype(int)])
    table = {"predicted": said, "score": pool["score"], "label": np.where(labelled, label, None)}
    return fl.assess(table, finite_pool=True, n_draws=4000)


def find_covered(pool, found):
    """Whether the interval of each group holds the truth, and that of the whole."""
    truth = {name: pool["right"][pool["predicted"] == name].mean() for name in np.unique(pool["predicted"])}
    covered = {row.group: row.low - 1e-9 <= truth[row.group] <= row.high + 1e-9 for row in found.groups}
    return covered, found.overall.low <= pool["right"].mean() <= found.overall.high


def test_a_silently_broken_class_is_seen_once_it_has_labels():
    """Twenty labels a class: the interval of the broken class holds its truth in at least nine of ten pools."""
    held = []
    for seed in range(10):
        pool, rng = make_pool(seed, broken=3), np.random.default_rng([seed, 1])
        chosen = [rng.permutation(np.nonzero(pool["predicted"] == str(k))[0])[:20] for k in range(K)]
        labelled = np.isin(np.arange(N), np.concatenate(chosen))
        held.append(find_covered(pool, assess(pool, labelled))[0]["3"])
    assert np.sum(held) >= 9


def test_a_class_without_labels_is_named():
    """Scores cannot show that a class is silently broken, so a warning says that nothing else was looked at."""
    pool = make_pool(0, broken=3)
    labelled = np.zeros(N, dtype=bool)
    labelled[np.random.default_rng(1).permutation(np.nonzero(pool["predicted"] != "3")[0])[:60]] = True
    assert any("no label" in warning and warning.endswith(": 3") for warning in assess(pool, labelled).warnings)


@pytest.mark.parametrize("n_labels", SIZES)
@pytest.mark.parametrize("scores", ["honest", "inverted", "constant", "shuffled", "tied"])
def test_scores_that_mislead_do_not_take_intervals_off_the_truth(scores, n_labels):
    """Twelve pools of ten groups: groups hang together, so coverage may fall to 88 %; the whole misses at most twice."""
    groups, whole = [], []
    for seed in range(12):
        pool = make_pool(seed, scores)
        labelled = np.zeros(N, dtype=bool)
        labelled[np.random.default_rng([seed, 2]).permutation(N)[:n_labels]] = True
        covered, overall = find_covered(pool, assess(pool, labelled))
        groups += covered.values()
        whole.append(overall)
    assert np.mean(groups) > 0.88
    assert np.sum(whole) >= 10


def lay_out_broken(seed, n_each):
    """An accurate pool with a broken class, and the posterior after so many labels of each class."""
    rng = np.random.default_rng([seed, n_each])
    said = np.repeat(np.arange(K), N // K)
    logit = rng.normal(3.0, 1.2, N) + rng.normal(0, 0.4, K)[said]
    right = (rng.random(N) < expit(logit)) & ((said != 3) | (rng.random(N) > 0.45))
    label = np.where(right, said, (said + 1) % K)
    table = {"predicted": said.astype(str), "score": expit(1.2 * logit), "label": label.astype(str)}
    pool = make_labelled_pool(fl.Predictions.read(table), fl.predicted, strata=STRATA)
    order = np.concatenate([rng.permutation(np.nonzero(pool.group == k)[0])[:n_each] for k in range(K)])
    truth = np.bincount(pool.group, pool.right) / np.bincount(pool.group)
    return truth, infer(pool.add_labels(order), fl.accuracy, fl.calibrated(), finite_pool=True, n_draws=1000)


@pytest.mark.parametrize(("n_each", "least"), [(8, 0.72), (20, 0.85)])
def test_labels_of_a_broken_class_overrule_what_other_classes_suggest(n_each, least):
    """Sixty pools: nine tenths less two standard errors; fewer with eight labels, of which four may be right by chance."""
    held, others = [], []
    for seed in range(60):
        truth, found = lay_out_broken(seed, n_each)
        low, high = found.interval()
        covered = (low - 1e-9 <= truth) & (truth <= high + 1e-9)
        held.append(covered[3])
        others += [*covered[:3], *covered[4:]]
    assert np.mean(held) >= least
    assert np.mean(others) > 0.93
