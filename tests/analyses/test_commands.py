"""Whatever doctor proposes runs as it is printed, in a shell, whatever files, columns and classes are called."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import fewlabels as fl
from fewlabels.analyses.commands import quote
from fewlabels.cli.console import stderr_console, stdout_console
from fewlabels.errors import naming_options
from fewlabels.metrics.parsing import parse_metric

N = 24
BASE = pd.DataFrame({"key": range(N), "said": ["a", "b"] * 12, "conf 1": 0.75, "it's": ["a", "b", None, "b"] * 6, "site, \"x\"": ["n", "n", "s"] * 8})  # fmt: skip
RISK = pd.DataFrame({"id": range(N), "-risk": [0.2, 0.7] * 12, "y": ["no", "yes", None, "no"] * 6, ":x: [red]": ["u", "v"] * 12})  # fmt: skip
CASES = {
    "roles": ("my file.csv", BASE, ("--id", "key", "--predicted", "said", "--score", "conf 1", "--label", "it's")),
    "shown": ("-x.csv", BASE, ("--id", "key", "--predicted=said", "--label=it's", "--show", '"site, ""x""",said')),
    "two classes": ("$HOME;`x`.csv", RISK, ("--positive-score=-risk", "--positive=yes", "--label=y", "--threshold=0.6")),
    "a pattern": ("p*.csv", RISK.rename(columns={"-risk": "score", "y": "predicted"}).fillna("no"), ()),
    "labels apart": ("p.csv", RISK.drop(columns="y"), ("--positive-score=-risk", "--labels", "the labels.csv")),
    "hidden labels": ("p.csv", RISK.drop(columns="y").assign(truth=["no", "yes", None, "yes"] * 6, predicted=["no", "yes"] * 12), ()),
    "a probability": ("p.csv", pd.DataFrame({"id": range(N), "predicted": ["x", "y"] * 12, "score": [0.1, 0.9] * 12}), ()),
    "no predictions": ("p.csv", pd.DataFrame({"id": range(N), "odds": [3.0, 9.5] * 12, "risk it": [0.1, 0.9] * 12}), ()),
    "people": ("p.csv", RISK.rename(columns={":x: [red]": "applicant_race"}), ("--positive-score=-risk", "--positive=yes", "--label=y", "--threshold=0.6")),
    "several models": ("p.csv", pd.DataFrame({"id": range(N), "predicted_old one": ["a", "b"] * 12, "predicted_new": ["a"] * N, "label": ["a", "b", None, "b"] * 6}), ()),
    "grades": ("p.csv", pd.DataFrame({"no": range(N), "g": [0.5, None] * 12, "all": ["u", "v", "w"] * 8}), ("--id=no", "--agreement=g")),
}  # fmt: skip


def split_in_shell(line: str) -> list[str]:
    script = f"fewlabels() {{ printf '%s\\0' \"$@\"; }}; {line}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize(("name", "frame", "words"), CASES.values(), ids=CASES.keys())
def test_every_proposal_runs(
    type_in, name: str, frame: pd.DataFrame, words: tuple, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame.to_csv(name, index=False)
    pd.DataFrame({"id": range(4), "label": ["1", "0", "1", "1"]}).to_csv("the labels.csv", index=False)
    Path("audit.db").write_text("another file")
    file = f"./{name}"
    lines = json.loads(type_in("doctor", file, *words, "--json", "-").out)["next"]
    assert lines
    for line in lines:
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))  # whoever labels stops at once
        typed = type_in(*split_in_shell(line))
        assert typed.code == 0, (line, typed)


def test_gaps_between_people_and_comparisons_of_models_are_proposed(type_in, tmp_path: Path) -> None:
    for case, verb in (
        ("people", "fewlabels fairness"),
        ("several models", "fewlabels compare"),
        ("two classes", None),
    ):
        name, frame, words = CASES[case]
        path = tmp_path / name.replace("`", "").replace("$", "")
        frame.to_csv(path, index=False)
        lines = json.loads(type_in("doctor", path, *words, "--json", "-").out)["next"]
        proposed = [line for line in lines if line.startswith(("fewlabels fairness", "fewlabels compare"))]
        assert len(proposed) == (verb is not None)
        assert all(line.startswith(str(verb)) for line in proposed)


def test_a_column_with_the_predicted_classes_is_proposed_as_label(type_in, tmp_path: Path) -> None:
    name, frame, _ = CASES["hidden labels"]
    frame.to_csv(tmp_path / name, index=False)
    said = json.loads(type_in("doctor", tmp_path / name, "--json", "-").out)
    assert said["next"][0] == f"fewlabels doctor {tmp_path / name} --label truth"


def test_a_probability_is_proposed_as_such(type_in, tmp_path: Path) -> None:
    name, frame, _ = CASES["a probability"]
    frame.to_csv(tmp_path / name, index=False)
    said = json.loads(type_in("doctor", tmp_path / name, "--json", "-").out)
    assert said["next"][0] == f"fewlabels doctor {tmp_path / name} --positive-score score --positive y"


def test_columns_that_cannot_be_probabilities_are_not_proposed(type_in, tmp_path: Path) -> None:
    name, frame, _ = CASES["no predictions"]
    frame.to_csv(tmp_path / name, index=False)
    said = json.loads(type_in("doctor", tmp_path / name, "--json", "-").out)
    assert said["next"] == [f"fewlabels doctor {tmp_path / name} --positive-score 'risk it'"]


@pytest.mark.parametrize("text", ["a b", "it's", "\x1b[31m'\\", "ü\u202e", "$HOME", ""])
def test_quotes_are_undone_by_a_shell(text: str) -> None:
    assert split_in_shell(f"fewlabels {quote(text)}") == [text]
    assert quote(text).isprintable()


def test_no_name_becomes_an_emoji(capsys: pytest.CaptureFixture[str]) -> None:
    stdout_console().print("a group called :x: and :smiley:")
    stderr_console().print("a group called :x: and :smiley:")
    out, err = capsys.readouterr()
    assert out == err == "a group called :x: and :smiley:\n"


def test_an_attribute_that_is_independent_of_predictions_is_not_proposed_as_label() -> None:
    frame = pd.DataFrame({"id": range(400), "predicted": [0, 1] * 200, "male": [0, 0, 1, 1] * 100})
    assert not any("--label" in line for line in fl.diagnose(frame).next)


def test_roles_that_names_do_not_tell_are_typed(tmp_path: Path) -> None:
    BASE.to_csv(tmp_path / "p.csv", index=False)
    pool = fl.Predictions.read(tmp_path / "p.csv", predicted="said", label="it's")
    assert "--predicted said --label" in fl.diagnose(pool).next[0]


# -- what assess proposes, and refuses ----------------------------------------------------------------------------


def test_assess_proposes_the_label_column_that_doctor_proposes(tmp_path):
    table = pd.DataFrame({"id": range(40), "predicted": ["a", "b"] * 20, "verdict": ["a", "b", "b", "b"] * 10})
    path = tmp_path / "p.csv"
    table.to_csv(path, index=False)
    proposal = "if it is the true class, say label='verdict'"
    assert any(proposal in finding.message for finding in fl.diagnose(path).findings)
    assert any(proposal in warning for warning in fl.assess(fl.Predictions.read(path)).warnings)


@pytest.mark.parametrize("name", ["score_date", "score_version", "prob_id", "score_updated", "conf_level", "score_at"])
def test_a_column_about_scores_is_not_proposed_as_a_score(name):
    table = {"predicted": ["a", "b"] * 20, "label": ["a"] * 40, name: [0.25, 0.75] * 20}
    assert not any(name in note for note in fl.Predictions.read(table).notes)


def test_long_names_of_classes_are_cut_in_warnings():
    long = "x" * 2000
    said = ["a", long] * 20
    warnings = fl.assess({"predicted": said, "score": [0.9, 0.1] * 20, "label": ["z" + long, *said[1:]]}).warnings
    assert warnings
    assert max(map(len, warnings)) < 600


@pytest.mark.parametrize(("metric", "said"), [("acc", "'accuracy'"), ("accuracy,recall", "expected one")])
def test_a_metric_that_is_not_known_is_explained(metric, said):
    with pytest.raises(fl.InputError, match=said):
        parse_metric(metric, None)


@pytest.mark.parametrize(
    ("columns", "option", "argument"),
    [
        ({"score": [0.1, 0.9] * 20}, "--positive-score score", "positive_score='score'"),
        ({"my truth": ["0", "1"] * 20}, "--label 'my truth'", "label='my truth'"),
    ],
)
def test_warnings_say_what_to_write_on_the_command_line_or_in_python(columns, option, argument):
    table = {"predicted": ["0", "1"] * 20, **columns}
    in_python = "\n".join(fl.assess(table).warnings)
    with naming_options():
        on_the_command_line = "\n".join(fl.assess(table).warnings)
    assert argument in in_python
    assert "--" not in in_python
    assert option in on_the_command_line
    assert argument not in on_the_command_line
