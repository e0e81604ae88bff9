"""The demo does the main job and tells the truth about it."""

from pathlib import Path

import numpy as np
import pytest

from fewlabels import Predictions
from fewlabels.cli.demo import N_LABELLED, predict_digits, render_digit, run_demo
from fewlabels.errors import InputError


def test_it_assesses_digits_with_few_labels(tmp_path: Path) -> None:
    demo = run_demo(tmp_path / "out")
    a = demo.assessment
    assert (a.n_items, a.n_labels, len(a.groups)) == (1697, N_LABELLED, 10)
    assert demo.report.exists()
    assert demo.predictions.exists()


def test_its_interval_holds_the_truth(tmp_path: Path) -> None:
    table, truth = predict_digits()
    right = sum(said == true for said, true in zip(table["predicted"], truth["label"], strict=True))
    overall = run_demo(tmp_path).assessment.overall
    assert overall.low < right / len(truth["label"]) < overall.high


def test_it_writes_the_truth_for_whoever_plays_the_person_who_labels(tmp_path: Path) -> None:
    run_demo(tmp_path)
    known = Predictions.read(tmp_path / "digits.csv", labels=tmp_path / "truth.csv")
    assert known.n_labels == known.n_items


def test_digits_are_drawn_in_letters() -> None:
    image = np.zeros(64)
    image[:8] = 16
    assert render_digit(image).splitlines()[:2] == ["@" * 16, " " * 16]


def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="cannot create folder"):
        run_demo(tmp_path / "taken" / "out")


def test_the_verb_prints_where_the_report_is(type_in, tmp_path: Path) -> None:
    typed = type_in("demo", "--out", tmp_path)
    assert typed.code == 0
    assert str(tmp_path / "report.html") in typed.out
