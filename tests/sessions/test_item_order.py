"""The order of items within a group: every item as likely to be early, and any first items spread over the scores."""

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.sessions.item_order import N_RANGES, spread_over_scores


def order(seed, sizes=(100,), score=None):
    group = np.repeat(np.arange(len(sizes)), sizes)
    score = np.concatenate([np.linspace(0, 1, n) for n in sizes]) if score is None else score
    return spread_over_scores(np.random.default_rng(seed), group, score), group, score


@pytest.mark.parametrize("sizes", [(1,), (3, 40, 17), (0, 5), (16,), (33, 1)])
def test_every_item_occurs_once(sizes):
    found, group, _ = order(0, sizes)
    assert sorted(found) == list(range(len(group)))


@pytest.mark.parametrize("n", [5, 20, 37])
@pytest.mark.parametrize("first", [1, 4])
def test_every_item_is_as_likely_to_be_among_the_first(n, first):
    """Of 4,000 orders, a share may be 4.5 standard errors off: once in 2,000 tests of 62 items."""
    times = np.zeros(n)
    for seed in range(4000):
        times[order(seed, (n,))[0][:first]] += 1
    share = first / n
    assert np.abs(times / 4000 - share).max() < 4.5 * np.sqrt(share * (1 - share) / 4000)


@pytest.mark.parametrize("first", [2, 4, 8, 16, 32, 80])
def test_the_first_items_have_one_item_of_every_range_of_score(first):
    """Of 1,600 items and 2, 4, 8 ... first ones, each half, quarter, eighth ... of the scores holds as many."""
    for seed in range(5):
        found, _, score = order(seed, (1600,))
        parts = min(first, N_RANGES)
        held = np.bincount((score[found[:first]] * parts).astype(int).clip(0, parts - 1), minlength=parts)
        assert held.tolist() == [first // parts] * parts


def test_the_mean_of_the_first_items_varies_less_than_that_of_random_ones():
    rng = np.random.default_rng(0)
    score = rng.random(500)
    means = [score[order(seed, (500,), score)[0][:20]].mean() for seed in range(300)]
    assert np.std(means) < 0.5 * score.std() / np.sqrt(20)


def test_without_scores_the_order_is_random():
    orders = {tuple(order(seed, (30,), np.zeros(30))[0]) for seed in range(20)}
    assert len(orders) == 20


@pytest.mark.parametrize("seed", range(8))
def test_a_session_asks_about_items_of_all_scores(seed):
    """Half of the first 16 items have scores below the middle, up to one; of random ones, 7 to 9 do half of the time."""
    n = 320
    table = {"id": list(range(n)), "predicted": ["a"] * n, "score": np.linspace(0.05, 0.95, n).tolist()}
    asked = fl.Session.create(None, table, goal="estimate", by="all", seed=seed).ask(16)
    assert 7 <= sum(i < n / 2 for i in asked) <= 9
