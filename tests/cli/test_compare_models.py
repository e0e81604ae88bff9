"""`fewlabels compare OLD NEW`: tables, JSON, conditions, reports and refusals."""

import json
import re

import jsonschema_rs
import pandas as pd
import pytest
from makers import make_models, make_pool

from fewlabels.cli.conditions import parse_condition


@pytest.fixture
def files(tmp_path):
    """Two files of predictions on the same items."""
    for name, pool in zip(("old", "new"), make_models()[0].values(), strict=True):
        pd.DataFrame(pool).to_parquet(tmp_path / f"{name}.parquet")
    return [tmp_path / "old.parquet", tmp_path / "new.parquet"]


def test_two_files_are_compared(type_in, files):
    found = json.loads(type_in("compare", *files, "--by", "site", "--json", "-").out)
    assert found["models"] == ["old", "new"]
    assert [(row["a"], row["b"], row["group"]) for row in found["differences"]] == [
        ("new", "old", group) for group in ("overall", "x", "y")
    ]
    assert "new is higher than old" in type_in("compare", *files).out


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("new - old < -0.01", 0), ("old - new < -0.01", 2), ("new - old.low > 0.01", 2), ("x: new - old < 0", 0),
        ("groups: new - old > 0", 2), ("x.low < 0.5", 0), ("y.low > 0", 2), ("old.mean < 0.9", 2), ("p_best > 0.99", 2),
        ("x: old.low < 0.3", 0), ("x: old.low < 0.9", 2), ("groups: new.high < 0.99", 2), ("overall: new.p_best < 0.5", 0),
    ],
)  # fmt: skip
def test_conditions_on_differences_groups_and_models(type_in, files, condition, code):
    assert type_in("compare", *files, "--by", "site", "--fail-if", condition, "--quiet").code == code


def test_a_colon_may_be_part_of_a_groups_name():
    result = {"overall": {"low": 0.9}, "groups": [{"group": "a: b", "low": 0.4}]}
    assert parse_condition("a: b.low < 0.5").find_matches(result) == ["a: b: low is 0.4 (< 0.5)"]


def test_gaps_between_groups_have_rows_and_conditions(type_in, files):
    typed = type_in("compare", *files, "--by", "site", "--reference", "x", "--fail-if", "|y − x|: new.low > 0.5")
    assert typed.code == 0
    assert "|y − x|" in typed.out


def test_files_of_different_items_show_no_disagreement(type_in, tmp_path):
    for i, name in enumerate(("may", "june")):
        pd.DataFrame(make_pool(i, n=200)).to_csv(tmp_path / f"{name}.csv", index=False)
    typed = type_in("compare", tmp_path / "may.csv", tmp_path / "june.csv", "--unpaired", "--html", tmp_path / "r.html")
    assert "disagree" not in typed.out
    assert "400 items" in typed.out
    assert "on different items" in (tmp_path / "r.html").read_text()


def test_files_of_one_name_are_told_apart_by_folder_or_by_name(type_in, files, tmp_path):
    (tmp_path / "b").mkdir()
    files[1].rename(tmp_path / "b" / "old.parquet")
    there = [tmp_path / "old.parquet", tmp_path / "b" / "old.parquet"]
    assert json.loads(type_in("compare", *there, "--json", "-").out)["models"][1] == "b/old"
    named = type_in("compare", *there, "--models", "A,B", "--json", "-")
    assert json.loads(named.out)["models"] == ["A", "B"]


def test_reports_are_written(type_in, files, tmp_path):
    type_in("compare", *files, "--html", tmp_path / "r.html", "--markdown", tmp_path / "r.md")
    assert "new" in (tmp_path / "r.html").read_text()
    assert (tmp_path / "r.md").read_text().startswith("### accuracy: old and new")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{0}"], "name two groups with --groups"),
        (["{0}", "{0}"], "named twice|same predictions"),
        (["{0}", "{1}", "--groups", "a,b"], "two groups of one model"),
        (["{0}", "{1}", "--models", "a"], "1 name for 2 files"),
        (["{0}", "{1}", "--fail-if", "nwe - old < 0"], "no difference of two models"),
        (["{0}", "{1}", "--fail-if", "q.low < 0"], "there is no group 'q'"),
        (["{0}", "--models", "old,new"], "has no column"),
        (
            ["{0}", "{1}", "--by", "site", "--fail-if", "x: nwe.low < 0"],
            r"there is no group 'x: nwe'; there is: overall, x, y",
        ),
        (["{0}", "{1}", "--by", "site", "--reference", "xx"], "there is no group 'xx'"),
    ],
)
def test_what_cannot_be_compared_is_named(type_in, files, arguments, message):
    typed = type_in("compare", *(one.format(*files) for one in arguments))
    assert typed.code == 1
    assert re.search(message, typed.err)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "site"), "--model names a column of one file, and several are given"),
        (("--m", "3"), "--m is about the worst groups of one model"),
    ],
)
def test_options_that_say_nothing_about_several_files_are_refused(type_in, files, words, said):
    typed = type_in("compare", *files, *words)
    assert (typed.code, typed.out) == (1, "")
    assert said in typed.err


def test_unpaired_tables_show_items_and_labels_not_disagreement(type_in, files):
    shown = type_in("compare", *files, "--unpaired").out
    assert "disagree" not in shown
    assert re.search(r"items +labels", shown)


def test_the_json_has_the_schema_of_the_verb(type_in, files):
    validate = jsonschema_rs.Draft202012Validator(json.loads(type_in("schema", "compare").out)).validate
    validate(json.loads(type_in("compare", *files, "--by", "site", "--json", "-").out))
    validate(json.loads(type_in("compare", files[0], "--by", "site", "--groups", "x,y", "--json", "-").out))
