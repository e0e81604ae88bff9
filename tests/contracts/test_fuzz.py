"""A few hundred cases of the fuzzer, and what must hold of any table; `python -m tests.fuzz` runs as many as one likes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import fewlabels as fl
from tests.fuzz.cases import Case, lay_out, run, set_up
from tests.fuzz.commands import KINDS, NO_DOCUMENT, SESSIONS, list_commands
from tests.fuzz.corpus import build
from tests.fuzz.crew import Worker, run_cases
from tests.fuzz.judge import Run, list_faults
from tests.fuzz.strategies import choices, tables

N_CASES, SEED = 500, 0


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    build(folder)
    return folder


def test_every_command_answers_where_nothing_is_damaged(corpus: Path, tmp_path: Path) -> None:
    kinds = [kind for kind in dict.fromkeys(KINDS) if kind not in NO_DOCUMENT]
    commands = [(kind, command) for kind in kinds for command in list_commands(kind)[: None if kind in SESSIONS else 3]]
    for i, (kind, command) in enumerate(commands):
        folder = tmp_path / str(i)
        folder.mkdir()
        lay_out(command, kind, corpus, folder)
        verdict = run(Case(i, kind, command, folder))
        assert (verdict.code, verdict.faults) == (0, ()), command


def test_damaged_documents_and_random_options_end_in_an_answer_or_in_one_message(corpus: Path) -> None:
    verdicts = list(run_cases(range(N_CASES), SEED, corpus, jobs=2, quick=True))
    failed = {one.number: (one.kind, one.words, one.faults) for one in verdicts if one.faults}
    assert not failed
    assert sum(one.code == 0 for one in verdicts) > N_CASES / 10  # not everything is refused
    assert sum(one.code == 1 for one in verdicts) > N_CASES / 4


def test_a_case_follows_from_its_seed_and_number(corpus: Path, tmp_path: Path) -> None:
    for number in range(0, 45, 3):
        folders = [tmp_path / f"{number}-{again}" for again in "ab"]
        for folder in folders:
            folder.mkdir()
        one, two = (set_up(5, number, corpus, folder) for folder in folders)
        assert one.command == two.command
        for path in folders[0].iterdir():
            if path.suffix != ".db":  # SQLite counts its changes in the file
                assert path.read_bytes() == (folders[1] / path.name).read_bytes()


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(table=tables(), chosen=choices())
def test_any_table_gives_sound_numbers_or_is_refused(table: dict, chosen: dict) -> None:
    try:
        code, out, err = 0, fl.assess(table, **chosen).to_json(), ""
    except fl.InputError as error:
        code, out, err = 1, "", f"fewlabels: {error}\n"
    assert list_faults(Run(("assess", "--json", "-"), code, out, err)) == []


@pytest.mark.parametrize(
    ("code", "out", "err", "fault"),
    [
        (1, "", "", "no message"),
        (1, "", "fewlabels: one\ntwo\n", "a message of 2 lines"),
        (1, "", f"fewlabels: {'x' * 2000}\n", "characters"),
        (1, "", "fewlabels: a bug in fewlabels: KeyError: 'x'\n", "unexpected exception"),
        (0, "{}", "x.py:1: RuntimeWarning: overflow\n", "a warning"),
        (0, '{"mean": NaN}', "", "not JSON"),
        (0, json.dumps({"low": 0.6, "mean": 0.5, "high": 0.4}), "", "upside down"),
        (0, json.dumps({"groups": [{"low": 0.1, "mean": 0.5, "high": 0.4}]}), "", "outside of its interval"),
        (0, json.dumps({"low": -0.1, "mean": 0.1, "high": 0.4}), "", "leaves [0, 1]"),
        (-11, "", "", "exit code -11"),
    ],
)
def test_the_judge_sees_what_is_wrong(code: int, out: str, err: str, fault: str) -> None:
    assert fault in " ".join(list_faults(Run(("assess", "x.csv", "--json", "-"), code, out, err)))


@pytest.mark.parametrize(
    ("slow", "limits", "faults"),
    [((90, 0), (0.5, 80.0), ()), ((90, 90), (0.2, 0.4), ("no end within 0.4 seconds",))],
)
def test_a_late_case_runs_again_with_more_time(monkeypatch, tmp_path, slow, limits, faults):
    answer = json.dumps({"number": 3, "kind": "x", "words": [], "code": 0, "faults": []})
    seconds = iter(slow)

    def start(self):
        code = f"import sys, time\nfor _ in sys.stdin: time.sleep({next(seconds)}); print({answer!r}, flush=True)"
        return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    monkeypatch.setattr(Worker, "_start", start)
    monkeypatch.setattr("tests.fuzz.crew.LIMITS", limits)
    worker = Worker(0, tmp_path)
    assert worker.run(3).faults == faults
    worker.stop()
