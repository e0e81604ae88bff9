"""Arrays of scikit-learn in place of a table."""

import numpy as np
import pandas as pd
import pytest

import fewlabels as fl
from fewlabels import InputError

RNG = np.random.default_rng(1)
N = 90
CLASSES = np.array(["cat", "dog", "emu"])
PROBABILITIES = RNG.dirichlet([1.0, 1.0, 1.0], N)
PREDICTED = CLASSES[PROBABILITIES.argmax(axis=1)]
TRUE = np.where(np.arange(N) < 60, CLASSES[RNG.integers(0, 3, N)], None)


def test_probabilities_of_every_class_are_columns_in_the_order_of_classes() -> None:
    columns = {f"p_{name}": PROBABILITIES[:, i] for i, name in enumerate(CLASSES)}
    wanted = fl.assess({"predicted": PREDICTED, "label": TRUE, **columns}, metric="recall", prior="scores")
    found = fl.assess(y_pred=PREDICTED, y_score=PROBABILITIES, y_true=TRUE, classes=CLASSES, metric="recall", prior="scores")  # fmt: skip
    assert found.groups == wanted.groups
    assert fl.assess(y_score=PROBABILITIES, y_true=TRUE, classes=CLASSES).groups == fl.assess({"label": TRUE, **columns}).groups  # fmt: skip


def test_one_score_per_item_is_the_confidence_in_the_prediction() -> None:
    score = PROBABILITIES.max(axis=1)
    found = fl.assess(y_pred=PREDICTED, y_score=score, y_true=TRUE, metric="ece")
    assert found.groups == fl.assess({"predicted": PREDICTED, "score": score, "label": TRUE}, metric="ece").groups


def test_with_two_classes_it_is_the_probability_of_the_second() -> None:
    risk, sick = RNG.random(N), np.where(RNG.random(N) < 0.5, 1.0, 0.0)
    sick[60:] = np.nan
    found = fl.assess(y_score=risk, y_true=sick, classes=[0, 1], by="all", metric="tpr", prior="flat")
    table = fl.Predictions.read({"risk": risk, "label": sick}, positive_score="risk", positive="1")
    assert found.groups == fl.assess(table, by="all", metric="tpr", prior="flat").groups
    assert found.n_labels == 60


@pytest.mark.parametrize(
    "kind", [list, np.asarray, pd.Series, lambda y: pd.Series(y, dtype="string"), lambda y: pd.Series(y, dtype="category")]
)  # fmt: skip
def test_missing_labels_of_any_kind_are_unknown(kind) -> None:
    pool = fl.Predictions.from_arrays(y_pred=["a", "b", "a"], y_true=kind(["a", None, "b"]), classes=["a", "b"])
    assert (pool.n_items, pool.n_labels, pool.classes) == (3, 2, ("a", "b"))


WRONG = {
    "nothing": ({}, "give the predictions"),
    "both": ({"pool": {"predicted": ["a"]}, "y_true": ["a"]}, "both a pool and y_true"),
    "lengths": ({"y_pred": ["a", "b"], "y_true": ["a"]}, "different lengths: predicted 2, label 1"),
    "no classes": ({"y_score": [[0.5, 0.5]]}, "y_score has 2 columns, and no classes are given"),
    "few classes": ({"y_score": [[0.5, 0.5]], "classes": ["a"]}, "2 columns, and 1 classes are given"),
    "twice": ({"y_score": [[0.5, 0.5]], "classes": ["a", "a"]}, "a name is given twice"),
    "positions": ({"y_pred": [0, 1], "classes": ["cat", "dog"]}, r"y_pred holds 0, 1, not among the classes cat, dog"),
    "unknown": ({"y_pred": ["cat"], "y_true": ["cow"], "classes": ["cat", "dog"]}, "y_true holds cow"),
    "lonely": ({"y_score": [0.5, 0.6]}, "there is no y_pred"),
    "square": ({"y_pred": [["a", "b"]]}, "y_pred has 2 dimensions"),
    "cube": ({"y_score": np.zeros((1, 1, 1))}, "y_score has 3 dimensions"),
    "mixed": ({"y_pred": ["a", 1.5, None]}, "y_pred cannot be read"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arrays_are_explained(case) -> None:
    given, said = WRONG[case]
    with pytest.raises(InputError, match=said):
        fl.assess(**given)


def test_series_are_matched_by_index_and_a_frame_of_scores_names_its_classes() -> None:
    index = pd.Index([f"item {i}" for i in range(N)])
    said, true = pd.Series(PREDICTED, index), pd.Series(TRUE, index)
    scores = pd.DataFrame(PROBABILITIES, index, columns=CLASSES)
    wanted = fl.assess(y_pred=PREDICTED, y_score=PROBABILITIES, y_true=TRUE, classes=CLASSES, prior="flat")
    shuffled = true.sample(frac=1, random_state=0)
    assert fl.assess(y_pred=said, y_score=scores, y_true=shuffled, prior="flat").groups == wanted.groups
    with pytest.raises(InputError, match="'y_pred' and 'y_true' differ, and 'y_score' has none to be matched by"):
        fl.assess(y_pred=said, y_score=PROBABILITIES, y_true=shuffled, classes=CLASSES)
    with pytest.raises(InputError, match="name different rows"):
        fl.assess(y_pred=said, y_true=true.rename(lambda name: name + "?"))


@pytest.mark.parametrize("names", [["p_", "p_p_", "a b"], ["猫", "犬", "鳥"], [2, 10, 1], ["<b>", "label", "id"], [True, False, 3]])  # fmt: skip
def test_classes_may_have_any_name(names: list[object]) -> None:
    true = [names[i] for i in RNG.integers(0, 3, N)]
    found = fl.assess(y_score=PROBABILITIES, y_true=true, classes=names, prior="flat")
    assert {row.group for row in found} == {str(name) for name in names}
    assert found[names[0]].n_items == (PROBABILITIES.argmax(axis=1) == 0).sum()
