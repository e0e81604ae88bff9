"""Where the command line and the library write: no verb replaces an input, a pipe or a link."""

import json
import os
import shutil
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from conftest import Typed
from makers import make_pool

import fewlabels as fl

Type = Callable[..., Typed]
FILES = ("preds.csv", "labels.csv", "costs.csv", "earlier.json", "traffic.csv", "s.db")
COMMANDS = {  # verb -> what it reads, and what it may write
    "doctor": ("preds.csv --labels labels.csv", "--json"),
    "assess": ("preds.csv --labels labels.csv --prior earlier.json", "--json --html --markdown"),
    "assess cost": ("preds.csv --metric cost --cost costs.csv", "--json --html --markdown"),
    "compare": ("preds.csv --labels labels.csv --by sex --groups f,m", "--json --html --markdown"),
    "fairness": ("preds.csv --by sex --metric accuracy", "--json --html --markdown"),
    "surface": ("preds.csv --attributes sex,age --mix traffic.csv", "--json --html --markdown"),
    "rate": ("preds.csv --grade age --judge score --by sex", "--json --html --markdown"),
    "simulate": ("preds.csv --runs 2 --prior flat", "--json"),
    "plan": ("preds.csv --runs 2", "--json"),
    "ask": ("preds.csv --session s.db", "--json"),
    "status": ("--session s.db", "--json"),
}


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of every kind that verbs read."""
    folder = tmp_path_factory.mktemp("originals")
    pool = pd.DataFrame(make_pool(0, n=80, labelled=0.9))
    pool.to_csv(folder / "preds.csv", index=False)
    pool[["id", "label"]].to_csv(folder / "labels.csv", index=False)
    pool[["sex", "age"]].to_csv(folder / "traffic.csv", index=False)
    (folder / "costs.csv").write_text("true,a,b,c\na,0,1,1\nb,1,0,1\nc,1,1,0\n")
    fl.assess(fl.Predictions.read(folder / "preds.csv"), prior=fl.flat()).to_json(folder / "earlier.json")
    with fl.Session.create(folder / "s.db", folder / "preds.csv", goal=fl.FindWorst()) as session:
        session.ask(2)
    return folder


@pytest.fixture
def folder(originals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in FILES:
        shutil.copy(originals / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def list_inputs(words: str) -> list[str]:
    return [word for word in words.split() if word in FILES]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_verb_writes_over_what_it_reads(type_in: Type, folder: Path, command: str) -> None:
    words, outputs = COMMANDS[command]
    for option in outputs.split():
        for name in list_inputs(words):
            before = (folder / name).read_bytes()
            link = folder / f"link{Path(name).suffix}"
            link.unlink(missing_ok=True)
            link.symlink_to(folder / name)
            for target in (name, link.name):
                typed = type_in(command.split(maxsplit=1)[0], *words.split(), option, target)
                assert (typed.code, "is what is being read" in typed.err) == (1, True), (option, target, typed.err)
            assert (folder / name).read_bytes() == before


def test_members_of_a_pattern_are_inputs(type_in: Type, folder: Path) -> None:
    shutil.copy(folder / "preds.csv", folder / "more.csv")
    typed = type_in("assess", "[mp]*re*.csv", "--json", "preds.csv")
    assert typed.code == 1
    assert "preds.csv is what is being read" in typed.err


@pytest.mark.parametrize("name", ["s.db", "s.db-wal", "s.db-shm"])
def test_files_of_a_session_are_not_replaced(type_in: Type, folder: Path, name: str) -> None:
    Path(name).touch()
    assert "is what is being read" in type_in("status", "--session", "s.db", "--json", name).err
    shutil.copy("s.db", "other.db")
    assert "is a database" in type_in("assess", "preds.csv", "--html", "other.db").err


def test_two_outputs_in_one_file_are_refused(type_in: Type, folder: Path) -> None:
    typed = type_in("assess", "preds.csv", "--json", "out", "--html", folder / "out")
    assert typed.code == 1
    assert "--json and --html cannot both go to" in typed.err
    assert "cannot both go" in type_in("ask", "--session", "s.db", "--out", "-", "--json", "-").err
    assert "cannot both go" in type_in("simulate", "preds.csv", "--json", "p.png", "--plot", "p.png").err


def test_outputs_are_checked_before_the_work(type_in: Type, folder: Path) -> None:
    Path("broken.csv").write_text("no sense\n")
    for verb in ("assess", "doctor", "plan", "simulate"):
        assert "no such folder" in type_in(verb, "broken.csv", "--json", "no/such.json").err
    assert "should end in .png" in type_in("simulate", "broken.csv", "--plot", "x.jpeg").err


@pytest.mark.parametrize("option", ["--json", "--html", "--markdown"])
def test_a_pipe_gets_the_result(type_in: Type, folder: Path, option: str) -> None:
    os.mkfifo("pipe")
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(Path("pipe").read_text()), daemon=True)
    reader.start()
    typed = type_in("assess", "preds.csv", option, "pipe", "--quiet")
    reader.join(10)
    assert typed.code == 0, typed.err
    assert stat.S_ISFIFO(Path("pipe").stat().st_mode)
    assert "accuracy" in heard[0]


def test_sheets_and_tasks_go_through_pipes_and_links(type_in: Type, folder: Path) -> None:
    os.mkfifo("sheet.csv")
    heard: list[str] = []
    for words in (["export", "--pending"], ["export"], ["ask"]):
        reader = threading.Thread(target=lambda: heard.append(Path("sheet.csv").read_text()), daemon=True)
        reader.start()
        assert type_in(*words, "--session", "s.db", "--out", "sheet.csv").code == 0
        reader.join(10)
    assert [text.partition(",")[0] for text in heard] == ["id", "id", "id"]
    Path("tasks.json").symlink_to("real.json")
    assert type_in("ask", "--session", "s.db", "--out", "tasks.json", "--config", "c.xml").code == 0
    assert Path("tasks.json").is_symlink()
    assert json.loads(Path("real.json").read_text())


def test_a_surface_and_pictures_are_written_whole(type_in: Type, folder: Path) -> None:
    for name, target in (("m.surface", "kept.surface"), ("p.svg", "kept.svg")):
        Path(name).symlink_to(target)
    words = ["surface", "preds.csv", "--attributes", "sex,age", "--save", "m.surface", "--quiet"]
    assert type_in(*words).code == 0
    assert Path("m.surface").is_symlink()
    assert "is what is being read" in type_in("surface", "m.surface", "--save", "kept.surface").err
    assert type_in("simulate", "preds.csv", "--runs", 2, "--prior", "flat", "--plot", "p.svg").code == 0
    assert Path("p.svg").is_symlink()
    assert "<svg" in Path("kept.svg").read_text()


def test_a_private_file_stays_private(type_in: Type, folder: Path) -> None:
    for name in ("r.html", "r.json", "r.md"):
        Path(name).touch(0o600)
    type_in("assess", "preds.csv", "--html", "r.html", "--json", "r.json", "--markdown", "r.md")
    assert {stat.S_IMODE(Path(name).stat().st_mode) for name in ("r.html", "r.json", "r.md")} == {0o600}


def test_the_demo_replaces_nothing_but_a_demo(type_in: Type, folder: Path) -> None:
    Path("report.html").write_text("mine")
    typed = type_in("demo", "--out", ".")
    assert typed.code == 1
    assert "report.html exists and was not written by this demo" in typed.err
    assert Path("report.html").read_text() == "mine"
    assert not Path("digits.csv").exists()
    assert [type_in("demo", "--out", "again").code for _ in range(2)] == [0, 0]


def test_every_verb_that_prints_can_be_quiet(folder: Path, type_in: Type) -> None:
    with fl.Session.open(folder / "s.db") as session:
        one, two = session.pending
    (folder / "sheet.csv").write_text(f"id,label\n{two},a\n")
    slow = ("simulate", "plan")
    words = {verb: reads for verb, (reads, _) in COMMANDS.items() if verb not in slow} | {
        "tell": f"{one}=a --session s.db", "import": "sheet.csv --session s.db", "export": "--session s.db --out answers.csv",
        "backup": "--session s.db --out copy.db",
    }  # fmt: skip
    for verb, rest in words.items():
        typed = type_in(*verb.split()[:1], *rest.split(), "--quiet")
        assert (verb, typed.code, typed.out) == (verb, 0, "")
        assert "written" not in typed.err
