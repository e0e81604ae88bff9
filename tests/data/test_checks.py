"""Bad input gets one message that names column and row; odd input gets a warning."""

import numpy as np
import pandas as pd
import pytest

import fewlabels as fl
from fewlabels.data import checks
from fewlabels.data.checks import check_pool
from fewlabels.data.tabulation import count_pool
from fewlabels.errors import InputError

N = 40


def sound(**changes: object) -> pd.DataFrame:
    """Forty items, half of them labelled, nothing wrong; then changes."""
    predicted = ["cat", "dog"] * (N // 2)
    frame = pd.DataFrame({"id": range(N), "predicted": predicted, "score": 0.75, "label": predicted})
    frame["label"] = frame["label"].where(frame.index % 4 < 2)
    return frame.assign(**changes)


def put(column: str, row: int, value: object) -> pd.DataFrame:
    """The sound frame with one value (row counted from 1) replaced."""
    frame = sound().astype({"id": object})
    frame.loc[row - 1, column] = value
    return frame


def probabilities(**changes: object) -> pd.DataFrame:
    return sound(p_cat=np.tile([0.8, 0.2], N // 2), p_dog=np.tile([0.2, 0.8], N // 2)).assign(**changes)


ERRORS = {
    "repeated id": (put("id", 9, 3), r"column 'id': id 3 occurs in rows 4, 9"),
    "missing id": (put("id", 9, None), r"column 'id': 1 id is missing, the first in row 9"),
    "missing prediction": (put("predicted", 9, None), r"column 'predicted': the prediction is missing in 1 row, the first is row 9"),
    "NaN score": (put("score", 9, np.nan), r"column 'score': .* NaN in 1 row, the first is row 9"),
    "missing score": (put("score", 9, None), r"column 'score': .* missing or NaN in 1 row, the first is row 9"),
    "score above one": (put("score", 9, 1.25), r"column 'score': .* row 9 has 1.25; probabilities cannot"),
    "percent": (sound(score=75.0), r"column 'score': .* row 1 has 75; they look like percent"),
    "logits": (sound(score=-1.5), r"column 'score': .* row 1 has -1.5; they look like logits"),
    "sums": (probabilities(p_cat=0.9), r"p_cat … p_dog .*: .* in row 1 they add up to 1.1"),
    "percent of classes": (probabilities(p_cat=80.0, p_dog=20.0), r"p_cat … p_dog .* row 1 has 80; they look like percent"),
    "logits of classes": (probabilities(p_cat=-2.0, p_dog=3.0), r"row 1 has -2; they look like logits"),
    "missing probability": (probabilities(p_cat=np.nan), r"p_cat … p_dog .* missing or NaN in row 1"),
    "label without a score": (probabilities(label=["cow"] * N), r"column 'label': 'cow' in row 1 is not among the classes"),
    "prediction without a score": (probabilities(predicted=["cow"] * N), r"column 'predicted': 'cow' in row 1"),
    "labels never predicted": (sound(label=["CAT", "DOG"] * (N // 2)), r"column 'label': no label is ever predicted: labels are CAT, DOG .*row 1"),
    "agreement above one": (sound(agreement=3.0).drop(columns="label"), r"column 'agreement': .* row 1 has 3"),
    "no rows": (sound()[:0], "has no rows"),
    "a mark for not labelled": (put("label", 4, "?"), r"column 'label': '\?' in row 4 is never predicted; if it means 'not labelled', leave it empty"),
}  # fmt: skip


@pytest.mark.parametrize(("frame", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_an_error_names_column_and_row(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fl.assess(frame)


def test_a_sound_table_has_no_findings() -> None:
    assert check_pool(fl.Predictions.read(sound())) == ()


@pytest.mark.parametrize("rename", [int, "item {}".format], ids=["whole", "text"])
@pytest.mark.parametrize("n_twice", [0, 30])
def test_of_very_many_ids_some_are_looked_at(rename, n_twice: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MAX_EXACT_IDS", 50)
    monkeypatch.setattr(checks, "ID_SAMPLE_STEP", 7)
    ids = [rename(i) for i in (*range(100), *range(n_twice))]
    found = check_pool(fl.Predictions.read({"id": ids, "predicted": ["a"] * len(ids)}))
    assert [finding.severity for finding in found] == (["error"] if n_twice else [])
    assert all("occurs in rows" in finding.message for finding in found)


def test_of_very_many_ids_every_missing_one_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MAX_EXACT_IDS", 10)
    with pytest.raises(InputError, match="1 id is missing, the first in row 9"):
        fl.assess(put("id", 9, None))


@pytest.mark.parametrize("score", [0.0, -1e-7, 1.0, 1 + 1e-6, 1 - 1e-16])
def test_scores_at_the_bounds_and_rounded_past_them_are_sound(score: float) -> None:
    pool = fl.Predictions.read(put("score", 9, score))
    assert check_pool(pool) == ()
    assert set(count_pool(pool, fl.everything).bin) == {0 if score < 0.5 else 9, 7}


def test_binary_scores_are_checked_as_they_were_written() -> None:
    with pytest.raises(InputError, match=r"column 's': .* row 2 has -3; they look like logits"):
        fl.assess(fl.Predictions.read({"id": [1, 2], "s": [0.5, -3.0], "label": [1, 0]}, positive_score="s"))


WARNINGS = {
    "no id": (sound().drop(columns="id"), "no id column"),
    "a label never predicted": (put("label", 1, "Cat"), r"labels that are never predicted: Cat \(row 1\); is it 'cat' written differently"),
    "a class never seen": (sound(label="cat"), "predicted but never seen as a label: dog"),
    "nothing labelled": (sound(label=None), "no item is labelled"),
    "swapped classes": (sound(label=["dog", "cat"] * (N // 2)), "only 0 of 40 labelled items are right.*swap the two classes"),
}  # fmt: skip


@pytest.mark.parametrize(("frame", "message"), WARNINGS.values(), ids=WARNINGS.keys())
def test_a_warning_leaves_the_numbers_standing(frame: pd.DataFrame, message: str) -> None:
    a = fl.assess(frame)
    assert any(pd.Series([w]).str.contains(message).item() for w in a.warnings), a.warnings


def test_swapped_scores_say_how_to_swap_them_back() -> None:
    s = np.linspace(0, 1, N)
    pool = fl.Predictions.read({"id": range(N), "s": s, "label": (s < 0.5).astype(int)}, positive_score="s")
    warning = next(w for w in fl.assess(pool).warnings if "far below chance" in w)
    assert "positive='0'" in warning
    flipped = fl.Predictions.read(
        {"id": range(N), "s": s, "label": (s < 0.5).astype(int)}, positive_score="s", positive="0"
    )
    assert fl.assess(flipped, by=fl.everything).overall.mean > 0.9


def test_a_model_whose_few_labels_are_all_misses_is_assessed() -> None:
    a = fl.assess({"id": [1, 2, 3, 4], "predicted": ["1"] * 4, "label": ["0", None, None, None]}, prior=fl.flat())
    assert a.overall.mean == pytest.approx(1 / 3)


def test_scores_a_rounding_error_above_one_are_let_through() -> None:
    assert fl.assess(put("score", 9, 1 + 1e-7)).n_items == N


def test_a_class_called_nan_is_a_class() -> None:
    names = {"cat": "nan", "dog": "hund, groß"}
    a = fl.assess(sound().replace(names))
    assert [row.group for row in a.groups] == ["hund, groß", "nan"]
    assert a.n_labels == N // 2


def test_scores_of_other_classes_than_the_predicted_ones_are_refused_in_words():
    pool = {"predicted": ["a"] * 4, "label": ["a", "b", None, None], "p_wet": [0.1] * 4, "p_dry": [0.9] * 4}
    with pytest.raises(fl.InputError, match="'a' in row 1 is not among the classes that have scores"):
        fl.assess(pool)
