"""The command line, typed as a newcomer would, wrong things included."""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import Typed
from makers import drop_provenance

import fewlabels as fl

Type = Callable[..., Typed]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Predictions of three classes, a third of them labelled, one class rarely right."""
    rng = np.random.default_rng(0)
    predicted = rng.choice(["cat", "dog", "emu"], 300)
    right = rng.random(300) < np.where(predicted == "emu", 0.5, 0.9)
    label = np.where(right, predicted, rng.choice(["cat", "dog"], 300))
    frame = pd.DataFrame({"id": range(300), "predicted": predicted, "score": rng.uniform(0.5, 1, 300), "label": label})
    frame["label"] = frame["label"].where(rng.random(300) < 0.33)
    frame["site"] = rng.choice(["north", "south"], 300)
    frame.to_csv(tmp_path / "preds.csv", index=False)
    return tmp_path / "preds.csv"


class TestAssess:
    def test_prints_a_table_worst_first(self, type_in: Type, file: Path) -> None:
        typed = type_in("assess", file)
        assert typed.code == 0
        rows = [line.split()[0] for line in typed.out.splitlines() if line.split()[0] in ("cat", "dog", "emu")]
        assert rows[0] == "emu"
        assert "300 items" in typed.out

    def test_json_on_standard_output_is_nothing_but_json_and_has_the_contracts_shape(
        self, type_in: Type, file: Path
    ) -> None:
        found = json.loads(type_in("assess", file, "--json", "-").out)
        assert {"metric", "by", "prior", "level", "n_items", "n_labels", "overall", "groups", "warnings"} <= set(found)
        assert set(found["overall"]) == {"mean", "low", "high"}
        wanted = {"group", "share", "n_items", "n_labels", "mean", "low", "high", "p_worst", "rank_low", "rank_high"}
        assert all(wanted <= set(row) for row in found["groups"])

    def test_confusion_adds_a_matrix(self, type_in: Type, file: Path) -> None:
        matrix = json.loads(type_in("assess", file, "--metric", "confusion", "--json", "-").out)["matrix"]
        assert len(matrix) == 9
        assert set(matrix[0]) == {"predicted", "label", "mean", "low", "high"}

    def test_library_json_and_html_agree(self, type_in: Type, file: Path, tmp_path: Path) -> None:
        for metric in ("accuracy", "ece", "recall"):
            report, data = tmp_path / "r.html", tmp_path / "r.json"
            type_in("assess", file, "--metric", metric, "--html", report, "--json", data, "--seed", 3)
            a = fl.assess(fl.Predictions.read(file), metric=getattr(fl, metric), seed=3)
            assert drop_provenance(json.loads(data.read_text())) == drop_provenance(json.loads(a.to_json()))
            assert read_report(report) == {
                **{row.group: (row.mean, row.low, row.high) for row in a.groups},
                "overall": (a.overall.mean, a.overall.low, a.overall.high),
            }

    @pytest.mark.parametrize(
        "by", ["all", "predicted", "bins", "bins:4", "bins:equal-mass:5", "site", "site,predicted"]
    )
    def test_groups_by_every_word(self, type_in: Type, file: Path, by: str) -> None:
        found = json.loads(type_in("assess", file, "--by", by, "--json", "-").out)
        assert sum(row["n_items"] for row in found["groups"]) == 300
        assert found["by"].startswith(by)

    @pytest.mark.parametrize("metric", ["precision", "f1", "balanced-accuracy", "tpr", "fpr", "for", "selection-rate"])
    @pytest.mark.parametrize("by", ["predicted", "site", "all"])
    def test_knows_the_metrics(self, type_in: Type, file: Path, metric: str, by: str) -> None:
        typed = type_in(
            "assess", file, "--metric", metric, "--by", by, "--positive", "emu", "--draws", 500, "--json", "-"
        )
        assert typed.code == 0, typed.err
        assert all(0 <= row["low"] <= row["mean"] <= row["high"] <= 1 for row in json.loads(typed.out)["groups"])

    def test_cost_reads_its_matrix(self, type_in: Type, file: Path, tmp_path: Path) -> None:
        (tmp_path / "costs.csv").write_text("true,cat,dog,emu\ncat,0,1,9\ndog,1,0,9\nemu,1,1,0\n")
        found = json.loads(
            type_in("assess", file, "--metric", "cost", "--cost", tmp_path / "costs.csv", "--json", "-").out
        )
        assert max(found["groups"], key=lambda row: row["mean"])["group"] == "emu"

    def test_an_earlier_assessment_is_a_prior(self, type_in: Type, file: Path, tmp_path: Path) -> None:
        type_in("assess", file, "--json", tmp_path / "a.json")
        found = json.loads(type_in("assess", file, "--prior", tmp_path / "a.json", "--json", "-").out)
        assert found["prior"] == "earlier"

    def test_once_all_is_labelled_a_finite_pool_is_a_point(self, type_in: Type, tmp_path: Path) -> None:
        (tmp_path / "p.csv").write_text("id,predicted,label\n1,a,a\n2,a,b\n3,b,b\n")
        found = json.loads(type_in("assess", tmp_path / "p.csv", "--finite-pool", "--json", "-").out)
        assert [(r["low"], r["mean"], r["high"]) for r in found["groups"]] == [(0.5, 0.5, 0.5), (1.0, 1.0, 1.0)]

    @pytest.mark.parametrize(
        ("condition", "code"),
        [
            ("low < 0.9", 2),
            ("overall.low < 0.1", 0),
            ("groups.low < 0.6", 2),
            ("n_labels < 1", 0),
            ("p_worst > 0.9", 2),
        ],
    )
    def test_fails_if_asked(self, type_in: Type, file: Path, condition: str, code: int) -> None:
        assert type_in("assess", file, "--fail-if", condition, "--quiet").code == code

    def test_fails_if_any_of_several_holds_and_says_where(self, type_in: Type, file: Path) -> None:
        typed = type_in("assess", file, "--fail-if", "overall.mean > 0.99", "--fail-if", "groups.mean < 0.7", "--quiet")
        assert (typed.code, typed.out) == (2, "")
        assert "failed: emu: mean is" in typed.err

    def test_quiet_prints_nothing(self, type_in: Type, file: Path) -> None:
        assert type_in("assess", file, "--quiet") == Typed(0, "", "")


class TestCompare:
    def test_says_who_is_better(self, type_in: Type, file: Path) -> None:
        found = json.loads(type_in("compare", file, "--groups", "emu,cat", "--json", "-").out)
        keys = {"groups", "rope", "mean", "low", "high", "p_below", "p_equivalent", "p_above", "verdict", "confidence"}
        assert keys <= set(found)
        assert found["verdict"] == "below"
        assert found["p_below"] + found["p_equivalent"] + found["p_above"] == pytest.approx(1)
        assert "emu is lower than cat" in type_in("compare", file, "--groups", "emu,cat").out

    def test_writes_a_report(self, type_in: Type, file: Path, tmp_path: Path) -> None:
        typed = type_in(
            "compare", file, "--by", "site", "--groups", "north,south", "--rope", 0.1, "--html", tmp_path / "c.html"
        )
        assert typed.code == 0
        assert "north against south" in (tmp_path / "c.html").read_text()

    def test_can_fail(self, type_in: Type, file: Path) -> None:
        assert type_in("compare", file, "--groups", "emu,cat", "--fail-if", "p_below > 0.9", "--quiet").code == 2

    def test_names_with_commas_go_in_quotes(self, type_in: Type, tmp_path: Path) -> None:
        (tmp_path / "p.csv").write_text('id,predicted,label\n1,"a,b","a,b"\n2,nan,nan\n3,nan,"a,b"\n4,ü,ü\n')
        typed = type_in("compare", tmp_path / "p.csv", "--groups", '"a,b",nan', "--json", "-")
        assert json.loads(typed.out)["groups"] == ["a,b", "nan"]


class TestDoctor:
    def test_says_what_is_there_and_what_to_type(self, type_in: Type, file: Path) -> None:
        typed = type_in("doctor", file)
        assert typed.code == 0
        assert "300 items" in typed.out
        assert f"$ fewlabels assess {file} --by predicted --html report.html" in typed.out

    def test_what_it_says_to_type_works(self, type_in: Type, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(file.parent)
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))  # whoever labels stops at once
        lines = json.loads(type_in("doctor", file, "--json", "-").out)["next"]
        assert all(type_in(*line.split()[1:]).code == 0 for line in lines)

    @pytest.mark.parametrize(
        ("content", "goal"),
        [
            ("id,agreement,lang\n1,0.5,en\n2,0.5,de\n3,,de\n", "--goal find-worst --by lang"),
            ("id,predicted,agreement,all\n1,x,0.5,en\n2,y,0.5,de\n3,z,,de\n", "--goal find-worst --by column:all"),
            ("id,agreement\n1,0.5\n2,\n", "--goal estimate --by all"),
            ("id,predicted\n1,a\n2,a\n", "--goal estimate --by all"),
            ("id,predicted\n1,a\n2,b\n", "--goal find-worst --by predicted"),
        ],
        ids=["grades by a column", "outputs that all differ", "grades alone", "one class", "two classes"],
    )
    def test_seeks_the_worst_only_among_several_groups(
        self, type_in: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, goal: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        Path("p.csv").write_text(content)
        lines = json.loads(type_in("doctor", "p.csv", "--json", "-").out)["next"]
        [line] = [line for line in lines if " label " in line]
        assert f"--session audit.db {goal} --terminal" in line
        assert all(type_in(*line.split()[1:]).code == 0 for line in lines if "LABELS.csv" not in line)

    def test_counts_one_as_one(self, type_in: Type, tmp_path: Path) -> None:
        (tmp_path / "p.csv").write_text("id,predicted,label\n1,a,a\n")
        assert "  1 item, 1 labelled; 1 class\n" in type_in("doctor", tmp_path / "p.csv").out
        assert ": 1 item, 1 labelled;" in type_in("assess", tmp_path / "p.csv").out

    def test_shows_columns_when_it_finds_no_predictions(self, type_in: Type, tmp_path: Path) -> None:
        (tmp_path / "p.csv").write_text("id,risk,label\n1,0.5,1\n")
        typed = type_in("doctor", tmp_path / "p.csv")
        assert typed.code == 1
        assert f"fewlabels doctor {tmp_path / 'p.csv'} --positive-score risk" in typed.out

    def test_names_what_is_wrong(self, type_in: Type, tmp_path: Path) -> None:
        (tmp_path / "p.csv").write_text("id,predicted,label\n1,a,a\n1,a,a\n")
        assert "id 1 occurs in rows 1, 2" in type_in("doctor", tmp_path / "p.csv").out


class TestReplays:
    @pytest.fixture
    def labelled(self, tmp_path: Path) -> Path:
        """A table whose labels are all known."""
        rows = [f"{i},{'ab'[i % 2]},{'abb'[i % 3]}" for i in range(60)]
        (tmp_path / "t.csv").write_text("\n".join(["id,predicted,label", *rows]))
        return tmp_path / "t.csv"

    def test_estimates_unless_told_otherwise_as_its_help_says(self, type_in: Type, labelled: Path) -> None:
        quickly = ("--runs", 2, "--jobs", 1, "--budget", 30, "--checkpoints", 4)
        typed = type_in("simulate", labelled, *quickly)
        assert typed.code == 0, typed.err
        assert typed.out.splitlines()[1].endswith("at the end (± 2 se)")
        assert {line.split()[0] for line in typed.out.splitlines()[2:]} == {"estimate"}
        found = json.loads(type_in("simulate", labelled, *quickly, "--json", "-").out)
        assert {(row["goal"], row["policy"]) for row in found["rows"]} == {
            ("estimate", "random"),
            ("estimate", "thompson"),
        }
        assert {row["prior"] for row in found["rows"]} == {"calibrated"}
        helped = " ".join(type_in("simulate", "--help").out.replace("│", " ").split())
        assert "separated by commas. [default: estimate]" in helped
        assert "[default: random,thompson]" in helped
        assert "--finite-pool" not in helped

    def test_a_goal_that_is_met_takes_no_labels(self, type_in: Type, file: Path) -> None:
        words = ("plan", file, "--by", "all", "--target-width", 0.5, "--runs", 3)
        assert "no more labels are needed: the goal is met already" in type_in(*words).out
        found = json.loads(type_in(*words, "--json", "-").out)
        assert (found["n_more"], found["sentence"]) == (0, "no more labels are needed: the goal is met already")


WRONG = {
    "no file": (["assess"], "FILE"),
    "no such file": (["assess", "nothing.csv"], "no such file"),
    "no such verb": (["asess", "{file}"], "assess"),
    "no such option": (["assess", "{file}", "--nope", "1"], "nope"),
    "a word for a number": (["assess", "{file}", "--level", "high"], "--level"),
    "level in percent": (["assess", "{file}", "--level", "95"], "between 0 and 1"),
    "no such metric": (["assess", "{file}", "--metric", "acuracy"], "did you mean 'accuracy'"),
    "no such prior": (["assess", "{file}", "--prior", "flaat"], "did you mean 'flat'"),
    "no such column": (["assess", "{file}", "--by", "sight"], "did you mean 'site'"),
    "no such role": (["assess", "{file}", "--predicted", "pred"], "did you mean 'predicted'"),
    "bins": (["assess", "{file}", "--by", "bins:many"], "cannot parse"),
    "too many bins": (["assess", "{file}", "--bins", "0"], "use 1 to 1000"),
    "condition": (["assess", "{file}", "--fail-if", "low is bad"], "cannot parse"),
    "condition on nothing": (["assess", "{file}", "--fail-if", "lo < 1"], "did you mean 'low'"),
    "no cost matrix": (["assess", "{file}", "--metric", "cost"], "needs --cost"),
    "cost without its metric": (["assess", "{file}", "--cost", "c.csv"], "needs --metric cost"),
    "no positive class": (["assess", "{file}", "--metric", "tpr", "--by", "all"], "--positive"),
    "mcc of a class": (["assess", "{file}", "--metric", "mcc"], "--by all"),
    "negative strength": (["assess", "{file}", "--strength", "-1"], "strength"),
    "one group": (["compare", "{file}", "--groups", "cat"], "expected two"),
    "no such group": (["compare", "{file}", "--groups", "cat,dgo"], "did you mean 'dog'"),
    "a folder to write": (["assess", "{file}", "--json", "/"], "is a folder"),
    "nowhere to write": (["assess", "{file}", "--html", "no/such/folder/r.html"], "cannot be written"),
}


@pytest.mark.parametrize(("words", "says"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_word_gets_one_message_and_code_1(type_in: Type, file: Path, words: list[str], says: str) -> None:
    before = sorted(file.parent.iterdir())
    typed = type_in(*(word.format(file=file) for word in words))
    assert typed.code == 1
    assert says in re.sub(r"\s+", " ", typed.err)
    assert "Traceback" not in typed.err
    assert sorted(file.parent.iterdir()) == before  # nothing half-written


@pytest.mark.parametrize("content", [b"", b"hello", b"PAR1 cut short"])
def test_a_broken_file_gets_one_message(type_in: Type, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p.parquet").write_bytes(content)
    typed = type_in("assess", tmp_path / "p.parquet")
    assert typed.code == 1
    assert len(typed.err.splitlines()) == 1


def test_a_truncated_parquet_file_gets_one_message(type_in: Type, file: Path) -> None:
    whole = file.with_suffix(".parquet")
    pd.read_csv(file).to_parquet(whole)
    whole.write_bytes(whole.read_bytes()[:-50])
    typed = type_in("assess", whole)
    assert typed.code == 1
    assert "cannot be read as parquet" in typed.err


def test_a_bug_is_called_a_bug(type_in: Type, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fewlabels.cli.verbs.assess.assess_pool", lambda *_, **__: 1 / 0)
    typed = type_in("assess", file)
    assert typed.code == 1
    assert typed.err.startswith("fewlabels: a bug in fewlabels: ZeroDivisionError")


def test_the_installed_command_works_in_a_pipe(file: Path) -> None:
    command = Path(sys.executable).parent / "fewlabels"
    done = subprocess.run(
        [command, "assess", file], capture_output=True, text=True, check=True, env=os.environ | {"TERM": "xterm"}
    )
    assert "\x1b" not in done.stdout + done.stderr
    assert "overall" in done.stdout


def read_report(path: Path) -> dict[str, tuple[float, ...]]:
    """Read the numbers back from the HTML table."""
    rows = re.findall(r'<tr[^>]*data-group="([^"]*)">(.*?)</tr>', path.read_text(), flags=re.DOTALL)
    values = {group: [float(v) for v in re.findall(r'<data value="([^"]*)">', cells)] for group, cells in rows}
    return {group: tuple(found[:3] if group == "overall" else found[1:4]) for group, found in values.items()}


class TestConfusion:
    def test_the_matrix_is_printed_as_json_has_it(self, type_in: Type, file: Path) -> None:
        words = ("assess", file, "--metric", "confusion")
        out, matrix = type_in(*words).out, json.loads(type_in(*words, "--json", "-").out)["matrix"]
        table = out[out.index("P(true class | predicted)") :].splitlines()
        assert table[1].split() == ["predicted", "cat", "dog", "emu"]
        shown = {line.split()[0]: re.findall(r"(\d\.\d{3}) ±", line) for line in table[2:5]}
        for entry in matrix:
            assert shown[entry["predicted"]][["cat", "dog", "emu"].index(entry["label"])] == f"{entry['mean']:.3f}"
        markdown = type_in(*words, "--markdown", "-").out
        assert all(f"{entry['mean']:.3f} ±" in markdown for entry in matrix)

    def test_of_groups_the_largest_confusions_are_listed(self, type_in: Type, file: Path) -> None:
        words = ("assess", file, "--metric", "confusion", "--by", "site")
        out, matrix = type_in(*words).out, json.loads(type_in(*words, "--json", "-").out)["matrix"]
        worst = max((entry for entry in matrix if entry["label"] != entry["predicted"]), key=lambda e: e["mean"])
        table = out[out.index("P(true class | predicted), largest of 12 confusions") :].splitlines()
        assert table[1].split()[:4] == ["site", "predicted", "true", "class"]
        assert table[2].split()[:4] == [worst["group"], worst["predicted"], worst["label"], f"{worst['mean']:.3f}"]
