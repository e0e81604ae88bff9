"""Fairness: the curves, what they are learned from, and the gaps between groups."""

import numpy as np
import pytest
from scipy.special import expit

import fewlabels as fl
from fewlabels.gaps.curve import SHAPES, Curves, Shape
from fewlabels.gaps.people import count_people
from fewlabels.latent.chains import Effort, run_chains
from fewlabels.latent.health import diagnose


def rng(seed=0):
    return np.random.default_rng(seed)


def make_people(n=2000, n_labels=100, seed=0, groups=("f", "m")):
    """A pool whose scores are over-confident, more so in one group."""
    r = rng(seed)
    group = r.integers(0, len(groups), size=n)
    logit = r.normal(-0.5, 1.5, size=n)
    label = (r.random(n) < expit(logit)).astype(int).astype(str).astype(object)
    label[r.permutation(n)[n_labels:]] = None
    shown = expit((1.5 + 0.5 * (group == 0)) * logit)
    return {"id": np.arange(n), "score_x": shown, "sex": np.array(groups)[group], "label": label}


def read(pool, **roles):
    return fl.Predictions.read(pool, positive_score="score_x", positive="1", **roles)


def count(pool, **roles):
    return count_people(read(pool, **roles), fl.column("sex"))


def test_counts_are_those_of_the_pool():
    pool = make_people()
    people = count(pool)
    assert people.groups == ("f", "m")
    said, sex = pool["score_x"] >= 0.5, pool["sex"]
    for g, name in enumerate(people.groups):
        for s in (0, 1):
            here, cell = (sex == name) & (said == s), (people.group == g) & (people.said == s)
            assert people.n_items[cell].sum() == here.sum()
            assert people.n_labels[cell].sum() == sum(y is not None for y in pool["label"][here])
            assert people.n_positive[cell].sum() == sum(y == "1" for y in pool["label"][here])
            assert (people.n_items * people.score)[cell].sum() == pytest.approx(pool["score_x"][here].sum(), abs=1e-3)
    assert np.all(np.diff(people.cell) >= 0)


SHAPES_TRIED = [Shape(terms, pooled, departs) for terms in SHAPES.values() for pooled in (True, False) for departs in (True, False)]  # fmt: skip


@pytest.mark.parametrize("groups", [("f",), ("f", "m"), ("a", "b", "c", "d")], ids=len)
@pytest.mark.parametrize("shape", SHAPES_TRIED, ids=str)
def test_slopes_are_those_of_the_density(shape, groups):
    curves = Curves(shape, count(make_people(groups=groups)))
    at = curves.start(rng(1), 3) * 2
    _, slope = curves(at)
    for i, step in enumerate(1e-5 * np.eye(curves.n_parameters)):
        assert (curves(at + step)[0] - curves(at - step)[0]) / 2e-5 == pytest.approx(slope[:, i], abs=1e-4)


def test_groups_vary_as_the_papers_say():
    """Draws of the prior: the level of a coefficient, and how far two groups are apart."""
    curves = Curves(Shape(departs=False), count(make_people(n_labels=0)))
    at = rng().standard_normal((200_000, curves.n_parameters))
    at[:, [1, 4, 7]] *= [0.15, 0.15, 0.75]
    a, b, c = curves._bend(at)
    mean, spread = rng(1).normal(0, 2, size=200_000), np.abs(rng(2).normal(0, 0.75, size=200_000))
    expected = mean[:, None] + spread[:, None] * rng(3).normal(size=(200_000, 2))
    assert np.cov(c.T) == pytest.approx(np.cov(expected.T), rel=0.02)
    gap, expected_gap = c[:, 0] - c[:, 1], expected[:, 0] - expected[:, 1]
    assert np.quantile(gap, [0.01, 0.25, 0.75]) == pytest.approx(
        np.quantile(expected_gap, [0.01, 0.25, 0.75]), rel=0.05
    )
    assert np.log(a).std() == pytest.approx(np.sqrt(0.4**2 + 0.15**2), rel=0.02)
    assert np.log(b).mean() == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("n_labels", [10, 100, 1000])
def test_chains_agree_soon(n_labels):
    curves = Curves(Shape(), count(make_people(n_labels=n_labels)))
    found = run_chains(curves, curves.start(rng(), 16), rng(1), Effort())
    chance = curves.chance(found.draws.reshape(-1, curves.n_parameters))
    cells = np.stack([chance[:, curves.people.cell == cell].mean(axis=1) for cell in range(4)], axis=1)
    health = diagnose(cells.reshape(*found.draws.shape[:2], 4), found.divergences)
    assert health.rhat < 1.01
    assert health.ess > 400
