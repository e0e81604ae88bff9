"""Propensities: which are refused, what is summed, what is said of labels without one, and signs of unknown ones."""

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.data.aggregate import aggregate_pool
from fewlabels.data.propensities import SIGN, find_signs, measure_signs, read_weights
from fewlabels.errors import InputError


def table(propensity, n_unlabelled=6):
    n = len(propensity)
    return {
        "id": list(range(n + n_unlabelled)),
        "predicted": ["a", "b"] * ((n + n_unlabelled) // 2),
        "label": [*["a"] * n, *[None] * n_unlabelled],
        "propensity": [*propensity, *[None] * n_unlabelled],
    }


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "row 1 has 0; an item that could not be chosen has no label"),
        (1.5, "row 1 has 1.5; is it a weight\\? Then give 1 divided by it"),
        (-0.2, "row 1 has -0.2; leave it empty where it is not known"),
    ],
)
def test_what_is_no_propensity_is_refused(value, said):
    with pytest.raises(InputError, match=f"column 'propensity': a propensity is the probability .* {said}"):
        fl.assess(table([value, 0.5, 0.5, 0.5]))


def test_a_propensity_of_an_item_without_a_label_does_not_matter():
    columns = table([0.5] * 4)
    columns["propensity"][-1] = 0.0
    assert fl.assess(columns).n_labels == 4


def test_labels_without_a_propensity_are_kept_out_of_the_check_and_counted():
    said = fl.assess(table([0.5, None, 0.25, None])).warnings
    assert any("labels without a propensity in column 'propensity': 2 of 4" in one for one in said)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(InputError, match="propensity: there is no column 'chance'"):
        fl.assess(table([0.5] * 4), by="predicted", metric="accuracy") and fl.Predictions.read(
            table([0.5] * 4), propensity="chance"
        )


def test_weights_are_summed_by_entry():
    pool = fl.Predictions.read(table([0.5, 0.25, 0.5, 1.0]))
    aggregated = aggregate_pool(pool, fl.predicted)
    found = read_weights(aggregated)
    said = [aggregated.found["predicted"][i] for i in found.entry]
    rows = dict(zip(said, zip(found.n, found.weight, found.square, found.right, strict=True), strict=True))
    assert rows == {"a": (2, 4.0, 8.0, 1.0), "b": (2, 5.0, 17.0, 0.0)}  # items 0 and 2 are a, and right


def test_without_the_column_there_are_no_weights():
    columns = table([0.5] * 4)
    del columns["propensity"]
    assert read_weights(aggregate_pool(fl.Predictions.read(columns), fl.predicted)) is None


def test_propensities_may_stand_beside_the_labels():
    columns = table([0.5, 0.25, 0.5, 1.0])
    labels = {"id": [0, 1, 2, 3], "label": ["a"] * 4, "propensity": columns.pop("propensity")[:4]}
    del columns["label"]
    pool = fl.Predictions.read(columns, labels=labels)
    assert pool.roles.propensity == "propensity"
    assert read_weights(aggregate_pool(pool, fl.everything)).weight.sum() == pytest.approx(2 + 4 + 2 + 1)


def make_pool(rng, chance_by_score, n=4000):
    """A model that is right as often as its score says, in two classes."""
    score = rng.uniform(0.5, 1.0, n)
    predicted = rng.integers(0, 2, n)
    label = np.where(rng.random(n) < score, predicted, 1 - predicted)
    chance = np.clip(chance_by_score(score), 1e-3, 1.0)
    chosen = rng.random(n) < chance
    truth = float((label == predicted).mean())
    columns = {
        "id": np.arange(n), "predicted": predicted.astype(str), "score": score,
        "label": [str(y) if c else None for y, c in zip(label, chosen, strict=True)],
        "propensity": [float(p) if c else None for p, c in zip(chance, chosen, strict=True)],
    }  # fmt: skip
    return columns, truth


def test_an_overall_figure_from_labels_of_known_propensities_is_covered():
    """A hidden trait decides both; the labels alone are 12 points off. 3.4 standard errors below 0.95 are 0.82 of 40."""
    rng, covered = np.random.default_rng(5), 0
    for _ in range(40):
        n = 3000
        trait = rng.random(n) < 0.5
        right = rng.random(n) < np.where(trait, 0.9, 0.6)
        chance = np.where(trait, 0.09, 0.01)
        chosen = rng.random(n) < chance
        columns = {
            "id": np.arange(n), "predicted": ["a"] * n,
            "label": [("a" if ok else "b") if c else None for ok, c in zip(right, chosen, strict=True)],
            "propensity": [float(p) if c else None for p, c in zip(chance, chosen, strict=True)],
        }  # fmt: skip
        overall = fl.assess(columns, by="all", prior="flat", finite_pool=True, n_draws=1000).overall
        covered += overall.low <= right.mean() <= overall.high
    assert covered / 40 > 0.82


def test_labels_chosen_by_their_scores_are_noticed():
    rng = np.random.default_rng(0)
    columns, _ = make_pool(rng, lambda score: 0.3 * (score < 0.7))
    del columns["propensity"]
    (found,) = find_signs(pool := fl.Predictions.read(columns), aggregate_pool(pool, fl.predicted))
    assert "were not drawn at random" in found.message
    assert any("were not drawn at random" in said for said in fl.assess(columns).warnings)
    assert any("were not drawn at random" in said.message for said in fl.diagnose(columns).findings)


def test_a_known_propensity_is_no_sign():
    columns, _ = make_pool(np.random.default_rng(0), lambda score: 0.3 * (score < 0.7))
    pool = fl.Predictions.read(columns)
    assert find_signs(pool, aggregate_pool(pool, fl.predicted)) == ()


def test_random_labels_give_no_sign():
    """Within the groups: 60 pools of random labels, at 4 standard errors none; their squares average at most one."""
    rng, squares = np.random.default_rng(1), []
    for _ in range(60):
        columns, _ = make_pool(rng, lambda score: np.full(len(score), 0.05), n=1000)
        del columns["propensity"]
        found = measure_signs(aggregate_pool(fl.Predictions.read(columns), fl.predicted))
        squares.append(found.deviations**2)
    assert max(squares) < SIGN**2
    assert 0.5 < np.mean(squares) < 1.6


def test_a_session_says_so_of_the_labels_it_starts_with():
    columns, _ = make_pool(np.random.default_rng(0), lambda score: 0.3 * (score < 0.7))
    del columns["propensity"]
    session = fl.Session.create(None, columns, goal="estimate", by="all")
    assert any("were not drawn at random" in said for said in session.assess().warnings)


DIFFER = "propensities in column 'propensity' differ, and only the overall accuracy of fewlabels assess is weighted"


def uneven(**columns):
    """Sixty items of two sites, labelled with propensities that differ."""
    rng = np.random.default_rng(0)
    label = ["a", "b", None] * 20
    usual = {"id": list(range(60)), "predicted": ["a", "b"] * 30, "score": rng.uniform(0.5, 1, 60), "label": label}
    return usual | {"site": ["x", "y", "x"] * 20, "propensity": [0.2, 0.9, None] * 20} | columns


@pytest.mark.parametrize("metric", ["recall", "ece", "brier", "precision", "confusion"])
def test_figures_that_do_not_use_propensities_say_so(metric):
    warnings = fl.assess(uneven(), metric=metric, by="site").warnings
    assert any(warning.startswith(DIFFER) for warning in warnings)
    even = fl.assess(uneven(propensity=[0.2, 0.2, None] * 20), metric=metric, by="site").warnings
    assert not any("propensities" in warning for warning in even)


def test_the_overall_accuracy_says_that_it_is_weighted_and_nothing_else():
    said = [warning for warning in fl.assess(uneven()).warnings if "propensities" in warning]
    assert [warning.startswith("propensities differ, so the overall figure comes from") for warning in said] == [True]


def test_every_other_call_says_that_it_does_not_use_propensities():
    other = {"id": list(range(60)), "predicted": ["a"] * 60}
    calls = [
        fl.fairness(fl.Predictions.read(uneven(), positive="a"), by="site", method="frequency"), fl.surface(uneven(), attributes=("site",)),
        fl.compare_models({"old": uneven(), "new": other}),
    ]  # fmt: skip
    for found in calls:
        assert any(warning.startswith(DIFFER) for warning in found.warnings), type(found)
    for found in (
        fl.compare(uneven(), ("x", "y"), by="site"),
        fl.compare_models({"old": uneven(), "new": uneven()}, unpaired=True),
    ):
        assert any("comparisons count labels as drawn at random" in warning for warning in found.warnings)
        assert not any("the overall figure comes from labels weighted" in warning for warning in found.warnings)


def test_propensities_too_uneven_to_estimate_from_are_not_used_and_it_is_said():
    found = fl.assess(uneven(propensity=[1e-9 if i == 0 else 0.5 for i in range(60)]))
    assert any("differ so much that 40 weighted labels tell as much as 1.0 drawn" in one for one in found.warnings)
    assert found.overall.low < found.overall.mean < found.overall.high
    with pytest.raises(InputError, match="row 1 has 1e-300"):
        fl.assess(uneven(propensity=[1e-300 if i == 0 else 0.5 for i in range(60)]))


def test_propensities_as_text_are_read_or_said_to_be_no_numbers():
    numbers = fl.assess(uneven(propensity=["20%", "90%", None] * 20))
    assert numbers.overall == fl.assess(uneven()).overall
    words = fl.assess(uneven(propensity=["often", "0.9", None] * 20))
    assert any("'propensity' is not used: row 1 has 'often', which is no number" in one for one in words.warnings)


def test_propensities_beside_the_labels_may_be_text_and_those_of_the_predictions_come_first():
    items = uneven()
    labels = {"id": list(range(30)), "label": ["a"] * 30, "propensity": [f"{10 + i}%" for i in range(30)]}
    bare = {name: values for name, values in items.items() if name not in ("propensity", "label")}
    found = fl.assess(fl.Predictions.read(bare, labels=labels))
    assert any("the overall figure comes from labels weighted" in one for one in found.warnings)
    both = fl.assess(fl.Predictions.read(bare | {"propensity": [0.5] * 60}, labels=labels))
    assert any("'propensity' of the labels is not used" in one for one in both.warnings)
