"""Every JSON of every verb is strict JSON, and what `fewlabels schema VERB` says it is."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import pandas as pd
import pytest
from conftest import Typed
from makers import make_pool, outcome_pool

import fewlabels as fl
from fewlabels.reporting.schemas.verbs import SCHEMAS

Type = Callable[..., Typed]
METRICS = (
    "accuracy", "ece", "brier", "log-loss", "confusion", "precision", "recall", "f1", "balanced-accuracy", "tpr", "fpr", "tnr", "fnr", "ppv", "npv",
    "fdr", "for", "selection-rate", "cost --cost costs.csv", "mcc --by sex",
)  # fmt: skip
ASSESS = (
    *(f"pool.csv --positive a --metric {metric}" for metric in METRICS),
    *(f"pool.csv --positive a --finite-pool --metric {metric}" for metric in ("accuracy", "recall", "ece --by all")),
    *(f"pool.csv --prior {prior}" for prior in ("flat", "scores", "calibrated", "smooth --by sex,age", "earlier.json")),
    *(f"pool.csv --by {by}" for by in ("all", "bins:3", "sex", "sex,predicted --metric confusion")),
    "unlabelled.csv", "unlabelled.csv --finite-pool --by sex", "right.csv", "right.csv --by all --finite-pool",
    "right.csv --metric recall --by group --positive yes", "scoreless.csv", "graded.csv --agreement grade",
)  # fmt: skip
FAIRNESS = (
    "pool.csv --by sex --positive a", "pool.csv --by age --positive a --reference rest --metric accuracy,equalised-odds --method beta-binomial",
    "pool.csv --by sex --positive a --method frequency --metric tpr,selection-rate",
    "right.csv --by group --positive yes --metric tpr,fpr,ppv --method beta-binomial",
    "unlabelled.csv --by sex --positive a --finite-pool --method frequency",
)  # fmt: skip
SURFACE = (
    "pool.csv --attributes sex,age", "pool.csv --attributes sex --finite-pool", "pool.csv --attributes sex,age --model beta-i",
    "pool.csv --attributes sex,age --ask sex=f --ask sex=m,age=9", "pool.csv --attributes sex --mix pool.csv",
    "unlabelled.csv --attributes sex,age", "right.csv --attributes group",
)  # fmt: skip
RATE = (
    "judged.csv", "judged.csv --grade human --by slice --bar 4", "judged.csv --grade human --judge judge --cluster prompt --finite-pool",
    "judged.csv --judge judge --by slice", "graded.csv --grade grade",
)  # fmt: skip
CALLS = [
    *(("assess", words) for words in ASSESS),
    *(("compare", f"pool.csv --by sex --groups f,m {more}") for more in ("", "--finite-pool", "--metric ece", "--rope 0")),
    ("compare", "unlabelled.csv --by sex --groups f,m"), ("compare", "right.csv --by group --groups x,y"),
    *(("fairness", words) for words in FAIRNESS),
    *(("surface", words) for words in SURFACE),
    *(("rate", words) for words in RATE),
    *(("doctor", words) for words in ("pool.csv", "unlabelled.csv", "graded.csv --agreement grade", "odd.csv")),
    *(("plan", f"unlabelled.csv --runs 2 --jobs 1 {more}") for more in ("--prior flat", "--goal find-worst --by sex --prior flat")),
    ("simulate", "right.csv --runs 2 --jobs 1 --prior flat --by group --policy random"),
    ("simulate", "right.csv --runs 2 --jobs 1 --prior flat --by group --goal find-worst --policy random"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pools of every kind."""
    place = tmp_path_factory.mktemp("pools")
    pool = pd.DataFrame(make_pool(0, n=90, labelled=0.6))
    right = pd.DataFrame(outcome_pool(x=(20, 0, 5), y=(20, 0, 0)))
    pools = {
        "pool": pool,
        "unlabelled": pool.drop(columns="label"),
        "right": right.dropna(),
        "scoreless": pool.drop(columns="score"),
        "graded": pool[["id"]].assign(predicted="text", grade=np.linspace(0, 1, 90)),
        "judged": pd.DataFrame(
            {
                "human": [1, 5, 3, None] * 20,
                "judge": [1, 4, 4, 2] * 20,
                "slice": list("abcde") * 16,
                "prompt": range(80),
            }
        ),
        "odd": pd.DataFrame({"number": [0.1, 0.2]}),
    }
    for name, frame in pools.items():
        frame.to_csv(place / f"{name}.csv", index=False)
    (place / "costs.csv").write_text("true,a,b,c\na,0,1,2\nb,-1,0,1\nc,1,1,0\n")
    fl.assess(fl.Predictions.read(place / "pool.csv"), prior=fl.flat()).to_json(place / "earlier.json")
    return place


def read_strictly(text: str) -> Any:
    """JSON knows no NaN."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


def check(verb: str, plain: Any) -> None:
    found = [f"{list(error.instance_path)}: {error.message}" for error in VALIDATORS[verb].iter_errors(plain)]
    assert found == []


VALIDATORS = {verb: jsonschema_rs.Draft202012Validator(fl.schema(verb)) for verb in SCHEMAS}


@pytest.mark.parametrize(("verb", "words"), CALLS, ids=[f"{verb} {words}" for verb, words in CALLS])
def test_what_a_verb_writes_has_its_shape(type_in: Type, folder: Path, monkeypatch, verb: str, words: str) -> None:
    monkeypatch.chdir(folder)
    typed = type_in(verb, *words.split(), "--json", "-")
    assert typed.code == 0 or verb == "doctor", typed.err
    check(verb, read_strictly(typed.out))


GOALS = {
    "estimate": "--goal estimate", "find-worst": "--goal find-worst --by sex", "compare": "--goal compare --groups f,m --by sex",
    "votes": "--goal estimate --by sex --votes 2", "finite": "--goal explore --finite-pool --prior flat",
    "recall": "--goal estimate --metric recall --by predicted",
}  # fmt: skip


@pytest.mark.parametrize("goal", GOALS)
def test_sessions_write_their_shapes(type_in: Type, folder: Path, tmp_path: Path, goal: str) -> None:
    db, words = tmp_path / "s.db", GOALS[goal].split()
    for who in ("kim", "lee"):
        typed = type_in("ask", folder / "unlabelled.csv", "--session", db, "-n", 6, "--as", who, *words, "--json", "-")
        assert typed.code == 0, typed.err
        asked = read_strictly(typed.out)
        check("ask", asked)
        check("status", read_strictly(type_in("status", "--session", db, "--json", "-").out))
        answers = [f"{item['id']}={'ab'[i % 2] if who == 'kim' else 'a'}" for i, item in enumerate(asked["items"])]
        assert type_in("tell", *answers[:-1], f"{asked['items'][-1]['id']}=", "--session", db, "--as", who).code == 0
        words = []
    check("status", read_strictly(type_in("status", "--session", db, "--json", "-").out))
    with fl.Session.open(db, read_only=True) as session:
        check("assess", read_strictly(session.assess().to_json()))
    for option in ([], ["--pending"], ["--votes"], ["--disputes"]):
        type_in("export", "--session", db, "--out", tmp_path / f"{option}.jsonl", *option)
        for line in (tmp_path / f"{option}.jsonl").read_text().splitlines():
            check("export", read_strictly(line))


def test_the_verb_prints_what_the_library_returns(type_in: Type, tmp_path: Path) -> None:
    assert type_in("schema").out.split() == list(SCHEMAS)
    for verb in SCHEMAS:
        assert json.loads(type_in("schema", verb).out) == fl.schema(verb)
    type_in("schema", "assess", "--out", tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text()) == fl.schema("assess")
    typed = type_in("schema", "asess")
    assert typed.code == 1
    assert "did you mean 'assess'" in typed.err


def test_a_wrong_document_is_refused_by_the_schema() -> None:
    plain = json.loads(fl.assess(make_pool(0), prior=fl.flat()).to_json())
    for change in ({"level": 1.5}, {"n_items": -1}, {"overall": {"mean": 0.5}}, {"surplus": 1}, {"groups": None}):
        assert not VALIDATORS["assess"].is_valid(plain | change)
    del plain["warnings"]
    assert not VALIDATORS["assess"].is_valid(plain)


def test_help_loads_neither_numpy_nor_pydantic() -> None:
    code = (
        "import sys\nfrom fewlabels.cli.app import app\napp(['--help'])\n"
        "print([name for name in ('numpy', 'pydantic', 'pandas', 'duckdb') if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
