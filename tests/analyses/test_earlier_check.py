"""An earlier assessment as prior: whether it is about predictions like these, and whether the new labels agree with it."""

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.models.earlier_predictions import FALSE_ALARM
from fewlabels.sessions.serialize import from_plain, to_plain

N, N_EARLIER, N_NEW = 400, 120, 60
DIFFERENT, CONTRADICTED = "look different", "contradict the earlier assessment"


def make_month(seed, skill=2.0, boast=0.0, n_labels=N_NEW, shares=(0.5, 0.3, 0.2)):
    """Predictions of a calibrated model whose accuracy depends on `skill`; `boast` raises its scores alone."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(skill, 1.0, N)
    right = rng.random(N) < 1 / (1 + np.exp(-logit))
    predicted = rng.choice(list("abc"), N, p=shares)
    label = np.where(right, predicted, np.where(predicted == "a", "b", "a")).astype(object)
    label[n_labels:] = None
    score = 1 / (1 + np.exp(-logit - boast))
    return {"id": list(range(N)), "predicted": predicted.tolist(), "score": score.tolist(), "label": label.tolist()}


def assess_after(earlier, now, **choices):
    """The warnings of an assessment after an earlier one."""
    prior = fl.from_earlier(fl.assess(earlier, n_draws=200, **choices).to_dict())
    return " | ".join(fl.assess(now, prior=prior, n_draws=200, **choices).warnings)


@pytest.mark.parametrize("prior", ["calibrated", "flat"])
def test_the_predictions_of_another_model_are_seen_by_their_scores(prior):
    first = fl.assess(make_month(0, n_labels=N_EARLIER), prior=prior)
    other = fl.assess(make_month(1, boast=2.0), prior=fl.from_earlier(first)).warnings
    assert any(DIFFERENT in said and "scores are in other ranges" in said for said in other)


def test_other_shares_of_classes_and_missing_scores_are_seen():
    first = make_month(0, n_labels=N_EARLIER)
    assert "predictions are of other classes" in assess_after(first, make_month(1, shares=(0.1, 0.2, 0.7)))
    bare = {name: values for name, values in make_month(1).items() if name != "score"}
    assert "there were scores then, and none now" in assess_after(first, bare)
    assert "there were no scores then" in assess_after({k: v for k, v in first.items() if k != "score"}, make_month(1))


def test_it_is_seen_before_any_new_label_too():
    unlabelled = make_month(1, boast=2.0, n_labels=0)
    assert DIFFERENT in assess_after(make_month(0, n_labels=N_EARLIER), unlabelled)
    assert CONTRADICTED not in assess_after(make_month(0, n_labels=N_EARLIER), unlabelled)


def test_new_items_of_the_same_model_seldom_warn():
    """Each check warns of at most 1 in 100: 4 or more of 40 happen less than once in 1,000 times."""
    assert FALSE_ALARM == 0.01
    found = [assess_after(make_month(2 * i, n_labels=N_EARLIER), make_month(2 * i + 1)) for i in range(40)]
    assert sum(CONTRADICTED in said for said in found) < 4
    assert sum(DIFFERENT in said for said in found) < 4


@pytest.mark.parametrize("metric", ["accuracy", "ece", "confusion"])
@pytest.mark.parametrize("prior", ["calibrated", "flat"])
def test_labels_that_contradict_the_earlier_ones_are_warned_of_with_the_figure(metric, prior):
    """The same scores, and a model that is now wrong where it was right."""
    first, now = make_month(0, n_labels=N_EARLIER), make_month(1)
    now["label"] = [None if y is None else "a" if said == "b" else "b" for y, said in zip(now["label"], now["predicted"], strict=True)]  # fmt: skip
    earlier = fl.assess(first, metric=metric, prior=prior, n_draws=200)
    said = " ".join(fl.assess(now, metric=metric, prior=fl.from_earlier(earlier), n_draws=200).warnings)
    assert CONTRADICTED in said
    assert "0.0% of 60 labels are right, where" in said


def test_a_group_that_has_changed_is_seen_where_the_whole_has_not():
    """Right and wrong change places between two groups of the same size: the sum stays, the groups do not."""
    ids = list(range(200))
    right = [i % 2 == 0 for i in ids]

    def make(where):
        label = ["x" if (r == where or i % 10 == 0) else "y" for i, r in zip(ids, right, strict=True)]
        return {"id": ids, "site": ["s" if r else "t" for r in right], "predicted": ["x"] * 200, "label": label}

    same, swapped = make(True), make(False)
    swapped["id"] = [f"n{i}" for i in ids]
    assert CONTRADICTED in assess_after(same, swapped, by="site")


def test_earlier_labels_of_groups_that_are_not_here_are_named():
    first, now = make_month(0, n_labels=N_EARLIER), make_month(1)
    kept = [i for i, said in enumerate(now["predicted"]) if said != "c"]
    said = assess_after(first, {name: [values[i] for i in kept] for name, values in now.items()}, by="predicted")
    n = sum(y is not None and p == "c" for y, p in zip(first["label"], first["predicted"], strict=True))
    assert f"has {n} labels in groups that are not here, and they are left out: 'c'" in said


def test_equal_counts_of_classes_do_not_make_other_items_the_same():
    def make(sites):
        return {"predicted": ["x"] * 300, "site": list(sites), "label": ["x"] * 20 + ["y"] * 10 + [None] * 270}

    earlier = fl.assess(make("abc" * 100), by="site", prior="flat")
    found = " | ".join(fl.assess(make("ab" * 150), by="site", prior=fl.from_earlier(earlier)).warnings)
    assert "these same predictions" not in found
    assert "the items are in other groups" in found
    assert "groups that are not here" in found
    assert "these same predictions" in " | ".join(
        fl.assess(make("abc" * 100), by="site", prior=fl.from_earlier(earlier)).warnings
    )


def test_scores_counted_in_other_ranges_are_not_compared_without_a_word():
    earlier = fl.assess(make_month(0, n_labels=N_EARLIER), prior=fl.smooth())
    found = " | ".join(fl.assess(make_month(1, boast=2.0), prior=fl.from_earlier(earlier)).warnings)
    assert "counted in other ranges" in found or DIFFERENT in found


def test_a_session_keeps_what_the_earlier_predictions_looked_like():
    prior = fl.from_earlier(fl.assess(make_month(0, n_labels=N_EARLIER)))
    assert prior.predictions is not None
    assert from_plain(to_plain(prior)) == prior


def test_a_file_of_an_earlier_version_says_that_it_cannot_be_checked():
    plain = fl.assess(make_month(0)).to_dict()
    del plain["predictions"]
    said = " ".join(fl.assess(make_month(1), prior=fl.from_earlier(plain)).warnings)
    assert "does not say what its predictions looked like" in said
