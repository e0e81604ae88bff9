"""Terms of items in the additive model: predicted classes, slopes of the score, quadrature of arms, samples of items."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit, logsumexp

import fewlabels as fl
from fewlabels.analyses.surface.api import fit_surface
from fewlabels.data.aggregate import aggregate_pool
from fewlabels.data.counts import NONE, STRATA, Axis
from fewlabels.data.groups import Cross
from fewlabels.data.tabulation import to_count_table
from fewlabels.models.additive.design import build_additive_design
from fewlabels.models.additive.effect_priors import FIXED, EffectPriors
from fewlabels.models.additive.fit import fit_additive
from fewlabels.models.additive.laplace_evidence import LaplaceEvidence
from fewlabels.models.additive.strata import make_strata

N = 6000
GRID, MASSES = hermegauss(61)
MASSES = MASSES / MASSES.sum()


def make_flipped(seed=0, n_labels=300, *, scored=False):
    """Labels depend on attributes additively, and predictions hardly: accuracy flips with the predicted class."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 6, N), rng.integers(0, 5, N)
    height = np.linspace(-2.5, 2.5, 6)[a] + np.linspace(-1, 1, 5)[b]
    label = rng.random(N) < expit(height)
    predicted = rng.random(N) < expit(0.4 * height)
    known = rng.permutation(N) < n_labels
    table = {
        "predicted": np.where(predicted, "yes", "no"), "label": np.where(known, np.where(label, "yes", "no"), None),
        "a": [f"a{i}" for i in a], "b": [f"b{i}" for i in b],
    }  # fmt: skip
    if scored:
        table["score"] = expit(0.5 + 1.5 * rng.random(N))
    arm = a * 5 + b
    truth = np.bincount(arm, weights=label == predicted) / np.bincount(arm)
    return table, truth


def count_pool(table):
    pool = fl.Predictions.read(table)
    by = Cross((fl.column("a"), fl.column("b")))
    return to_count_table(aggregate_pool(pool, by, strata=STRATA, most_groups=1000))


def measure_error(counts, truth):
    found = fit_surface(counts)
    return float(np.mean((np.array([arm.mean for arm in found.arms]) - truth) ** 2))


def test_predicted_classes_tell_arms_apart():
    errors = []
    for seed in range(3):
        table, truth = make_flipped(seed)
        counts = count_pool(table)
        blind = replace(counts, predicted=np.full(len(counts.group), NONE))
        errors.append((measure_error(counts, truth), measure_error(blind, truth)))
    seen, unseen = np.mean(errors, axis=0)
    assert seen < 0.6 * unseen


def test_strata_by_class_hold_all_items_in_the_order_of_cells():
    counts = count_pool(make_flipped(scored=True)[0])
    cells = counts.cells()
    strata = cells.by_class
    assert np.all(np.diff(strata.cell) >= 0)
    for name in ("n_items", "n_labels", "right"):
        found = np.bincount(strata.cell, weights=getattr(strata, name), minlength=cells.n)
        assert found == pytest.approx(getattr(cells, name))
    assert set(strata.predicted.tolist()) == {0, 1}
    assert counts.cells(("predicted",)).by_class is None


def test_terms_of_items_match_their_priors():
    design = build_additive_design(count_pool(make_flipped(scored=True)[0]).cells())
    assert design.items.slopes == (0, 1)
    assert design.items.by_class == (0, 1)
    assert design.curve.shape[1] == design.items.count_terms(design.effects)
    priors = design.priors
    assert len(priors.block) == design.curve.shape[1] + design.design.shape[1]
    found = priors.block[priors.block != FIXED]
    assert len(set(found.tolist())) == len(priors.kinds)


def test_a_saved_surface_keeps_classes_and_slopes(tmp_path):
    s = fl.surface(make_flipped(scored=True)[0], attributes=("a", "b"))
    again = fl.Surface.load(s.save(tmp_path / "s.surface"))
    assert again.fitted.items == s.fitted.items
    assert again.query(a="a1").mean == pytest.approx(s.query(a="a1").mean)
    assert again.query(a="a1", b="b2").low == pytest.approx(s.query(a="a1", b="b2").low)


def test_the_evidence_of_arms_with_few_labels_is_exact():
    """Sixty arms of one to three labels, with an intercept: Laplace alone finds too small a scale of arms."""
    rng = np.random.default_rng(0)
    n = rng.integers(1, 4, 60).astype(float)
    right = rng.binomial(n.astype(int), expit(0.8 + rng.normal(0, 1.2, 60))).astype(float)
    priors = EffectPriors(np.array([FIXED]), np.zeros(1), np.array([1.8]), ())
    problem = LaplaceEvidence(make_strata(np.ones((60, 1)), np.arange(60), right, n), priors)
    found, exact = [], []
    for scale in (0.1, 0.6, 1.0, 1.5, 2.5):
        at = np.array([np.log(scale)])
        found.append(problem.evaluate(at).value - priors.log_prior(at)[0])
        exact.append(enumerate_evidence(n, right, scale))
    assert found == pytest.approx(exact, abs=0.25)
    assert int(np.argmax(found)) == int(np.argmax(exact))


def enumerate_evidence(n, right, scale):
    """Integrate intercept and arms on grids."""
    at = np.linspace(-4, 5, 901)
    logits = at[:, None] + scale * GRID
    total = -0.5 * (at / 1.8) ** 2 - 0.5 * np.log(2 * np.pi * 1.8**2)
    for labels, hits in zip(n, right, strict=True):
        total += np.log(np.exp(hits * logits - labels * np.logaddexp(0, logits)) @ MASSES)
    return float(logsumexp(total) + np.log(at[1] - at[0]))


def test_small_arms_of_a_population_allow_for_other_items():
    """Items of an arm are of two classes with accuracies far apart: five of them say little about the shares."""
    covered, total = 0, 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        share = rng.beta(2, 2, 150)
        arm = np.repeat(np.arange(150), 5)
        first = rng.random(750) < share[arm]
        right = rng.random(750) < np.where(first, 0.95, 0.2)
        label = np.where(rng.random(750) < 0.4, np.where(right == first, "x", "y"), None)
        table = {"predicted": np.where(first, "x", "y"), "label": label, "a": [f"a{i}" for i in arm]}
        found = fl.surface(table, attributes=("a",))
        truth = dict(zip((f"a{i}" for i in range(150)), share * 0.95 + (1 - share) * 0.2, strict=True))
        covered += sum(arm.low <= truth[arm.arm["a"]] <= arm.high for arm in found.arms)
        total += len(found.arms)
    assert covered / total > 0.85  # of 900 arms; the standard error is about 0.011, and 95 % are wanted


def test_a_surface_of_one_class_has_no_terms_of_classes():
    table, _ = make_flipped()
    table["predicted"] = np.full(N, "yes")
    design = build_additive_design(count_pool(table).cells())
    assert design.items.n_classes == 0
    assert fit_additive(design.select_labelled(), design.priors).gradient_norm < 0.5


def test_many_classes_have_effects_but_no_interactions():
    rng = np.random.default_rng(0)
    axis = Axis("a", tuple(map(str, range(4))), ordered=False)
    table = {"predicted": [f"c{i}" for i in rng.integers(0, 80, 3000)], "a": rng.choice(list(axis.levels), 3000)}
    label = np.where(rng.random(3000) < 0.7, table["predicted"], "other")
    table["label"] = np.where(np.arange(3000) < 400, label, None)
    found = fl.surface(table, attributes=("a",))
    assert found.fitted.items.by_class == ()
    assert found.fitted.items.n_classes == 80
