"""Active labelling on the command line: ask, tell, status, export, import, and labelling through a pipe."""

import csv
import io
import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import Typed
from makers import drop_provenance

import fewlabels as fl
from fewlabels.sessions.exchange.sheet_reader import read_sheet
from fewlabels.sessions.exchange.sheets import make_form_rows, render_sheet
from fewlabels.text import unescape_formula

Type = Callable[..., Typed]
NASTY = ["007", "7", "a,b", 'say "hi"', "two\nlines", "crlf\r\nid", "cr\rid", "Ünïcødé 東京", "a=b", "=1+1", " padded ",
         "-5", "'", "tab\tid", "null", "NaN", "1e3", "ü" * 300, "\\n", "#", "\x1b[31m"]  # fmt: skip


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unlabelled predictions of three classes with a text to read, and a session in which five items were asked."""
    folder = tmp_path_factory.mktemp("originals")
    rng = np.random.default_rng(0)
    n = 90
    predicted = rng.choice(["cat", "dog", "emu"], n)
    frame = pd.DataFrame({"id": range(n), "predicted": predicted, "score": rng.uniform(0.5, 1, n).round(3)})
    frame["text"] = [f"animal number {i}" for i in range(n)]
    frame["site"] = rng.choice(["north", "south"], n)
    frame.to_csv(folder / "preds.csv", index=False)
    with fl.Session.create(folder / "s.db", folder / "preds.csv", goal=fl.FindWorst()) as session:
        session.ask(5)
    return folder


@pytest.fixture
def file(originals: Path, tmp_path: Path) -> Path:
    """The predictions."""
    return Path(shutil.copy(originals / "preds.csv", tmp_path))


@pytest.fixture
def session(originals: Path, tmp_path: Path) -> Path:
    """The session."""
    return Path(shutil.copy(originals / "s.db", tmp_path))


def ask(type_in: Type, *words: object) -> list[object]:
    typed = type_in("ask", *words, "--json", "-")
    assert typed.code == 0, typed.err
    return [item["id"] for item in json.loads(typed.out)["items"]]


def answers(db: Path) -> list[dict[str, object]]:
    with fl.Session.open(db, read_only=True) as session:
        return session.answers()


def answers_of(db: Path) -> dict[object, object]:
    return {row["id"]: row["label"] for row in answers(db)}


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


class TestTheLoop:
    def test_ask_tell_status_export_assess(self, type_in: Type, file: Path, session: Path, tmp_path: Path) -> None:
        first = ask(type_in, "--session", session)
        assert first == ask(type_in, file, "--session", session, "-n", 5)
        told = type_in("tell", "--session", session, *(f"{i}=cat" for i in first[:4]), f"{first[4]}=", "--note", "dark")
        assert told.code == 0
        assert f"kept: {first[0]}: cat" in told.out
        assert f"kept: {first[4]}: cannot tell" in told.out
        assert "so far: the worst by accuracy is" in told.out
        found = json.loads(type_in("status", "--session", session, "--json", "-").out)
        with fl.Session.open(session) as same:
            assert drop_provenance(found) == drop_provenance(json.loads(json.dumps(same.status())))
        assert (found["n_items"], found["n_labels"], found["n_skipped"], found["n_pending"]) == (90, 4, 1, 0)
        labels = tmp_path / "labels.csv"
        assert "written" in type_in("export", "--session", session, "--out", labels).err
        exported = rows(labels.read_text())
        assert [row["id"] for row in exported] == [str(i) for i in first]
        assert [row["label"] for row in exported] == ["cat"] * 4 + ["?"]
        assert {row["asked"] for row in exported} == {"true"}
        assert {row["note"] for row in exported} == {"dark"}
        assert json.loads(type_in("assess", file, "--labels", labels, "--json", "-").out)["n_labels"] == 4

    def test_the_answers_are_those_of_the_library(self, type_in: Type, file: Path, tmp_path: Path) -> None:
        same = fl.Session.create(None, fl.Predictions.read(file), goal=fl.FindWorst())
        session = tmp_path / "s.db"
        for _ in range(3):
            ids = ask(type_in, file, "--session", session, "--goal", "find-worst", "-n", 4)
            assert ids == same.ask(4)
            same.tell(dict.fromkeys(ids, "dog"))
            type_in("tell", "--session", session, *(f"{i}=dog" for i in ids))
        assert (
            json.loads(type_in("status", "--session", session, "--json", "-").out)["answer"] == same.status()["answer"]
        )

    def test_what_it_says_to_type_works(self, type_in: Type, file: Path, session: Path) -> None:
        said = type_in("ask", file, "--session", session).out
        line = re.search(r"\$ fewlabels (tell .*?) …", said)[1].replace("LABEL", "cat")
        assert type_in(*shlex.split(line)).code == 0
        line = re.search(r"\$ fewlabels (ask .*?)   ", type_in("status", "--session", session).out)[1]
        assert type_in(*shlex.split(line)).code == 0

    def test_people_with_different_names_get_different_items(self, type_in: Type, session: Path) -> None:
        kim, lee = (set(ask(type_in, "--session", session, "--as", name)) for name in ("kim", "lee"))
        assert len(kim | lee) == 10
        one = min(kim)
        type_in("tell", "--session", session, "--as", "kim", f"{one}=cat")
        wrong = type_in("tell", "--session", session, "--as", "lee", "--undo")
        assert wrong.code == 1
        assert "no answer of 'lee' to undo" in wrong.err
        assert f"undone: {one}: cat" in type_in("tell", "--session", session, "--as", "kim", "--undo").out
        assert ask(type_in, "--session", session, "--as", "kim", "-n", 1) == [one]

    def test_a_correction_is_shown_as_one(self, type_in: Type, session: Path) -> None:
        [one] = ask(type_in, "--session", session, "-n", 1)
        type_in("tell", "--session", session, f"{one}=cat")
        assert f"kept: {one}: dog (before: cat)" in type_in("tell", "--session", session, f"{one}=dog").out

    def test_an_unasked_answer_is_marked(self, type_in: Type, session: Path) -> None:
        asked = ask(type_in, "--session", session)
        other = next(i for i in range(90) if i not in asked)
        assert "not asked for" in type_in("tell", "--session", session, f"{other}=cat").out
        assert "not asked for" in type_in("status", "--session", session).out

    def test_a_settled_session_says_so(self, type_in: Type, file: Path, tmp_path: Path) -> None:
        db = tmp_path / "w.db"
        for i in ask(type_in, file, "--session", db, "--by", "all", "--target-width", 0.9, "-n", 3):
            said = type_in("tell", "--session", db, f"{i}=cat").out
        assert "settled: you can stop" in said
        assert "fewlabels export" in type_in("status", "--session", db).out

    def test_the_end_of_the_pool_is_said(self, type_in: Type, tmp_path: Path) -> None:
        (tmp_path / "p.csv").write_text("id,predicted\n1,a\n2,b\n")
        db = tmp_path / "s.db"
        assert sorted(ask(type_in, tmp_path / "p.csv", "--session", db)) == [1, 2]
        assert sorted(ask(type_in, "--session", db, "--as", "lee")) == [1, 2]  # rather than nothing
        type_in("tell", "--session", db, "1=a", "2=a")
        said = type_in("ask", "--session", db)
        assert (said.code, said.out.startswith("nothing is left to ask: every useful item")) == (0, True)
        assert ask(type_in, "--session", db) == []

    def test_fewer_than_were_asked_for_is_said(self, type_in: Type, session: Path) -> None:
        assert type_in("ask", "--session", session, "-n", 90).err == ""
        typed = type_in("ask", "--session", session, "-n", 10_000, "--json", "-")
        assert len(json.loads(typed.out)["items"]) == 90
        assert typed.err == "90 items instead of 10,000: no more are left to ask\n"

    def test_who_labels_is_not_told_how_far_the_goal_is(self, type_in: Type, file: Path, tmp_path: Path) -> None:
        words = ("ask", file, "--session", tmp_path / "w.db", "--target-width", 0.01)
        assert (type_in(*words, "--json", "-").err, type_in(*words).err) == ("", "")
        assert "cannot be predicted yet" in type_in("status", "--session", tmp_path / "w.db").out

    def test_nothing_is_the_worst_before_any_label(self, type_in: Type, file: Path, tmp_path: Path) -> None:
        for prior, said in (("flat", "yet\n"), ("scores", "yet; from the prior alone, the worst by accuracy is ")):
            db = tmp_path / f"{prior}.db"
            [one] = ask(type_in, file, "--session", db, "--goal", "find-worst", "--prior", prior, "-n", 1)
            assert f"so far: nothing is labelled {said}" in type_in("status", "--session", db).out
            assert "so far: nothing is labelled yet" in type_in("tell", "--session", db, f"{one}=").out
            assert "so far: the worst by accuracy is " in type_in("tell", "--session", db, f"{one}=cat").out

    def test_the_same_words_are_never_a_change(self, type_in: Type, tmp_path: Path) -> None:
        pool = tmp_path / "p.csv"  # three scores, so that ten bins of equal mass are four
        pool.write_text("id,predicted,score\n" + "".join(f"{i},{'ab'[i % 2]},0.{5 + 2 * (i % 3)}\n" for i in range(60)))
        for bins, other in (("equal-mass:10", "10"), ("7", "10")):
            words = ("ask", pool, "--session", tmp_path / f"{bins[:2]}.db", "--metric", "ece", "--bins")
            assert [type_in(*words, bins).code for _ in range(2)] == [0, 0]
            assert "created with other --bins" in type_in(*words, other).err
        bare = tmp_path / "bare.csv"
        bare.write_text("id,predicted\n1,a\n2,b\n")
        assert [type_in("ask", bare, "--session", tmp_path / "b.db", "--bins", 5).code for _ in range(2)] == [0, 0]

    def test_whoever_comes_second_goes_on(
        self, type_in: Type, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        db, create = tmp_path / "s.db", fl.Session.create

        def lose(path: str, *words: object, **more: object) -> fl.Session:
            create(path, *words, **more).close()  # another process was quicker
            return create(path, *words, **more)

        monkeypatch.setattr(fl.Session, "create", lose)
        assert len(ask(type_in, file, "--session", db, "--goal", "find-worst", "-n", 2)) == 2
        db.unlink()
        monkeypatch.setattr(fl.Session, "create", lambda path, pool, **_: lose(path, pool, goal=fl.Estimate()))
        typed = type_in("ask", file, "--session", db, "--goal", "find-worst")
        assert "created with --goal estimate" in typed.err

    def test_every_goal_starts(self, type_in: Type, file: Path, tmp_path: Path) -> None:
        costs = tmp_path / "c.csv"
        costs.write_text("true,cat,dog,emu\ncat,0,1,9\ndog,1,0,9\nemu,1,1,0\n")
        goals = {
            "estimate": "--goal estimate --by site --metric ece --bins 5 --prior scores --strength 4 --level 0.9",
            "find-best": "--goal find-best --m 2 --rope 0.01 --confidence 0.9 --policy multi-play --finite-pool",
            "find-worst": f"--goal find-worst --metric cost --cost {costs} --seed 3",
            "compare": '--goal compare --groups cat,"dog" --rope 0.1 --policy top-two --classes yak,gnu',
        }
        for name, words in goals.items():
            db = tmp_path / f"{name}.db"
            ids = ask(type_in, file, "--session", db, *shlex.split(words))
            assert json.loads(type_in("status", "--session", db, "--json", "-").out)["goal"] == name
            assert ask(type_in, file, "--session", db, *shlex.split(words)) == ids  # saying the same again is no change

    def test_hidden_labels_are_not_counted_and_not_shown(self, type_in: Type, tmp_path: Path) -> None:
        (tmp_path / "p.csv").write_text("id,predicted,label,text\n1,a,a,x\n2,b,b,y\n")
        assert "--hide-labels" in type_in("ask", tmp_path / "p.csv", "--session", tmp_path / "s.db").err
        typed = type_in("ask", tmp_path / "p.csv", "--session", tmp_path / "s.db", "--hide-labels", "--json", "-")
        assert {tuple(item["show"]) for item in json.loads(typed.out)["items"]} == {("text",)}
        assert type_in("ask", tmp_path / "p.csv", "--session", tmp_path / "s.db", "--hide-labels").code == 0

    def test_grades_go_all_the_way(self, type_in: Type, tmp_path: Path) -> None:
        pool, db, out = tmp_path / "g.parquet", tmp_path / "g.db", tmp_path / "g.csv"
        frame = pd.DataFrame({"id": range(6), "predicted": [f"t{i}" for i in range(6)], "source": "s"})
        frame.assign(agreement=pd.array([None] * 6, dtype="Float64")).to_parquet(pool)
        typed = type_in("ask", pool, "--session", db, "--by", "all", "-n", 2, "--json", "-")
        items = json.loads(typed.out)["items"]
        assert items[0]["show"] == {"predicted": f"t{items[0]['id']}", "source": "s"}  # one cannot grade unseen
        assert type_in("tell", "--session", db, f"{items[0]['id']}=0.25", f"{items[1]['id']}=0.75").code == 0
        assert "no grade" in type_in("tell", "--session", db, f"{items[0]['id']}=cat").err
        type_in("export", "--session", db, "--out", out)
        found = json.loads(type_in("assess", pool, "--labels", out, "--by", "all", "--json", "-").out)
        assert (found["n_labels"], found["overall"]["mean"]) == (2, pytest.approx(0.5, abs=0.01))
        assert "2 unchanged" in type_in("import", out, "--session", db).out


class TestNames:
    def test_ids_may_be_written_as_in_the_table(self, type_in: Type, tmp_path: Path) -> None:
        pool, db, sheet = tmp_path / "p.csv", tmp_path / "s.db", tmp_path / "a.csv"
        pool.write_text("id,predicted\n1.0,x\n2.0,y\n3.0,y\n")
        ask(type_in, pool, "--session", db)
        assert "kept: 2: x" in type_in("tell", "--session", db, "2.0=x").out
        sheet.write_text("id,label\n1.0,x\n3.0,y\n")
        assert "2 new answers" in type_in("import", sheet, "--session", db).out
        sheet.write_text("id,label\n1.0,x\n1,y\n")
        assert "lines 2 and 3, column label: item '1' has two answers" in type_in("import", sheet, "--session", db).err
        assert "item '2' has two answers" in type_in("tell", "--session", db, "2.0=x", "2=y").err

    def test_flags_may_be_written_in_any_way(
        self, type_in: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pool, db, sheet = tmp_path / "p.csv", tmp_path / "s.db", tmp_path / "a.jsonl"
        pool.write_text("id,predicted\n1,True\n2,False\n3,True\n4,False\n")
        ask(type_in, pool, "--session", db)
        assert "kept: 1: True" in type_in("tell", "--session", db, "1=true").out
        sheet.write_text('{"id": 2, "label": false}\n{"id": 3, "label": "TRUE"}\n')
        assert type_in("import", sheet, "--session", db).code == 0
        monkeypatch.setattr(sys, "stdin", io.StringIO("0\n"))
        assert type_in("label", pool, "--session", db, "--terminal").code == 0
        assert {row["id"]: row["label"] for row in answers(db)} == {1: "True", 2: "False", 3: "True", 4: "False"}

    def test_a_hole_in_json_is_no_answer(self, type_in: Type, session: Path, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_text(f'{{"id": {ask(type_in, "--session", session)[0]}, "label": NaN}}\n')
        assert "1 row without a label" in type_in("import", tmp_path / "a.jsonl", "--session", session).out


class TestExports:
    @pytest.mark.parametrize("ending", ["csv", "jsonl"])
    def test_what_was_not_asked_for_counts_nowhere_and_comes_back_whole(
        self, type_in: Type, file: Path, session: Path, tmp_path: Path, ending: str
    ) -> None:
        asked = ask(type_in, "--session", session)
        others = [i for i in range(90) if i not in asked][:20]
        type_in(
            "tell",
            "--session",
            session,
            *(f"{i}=dog" for i in asked[:4]),
            f"{asked[4]}=",
            *(f"{i}=cat" for i in others),
        )
        labels = tmp_path / f"labels.{ending}"
        type_in("export", "--session", session, "--out", labels)
        typed = type_in("assess", file, "--labels", labels, "--json", "-")
        assert json.loads(typed.out)["n_labels"] == 4
        assert "warning: labels that were not asked for: 20; they are left out of every estimate" in typed.err
        with fl.Session.open(session) as same:
            assert json.loads(typed.out)["overall"] == pytest.approx(same.assess().to_dict()["overall"])
        again = tmp_path / "again.db"
        ask(type_in, file, "--session", again, "--goal", "find-worst")
        assert "25 new answers" in type_in("import", labels, "--session", again).out
        assert answers_of(again) == answers_of(session)
        assert [i for i, label in answers_of(again).items() if label is None] == [asked[4]]

    @pytest.mark.parametrize("ending", ["csv", "jsonl"])
    def test_grades_that_nobody_could_give(self, type_in: Type, tmp_path: Path, ending: str) -> None:
        pool, db, labels = tmp_path / "g.parquet", tmp_path / "g.db", tmp_path / f"g.{ending}"
        frame = pd.DataFrame({"id": range(6), "output": "o", "agreement": pd.array([None] * 6, dtype="Float64")})
        frame.to_parquet(pool)
        ask(type_in, pool, "--session", db, "--by", "all")
        type_in("tell", "--session", db, *(f"{i}=" for i in range(3)), "3=0.250", "4=0.75", "5=1")
        type_in("export", "--session", db, "--out", labels)
        found = json.loads(type_in("assess", pool, "--labels", labels, "--by", "all", "--json", "-").out)
        asked = sum(row["asked"] and row["label"] is not None for row in answers(db))
        assert found["n_labels"] == asked > 0
        assert "6 unchanged" in type_in("import", labels, "--session", db).out

    def test_a_class_called_like_the_mark_keeps_its_name(self, type_in: Type, tmp_path: Path) -> None:
        (tmp_path / "p.csv").write_text("id,predicted\n1,?\n2,a\n")
        ask(type_in, tmp_path / "p.csv", "--session", tmp_path / "s.db")
        type_in("tell", "--session", tmp_path / "s.db", "1=?", "2=")
        exported = rows(type_in("export", "--session", tmp_path / "s.db").out)
        assert {row["id"]: row["label"] for row in exported} == {"1": "?", "2": ""}


class TestWhatIsShown:
    def test_the_prediction_is_shown_only_when_asked_for(self, type_in: Type, file: Path, tmp_path: Path) -> None:
        db = tmp_path / "s.db"
        shown = json.loads(type_in("ask", file, "--session", db, "--json", "-").out)["items"][0]["show"]
        assert set(shown) == {"text", "site"}
        typed = type_in("ask", file, "--session", db, "--show", "text,predicted", "--show", "site", "--json", "-")
        assert list(json.loads(typed.out)["items"][0]["show"]) == ["text", "predicted", "site"]

    def test_columns_that_tell_are_kept_back(self, type_in: Type, tmp_path: Path) -> None:
        head = "id,predicted,score_b,Pred_old,p_x,truth,y_hat,text,place,problem,year\n"
        (tmp_path / "p.csv").write_text(head + "1,a,0.1,a,2,a,a,hello,here,x,1\n2,b,0.1,a,2,a,a,hello,here,x,1\n")
        shown = json.loads(type_in("ask", tmp_path / "p.csv", "--session", tmp_path / "s.db", "--json", "-").out)
        assert set(shown["items"][0]["show"]) == {"text", "place", "problem", "year"}

    def test_nothing_in_an_item_is_obeyed(self, type_in: Type, tmp_path: Path) -> None:
        evil = "\x1b[2J\x1b]0;owned\x07 [bold]markup[/] \x9b31m \u202e"
        frame = pd.DataFrame({"id": [evil, "2"], "predicted": [evil, "b"], "text": [evil, "fine"], evil: "x"})
        frame.to_parquet(tmp_path / "p.parquet")
        db = tmp_path / "s.db"
        said = [
            type_in("ask", tmp_path / "p.parquet", "--session", db),
            type_in("tell", "--session", db, f"{evil}={evil}", "2=", "--note", evil, "--as", evil),
            type_in("status", "--session", db),
            type_in("tell", "--session", db, "--undo", "--as", evil),
        ]
        assert [typed.code for typed in said] == [0, 0, 0, 0]
        text = "".join(typed.out + typed.err for typed in said)
        assert not set("\x1b\x07\x9b\u202e") & set(text)
        assert "␛[2J␛]0;owned␇ [bold]markup[/]" in text

    def test_long_texts_are_cut_with_a_note(self, type_in: Type, tmp_path: Path) -> None:
        pd.DataFrame({"id": [1, 2], "predicted": ["a", "b"], "text": "word " * 50_000}).to_parquet(
            tmp_path / "p.parquet"
        )
        said = type_in("ask", tmp_path / "p.parquet", "--session", tmp_path / "s.db", "-n", 1).out
        assert len(said.splitlines()) < 20
        assert re.search(r"… \d{3},\d{3} more characters", said)


class TestSheets:
    @pytest.mark.parametrize("ending", ["csv", "jsonl"])
    def test_nasty_ids_and_texts_survive_the_round_trip(self, type_in: Type, tmp_path: Path, ending: str) -> None:
        pool, db, sheet = tmp_path / "p.parquet", tmp_path / "s.db", tmp_path / f"sheet.{ending}"
        frame = pd.DataFrame({"id": NASTY, "predicted": ["a", "b\nc", "?"] * 7, "text": NASTY[::-1]})
        frame.to_parquet(pool)
        assert type_in("ask", pool, "--session", db, "-n", 99, "--out", sheet).code == 0
        said = dict(zip(frame["id"], frame["predicted"], strict=True))
        fill_in(sheet, lambda row: said[unescape_formula(row["id"])], ending)
        assert "21 new answers" in type_in("import", sheet, "--session", db).out
        got = {row["id"]: row["label"] for row in answers(db)}
        assert got == dict(zip(frame["id"], frame["predicted"], strict=True))
        labels = tmp_path / f"labels.{ending}"
        type_in("export", "--session", db, "--out", labels)
        assert {line.id: line.label for line in read_sheet(str(labels))} == got
        assert "21 unchanged" in type_in("import", labels, "--session", db).out

    def test_nasty_ids_can_be_told(self, type_in: Type, tmp_path: Path) -> None:
        pd.DataFrame({"id": NASTY, "predicted": "x=y"}).to_parquet(tmp_path / "p.parquet")
        db = tmp_path / "s.db"
        ask(type_in, tmp_path / "p.parquet", "--session", db, "-n", 99)
        assert type_in("tell", *(f"{i}=x=y" for i in NASTY), "--session", db).code == 0
        assert {row["id"] for row in answers(db)} == set(NASTY)

    def test_no_cell_is_a_formula_and_all_come_back(self, type_in: Type, tmp_path: Path) -> None:
        pool, db, sheet = tmp_path / "p.parquet", tmp_path / "s.db", tmp_path / "sheet.csv"
        ids = ["=cmd|' /C calc'!A0", "@SUM(1)", "+1;=2", "-x", "\t=1", "\r=1", "\n=1", "'=1", "''@", "-1", "'", "=1"]
        classes = ["=a", "-1", "+b"] * 4
        frame = pd.DataFrame({"id": ids, "predicted": classes, "=text": ids[::-1]})
        frame.to_parquet(pool)
        type_in("ask", pool, "--session", db, "-n", 99, "--out", sheet)
        type_in("tell", "--session", db, *(f"{i}={c}" for i, c in zip(ids, classes, strict=True)))
        labels = tmp_path / "labels.csv"
        type_in("export", "--session", db, "--out", labels)
        for file in (sheet, labels):
            cells = [cell for row in csv.reader(io.StringIO(file.read_text(), newline="")) for cell in row]
            assert [cell for cell in cells if cell[:1] in set("=+-@\t\r\n")] == ["-1"] * cells.count("-1")
        assert {line.id: line.label for line in read_sheet(str(labels))} == dict(zip(ids, classes, strict=True))
        assert "12 unchanged" in type_in("import", labels, "--session", db).out
        found = json.loads(type_in("assess", pool, "--labels", labels, "--json", "-").out)
        assert found["n_labels"] == 12
        assert found["overall"]["mean"] > 0.8

    def test_ids_of_others_keep_their_apostrophe(self, type_in: Type, tmp_path: Path) -> None:
        frame = pd.DataFrame({"id": ["'-a", "'-b"], "predicted": ["x", "y"], "label": ["x", "y"]})
        frame[["id", "predicted"]].to_csv(tmp_path / "p.csv", index=False)
        frame[["id", "label"]].to_csv(tmp_path / "l.csv", index=False)
        typed = type_in("assess", tmp_path / "p.csv", "--labels", tmp_path / "l.csv", "--json", "-")
        assert json.loads(typed.out)["n_labels"] == 2

    def test_leading_zeros_reach_assess(self, type_in: Type, tmp_path: Path) -> None:
        pool, db, labels = tmp_path / "p.parquet", tmp_path / "s.db", tmp_path / "l.csv"
        pd.DataFrame({"id": [f"{i:04d}" for i in range(20)], "predicted": "a"}).to_parquet(pool)
        type_in("tell", "--session", db, *(f"{i}=a" for i in ask(type_in, pool, "--session", db)))
        type_in("export", "--session", db, "--out", labels)
        assert json.loads(type_in("assess", pool, "--labels", labels, "--json", "-").out)["n_labels"] == 5

    def test_a_sheet_shows_what_there_is_to_see(self, type_in: Type, file: Path, session: Path, tmp_path: Path) -> None:
        sheet = tmp_path / "sheet.csv"
        said = type_in("ask", file, "--session", session, "--out", sheet)
        assert f"$ fewlabels import {sheet} --session {session}" in said.out
        head, *_ = sheet.read_text().splitlines()
        assert head == "id,text,site,label"
        assert type_in("ask", file, "--session", session, "--out", "-").out == sheet.read_text()
        assert type_in("export", "--session", session, "--pending").out.splitlines()[0] == "id,label"

    def test_columns_called_like_ours_keep_out_of_the_way(self) -> None:
        rows, columns = make_form_rows({1: {"label": "x", "id": 9}})
        assert columns == ["id", "label (shown)", "id (shown)", "label"]
        assert render_sheet(rows, columns, "csv").splitlines()[1] == "1,x,9,"

    @pytest.mark.parametrize(
        "sheet", ["id;label\n{0};cat\n", "\ufeffLabel,ID\ncat,{0}\n\n", "id\tlabel\r\n{0}\tcat \r\n"]
    )
    def test_what_spreadsheets_make_of_it_can_be_read(
        self, type_in: Type, session: Path, tmp_path: Path, sheet: str
    ) -> None:
        [one] = ask(type_in, "--session", session, "-n", 1)
        (tmp_path / "a.csv").write_bytes(sheet.format(one).encode())
        assert "1 new answer," in type_in("import", tmp_path / "a.csv", "--session", session).out

    def test_import_counts_new_changed_unchanged_unasked_and_open(
        self, type_in: Type, session: Path, tmp_path: Path
    ) -> None:
        a, b, c, d, e = ask(type_in, "--session", session)
        type_in("tell", "--session", session, f"{a}=cat", f"{b}=cat")
        other = next(i for i in range(90) if i not in (a, b, c, d, e))
        sheet = tmp_path / "a.csv"
        sheet.write_text(f"id,label\n{a},cat\n{b},dog\n{c},emu\n{d},?\n{e},\n{other},cat\n{a},\n")
        said = type_in("import", sheet, "--session", session, "--as", "kim")
        assert "3 new answers, 1 changed, 1 unchanged; 1 of them not asked for" in said.out
        assert "1 row without a label" in said.out
        found = {row["id"]: (row["label"], row["who"]) for row in answers(session)}
        assert found == {a: ("cat", ""), b: ("dog", "kim"), c: ("emu", "kim"), d: (None, "kim"), other: ("cat", "kim")}
        n_events = len(answers(session))
        assert "0 new answers, 0 changed, 5 unchanged" in type_in("import", sheet, "--session", session).out
        assert len(answers(session)) == n_events

    def test_a_word_for_cannot_tell_and_new_classes(self, type_in: Type, session: Path, tmp_path: Path) -> None:
        a, b, *_ = ask(type_in, "--session", session)
        (tmp_path / "a.jsonl").write_text(f'{{"id": {a}, "label": "unclear"}}\n{{"id": "{b}", "label": "yak"}}\n')
        words = ("import", tmp_path / "a.jsonl", "--session", session, "--cannot-tell", "unclear")
        assert type_in(*words).code == 1
        assert type_in(*words, "--new-classes").code == 0
        assert [row["label"] for row in answers(session)] == [None, "yak"]

    def test_a_filled_sheet_is_not_written_over(self, type_in: Type, file: Path, session: Path, tmp_path: Path) -> None:
        sheet = tmp_path / "sheet.csv"
        type_in("ask", file, "--session", session, "--out", sheet)
        type_in("ask", file, "--session", session, "--out", sheet)  # an empty one may be
        fill_in(sheet, lambda _: "cat", "csv")
        kept = sheet.read_text()
        for words in (("ask", file), ("export", "--pending")):
            typed = type_in(*words, "--session", session, "--out", sheet)
            assert typed.code == 1
            assert "5 answers not in the session yet" in typed.err
            assert sheet.read_text() == kept
        type_in("import", sheet, "--session", session)
        assert type_in("ask", file, "--session", session, "--out", sheet).code == 0

    def test_only_what_fewlabels_wrote_is_written_over(self, type_in: Type, session: Path, tmp_path: Path) -> None:
        type_in("tell", "--session", session, f"{ask(type_in, '--session', session)[0]}=cat")
        for ending, foreign in (("csv", "id,label\n1,cat\n"), ("jsonl", '{"id": 1}\n'), ("jsonl", "3"), ("jsonl", "x")):
            out = tmp_path / f"labels.{ending}"
            out.write_text(foreign)
            assert "not an export of answers" in type_in("export", "--session", session, "--out", out).err
            assert out.read_text() == foreign
            out.unlink()
            assert [type_in("export", "--session", session, "--out", out).code for _ in range(2)] == [0, 0]
        sheet = tmp_path / "sheet.csv"
        sheet.write_text("id,label\n999,\n")
        typed = type_in("ask", "--session", session, "--out", sheet)
        assert "contains items that this session never asked for" in typed.err


BAD_SHEETS = {
    "no such class": ("id,label\n{0},cat\n{1},catt\n", "line 3, column label: 'catt'"),
    "no such item": ("id,label\n{0},cat\n999,cat\n", "line 3, column id: no item"),
    "two answers": ("id,label\n{0},cat\n{1},cat\n{0},dog\n", "lines 2 and 4, column label: item '{0}' has two answers"),
    "no label": ("id,lable\n{0},cat\n", "line 1: no column called label"),
    "no id": ("item,label\n{0},cat\n", "line 1: no column called id"),
    "two labels": ("id,label,label\n{0},cat,dog\n", "more than one column called label"),
    "too many values": ("id,label\n{0},cat,dog\n", "line 2: 3 values for 2 columns"),
    "no id in a row": ("id,label\n{0},cat\n,dog\n", "line 3, column id: it is empty"),
    "quotes": ('id,label\n{0},"cat\n', "not CSV"),
    "nothing": ("", "is empty"),
}
BAD_LINES = {
    "not json": ('{{"id": {0}, "label": "cat"}}\n{{"id": 1,\n', "line 2: not JSON"),
    "no object": ("[1, 2]\n", "line 1, column id"),
    "no id": ('{{"label": "cat"}}\n', "line 1, column id"),
    "no label": ('{{"id": {0}}}\n', "line 1, column label"),
    "a list": ('{{"id": {0}, "label": ["cat"]}}\n', "line 1, column label"),
    "no such class": ('\n{{"id": {0}, "label": 3}}\n', "line 2, column label: '3'"),
}
CASES = [("csv", *case) for case in BAD_SHEETS.values()] + [("jsonl", *case) for case in BAD_LINES.values()]


@pytest.mark.parametrize(("ending", "text", "says"), CASES, ids=[*BAD_SHEETS, *BAD_LINES])
def test_a_bad_sheet_is_refused_whole(
    type_in: Type, session: Path, tmp_path: Path, ending: str, text: str, says: str
) -> None:
    ids = ask(type_in, "--session", session)
    sheet = tmp_path / f"a.{ending}"
    sheet.write_text(text.format(*ids))
    typed = type_in("import", sheet, "--session", session)
    assert (typed.code, len(typed.err.splitlines())) == (1, 1)
    assert f"{sheet}" in typed.err
    assert says.format(*ids) in typed.err
    assert answers(session) == []


def test_a_sheet_in_another_encoding_is_refused(type_in: Type, session: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("id,label\n1,cat\n2,émeu\n".encode("latin-1"))
    assert "line 3: this is not UTF-8" in type_in("import", tmp_path / "a.csv", "--session", session).err


WRONG = {
    "no session": (["ask", "{file}"], "--session is missing"),
    "no session to go on with": (["ask", "--session", "{new}"], "fewlabels ask PREDICTIONS --session"),
    "status of nothing": (["status", "--session", "{new}"], "no such session"),
    "the session as a word": (["status", "{db}"], "--session is missing"),
    "predictions as a session": (["status", "--session", "{file}"], "not a session of fewlabels"),
    "no such file": (["ask", "nothing.csv", "--session", "{new}"], "no such file"),
    "no items": (["ask", "{file}", "--session", "{new}", "-n", "0"], "n must be at least 1, got 0"),
    "no such goal": (["ask", "{file}", "--session", "{new}", "--goal", "find-wurst"], "did you mean 'find-worst'"),
    "no such policy": (["ask", "{file}", "--session", "{new}", "--policy", "tomson"], "did you mean 'thompson'"),
    "no such column": (["ask", "{file}", "--session", "{new}", "--show", "texd"], "did you mean 'text'"),
    "no such group": (
        ["ask", "{file}", "--session", "{new}", "--goal", "compare", "--groups", "cat,dgo"],
        "there is no group 'dgo'; did you mean 'dog'",
    ),
    "no groups": (["ask", "{file}", "--session", "{new}", "--goal", "compare"], "--groups human,trees"),
    "an option of another goal": (
        ["ask", "{file}", "--session", "{new}", "--m", "2"],
        "--m needs --goal find-worst or find-best, not estimate",
    ),
    "no positive class": (["ask", "{file}", "--session", "{new}", "--metric", "tpr", "--by", "all"], "--positive"),
    "mcc of a class": (["ask", "{file}", "--session", "{new}", "--metric", "mcc"], "use --by all"),
    "a width of nothing": (["ask", "{file}", "--session", "{new}", "--target-width", "0"], "cannot be reached"),
    "columns without a file": (["ask", "--session", "{db}", "--show", "text"], "need a file of predictions"),
    "other predictions": (["ask", "{other}", "--session", "{db}"], "was made from other predictions"),
    "an unknown sheet": (
        ["ask", "{file}", "--session", "{new}", "--out", "s.txt"],
        "unknown format; the suffix must be",
    ),
    "a sheet over predictions": (["ask", "{file}", "--session", "{new}", "--out", "{file}"], "is what is being read"),
    "a sheet over others": (
        ["ask", "{file}", "--session", "{new}", "--out", "{other}"],
        "was not written by fewlabels",
    ),
    "json over the session": (["status", "--session", "{db}", "--json", "{db}"], "is what is being read"),
    "json over a session": (["ask", "{file}", "--session", "{new}", "--json", "{db}"], "perhaps a session"),
    "answers over predictions": (["export", "--session", "{db}", "--out", "{file}"], "not an export of answers"),
    "answers nowhere": (["export", "--session", "{db}", "--out", "no/such/a.csv"], "there is no such folder"),
    "answers in a folder": (["export", "--session", "{db}", "--out", "{folder}"], "unknown format; the suffix must be"),
    "nothing told": (["tell", "--session", "{db}"], "give ID=LABEL"),
    "told and taken back": (["tell", "--session", "{db}", "1=cat", "--undo"], "use one of them"),
    "a sheet as an option": (
        ["tell", "--session", "{db}", "--from", "a b.csv"],
        "there is no option --from; to read a file of answers: fewlabels import 'a b.csv' --session {db}",
    ),
    "a sheet after an equals sign": (["tell", "--session", "{db}", "--from=a.csv"], "fewlabels import a.csv --session"),
    "a sheet": (
        ["tell", "--session", "{db}", "1=cat", "a.jsonl"],
        "'a.jsonl' is not ID=LABEL; to read a file of answers",
    ),
    "no such option": (["tell", "--session", "{db}", "--sesion"], "there is no option --sesion"),
    "nothing to undo": (["tell", "--session", "{db}", "--undo"], "there is no answer to undo"),
    "no label": (["tell", "--session", "{db}", "12"], "is not ID=LABEL"),
    "no such class": (["tell", "--session", "{db}", "12=catt"], "did you mean 'cat'"),
    "no such item": (["tell", "--session", "{db}", "999=cat"], "is called '999' (unknown"),
    "no class of a few": (
        ["tell", "--session", "{db}", "12=x"],
        "item '12': 'x' is no class of this session; there is: cat, dog, emu. If it is a true class",
    ),
    "the worst of one": (
        ["ask", "{file}", "--session", "{new}", "--goal", "find-worst", "--by", "all"],
        "--by all is a single one",
    ),
    "finite replays": (["simulate", "{file}", "--finite-pool"], "--finite-pool has no effect"),
    "replays without labels": (["simulate", "{file}", "--hide-labels"], "--hide-labels has no effect"),
    "replays of new classes": (["simulate", "{file}", "--classes", "yak"], "--classes has no effect"),
    "plans of new classes": (["plan", "{file}", "--classes", "yak"], "--classes has no effect"),
    "two answers": (["tell", "--session", "{db}", "12=cat", "12=dog"], "has two answers"),
    "no such sheet": (["import", "no.csv", "--session", "{db}"], "no such file"),
    "no sheet": (["import", "--session", "{db}"], "SHEET is missing"),
    "a word too many": (["export", "--session", "{db}", "labels.csv"], "unexpected argument 'labels.csv'"),
    "a name for the page": (["label", "{file}", "--session", "{new}", "--as", "ann"], "--as needs --terminal"),
    "the page and the terminal": (
        ["label", "{file}", "--session", "{new}", "--terminal", "--port", "8000"],
        "cannot be combined with --terminal",
    ),
    "a certificate alone": (["label", "{file}", "--session", "{new}", "--certificate", "a.pem"], "go together"),
    "nothing to label": (["label", "--session", "{db}", "--terminal"], "FILE is missing"),
    "prediction first": (
        ["label", "{file}", "--session", "{db}", "--terminal", "--show-prediction", "before"],
        "--show-prediction",
    ),
}


@pytest.mark.parametrize(("words", "says"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_word_gets_one_message_and_changes_nothing(
    type_in: Type, file: Path, session: Path, tmp_path: Path, words: list[str], says: str
) -> None:
    other = tmp_path / "other.csv"
    other.write_text("id,predicted\n1,a\n2,b\n")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    names = {"file": file, "db": session, "new": tmp_path / "new.db", "other": other, "folder": tmp_path}
    typed = type_in(*(word.format(**names) for word in words))
    assert (typed.code, typed.out) == (1, "")
    assert len(typed.err.splitlines()) == 1
    assert says.replace("{db}", str(session)) in typed.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


CHANGES = ["--goal estimate", "--by site", "--metric ece", "--m 2", "--confidence 0.9", "--rope 0.1", "--policy random",
           "--prior scores", "--strength 5", "--bins 5", "--level 0.9", "--finite-pool", "--seed 7", "--classes yak",
           "--groups cat,dog", "--target-width 0.2"]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_session_is_for_is_fixed(type_in: Type, session: Path, change: str) -> None:
    typed = type_in("ask", "--session", session, *change.split())
    assert typed.code == 1
    assert f"leave {change.split(maxsplit=1)[0]} out" in typed.err


def test_labels_hidden_later_are_a_change(type_in: Type, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("id,predicted,label\n1,a,a\n2,b,\n")
    type_in("ask", tmp_path / "p.csv", "--session", tmp_path / "s.db")
    assert "created without --hide-labels" in type_in("ask", "--session", tmp_path / "s.db", "--hide-labels").err


class TestLabellingThroughAPipe:
    @pytest.fixture
    def pipe(self, type_in: Type, monkeypatch: pytest.MonkeyPatch, file: Path, tmp_path: Path) -> Callable[..., Typed]:
        def run(text: str, *words: object, encoding: str = "utf-8") -> Typed:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode(encoding)), encoding="utf-8"))
            return type_in("label", file, "--session", tmp_path / "p.db", "--terminal", *words)

        return run

    def test_reads_an_answer_a_line(self, pipe: Callable[..., Typed], tmp_path: Path) -> None:
        typed = pipe("cat\n\nundo\ndog\n?\n emu \n", "--goal", "find-worst", "--show-prediction", "after")
        assert typed.code == 0, typed.err
        assert [row["label"] for row in answers(tmp_path / "p.db")] == ["cat", "dog", None, "emu"]
        assert "1 label; accuracy of " in typed.out
        assert "predicted: " in typed.out
        assert "text  animal number" in typed.out
        assert "4 answers kept" in typed.out

    def test_shows_no_prediction_before_the_answer(self, pipe: Callable[..., Typed]) -> None:
        typed = pipe("")
        assert typed.code == 0
        assert "animal number" in typed.out
        assert not re.search("predicted|score|predicted: ", typed.out.split("0 answers kept")[0])

    def test_a_word_that_is_no_class_stops_it(self, pipe: Callable[..., Typed], tmp_path: Path) -> None:
        typed = pipe("cat\ncatt\ndog\n")
        assert typed.code == 1
        assert "line 2 of the answers: 'catt'" in typed.err
        assert (
            "did you mean 'cat'? If it is a true class that the model never predicts, add --new-classes." in typed.err
        )
        assert [row["label"] for row in answers(tmp_path / "p.db")] == ["cat"]
        assert pipe("yak\n", "--new-classes").code == 0

    def test_goes_on_to_the_end_of_the_pool_and_says_when_it_is_settled(self, pipe: Callable[..., Typed]) -> None:
        typed = pipe("cat\n" * 200, "--by", "all", "--target-width", 0.5, "--prior", "flat")
        assert typed.out.count("settled: you can stop, or continue") >= 1  # an answer may unsettle it again
        assert "nothing is left to ask: every useful item" in typed.out
        assert "90 answers kept" in typed.out

    def test_answers_in_another_encoding_are_refused(self, pipe: Callable[..., Typed]) -> None:
        assert "is not UTF-8" in pipe("émeu\n", encoding="latin-1").err

    def test_a_word_that_is_no_grade_is_named_by_its_line(
        self, type_in: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        frame = pd.DataFrame({"id": range(6), "output": "o", "agreement": pd.array([None] * 6, dtype="Float64")})
        frame.to_parquet(tmp_path / "g.parquet")
        monkeypatch.setattr(sys, "stdin", io.StringIO("0.5\n.25\nmany\n"))
        typed = type_in("label", tmp_path / "g.parquet", "--session", tmp_path / "g.db", "--by", "all", "--terminal")
        assert typed.code == 1
        assert "line 3 of the answers: 'many' is no grade between 0 and 1; the answers before it are kept" in typed.err
        assert [row["label"] for row in answers(tmp_path / "g.db")] == ["0.5", "0.25"]

    def test_a_goal_that_is_far_away_is_not_called_out_of_reach(self, pipe: Callable[..., Typed]) -> None:
        typed = pipe("cat\n", "--target-width", 0.01)
        assert "not known to within ±0.005 yet" in typed.out
        assert "labelling every item" not in typed.out + typed.err

    def test_undo_without_an_answer_is_no_harm(self, pipe: Callable[..., Typed]) -> None:
        assert "there is no answer to undo" in pipe("undo\n").out


def fill_in(sheet: Path, label: Callable[[dict[str, str]], str], ending: str) -> None:
    """Fill a sheet in as another program would."""
    text = sheet.read_bytes().decode()
    if ending == "jsonl":
        filled = [json.dumps({**row, "label": label(row)}) for row in map(json.loads, text.splitlines())]
        sheet.write_text("\n".join(filled))
        return
    found = [{**row, "label": label(row)} for row in rows(text)]
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]), quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(found)
