"""Sets of labels: precision, recall and F1 per label, micro and macro; subset accuracy; Hamming loss."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import Typed
from sklearn.metrics import accuracy_score, hamming_loss, precision_recall_fscore_support

import fewlabels as fl

Type = Callable[..., Typed]
NAMES = ("bug", "docs", "ui")


def draw(seed: int = 0, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """True and predicted sets as flags; items differ in how hard they are."""
    rng = np.random.default_rng(seed)
    base = np.array([0.5, 0.3, 0.15])
    true = rng.random((n, 3)) < base
    hard = np.where(rng.random(n) < 0.5, 0.05, 0.4)[:, None]
    return true, np.where(rng.random((n, 3)) < hard, rng.random((n, 3)) < base, true)


def write(flags: np.ndarray) -> list[str]:
    return ["|".join(name for name, there in zip(NAMES, row, strict=True) if there) or "[]" for row in flags]


def make(n_labelled: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    true, predicted = draw(seed)
    sets = [text if i < n_labelled else None for i, text in enumerate(write(true))]
    return pd.DataFrame({"id": np.arange(len(true)), "tags": write(predicted), "human": sets}), true, predicted


def rate(frame: Any, **choices: Any) -> fl.Rating:
    wanted = {"grade": "human", "judge": "tags", "sets": True, "n_draws": 500, **choices}
    return fl.rate(frame, **wanted)


def test_with_every_item_labelled_the_figures_are_those_of_scikit_learn() -> None:
    frame, true, predicted = make(400)
    found = rate(frame, finite_pool=True).sets
    assert found is not None
    names = ("precision", "recall", "f1")
    for i, name in enumerate(names):
        per_label = precision_recall_fscore_support(true, predicted)[i]
        assert [getattr(row, name).mean for row in found.labels] == pytest.approx(per_label)
        for row in (found.micro, found.macro):
            averaged = precision_recall_fscore_support(true, predicted, average=row.label)[i]
            assert getattr(row, name).mean == pytest.approx(averaged)
    assert found.subset_accuracy.mean == pytest.approx(accuracy_score(true, predicted))
    assert found.hamming_loss.mean == pytest.approx(hamming_loss(true, predicted))
    assert found.labels[0].n_predicted == predicted[:, 0].sum()


def test_intervals_from_few_labelled_items_hold_the_truth() -> None:
    """Of 3 x 3 + 4 figures in 8 simulations, intervals of 95 % miss at most 12 of 104."""
    missed = 0
    for seed in range(8):
        frame, true, predicted = make(40, seed)
        found = rate(frame, finite_pool=True).sets
        assert found is not None
        both = (true & predicted).sum(axis=0), predicted.sum(axis=0), true.sum(axis=0)
        f1 = 2 * both[0] / (both[1] + both[2])
        pairs = [(row.precision, both[0][i] / both[1][i]) for i, row in enumerate(found.labels)]
        pairs += [(row.recall, both[0][i] / both[2][i]) for i, row in enumerate(found.labels)]
        pairs += [(row.f1, f1[i]) for i, row in enumerate(found.labels)]
        pairs += [(found.macro.f1, f1.mean()), (found.micro.f1, 2 * both[0].sum() / (both[1] + both[2]).sum())]
        pairs += [(found.subset_accuracy, (true == predicted).all(axis=1).mean()), (found.hamming_loss, (true != predicted).mean())]  # fmt: skip
        missed += sum(not one.low - 1e-9 <= right <= one.high + 1e-9 for one, right in pairs)
    assert missed <= 12


def test_lists_and_text_are_the_same_sets(tmp_path: Path) -> None:
    frame, *_ = make(60)
    listed = frame.assign(**{name: [None if not isinstance(text, str) else [] if text == "[]" else text.split("|") for text in frame[name]] for name in ("tags", "human")})  # fmt: skip
    assert rate(listed).sets == rate(frame).sets
    path = tmp_path / "sets.parquet"
    listed.to_parquet(path)
    assert rate(str(path)).sets == rate(frame).sets
    spaced = frame.assign(tags=[" | ".join([*text.split("|"), text.split("|")[0]]) for text in frame["tags"]])
    assert rate(spaced).sets == rate(frame).sets, "blanks and repeated labels do not matter"


def test_every_view_shows_sets(type_in: Type, tmp_path: Path) -> None:
    frame, *_ = make(60)
    path = tmp_path / "sets.csv"
    frame.to_csv(path, index=False)
    said = type_in("rate", str(path), "--sets", "--grade", "human", "--judge", "tags")
    assert "400 items, 60 labelled by people, 3 labels" in said.out
    assert "subset accuracy" in said.out
    typed = type_in("rate", str(path), "--sets", "--grade", "human", "--judge", "tags", "--json", "-", "--quiet")
    assert [row["label"] for row in json.loads(typed.out)["sets"]["labels"]] == list(NAMES)
    found = rate(frame)
    assert "| macro |" in found.to_markdown()
    assert "Sets of labels" in found.to_html()


@pytest.mark.parametrize(
    ("change", "choices", "said"),
    [
        ({"tags": [None] * 400}, {}, "has no set of labels in row 1"),
        ({"tags": ["[]"] * 400, "human": ["[]"] * 400}, {}, "hold no labels"),
        ({"tags": range(400)}, {}, "holds int64, not sets of labels"),
        ({"tags": [f"label {i}" for i in range(400)]}, {}, "more than 200 labels"),
        ({"id": [7] * 400}, {}, "does not name every item alone"),
        ({}, {"judge": ()}, "name the column of people's sets"),
        ({}, {"judge": "tgas"}, "there is no column 'tgas'"),
        ({}, {"by": "id", "bar": 1}, "by=, bar=: not for sets of labels"),
    ],
)
def test_sets_that_make_no_sense_are_refused(change: dict[str, Any], choices: dict[str, Any], said: str) -> None:
    frame, *_ = make(60)
    with pytest.raises(fl.InputError, match=said):
        rate(frame.assign(**change), **choices)


def test_a_label_that_is_never_predicted_has_an_undefined_precision() -> None:
    frame, *_ = make(60)
    found = rate(frame.assign(tags=[text.replace("ui", "docs") for text in frame["tags"]]))
    assert found.sets is not None
    precision = next(row.precision for row in found.sets.labels if row.label == "ui")
    assert precision.high - precision.low > 0.9
    assert any("never predicted, so that precision is undefined: ui" in warning for warning in found.warnings)


def test_the_report_is_about_sets_and_counts_items(tmp_path: Path) -> None:
    found = rate(make(40)[0])
    assert (found.n_items, found.n_grades) == (400, 40)
    page = found.report(tmp_path / "sets.html").read_text()
    assert found.sets is not None
    assert (
        f"The micro F1 of predicted sets of labels of items like these is {100 * found.sets.micro.f1.mean:.1f}%" in page
    )
    assert "about 120 more labelled items" in page
    assert "pass rate" not in page
    assert "400 items, 40 labelled by people, 3 labels" in found.to_markdown()
    assert found.to_markdown().startswith("### micro F1: ")


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("micro.low < 1", 2), ("macro.f1.low < 0.001", 0), ("bug.precision.mean > 0", 2), ("subset.low < 1", 2), ("hamming.high < 0.001", 0),
        ("overall.low < 0.5", 1), ("low < 0.5", 1), ("micro.lw < 1", 1),
    ],
)  # fmt: skip
def test_a_gate_names_a_figure_of_sets(type_in: Type, tmp_path: Path, condition: str, code: int) -> None:
    make(40)[0].to_csv(tmp_path / "s.csv", index=False)
    typed = type_in("rate", tmp_path / "s.csv", "--sets", "--grade", "human", "--judge", "tags", "--draws", "200", "--fail-if", condition)  # fmt: skip
    assert typed.code == code, typed.err
    assert code != 1 or "micro" in typed.err or "low" in typed.err
