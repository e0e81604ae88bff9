"""Accuracy surfaces: the model against brute force, its honesty, and what can be asked of a surface."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from makers import drop_provenance
from scipy.special import expit, logit

import fewlabels as fl
from fewlabels.data.counts import Axis, CountTable
from fewlabels.data.tabulation import count_pool
from fewlabels.models.additive import fit as fitting
from fewlabels.models.additive import laplace_evidence, schur_complement
from fewlabels.models.additive.arm_posterior import predict_arms
from fewlabels.models.additive.effect_priors import (
    FIXED,
    LOG_SCALE_MEANS,
    LOG_SCALE_SDS,
    WITHIN_KIND_SDS,
    EffectPriors,
)
from fewlabels.models.additive.effects import choose_effects
from fewlabels.models.additive.fit import fit_additive
from fewlabels.models.additive.laplace_evidence import LaplaceEvidence
from fewlabels.models.additive.outliers import P_OUTLIER, compute_outlier_variance
from fewlabels.models.additive.strata import make_strata
from fewlabels.models.inference import infer
from fewlabels.models.logit.curve import to_logit


def make_axes(*sizes, ordered=()):
    return tuple(Axis(f"a{k}", tuple(map(str, range(n))), k in ordered) for k, n in enumerate(sizes))


def make_arms(*sizes):
    return np.array(list(product(*map(range, sizes))))


def make_priors(effects, level_spread=1.8):
    n = len(effects.block)
    return EffectPriors(np.r_[FIXED, effects.block], np.zeros(1 + n), np.r_[level_spread, np.ones(n)], effects.kinds)


def see(design, n_labels, right):
    """Return the evidence of arms without scores."""
    (labelled,) = np.nonzero(n_labels)
    return make_strata(
        np.column_stack([np.ones(len(labelled)), design[labelled]]), labelled, right[labelled].astype(float), n_labels[labelled].astype(float)
    )  # fmt: skip


def rise(effects, found, n_arms):
    level = make_arms(*(len(axis.levels) for axis in effects.axes))
    (posterior,) = predict_arms(
        found, np.ones((n_arms, 1)), effects.expand(level), np.arange(n_arms), [np.ones(n_arms)]
    )
    return posterior


def make_pool(seed=0, n=600, n_labels=200, **more):
    """Night and rain together are what goes wrong."""
    rng = np.random.default_rng(seed)
    light, rain = rng.choice(["day", "night"], n), rng.choice(["dry", "wet"], n)
    place = rng.choice(["city", "road", "village"], n, p=[0.7, 0.25, 0.05])
    chance = expit(1.8 - 2.5 * ((light == "night") & (rain == "wet")) - 0.5 * (place == "road"))
    truth = np.where(rng.random(n) < chance, "a", "b")
    label = np.where(rng.permutation(n) < n_labels, truth, None)
    return {
        "id": np.arange(n),
        "predicted": ["a"] * n,
        "label": label,
        "light": light,
        "rain": rain,
        "place": place,
    } | more


ATTRIBUTES = ("light", "rain", "place")

# -- effects --------------------------------------------------------------------------------------------------


def test_effects_of_an_attribute_sum_to_nothing_and_vary_alike():
    effects = choose_effects(make_axes(5, 3, 2), make_arms(5, 3, 2))
    for table in effects.tables:
        values = table[:-1]
        assert np.allclose(values.sum(axis=0), 0)
        n = len(values)
        assert np.allclose(values @ values.T, np.eye(n) - 1 / n)


def test_neighbours_of_an_ordered_attribute_resemble_each_other():
    (table,) = choose_effects(make_axes(6, ordered=(0,)), make_arms(6)).tables
    alike = table[:-1] @ table[:-1].T
    assert alike[2, 3] > alike[2, 4] > alike[0, 5]
    assert np.isclose(np.trace(alike), 5, rtol=0.01)  # as much in all as values that are not ordered


def test_a_missing_value_of_an_ordered_attribute_has_no_neighbours():
    axis = Axis("age", ("1", "2", "3", "(missing)"), ordered=True)
    (table,) = choose_effects((axis,), np.arange(4)[:, None]).tables
    distance = np.linalg.norm(table[:-1, None] - table[None, :-1], axis=2)
    assert np.allclose(distance[3, :3], distance[3, 0], rtol=0.2)
    assert distance[0, 1] < distance[3, 1]


def test_two_attributes_have_an_effect_together_only_where_arms_are_more():
    assert choose_effects(make_axes(4, 3), make_arms(4, 3)).pairs == ()
    assert choose_effects(make_axes(4, 3, 2), make_arms(4, 3, 2)).pairs == ((0, 1), (0, 2), (1, 2))
    assert choose_effects(make_axes(4, 3), make_arms(4, 3)).left_out == ((0, 1),)


def test_effects_beyond_what_there_is_room_for_are_left_to_the_arms(monkeypatch):
    monkeypatch.setattr("fewlabels.models.additive.effects.MOST_TERMS", 10)
    effects = choose_effects(make_axes(4, 30, 3), make_arms(4, 30, 3))
    assert effects.blocks == ((0,), (2,))
    assert (1,) in effects.left_out
    assert effects.expand(make_arms(4, 30, 3)).shape == (360, 5)


def test_a_value_that_was_never_seen_adds_nothing():
    effects = choose_effects(make_axes(3, 2, 2), make_arms(3, 2, 2))
    known, unknown = effects.expand(np.array([[0, 1, 0], [-1, 1, 0]]))
    first = effects.block == 0
    assert known[first].any()
    assert not unknown[first].any()
    assert np.array_equal(known[effects.block == 1], unknown[effects.block == 1])


# -- the fit --------------------------------------------------------------------------------------------------


def simulate(effects, scales, rng, n_labels):
    """Draw a surface from the model, and labels from the surface; scales are logs, the last that of arms."""
    design = effects.expand(make_arms(*(len(axis.levels) for axis in effects.axes)))
    terms = np.exp(np.asarray(scales)[effects.block]) * rng.standard_normal(design.shape[1])
    height = 1.8 * rng.standard_normal() + design @ terms + np.exp(scales[-1]) * rng.standard_normal(len(design))
    n = rng.multinomial(n_labels, np.full(len(design), 1 / len(design)))
    return design, expit(height), n, rng.binomial(n, expit(height))


@pytest.mark.parametrize(("n_arms", "n_labels"), [(1, 13), (1, 90), (3, 13)])
def test_labels_all_right_at_a_score_of_1_agree_with_weighted_draws_of_the_prior(n_arms, n_labels):
    """The likelihood is flat about the mode: a normal there holds accuracies possible that the labels rule out."""
    score, n = np.r_[np.ones(n_arms), 0.6], np.r_[np.full(n_arms, n_labels), 10].astype(float)
    right, arm = np.r_[n[:-1], 5], np.arange(n_arms + 1)
    design = np.column_stack([np.ones(len(n)), to_logit(score)])
    priors = EffectPriors(np.full(2, FIXED), np.array([0.0, 1.0]), np.array([1.0, 0.5]), ())
    problem = LaplaceEvidence(make_strata(design, arm, right, n), priors)
    conditional = problem.describe(problem.evaluate(priors.start))
    (posterior,) = predict_arms(
        fitting.AdditiveFit(priors, arm, (conditional,), conditional, 1, 0.0), design, np.zeros((len(n), 0)), arm, [n]
    )
    rng, draws = np.random.default_rng(0), 300_000
    terms = priors.centre + priors.spread * rng.standard_normal((draws, 2))
    height = terms @ design.T + np.exp(priors.start[0]) * rng.standard_normal((draws, len(n)))
    likely = (right * height - n * np.logaddexp(0, height)).sum(axis=1)
    drawn = expit(rng.choice(height, 50_000, p=np.exp(likely) / np.exp(likely).sum()))
    low, high = posterior.interval(0.95)
    assert np.allclose(posterior.mean, drawn.mean(axis=0), atol=0.01)
    assert np.allclose(low, np.quantile(drawn, 0.025, axis=0), atol=0.07)
    assert np.allclose(high, np.quantile(drawn, 0.975, axis=0), atol=0.01)


@pytest.mark.parametrize("whole", [True, False])
def test_the_slope_of_the_evidence_is_its_slope(monkeypatch, whole):
    """Also where arms have several strata, with scores of their own, and strata are of their arms in part."""
    monkeypatch.setattr(laplace_evidence, "CLOSE", 1e-12)
    monkeypatch.setattr(schur_complement, "BRIEF", np.float64)
    rng = np.random.default_rng(1)
    effects = choose_effects(make_axes(3, 2, 2), make_arms(3, 2, 2))
    design, _, n, right = simulate(effects, np.full(7, -0.5), rng, 80)
    seen = see(design, n, right)
    score = rng.standard_normal(2 * len(seen.group))
    twice = make_strata(
        np.column_stack([score, np.repeat(seen.design, 2, axis=0)]), np.repeat(seen.group, 2), np.repeat(seen.right, 2), np.repeat(seen.total, 2)
    )  # fmt: skip
    if not whole:
        twice = replace(twice, share=rng.random(len(score)), base=rng.standard_normal(len(score)))
    plain = make_priors(effects)
    priors = EffectPriors(np.r_[FIXED, plain.block], np.r_[1.0, plain.centre], np.r_[0.5, plain.spread], plain.kinds)
    problem, at, step = (
        LaplaceEvidence(twice, priors),
        priors.start + 0.4 * rng.standard_normal(len(priors.start)),
        1e-4,
    )
    gradient = problem.evaluate(at).gradient
    sides = [[problem.evaluate(at + sign * step * e).value for sign in (1, -1)] for e in np.eye(len(at))]
    assert np.allclose(gradient, [(ahead - behind) / (2 * step) for ahead, behind in sides], atol=1e-4)
    exact = problem.evaluate(at).value
    monkeypatch.setattr(schur_complement, "BRIEF", np.float32)
    assert problem.evaluate(at).value == pytest.approx(exact, abs=1e-5)


def test_the_posterior_agrees_with_weighted_draws_of_the_prior():
    """At given scales: a hundred thousand surfaces, each as probable as it makes the labels."""
    rng = np.random.default_rng(3)
    effects = choose_effects(make_axes(3, 2), make_arms(3, 2))
    design, _, n, right = simulate(effects, np.array([-0.3, -0.6, -0.7]), rng, 30)
    priors = make_priors(effects)
    evaluation = LaplaceEvidence(see(design, n, right), priors).evaluate(priors.start)
    found = fitting.AdditiveFit(priors, np.nonzero(n)[0], (evaluation.mean,), evaluation.conditional, 1, 0.0)
    posterior = rise(effects, found, len(design))
    draws = 200_000
    scales = np.exp(priors.start)
    height = 1.8 * rng.standard_normal((draws, 1)) + scales[priors.n] * rng.standard_normal((draws, len(design)))
    height += (rng.standard_normal((draws, design.shape[1])) * scales[effects.block]) @ design.T
    likely = (right * height - n * np.logaddexp(0, height)).sum(axis=1)
    weight = np.exp(likely - likely.max())
    weight /= weight.sum()
    accuracy = expit(height)
    mean = weight @ accuracy
    spread = np.sqrt(weight @ (accuracy - mean) ** 2)
    assert np.allclose(posterior.mean, mean, atol=0.01)
    low, high = posterior.interval(0.95)
    assert np.allclose((high - low) / 3.92, spread, rtol=0.2)
    assert np.allclose(posterior.draw(rng, 20_000).mean(axis=0), posterior.mean, atol=0.01)


def test_the_mean_is_nearer_to_the_truth_than_the_mode():
    """Nine labels of ten right: the mode of the logit is short of its mean, and would drag accuracy down."""
    effects = choose_effects(make_axes(3, 2), make_arms(3, 2))
    n, right = np.full(6, 10), np.array([10, 9, 10, 8, 10, 9])
    priors = make_priors(effects)
    evaluation = LaplaceEvidence(see(effects.expand(make_arms(3, 2)), n, right), priors).evaluate(priors.start)
    assert np.all(evaluation.mean.terms[0] > evaluation.conditional.terms[0] + 0.05)
    means = [
        rise(effects, fitting.AdditiveFit(priors, np.arange(6), (conditional,), conditional, 1, 0.0), 6).mean
        for conditional in (evaluation.conditional, evaluation.mean)
    ]
    assert np.all(means[1] > means[0])


def test_variants_put_their_scales_among_those_of_the_whole_plan():
    """Three attributes and their three pairs: none, all by one scale, each by its own; then arms, and a centre of each kind."""
    priors = make_priors(choose_effects(make_axes(3, 2, 2), make_arms(3, 2, 2)))
    nothing, alike, unlike = priors.list_variants()
    scales = np.arange(9.0)
    assert nothing.read(scales).tolist() == [0, 1, 2, 6, 7]
    assert nothing.to_full_scales(nothing.read(scales)).tolist() == [0, 1, 2, -np.inf, -np.inf, -np.inf, 6, 7, -np.inf]
    assert alike.read(scales).tolist() == [0, 1, 2, 4, 6, 7, 8]
    assert alike.to_full_scales(alike.read(scales)).tolist() == [0, 1, 2, 4, 4, 4, 6, 7, 8]
    assert unlike.to_full_scales(unlike.read(scales)).tolist() == scales.tolist()
    assert nothing.likely + alike.likely + unlike.likely == pytest.approx(1)


def test_many_pairs_that_each_do_little_are_not_missed():
    """Forty-five scales, each of one term, are a summit that few labels can show; that all pairs do a little is plain."""
    rng = np.random.default_rng(4)
    axes, level = make_axes(*(2,) * 10), make_arms(*(2,) * 10)
    effects = choose_effects(axes, level)
    scales = np.where(np.array(effects.kinds) == "main", np.log(0.4), np.log(0.15))
    design, _, n, right = simulate(effects, np.append(scales, np.log(0.05)), rng, 1500)
    found = fit_additive(see(design, n, right), make_priors(effects))
    assert found.together > 0.95


@pytest.mark.parametrize("interacting", [True, False])
def test_attributes_do_something_together_only_where_labels_show_it(interacting):
    rng = np.random.default_rng(5)
    arms = make_arms(3, 3, 2, 2, 2, 2)
    effects = choose_effects(make_axes(3, 3, 2, 2, 2, 2), arms)
    scales = np.array([*np.full(6, -0.3), *np.full(15, -0.5 if interacting else -np.inf), -1.5])
    design, _, n, right = simulate(effects, scales, rng, 1500)
    found = fit_additive(see(design, n, right), make_priors(effects))
    assert (found.together > 0.95) if interacting else (found.together < 0.3)
    assert np.all((np.exp(found.mode.scales[6:21]) > 0) == interacting)
    assert sum(conditional.weight for conditional in found.conditionals) == pytest.approx(1.0)
    posterior = rise(effects, found, len(design))
    assert np.all(np.isfinite(posterior.mean))
    if not interacting:  # nothing is lost against whoever knew beforehand
        alone = replace(effects, pairs=())
        plain = fit_additive(see(alone.expand(arms), n, right), make_priors(alone))
        assert np.allclose(posterior.mean, rise(alone, plain, len(design)).mean, atol=0.02)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Surfaces drawn from the model, scales and all: simulation-based calibration, by the place of the truth."""
    rng = np.random.default_rng(4)
    effects = choose_effects(make_axes(4, 3, 2), make_arms(4, 3, 2))
    priors, places = make_priors(effects), []
    for _ in range(100):
        centre = {kind: rng.normal(LOG_SCALE_MEANS[kind], LOG_SCALE_SDS[kind]) for kind in priors.distinct_kinds}
        scales = [rng.normal(centre[kind], WITHIN_KIND_SDS[kind]) for kind in priors.kinds]
        scales.append(rng.normal(LOG_SCALE_MEANS["arm"], LOG_SCALE_SDS["arm"]))
        design, truth, n, right = simulate(effects, np.array(scales), rng, 120)
        draws = rise(effects, fit_additive(see(design, n, right), priors), len(design)).draw(rng, 400)
        arm = rng.integers(len(design), size=6)
        places.append((draws[:, arm] < truth[arm]).mean(axis=0))
    places = np.concatenate(places)
    shares = np.histogram(places, bins=8, range=(0, 1))[0] / len(places)
    assert np.all(np.abs(shares - 1 / 8) < 0.055)  # three standard errors of 600 places that are not quite independent
    assert abs(places.mean() - 0.5) < 0.075  # arms of one surface are off together
    assert ((places > 0.025) & (places < 0.975)).mean() > 0.89


def test_with_many_labels_an_arm_is_as_often_right_as_it_was():
    effects = choose_effects(make_axes(3, 2, 2), make_arms(3, 2, 2))
    design = effects.expand(make_arms(3, 2, 2))
    n, right = np.full(12, 20_000), (20_000 * np.linspace(0.1, 0.9, 12)).astype(int)
    posterior = rise(effects, fit_additive(see(design, n, right), make_priors(effects)), 12)
    low, high = posterior.interval(0.95)
    assert np.allclose(posterior.mean, right / n, atol=0.002)
    assert np.all(high - low < 0.02)


def test_without_labels_the_prior_speaks():
    effects = choose_effects(make_axes(3, 2, 2), make_arms(3, 2, 2))
    found = fit_additive(
        see(effects.expand(make_arms(3, 2, 2)), np.zeros(12, int), np.zeros(12, int)), make_priors(effects)
    )
    posterior = rise(effects, found, 12)
    low, high = posterior.interval(0.95)
    assert np.allclose(posterior.mean, 0.5, atol=0.01)
    assert np.all(high - low > 0.9)


def test_arms_without_labels_learn_from_those_they_share_values_with():
    effects = choose_effects(make_axes(2, 6), make_arms(2, 6))
    n = np.where(np.arange(12) % 6 < 4, 60, 0)
    right = np.where(np.arange(12) < 6, n * 0.95, n * 0.5).astype(int)
    posterior = rise(effects, fit_additive(see(effects.expand(make_arms(2, 6)), n, right), make_priors(effects)), 12)
    low, high = map(logit, posterior.interval(0.95))
    assert posterior.mean[5] > 0.8
    assert posterior.mean[11] < 0.6
    assert (high - low)[5] > 1.2 * (high - low)[0]
    assert (high - low)[11] > 1.5 * (high - low)[6]  # where sixty labels tell more


# -- the surface ----------------------------------------------------------------------------------------------


def test_a_surface_finds_what_goes_wrong():
    found = fl.surface(make_pool(), attributes=ATTRIBUTES)
    assert found.attributes == ATTRIBUTES
    worst = [arm.arm for arm in found.worst_first[:3]]
    assert all(arm["light"] == "night" and arm["rain"] == "wet" for arm in worst)
    assert found.scales[0].attributes == ("light", "rain") or {found.scales[i].attributes for i in (0, 1)} >= {
        ("light",)
    }
    assert found.health["converged"]
    assert found.n_items == 600
    assert found.n_labels == 200
    assert sum(arm.n_labels for arm in found.arms) == 200


def test_its_numbers_are_those_of_an_assessment_with_the_prior_smooth():
    pool = make_pool()
    found = fl.surface(pool, attributes=ATTRIBUTES, finite_pool=True)
    by = fl.cross(*map(fl.column, ATTRIBUTES))
    same = fl.assess(pool, by=by, prior=fl.smooth(), finite_pool=True, n_draws=4000)
    assert [(a.mean, a.low, a.high) for a in found.arms] == [(g.mean, g.low, g.high) for g in same.groups]
    assert found.overall == same.overall
    assert same.to_dict()["trust"]["scales"][-1]["attributes"] == ["combination"]


def test_when_everything_is_labelled_a_finite_pool_leaves_no_doubt():
    pool = make_pool(n=200, n_labels=200)
    found = fl.surface(pool, attributes=("light", "rain"), finite_pool=True)
    for arm in found.arms:
        inside = (pool["light"] == arm.arm["light"]) & (pool["rain"] == arm.arm["rain"])
        share = (pool["label"][inside] == "a").mean()
        assert (arm.mean, arm.low, arm.high) == pytest.approx((share, share, share))


def test_finite_pool_intervals_cover():
    hits, width = [], []
    for seed in range(12):
        pool = make_pool(seed, n=900, n_labels=900)
        truth = {}
        for arm in fl.surface(pool, attributes=ATTRIBUTES, finite_pool=True).arms:
            truth[tuple(arm.arm.values())] = arm.mean
        hidden = np.where(np.random.default_rng(seed).permutation(900) < 120, pool["label"], None)
        found = fl.surface(pool | {"label": hidden}, attributes=ATTRIBUTES, finite_pool=True)
        hits += [arm.low - 1e-9 <= truth[tuple(arm.arm.values())] <= arm.high + 1e-9 for arm in found.arms]
        width += [arm.high - arm.low for arm in found.arms]
    assert 0.9 <= np.mean(hits) <= 1.0
    assert np.mean(width) < 0.5


def test_scores_narrow_what_attributes_leave_open():
    pool = make_pool(n=4000, n_labels=150)
    rng = np.random.default_rng(0)
    chance = rng.beta(2, 1, 4000)
    truth = np.where(rng.random(4000) < chance, "a", "b")
    label = np.where(rng.permutation(4000) < 150, truth, None)
    plain = fl.surface(pool | {"label": label}, attributes=ATTRIBUTES)
    scored = fl.surface(pool | {"label": label, "score": chance}, attributes=ATTRIBUTES)
    widths = [np.mean([arm.high - arm.low for arm in one.arms]) for one in (plain, scored)]
    assert widths[1] < 0.95 * widths[0]


def test_grades_of_agreement_are_outcomes_too():
    rng = np.random.default_rng(0)
    kind = rng.choice(["short", "long"], 300)
    grade = np.where(kind == "short", 0.9, 0.4) + 0.1 * rng.random(300) - 0.05
    pool = {"id": np.arange(300), "agreement": np.where(np.arange(300) < 120, grade, np.nan), "kind": kind}
    found = {arm.arm["kind"]: arm for arm in fl.surface(pool, attributes=("kind",)).arms}
    assert found["short"].mean == pytest.approx(0.9, abs=0.08)
    assert found["long"].mean == pytest.approx(0.4, abs=0.08)


# -- questions ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def asked():
    return fl.surface(make_pool(n=2000, n_labels=300), attributes=ATTRIBUTES)


def test_asking_a_whole_combination_gives_its_arm(asked):
    arm = asked.arms[3]
    reading = asked.ask(arm.arm)
    assert (reading.n_items, reading.n_labels) == (arm.n_items, arm.n_labels)
    assert reading.mean == pytest.approx(arm.mean, abs=0.02)


def test_asking_some_values_averages_over_the_others(asked):
    inside = [arm for arm in asked.arms if arm.arm["light"] == "night"]
    reading = asked.ask(light="night")
    expected = sum(arm.n_items * arm.mean for arm in inside) / sum(arm.n_items for arm in inside)
    assert reading.mean == pytest.approx(expected, abs=0.01)
    assert reading.high - reading.low < min(arm.high - arm.low for arm in inside)
    assert asked.ask().mean == pytest.approx(asked.overall.mean, abs=0.01)


def test_a_mix_is_weighted_by_its_traffic(asked):
    one, other = asked.ask(light="night", rain="wet", place="city"), asked.ask(light="day", rain="dry", place="city")
    traffic = {"light": ["night", "day"], "rain": ["wet", "dry"], "place": ["city", "city"], "n": [3, 1]}
    assert asked.mix(traffic, weight="n").mean == pytest.approx(0.75 * one.mean + 0.25 * other.mean, abs=0.01)
    assert asked.mix(traffic).mean == pytest.approx((one.mean + other.mean) / 2, abs=0.01)


def test_combinations_and_values_never_seen_get_wider_answers():
    pool = make_pool(n=2000, n_labels=500)
    seen = (pool["light"] != "night") | (pool["rain"] != "wet")
    found = fl.surface(
        {name: np.asarray(column)[seen] for name, column in pool.items()}, attributes=("light", "rain", "place")
    )
    known = found.ask(light="day", rain="wet", place="city")
    new = found.ask(light="night", rain="wet", place="city")
    assert new.n_items == 0
    assert new.high - new.low > 1.2 * (known.high - known.low)
    row = {"light": ["day"], "rain": ["wet"], "place": ["city"]}
    widths = [r.high - r.low for r in (found.mix(row), found.mix(row | {"place": ["tunnel"]}))]
    assert widths[1] > 1.2 * widths[0]


def test_crossing_attributes_reads_every_combination(asked):
    readings = {tuple(r.values.values()): r for r in asked.cross("light", "rain")}
    assert set(readings) == set(product(("day", "night"), ("dry", "wet")))
    assert readings["night", "wet"].mean == pytest.approx(asked.ask(light="night", rain="wet").mean)
    fixed = asked.cross("light", fixed={"rain": "wet"})
    assert [r.mean for r in fixed] == pytest.approx([asked.ask(light=v, rain="wet").mean for v in ("day", "night")])


def test_adjusting_takes_the_other_attributes_as_they_are_in_the_pool():
    """Whether it rains depends on the light here, and rain is what matters: light by itself does nothing."""
    rng = np.random.default_rng(0)
    light = rng.choice(["day", "night"], 4000)
    rain = np.where(rng.random(4000) < np.where(light == "night", 0.8, 0.2), "wet", "dry")
    truth = np.where(rng.random(4000) < np.where(rain == "wet", 0.5, 0.95), "a", "b")
    label = np.where(np.arange(4000) < 800, truth, None)
    found = fl.surface(
        {"predicted": ["a"] * 4000, "label": label, "light": light, "rain": rain}, attributes=("light", "rain")
    )
    (day, night), (as_is_day, as_is_night) = found.adjust("light"), found.cross("light")
    assert as_is_day.mean - as_is_night.mean > 0.2
    assert abs(day.mean - night.mean) < 0.1


def test_a_saved_surface_answers_without_the_predictions(asked, tmp_path):
    again = fl.Surface.load(asked.save(tmp_path / "s.surface"))
    assert drop_provenance(again.to_dict()) == drop_provenance(asked.to_dict())
    assert again.ask(light="night") == asked.ask(light="night")
    traffic = {"light": ["night"], "rain": ["wet"], "place": ["tunnel"]}
    assert again.mix(traffic) == asked.mix(traffic)


def test_numbers_of_many_values_are_put_in_ranges():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 900)
    truth = np.where(rng.random(900) < expit((age - 30) / 20), "a", "b")
    label = np.where(np.arange(900) < 300, truth, None)
    found = fl.surface({"predicted": ["a"] * 900, "label": label, "age": age}, attributes=("age",))
    assert len(found.arms) == 8
    means = [arm.mean for arm in found.arms]
    assert means[0] < 0.6
    assert means[-1] > 0.9
    assert found.ask(age=20).mean == pytest.approx(means[0], abs=0.02)
    assert found.ask(age=200).mean == pytest.approx(means[-1], abs=0.02)  # beyond what was seen: the nearest range


# -- bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"label": [None] * 600},
        {"place": ["city"] * 600},
        {"place": [None] * 300 + ["city"] * 300},
        {"place": np.where(np.arange(600) < 2, "rare", "city")},
    ],
    ids=["no labels", "one value", "missing values", "a rare value"],
)
def test_poor_pools_get_an_answer(change):
    found = fl.surface(make_pool(**change), attributes=ATTRIBUTES)
    assert all(0 <= arm.low <= arm.mean <= arm.high <= 1 for arm in found.arms)
    assert found.health["converged"]


def test_labels_in_one_arm_alone_say_little_of_others():
    pool = make_pool()
    inside = (pool["light"] == "day") & (pool["rain"] == "dry") & (pool["place"] == "city")
    found = fl.surface(pool | {"label": np.where(inside, pool["label"], None)}, attributes=ATTRIBUTES)
    width = {tuple(arm.arm.values()): arm.high - arm.low for arm in found.arms}
    assert width["day", "dry", "city"] < 0.3
    assert min(w for arm, w in width.items() if arm != ("day", "dry", "city")) > 0.4


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda pool: fl.surface(pool, attributes=()), "attributes: name the columns"),
        (lambda pool: fl.surface(pool, attributes=("lihgt",)), "there is no column 'lihgt'; did you mean 'light'"),
        (lambda pool: fl.surface(pool, attributes=("light", "light")), "light is there twice"),
        (lambda pool: fl.surface(pool, attributes=("light",), model="gp"), "there is no model 'gp'"),
        (lambda pool: fl.surface(pool, attributes=("label",)), "holds the labels"),
        (lambda pool: fl.surface(pool, attributes=("light",)).ask(light="nigth"), "no item has the value 'nigth'; did you mean 'night'"),
        (lambda pool: fl.surface(pool, attributes=("light",)).ask(ligth="day"), "the surface is not over 'ligth'; did you mean 'light'"),
        (lambda pool: fl.surface(pool, attributes=("light",)).mix({"rain": ["wet"]}), "there is no column 'light'"),
        (lambda pool: fl.surface(pool, attributes=("light", "rain"), model="beta-i").mix({"light": ["x"], "rain": ["y"]}), "not in the pool"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said(ask, said):
    with pytest.raises(fl.InputError, match=said):
        ask(make_pool())


def test_an_attribute_of_thousands_of_values_is_refused():
    pool = make_pool(n=3000, n_labels=10, who=[f"user {i}" for i in range(3000)])
    with pytest.raises(fl.InputError, match="'who' has 3,000 values, and at most 1,000 are supported"):
        fl.surface(pool, attributes=("light", "who"))


def test_what_is_no_saved_surface_is_refused(tmp_path):
    (tmp_path / "x.surface").write_text("hello")
    with pytest.raises(fl.InputError, match="is not a surface saved by fewlabels"):
        fl.Surface.load(tmp_path / "x.surface")
    with pytest.raises(fl.InputError, match="No such file"):
        fl.Surface.load(tmp_path / "y.surface")
    with pytest.raises(fl.InputError, match="cannot be saved"):
        fl.surface(make_pool(), attributes=("light",), model="constant").save(tmp_path / "z.surface")


def test_a_saved_surface_whose_attributes_are_not_those_of_its_arms_is_refused(tmp_path):
    path = fl.surface(make_pool(), attributes=("light", "rain")).save(tmp_path / "x.surface")
    arrays = dict(np.load(path))
    about = json.loads(arrays["about"].tobytes())
    arrays["about"] = np.frombuffer(json.dumps(about | {"attributes": ["light"]}).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(fl.InputError, match="its attributes are not those of its arms"):
        fl.Surface.load(path)


# -- in the loop ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "goal", [fl.Explore(), fl.LeastCertain(), fl.Estimate(), fl.FindWorst()], ids=lambda goal: goal.name
)
def test_a_session_explores_arms(goal):
    pool = make_pool(n=400, n_labels=400)
    truth = dict(zip(map(str, pool["id"]), pool["label"], strict=True))
    session = fl.Session.create(
        None,
        pool | {"label": [None] * 400},
        goal=goal,
        by=fl.cross(*map(fl.column, ATTRIBUTES)),
        prior=fl.smooth(),
        classes=("b",),
    )
    for _ in range(6):
        session.tell({i: truth[str(i)] for i in session.ask(12)})
    found = session.assess()
    assert found.n_labels == 72
    assert found.prior == "smooth"
    assert found.worst_first[0].group.startswith("night × wet")


def test_exploring_does_not_forget_small_groups():
    pool = make_pool(n=2000, n_labels=2000)
    truth = dict(zip(map(str, pool["id"]), pool["label"], strict=True))
    counts = {}
    for goal in (fl.Explore(), fl.Estimate()):
        session = fl.Session.create(
            None, pool | {"label": [None] * 2000}, goal=goal, by=fl.column("place"), prior=fl.flat(), classes=("b",)
        )
        for _ in range(8):
            session.tell({i: truth[str(i)] for i in session.ask(10)})
        counts[goal.name] = {row.group: row.n_labels for row in session.assess().groups}
    assert counts["explore"]["village"] > 15 > counts["estimate"]["village"]


@pytest.mark.parametrize(("right", "n"), [(0, 0), (2, 2), (1, 4), (0, 3)])
def test_doubt_is_the_variance_that_strangers_add(right, n):
    """One cell in twenty may have any accuracy: summed over a fine grid."""
    p, mean = (np.arange(100_000) + 0.5) / 100_000, 0.9
    outlier = P_OUTLIER * p**right * (1 - p) ** (n - right)
    known = (1 - P_OUTLIER) * mean**right * (1 - mean) ** (n - right)
    expected = (outlier * (p - mean) ** 2).mean() / (outlier.mean() + known)
    found = compute_outlier_variance(np.array([mean]), np.array([float(right)]), np.array([float(n)]))
    assert found[0] == pytest.approx(expected, rel=1e-6)


def test_exploring_looks_where_the_model_is_sure_before_it_labels_what_it_knows_again():
    """Every arm but one is right throughout; the last, without a label, is as sure to the model, and wrong."""
    n = np.r_[np.full(31, 20), 0]
    level = make_arms(4, 4, 2)
    axes = make_axes(4, 4, 2)
    nothing = np.full(32, -1)
    names = tuple(map(str, range(32)))
    counts = CountTable(
        by="arm", groups=names, classes=(), bins=(), group=np.arange(32), predicted=nothing, bin=nothing, label=nothing,
        n_items=np.full(32, 200), n_labels=n, score=np.full(32, np.nan), right=n.astype(float), axes=axes, level=level,
    )  # fmt: skip
    known = infer(counts, fl.accuracy, fl.smooth(), finite_pool=True)
    assert known.mean()[-1] > 0.95
    worth = fl.Explore().gain(known, known.expect())[0]
    assert worth.argmax() == 31
    assert known.covariance.outlier[-1] > 10 * known.covariance.outlier[:-1].max()
    asked = replace(known, pending=np.r_[np.zeros(31, dtype=int), 1])
    assert fl.Explore().gain(asked, asked.expect())[0, -1] < 0.5 * worth[-1]
    told = known.label(np.r_[np.zeros((31, 2)), [[0.0, 1.0]]])
    assert told.covariance.outlier[-1] == 0


def test_the_prior_smooth_serves_other_metrics_too():
    pool = make_pool(n=800, n_labels=300)
    rng = np.random.default_rng(0)
    pool["predicted"] = np.where(rng.random(800) < 0.7, "a", "b")
    pool["score"] = rng.uniform(0.5, 1, 800)
    by = fl.cross(fl.column("light"), fl.column("rain"))
    for metric in (fl.confusion, fl.recall, fl.ece):
        found = fl.assess(pool | {}, by=by, metric=metric, prior=fl.smooth()) if metric is not fl.recall else fl.assess(
            fl.Predictions.read(pool, positive="a"), by=by, metric=metric, prior=fl.smooth())  # fmt: skip
        assert all(0 <= row.low <= row.mean <= row.high <= 1 for row in found.groups)


def test_axes_come_from_whatever_groups_are_cut_by():
    pool = fl.Predictions.read(make_pool() | {"score": np.linspace(0.5, 1, 600)})
    counts = count_pool(pool, fl.cross(fl.column("light"), fl.bins(4)))
    assert [axis.ordered for axis in counts.axes] == [False, True]


def test_earlier_names_of_queries_are_the_same_methods():
    assert (fl.Surface.ask, fl.Surface.mix) == (fl.Surface.query, fl.Surface.reweight)
    assert fl.Surface.cross is fl.Surface.marginals
