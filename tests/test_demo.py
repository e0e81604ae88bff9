"""The demo does the main job and tells the truth about it."""

from pathlib import Path

import pytest

from fewlabels.demo import LABELLED, predict_digits, run_demo
from fewlabels.errors import InputError


def test_it_assesses_digits_with_few_labels(tmp_path: Path) -> None:
    demo = run_demo(tmp_path / "out")
    a = demo.assessment
    assert (a.n_items, a.n_labels, len(a.groups)) == (1697, LABELLED, 10)
    assert demo.report.exists()
    assert demo.predictions.exists()


def test_its_interval_holds_the_truth(tmp_path: Path) -> None:
    _, truth = predict_digits()
    overall = run_demo(tmp_path).assessment.overall
    assert overall.low < truth < overall.high


def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        run_demo(tmp_path / "taken" / "out")


def test_the_verb_prints_where_the_report_is(type_in, tmp_path: Path) -> None:
    typed = type_in("demo", "--out", tmp_path)
    assert typed.code == 0
    assert str(tmp_path / "report.html") in typed.out
