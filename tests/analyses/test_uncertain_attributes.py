"""Attributes that only classifiers tell: items that may be of several arms, and intervals that allow for it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit

import fewlabels as fl
from fewlabels.analyses.surface.uncertain_attributes import SoftAssignment, fit_uncertain
from fewlabels.data.counts import Axis
from fewlabels.models.membership.context import attribute_in_context


def make_uncertain(seed=0, n=3000, n_labels=600, n_gold=300):
    """Rain is told by a classifier that is too sure of itself, and known for a few items."""
    rng = np.random.default_rng(seed)
    light = rng.choice(["day", "night"], n)
    rain = np.where(rng.random(n) < np.where(light == "night", 0.6, 0.3), "wet", "dry")
    right = rng.random(n) < np.where(rain == "wet", np.where(light == "night", 0.3, 0.6), 0.95)
    sign = np.where(rain == "wet", 1.2, -1.2) + rng.standard_normal(n)
    said = expit(3 * 2.4 * sign)  # thrice as sure as it should be
    label = np.where(np.arange(n) < n_labels, np.where(right, "a", "b"), None)
    known = np.where(rng.permutation(n) < n_gold, rain, None)
    return {
        "predicted": ["a"] * n,
        "label": label,
        "light": light,
        "rain": known,
        "rain_wet": said,
        "rain_dry": 1 - said,
    }


RAIN = fl.uncertain("rain", {"wet": "rain_wet", "dry": "rain_dry"})


def test_attributes_that_classifiers_tell_count_in_fractions():
    found = fl.surface(make_uncertain(), attributes=("light", RAIN))
    means = {tuple(arm.arm.values()): arm.mean for arm in found.arms}
    truth = {("night", "wet"): 0.3, ("day", "wet"): 0.6, ("night", "dry"): 0.95, ("day", "dry"): 0.95}
    assert means == pytest.approx(truth, abs=0.12)
    assert found.n_items == pytest.approx(3000, abs=3)
    assert found.n_labels == pytest.approx(600, abs=3)
    assert found.worst_first[0].arm == {"light": "night", "rain": "wet"}
    assert found.ask(rain="wet").mean < found.ask(rain="dry").mean


def test_arms_with_few_items_of_known_attributes_are_named_in_a_warning():
    few, many = (" ".join(fl.surface(make_uncertain(n_gold=n), attributes=("light", RAIN)).warnings) for n in (12, 300))
    assert "arms with fewer than 5 items whose attributes are known" in few
    assert "fewer than 5" not in many


def test_calibrating_classifiers_brings_arms_nearer_to_the_truth():
    truth = {("night", "wet"): 0.3, ("day", "wet"): 0.6, ("night", "dry"): 0.95, ("day", "dry"): 0.95}
    error = {}
    for method in ("raw", "full"):
        squares = []
        for seed in range(6):
            found = fl.surface(make_uncertain(seed), attributes=("light", RAIN), attribution=method)
            squares += [(arm.mean - truth[tuple(arm.arm.values())]) ** 2 for arm in found.arms]
        error[method] = np.mean(squares)
    assert error["full"] < error["raw"]


def mix_items(seed, n=1500, n_labels=1500, told=1.2):
    """Two attributes of two values, each told by an honest classifier; the chance of being right of every arm."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 2, (n, 2))
    seen = (2 * place - 1) * told + rng.standard_normal((n, 2))
    chance = [np.stack([expit(-2 * told * x), expit(2 * told * x)], axis=1) for x in seen.T]
    truth = np.array([0.9, 0.8, 0.6, 0.4])
    right = (rng.random(n) < truth[2 * place[:, 0] + place[:, 1]]).astype(float)
    right[n_labels:] = np.nan
    axes = tuple(Axis(name, ("0", "1"), ordered=False) for name in "ab")
    level = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    arms = np.stack([chance[0][:, i] * chance[1][:, j] for i, j in level], axis=1)
    return SoftAssignment(axes, level, csr_array(arms), right, np.full(n, np.nan)), truth, place


def test_items_wholly_of_an_arm_are_fitted_as_counts_are():
    fractions, _, place = mix_items(0)
    sure = csr_array(np.eye(4)[2 * place[:, 0] + place[:, 1]])
    mixed = fit_uncertain(replace(fractions, chance=sure)).posterior
    table = {"predicted": ["a"] * 1500, "label": np.where(fractions.outcome == 1, "a", "b"), "a": place[:, 0].astype(str), "b": place[:, 1].astype(str)}  # fmt: skip
    whole = fl.surface(table, attributes=("a", "b"))
    assert mixed.mean == pytest.approx([arm.mean for arm in whole.arms], abs=2e-3)
    assert mixed.interval(0.95)[0] == pytest.approx([arm.low for arm in whole.arms], abs=5e-3)


def test_the_mode_of_a_mixture_is_that_of_its_own_likelihood():
    """The slope of the log posterior, by differences, is none where the fit stopped."""
    fractions, *_ = mix_items(1)
    fitted = fit_uncertain(fractions)
    conditional, design = fitted.fit.mode, np.column_stack([np.ones(4), fitted.effects.expand(fractions.level)])
    priors, own, outcome = fitted.fit.priors, np.zeros(4), fractions.outcome
    own[fitted.fit.labelled] = conditional.own
    spread = np.where(priors.block == -1, priors.spread, np.exp(conditional.scales)[priors.block])

    def climb(terms):
        whole = fractions.chance @ expit(design @ terms + own)
        likely = np.log(np.where(outcome == 1, whole, 1 - whole)).sum()
        return likely - 0.5 * (((terms - priors.centre) / spread) ** 2).sum()

    step = 1e-4 * np.eye(len(conditional.terms))
    slope = np.array([(climb(conditional.terms + one) - climb(conditional.terms - one)) / 2e-4 for one in step])
    assert np.abs(slope).max() < 1.0  # of hundreds a little way off
    assert np.abs(climb(conditional.terms + 0.3) - climb(conditional.terms)) > 10


@pytest.mark.parametrize("told", [0.6, 1.5])
def test_intervals_of_items_that_may_be_of_several_arms_hold_the_truth(told):
    held = []
    for seed in range(30):
        fractions, truth, _ = mix_items(seed, n=500, n_labels=300, told=told)
        low, high = fit_uncertain(fractions).posterior.interval(0.95)
        held.append((low <= truth) & (truth <= high))
    assert 0.9 <= np.mean(held) <= 1.0


def test_labels_tell_arms_apart_that_counting_mixes():
    fractions, truth, _ = mix_items(2, n=6000, n_labels=6000, told=0.6)
    counts = fractions.counts
    assert np.ptp(counts.right / counts.n_labels) < 0.3
    found = fit_uncertain(fractions).posterior.mean
    assert np.ptp(found) > 0.4
    assert found == pytest.approx(truth, abs=0.1)


def test_scores_speak_of_items_whose_arm_is_not_known():
    rng, table = np.random.default_rng(0), make_uncertain(n_labels=150)
    right = np.where(table["label"] == "a", 1, 0)
    score = np.clip(0.5 + 0.45 * rng.random(3000), 0, 1)
    score[:150] = np.where(right[:150] == 1, np.maximum(score[:150], 0.8), np.minimum(score[:150], 0.65))
    without = fl.surface(table, attributes=("light", RAIN))
    found = fl.surface(table | {"score": score}, attributes=("light", RAIN))
    assert found.fitted.items.knots is not None
    width = found.overall.high - found.overall.low  # the doubt about which items an arm has is larger with scores
    assert width < 1.1 * (without.overall.high - without.overall.low)


def test_grades_may_be_of_items_whose_attributes_are_uncertain():
    table = make_uncertain()
    grade = np.array([{"a": 0.9, "b": 0.2}.get(label, np.nan) for label in table["label"]])
    found = fl.surface({"agreement": grade, **{k: v for k, v in table.items() if k not in ("predicted", "label")}}, attributes=("light", RAIN))  # fmt: skip
    assert 0.2 < found.worst_first[0].mean < found.worst_first[-1].mean < 0.95


def test_columns_of_probabilities_are_found_by_what_they_start_with():
    table = make_uncertain()
    named, found = (
        fl.surface(table, attributes=("light", RAIN)),
        fl.surface(table, attributes=("light", fl.uncertain("rain"))),
    )
    assert found.overall == named.overall
    with pytest.raises(
        fl.InputError, match="columns fog_VALUE should have the probability of each value; there is none among"
    ):
        fl.surface(table, attributes=(fl.uncertain("fog"),))
    with pytest.raises(fl.InputError, match="there is only rain_wet"):
        fl.surface(table, attributes=(fl.uncertain("rain", "rain_w"),))
    with pytest.raises(fl.InputError, match="no attribution 'ful'; did you mean 'full'"):
        fl.surface(table, attributes=("light", RAIN), attribution="ful")
    with pytest.raises(fl.InputError, match="there are none; mark them with"):
        fl.surface(table, attributes=("light",), attribution="full")


def test_a_surface_over_uncertain_attributes_can_be_saved(tmp_path):
    found = fl.surface(make_uncertain(), attributes=("light", RAIN))
    again = fl.Surface.load(found.save(tmp_path / "u.surface"))
    assert again.ask(rain="wet") == found.ask(rain="wet")


@pytest.mark.parametrize(
    ("change", "attributes", "choices", "said"),
    [
        ({"rain_wet": np.full(3000, 0.9)}, ("light", RAIN), {}, "rain, row 1: the probabilities add up to"),
        ({}, (fl.uncertain("rain", {"wet": "rain_wte", "dry": "rain_dry"}),), {}, "no column 'rain_wte' for 'wet'; did you mean 'rain_wet'"),
        ({}, ("light", RAIN), {"finite_pool": True}, "it is not known which items an arm has"),
        ({"rain": ["wet", "soaked", *[None] * 2998]}, ("light", RAIN), {}, "rain is known to be 'soaked' in row 2, and there is no column"),
        ({"rain_wet": np.full(3000, 60.0), "rain_dry": np.full(3000, 40.0)}, ("light", RAIN), {}, "add up to 100, not 1; .* percentages"),
    ],
    ids=["not one", "no column", "finite", "strange", "percent"],
)  # fmt: skip
def test_uncertain_attributes_that_make_no_sense_are_refused(change, attributes, choices, said):
    with pytest.raises(fl.InputError, match=said):
        fl.surface(make_uncertain() | change, attributes=attributes, **choices)
    with pytest.raises(fl.InputError, match="at least two values"):
        fl.uncertain("rain", {"wet": "rain_wet"})


def make_dependent(seed=0, n=6000):
    """Being right depends on what the classifier sees, more than on the true value that it predicts."""
    rng = np.random.default_rng(seed)
    seen = 2.0 * rng.standard_normal(n)  # the classifier's logit: calibrated
    wet = rng.random(n) < expit(seen)
    dark = rng.random(n) < 0.5
    right = rng.random(n) < expit(1.0 + 0.9 * seen - 0.8 * wet - 0.5 * dark)
    known, order = np.full(n, None, dtype=object), rng.permutation(n)
    known[order[:400]] = np.where(wet, "wet", "dry")[order[:400]]
    arm = 2 * dark + wet
    truth = np.bincount(arm, weights=right) / np.bincount(arm)
    names = {("night" if i // 2 else "day", "wet" if i % 2 else "dry"): float(truth[i]) for i in range(4)}
    table = {
        "predicted": ["a"] * n, "light": np.where(dark, "night", "day"), "rain": known,
        "rain_wet": expit(seen), "rain_dry": 1 - expit(seen),
    }  # fmt: skip
    return table, np.where(right, "a", "b"), order, names


def test_errors_fall_with_labels_where_being_right_depends_on_the_classifier():
    errors, covered = {400: [], 3000: []}, []
    for seed in range(4):
        table, label, order, truth = make_dependent(seed)
        for n, squares in errors.items():
            shown = np.full(len(label), None, dtype=object)
            shown[order[:n]] = label[order[:n]]
            found = fl.surface({**table, "label": shown}, attributes=("light", RAIN))
            off = [(arm, truth[arm.arm["light"], arm.arm["rain"]]) for arm in found.arms]
            squares.append(np.mean([(arm.mean - value) ** 2 for arm, value in off]))
            covered += [arm.low <= value <= arm.high for arm, value in off]
    assert np.mean(errors[3000]) < np.mean(errors[400])
    assert np.mean(errors[3000]) < 0.03**2
    assert np.mean(covered) > 0.85  # of 32 intervals


def test_a_saved_surface_keeps_what_classifiers_say(tmp_path):
    table, label, order, _ = make_dependent(n=2000)
    table["label"] = np.where(np.isin(np.arange(2000), order[:500]), label, None)
    s = fl.surface(table, attributes=("light", RAIN))
    assert s.fitted.items.classifiers
    assert s.fitted.doubt is not None
    again = fl.Surface.load(s.save(tmp_path / "s.surface"))
    assert again.fitted.items == s.fitted.items
    assert again.query(rain="wet").mean == pytest.approx(s.query(rain="wet").mean)
    assert again.query(rain="wet").low == pytest.approx(s.query(rain="wet").low)


def test_attributes_depend_on_the_score_beyond_their_classifiers():
    """Scores are low where it rains, which the classifier does not see: checked items show it."""
    rng = np.random.default_rng(0)
    n = 6000
    wet = rng.random(n) < 0.5
    seen = np.where(wet, 0.5, -0.5) + rng.standard_normal(n)
    score = np.clip(np.where(wet, 0.65, 0.9) + 0.08 * rng.standard_normal(n), 0.5, 0.999)
    place, rows = wet.astype(int)[:, None], rng.permutation(n)[:400]
    scores = (np.stack([1 - expit(seen), expit(seen)], axis=1),)
    without = np.full(n, np.nan)
    loss = []
    for given in (score, without):
        found = attribute_in_context(scores, place, rows, given, None, method="full")
        chance = found.chance.toarray()[np.arange(n), np.where(found.arms[:, 0] == 1)[0][0]]
        loss.append(-np.log(np.clip(np.where(wet, chance, 1 - chance), 1e-6, 1)).mean())
        assert len(found.others) > 0
    assert loss[0] < 0.7 * loss[1]
