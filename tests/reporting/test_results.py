"""Every result has the same methods, and each of them works."""

import json
from dataclasses import replace
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from makers import make_pool

import fewlabels as fl
from fewlabels.analyses.result import RENDERERS, Result
from fewlabels.errors import InputError
from fewlabels.reporting.excerpts import MAX_ROWS
from fewlabels.reporting.plots.figure import find_figure
from fewlabels.text import display_width

FLAT = fl.flat()
MAKERS = {
    "Assessment": lambda: fl.assess(make_pool(0, labelled=0.5), prior=FLAT),
    "Comparison": lambda: fl.compare(make_pool(0, labelled=0.5), ("a", "b"), prior=FLAT),
    "Fairness": lambda: fl.fairness(fl.Predictions.read(make_pool(0, labelled=0.5), positive="a"), by=fl.column("sex"), method="beta-binomial"),
    "Surface": lambda: fl.surface(make_pool(0, labelled=0.5), attributes=["sex"]),
    "Diagnosis": lambda: fl.diagnose(make_pool(0, labelled=0.5)),
    "Plan": lambda: fl.plan(make_pool(0, labelled=0.2), goal=fl.FindWorst(), prior=FLAT, runs=4, n_jobs=1),
    "Simulation": lambda: fl.simulate(make_pool(0), goal=fl.Estimate(), priors=(FLAT,), runs=2, n_checkpoints=5, n_jobs=1),
    "ModelComparison": lambda: fl.compare_models({"old": make_pool(0, labelled=0.5), "new": make_second_pool()}, prior=FLAT),
    "Rating": lambda: fl.rate(make_grades(), grade="human", judge="judge", by="slice", n_draws=500),
}  # fmt: skip


def make_second_pool() -> dict[str, object]:
    """Other predictions for the same items."""
    pool = make_pool(0, labelled=0.5)
    return {**pool, "predicted": np.roll(np.asarray(pool["predicted"]), 1)}


def make_grades() -> dict[str, object]:
    """Grades of a judge for all outputs, and of people for every third."""
    rng = np.random.default_rng(0)
    human = (rng.random(150) < 0.7).astype(float)
    judge = np.where(rng.random(150) < 0.85, human, 1 - human)
    return {
        "id": range(150),
        "slice": np.tile(["a", "b", "c"], 50),
        "judge": judge,
        "human": [g if i % 3 == 0 or i % 7 == 0 else None for i, g in enumerate(human.tolist())],
    }


@cache
def make(name: str) -> Result:
    return MAKERS[name]()


class Tags(HTMLParser):
    """The tags of a page, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)


def test_every_kind_of_result_is_made_here() -> None:
    assert set(MAKERS) == set(RENDERERS)


@pytest.mark.parametrize("name", MAKERS)
def test_every_result_has_the_same_methods(name: str, tmp_path: Path) -> None:
    result = make(name)
    assert type(result).__name__ == name
    plain = json.loads(result.to_json(tmp_path / "result.json"))
    assert json.loads((tmp_path / "result.json").read_text()) == plain
    assert plain["provenance"] == json.loads(json.dumps(result.provenance.to_dict()))
    assert set(plain) == set(result.to_dict())
    assert all(isinstance(warning, str) for warning in result.warnings)
    assert len(result.to_frame()) == len(result.list_rows()) > 0
    assert result.to_frame("arrow").column_names == list(result.list_rows()[0])
    assert result.to_markdown().startswith("###")
    find_figure(result.plot()).savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 2000
    page = result.report(tmp_path / "report.html").read_text()
    assert not {"link", "img", "iframe"} & set(Tags(page).seen)
    assert Tags(page).seen.count("script") == 1
    assert "svg" in Tags(page).seen


@pytest.mark.parametrize("name", MAKERS)
def test_a_notebook_shows_the_first_rows_of_every_result(name: str) -> None:
    result = make(name)
    shown = result._repr_html_()
    assert Tags(shown).seen.count("tr") == 1 + min(MAX_ROWS, len(result.list_rows()))
    assert Tags(shown).seen.count("li") == len(result.warnings)
    has_intervals = {"low", "mean", "high"} <= set(result.list_rows()[0])
    assert Tags(shown).seen.count("circle") == (min(MAX_ROWS, len(result.list_rows())) if has_intervals else 0)
    assert ("to_frame() has all" in shown) == (len(result.list_rows()) > MAX_ROWS)


@pytest.mark.parametrize("name", MAKERS)
def test_a_shell_shows_a_sentence_and_a_table_of_every_result(name: str) -> None:
    result, (first, *_) = make(name), make(name).list_rows()
    sentence, header, *rows = repr(result).splitlines()
    assert sentence.endswith(".")
    assert header.split() == " ".join(first).split()
    assert len(rows) >= min(MAX_ROWS, len(result.list_rows()))
    assert ("to_frame() has all" in repr(result)) == (len(result.list_rows()) > MAX_ROWS)
    assert len(repr(result)) < 4000


def test_the_table_is_aligned_whatever_the_names() -> None:
    found = fl.assess(make_pool(0, classes=("猫が好き", "b\x1b[31m", "c" * 90)), prior=FLAT)
    _, header, *rows = repr(found).splitlines()
    places = {display_width(line[: line.index(f"{row.share:.3f}")]) for line, row in zip(rows, found, strict=False)}
    assert len(places) == 1
    assert "\x1b" not in repr(found)
    assert header.startswith("group")


def test_an_assessment_is_a_collection_of_groups() -> None:
    found = fl.assess({"predicted": [1, 1, 2], "label": [1, None, 2]}, prior=FLAT)
    assert [row.group for row in found] == ["1", "2"]
    assert found["1"] is found[1] is next(iter(found))
    assert len(found) == 2
    with pytest.raises(InputError, match="no group '3'"):
        found["3"]


def test_names_cannot_add_markup_to_a_notebook_or_a_report(tmp_path: Path) -> None:
    pool = make_pool(0, classes=("<script>a()</script>", "b|c"))
    found = fl.diagnose({**pool, "<img src=x>": ["v", "w"] * 30})
    page = found.report(tmp_path / "report.html").read_text()
    for text in (found._repr_html_(), page, fl.assess(pool, prior=FLAT)._repr_html_()):
        assert Tags(text).seen.count("script") == (text is page)
        assert "img" not in Tags(text).seen
    assert "b\\|c" in found.to_markdown()
    assert "<script>" not in found.to_markdown()


@pytest.mark.parametrize("name", ["Diagnosis", "Plan", "Simulation"])
def test_markdown_and_report_tell_the_warnings(name: str, tmp_path: Path) -> None:
    pool = {key: value for key, value in make_pool(0).items() if key != "id"}
    made = {
        "Diagnosis": lambda: fl.diagnose(pool),
        "Plan": lambda: replace(make("Plan"), warnings=("scores are constant",)),
        "Simulation": lambda: replace(make("Simulation"), warnings=("scores are constant",)),
    }[name]()
    assert made.warnings
    page = made.report(tmp_path / "report.html").read_text()
    for warning in made.warnings:
        assert f"> - {warning}" in made.to_markdown()
        assert warning[1:] in unescape(page)


def test_a_table_with_errors_is_told_but_not_drawn(tmp_path: Path) -> None:
    found = fl.diagnose({"number": [0.1, 0.2]})
    assert found.source == "the table"
    assert found.warnings[0].startswith("error: no predictions found")
    assert "cannot be assessed before 1 error is corrected" in found.to_markdown()
    assert "svg" not in Tags(found.report(tmp_path / "report.html").read_text()).seen
    with pytest.raises(InputError, match="correct them before plotting"):
        found.plot()


def test_a_report_never_replaces_the_table_that_could_not_be_read(tmp_path: Path) -> None:
    table = tmp_path / "pool.csv"
    table.write_text("number\n0.1\n0.2\n")
    with pytest.raises(InputError, match=r"pool\.csv"):
        fl.diagnose(table).report(table)
    assert table.read_text() == "number\n0.1\n0.2\n"


def test_a_diagnosis_counts_items_and_labels_of_each_class() -> None:
    found = fl.diagnose({"predicted": ["a", "a", "b"], "p_a": [0.9, 0.8, 0.1], "p_b": [0.1, 0.2, 0.9], "label": ["a", None, None]})  # fmt: skip
    assert [(size.group, size.n_items, size.n_labels) for size in found.sizes] == [("a", 2, 1), ("b", 1, 0)]
    assert {row["column"]: row["role"] for row in found.list_rows()}["p_b"] == "scores"
    graded = fl.diagnose({"predicted": ["x", "y"], "grade": [0.5, None]}, agreement="grade")
    assert [(size.group, size.n_items, size.n_labels) for size in graded.sizes] == [("all items", 2, 1)]


def test_a_plan_draws_the_share_of_futures_that_are_settled() -> None:
    plan = replace(make("Plan"), needed=(10, 20, None, 30), n_items=100, n_labels=20, low=10, n_more=20, high=None)
    (line,) = [line for line in plan.plot().get_lines() if len(line.get_xdata()) > 2]
    assert line.get_xdata().tolist() == [0, 10, 20, 30, 80]
    assert line.get_ydata().tolist() == [0, 0.25, 0.5, 0.75, 0.75]
    assert "10 to more than there are items" in plan.plot().get_title(loc="left")
    never = replace(plan, needed=(None, None), low=None, n_more=None, high=None)
    assert "never settle" in never.plot().get_title(loc="left")
    assert "not settled with all labels" in never.to_markdown()
    with pytest.raises(InputError, match=r"make it with fl\.plan"):
        replace(plan, needed=()).plot()


def test_a_simulation_names_the_configuration_with_the_fewest_labels() -> None:
    found = make("Simulation")
    first, second = found.labels_to_target
    rows = ({**first, "n_labels": 30, "share": 0.5}, {**second, "n_labels": 20, "share": 1 / 3})
    text = replace(found, labels_to_target=rows).to_markdown()
    assert f"20 of 60, by {second['policy']} with prior flat" in text
    never = replace(found, labels_to_target=tuple({**row, "n_labels": None, "share": None} for row in rows))
    assert "No configuration reaches rmse 0.05" in never.to_markdown()
    assert "no target to reach" in replace(found, labels_to_target=()).to_markdown()
