"""Calibration curves of groups: the sampler against another way to the same posterior, and against itself."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest

from experiments.audits import BRIEF, hasten
from experiments.compiled_curves import CompiledCurves
from fewlabels.analyses.fairness.calibration_curves import (
    SHAPES,
    STEP_TERMS,
    CalibrationCurves,
    CurveShape,
    helmert_expand,
    helmert_project,
)
from fewlabels.analyses.fairness.methods import METHODS
from fewlabels.analyses.fairness.strata import Strata, sum_strata
from fewlabels.models.hmc import ChainSettings, run_chains

SHAPES_TRIED = {
    "ours": CurveShape(STEP_TERMS),
    "beta": CurveShape(SHAPES["beta"], centred=False, factors=()),
    "apart": CurveShape(SHAPES["beta"], pooled=False),
}


def rng(seed=0):
    return np.random.default_rng(seed)


def make_people(n_labels=20, n_groups=2, seed=0):
    """Four scores on either side of the decision in each group; labels where chance has it."""
    r = rng(seed)
    score = np.tile([0.05, 0.15, 0.3, 0.45, 0.55, 0.7, 0.85, 0.95], n_groups)
    n = len(score)
    n_items = r.integers(20, 60, size=n)
    n_heard = r.multinomial(n_labels, n_items / n_items.sum())
    return Strata(
        "g", tuple(str(g) for g in range(n_groups)), "1", np.repeat(np.arange(n_groups), 8), (score > 0.5).astype(int),
        score, n_items, np.minimum(n_heard, n_items), r.binomial(np.minimum(n_heard, n_items), score),
    )  # fmt: skip


def count_cells(curves, at):
    """Share of positives among the accepted and the refused of every group."""
    strata = curves.strata
    n = 2 * len(strata.groups)
    return sum_strata(curves.probability(at) * strata.n_items, strata.cell, n) / np.bincount(
        strata.cell, strata.n_items, n
    )


def sample(curves, seed, settings):
    start = curves.start(rng(seed), 16)
    return run_chains(curves, start, rng(seed + 1), settings, reflections=curves.reflections).draws


@pytest.mark.parametrize("shape", [SHAPES_TRIED["ours"], SHAPES_TRIED["beta"]], ids=["ours", "beta"])
def test_mirror_images_have_the_same_density_and_curves(shape):
    assert CalibrationCurves(SHAPES_TRIED["apart"], make_people(40, 3)).reflections is None
    curves = CalibrationCurves(shape, make_people(40, 3))
    at = rng().standard_normal((5, curves.n_parameters))
    signs = curves.reflections.find_signs(at)
    assert (signs < 0).any()
    assert curves(signs * at)[0] == pytest.approx(curves(at)[0])
    assert curves(signs * at)[1] == pytest.approx(signs * curves(at)[1])
    assert curves.probability(signs * at) == pytest.approx(curves.probability(at))
    assert np.all(curves.reflections.find_signs(signs * at) == 1)


@pytest.mark.parametrize("n_groups", [1, 2, 7])
def test_groups_differ_in_ways_that_add_up_to_nothing(n_groups):
    ways = helmert_expand(np.eye(n_groups - 1)[None])[0]
    assert ways @ ways.T == pytest.approx(np.eye(n_groups - 1))
    assert ways.sum(axis=1) == pytest.approx(np.zeros(n_groups - 1), abs=1e-12)
    gradient = rng().standard_normal((3, 2, n_groups))
    assert helmert_project(gradient) == pytest.approx(gradient @ ways.T)


def test_many_groups_are_no_other_model_than_few(monkeypatch):
    strata = make_people(40, 6)
    at = rng().standard_normal((3, CalibrationCurves(CurveShape(), strata).n_parameters))
    few = CalibrationCurves(CurveShape(), strata)(at)
    monkeypatch.setattr("fewlabels.analyses.fairness.calibration_curves.FEW_GROUPS", 0)
    monkeypatch.setattr("fewlabels.analyses.fairness.calibration_curves.MOST_DENSE", 0)
    for found, expected in zip(CalibrationCurves(CurveShape(), strata)(at), few, strict=True):
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("shape", SHAPES_TRIED.values(), ids=list(SHAPES_TRIED))
@pytest.mark.parametrize("n_groups", [1, 2, 5])
@pytest.mark.parametrize("n_labels", [0, 40])
def test_compiled_curves_are_the_same(shape, n_groups, n_labels):
    strata = make_people(n_labels, n_groups)
    plain, compiled = CalibrationCurves(shape, strata), CompiledCurves(shape, strata)
    at = 2 * rng().standard_normal((5, plain.n_parameters))
    for found, expected in zip(compiled(at), plain(at), strict=True):
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("shape", SHAPES_TRIED.values(), ids=list(SHAPES_TRIED))
def test_chains_find_what_weighted_draws_of_the_prior_do(shape):
    """Half a million draws of the prior, weighted by the likelihood: no chain, no slope, no metric."""
    curves = CalibrationCurves(shape, make_people())
    prior = rng(1).standard_normal((500_000, curves.n_parameters))
    weight = np.concatenate([_weigh(curves, part) for part in np.array_split(prior, 50)])
    weight = np.exp(weight - weight.max())
    kept = prior[rng(2).choice(len(prior), size=20_000, p=weight / weight.sum())]
    assert weight.sum() ** 2 / (weight**2).sum() > 2000  # as many plain draws' worth
    found = sample(curves, 3, ChainSettings(n_draws=1000))
    for chains, expected in zip(
        count_cells(curves, found.reshape(-1, curves.n_parameters)).T, count_cells(curves, kept).T, strict=True
    ):
        assert chains.mean() == pytest.approx(expected.mean(), abs=0.1 * expected.std())
        assert chains.std() == pytest.approx(expected.std(), rel=0.08)
        at = [0.025, 0.25, 0.5, 0.75, 0.975]
        assert np.quantile(chains, at) == pytest.approx(np.quantile(expected, at), abs=0.2 * expected.std())


def _weigh(curves, at):
    value, _ = curves(at)
    return value + 0.5 * (at**2).sum(axis=1)


def test_brief_chains_are_long_enough_for_experiments():
    """Means within a tenth of a standard deviation of those of long ones, and spreads alike."""
    curves = CompiledCurves(CurveShape(), make_people(100))
    found = [
        sample(curves, i, effort).reshape(-1, curves.n_parameters)
        for i, effort in enumerate((BRIEF, ChainSettings(n_draws=1000)))
    ]
    cells = [count_cells(curves, draws) for draws in found]
    brief, long = ((each.mean(axis=0), each.std(axis=0)) for each in cells)
    assert np.abs(brief[0] - long[0]).max() < 0.15 * long[1].min()
    assert brief[1] == pytest.approx(long[1], rel=0.15)


N_WORLDS, N_KEPT = 120, 63


def test_truths_rank_anywhere_among_draws():
    """Simulation-based calibration: truths drawn from the prior are equally likely at every rank of the posterior."""
    ranks = np.array([_rank(40, seed) for seed in range(N_WORLDS)])
    for rank in ranks.T:
        assert kstest((rank + rng(1).random(N_WORLDS)) / (N_KEPT + 1), "uniform").pvalue > 1e-3


def _rank(n_labels, seed):
    """Place the truth among draws: rates of the accepted and the refused, a gap, and two parameters."""
    r = rng([seed, n_labels])
    strata = make_people(n_labels, seed=r)
    curves = CompiledCurves(CurveShape(), strata)
    truth = r.standard_normal((1, curves.n_parameters))
    labelled = replace(strata, n_positive=r.binomial(strata.n_labels, curves.probability(truth)[0]))
    curves = CompiledCurves(CurveShape(), labelled)
    start = curves.start(r, 16)
    found = run_chains(curves, start, r, BRIEF, reflections=curves.reflections).draws.reshape(-1, curves.n_parameters)
    kept = found[np.linspace(0, len(found) - 1, N_KEPT).astype(int)]
    return (_show(curves, kept) < _show(curves, truth)).sum(axis=0)


def _show(curves, at):
    cells = count_cells(curves, at)
    return np.column_stack([cells, cells[:, 3] - cells[:, 1], at[:, 0], np.abs(at[:, 7])])


def test_scores_far_too_sure_are_seen_through_at_both_ends():
    """Almost all are accepted, at scores near 1; their labels must say something of the few who are refused at near 0."""
    score = np.array([1e-4, 0.9999, 1e-4, 0.9999])
    group, predicted = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    strata = Strata("g", ("a", "b"), "1", group, predicted, score, np.array([50, 950] * 2), np.array([0, 40] * 2), np.array([0, 20] * 2))  # fmt: skip
    refused = [
        hasten(METHODS[name]).learn(strata, rng(), finite_pool=True).probability[:, 0] for name in ("bc", "calibrated")
    ]
    bc, ours = (np.quantile(probability, 0.9) for probability in refused)
    assert bc < 0.01  # as sure of the refused as ever
    assert ours > 0.2
