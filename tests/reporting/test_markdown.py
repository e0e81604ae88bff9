"""Markdown says what JSON says, and obeys nothing that stands in a file."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import Typed

import fewlabels as fl
from fewlabels.reporting.markdown.markup import escape

Type = Callable[..., Typed]
NASTY = "<img src=x onerror=alert(1)> | a | `b` *c* @somebody"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """People of two groups, one of a name that wants to be more than a name."""
    rng = np.random.default_rng(0)
    n = 400
    score = rng.random(n)
    label = (rng.random(n) < score).astype(float)
    frame = pd.DataFrame({"id": range(n), "risk": score, "label": np.where(rng.random(n) < 0.5, label, np.nan)})
    frame["who"] = rng.choice([NASTY, "others"], n)
    frame["shift"] = rng.choice(["day", "night"], n)
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


SAID = {
    "assess": ("--by", "who"),
    "compare": ("--by", "who", "--groups", f'"{NASTY}",others'),
    "fairness": ("--by", "who", "--metric", "selection-rate,tpr", "--method", "beta-binomial"),
    "surface": ("--attributes", "who,shift", "--ask", "shift=night"),
}


@pytest.mark.parametrize("verb", SAID)
def test_every_number_is_one_of_json(type_in: Type, file: Path, verb: str) -> None:
    words = (verb, file, "--positive-score", "risk", *SAID[verb])
    plain, said = json.loads(type_in(*words, "--json", "-").out), type_in(*words, "--markdown", "-").out
    known = {f"{value:{shape}}" for value in list_numbers(plain) for shape in (".3f", "+.3f", ".2f", ",", "g")}
    cells = read_tables(said)
    shown = {n for cell in cells for n in re.findall(r"(?<![\w.<>])[+-]?\d[\d,]*(?:\.\d+)?", cell)}
    assert len(shown) > 5
    assert shown - known - {"95"} == set()


@pytest.mark.parametrize("verb", SAID)
def test_a_name_is_only_a_name(type_in: Type, file: Path, verb: str) -> None:
    said = type_in(verb, file, "--positive-score", "risk", *SAID[verb], "--markdown", "-").out
    assert escape(NASTY) in said
    assert "<img" not in said
    assert "@somebody" not in said
    for table in re.findall(r"(?:^\|.*\n)+", said, flags=re.MULTILINE):
        columns = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(columns) == 1, table


def test_a_check_is_told_first_and_the_file_is_written_all_the_same(type_in: Type, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "summary.md"
    words = ("assess", file, "--positive-score", "risk", "--by", "who", "--markdown", out)
    assert type_in(*words, "--fail-if", "overall.low < 1").code == 2
    first, _, hit, *_ = out.read_text().splitlines()
    assert first == "❌ **Failed**: fail if overall.low &lt; 1"
    assert hit.startswith("- overall: low is 0.")
    typed = type_in(*words, "--fail-if", "overall.low < 0.01", "--fail-if", "groups.n_items < 1")
    assert typed.code == 0
    assert f"written: {out}" in typed.err
    assert out.read_text().splitlines()[0] == "✅ **Passed**: fail if overall.low &lt; 0.01 or groups.n\\_items &lt; 1"


def test_standard_output_holds_nothing_else_and_only_one_thing(type_in: Type, file: Path) -> None:
    words = ("assess", file, "--positive-score", "risk", "--by", "who", "--markdown", "-")
    assert type_in(*words).out.startswith("### accuracy: 0.")
    assert type_in(*words, "--quiet").out == type_in(*words).out
    typed = type_in(*words, "--json", "-")
    assert (typed.code, typed.out) == (1, "")
    assert "cannot both go to standard output" in typed.err


def test_many_groups_are_folded_and_very_many_left_out() -> None:
    names = [f"g{i:04}" for i in range(600)]
    a = fl.assess({"predicted": names, "label": names}, prior=fl.flat())
    said = a.to_markdown()
    assert "<summary>480 more groups</summary>" in said
    assert "100 groups are left out" in said
    assert len(said) < 65_536
    assert all((f"| {row.group} |" in said) == (i < 500) for i, row in enumerate(a.in_order))


def test_one_group_needs_no_table() -> None:
    a = fl.assess({"predicted": ["a", "a"], "label": ["a", None]}, by=fl.everything, prior=fl.flat())
    assert "|" not in a.to_markdown()


def list_numbers(plain: object) -> list[float]:
    """Every number in JSON, and what is rounded from them: ranks and counts too."""
    if isinstance(plain, dict):
        return [n for value in plain.values() for n in list_numbers(value)]
    if isinstance(plain, list):
        return [n for value in plain for n in list_numbers(value)]
    return [plain] if isinstance(plain, int | float) and not isinstance(plain, bool) else []


def read_tables(said: str) -> list[str]:
    """The cells that hold numbers, without the header's and the nasty name's own digits."""
    lines = [line for line in said.replace(escape(NASTY), "name").splitlines() if line.startswith("| ")]
    return [cell for line in lines if "--:" not in line and "interval" not in line and "P(" not in line for cell in line.split("|")]  # fmt: skip
