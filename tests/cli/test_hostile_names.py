"""Names out of people's files on a terminal, in JSON and in Markdown: shown, never obeyed."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import Typed

from fewlabels.cli.console import SafeConsole
from fewlabels.reporting.markdown.markup import escape
from fewlabels.text import CONTROL_CHARACTERS

Type = Callable[..., Typed]
EVIL = "\x1b[31m\u202egnp.exe\u200f\x9b2J[bold]:x:\nfailed: nothing"
COMMANDS = {
    "doctor": "",
    "assess": "--by {by} --fail-if mean<1",
    "compare": "--by {by} --groups {pair} --fail-if mean<1",
    "fairness": "--by {by} --metric accuracy --positive {evil} --fail-if mean<1",
    "surface": "--attributes {by},other --ask {by}={evil} --fail-if mean<1",
    "simulate": "--runs 2 --prior flat --by {by}",
    "plan": "--runs 2 --by {by} --hide-labels",
    "ask": "--session s.db --hide-labels",
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    names = rng.choice([EVIL, "plain"], (3, 60))
    path = tmp_path_factory.mktemp("evil") / "p\x1b[32m\u202e.parquet"
    frame = pd.DataFrame({"id": [f"{EVIL}{i}" for i in range(60)], "predicted": names[0], "label": names[1]})
    frame.assign(**{f"by{EVIL[:8]}": names[2], "other": rng.choice(["a", "b"], 60)}).to_parquet(path)
    return path


def say(verb: str) -> list[str]:
    words = {"by": f"by{EVIL[:8]}", "evil": EVIL, "pair": f'"{EVIL}",plain'}
    return [word.format(**words) for word in COMMANDS[verb].split()]


@pytest.mark.parametrize("verb", COMMANDS)
def test_nothing_that_is_printed_is_obeyed(type_in: Type, file: Path, tmp_path: Path, monkeypatch, verb: str) -> None:
    monkeypatch.chdir(tmp_path)
    typed = type_in(verb, file, *say(verb))
    assert "a bug in fewlabels" not in typed.err, typed.err
    assert typed.code in (0, 2), typed.err
    assert not CONTROL_CHARACTERS.findall(typed.out + typed.err)
    assert "❌" not in typed.out + typed.err
    assert not [line for line in (typed.out + typed.err).splitlines() if line.startswith("failed: nothing")]


@pytest.mark.parametrize("verb", ["assess", "compare", "fairness", "surface"])
def test_json_and_markdown_hold_no_such_character_and_lose_none(type_in: Type, file: Path, verb: str) -> None:
    typed = type_in(verb, file, *say(verb), "--json", "-")
    assert not CONTROL_CHARACTERS.findall(typed.out)
    assert json.dumps(EVIL)[1:-1] in json.dumps(json.loads(typed.out))
    assert not CONTROL_CHARACTERS.findall(type_in(verb, file, *say(verb), "--markdown", "-").out)


def test_errors_are_one_line_without_escapes(type_in: Type, file: Path, tmp_path: Path) -> None:
    for words in (["assess", f"{EVIL}.csv"], ["assess", file, "--by", EVIL], ["assess", file, f"--{EVIL}"]):
        typed = type_in(*words)
        assert typed.code == 1
        assert not CONTROL_CHARACTERS.findall(typed.err)
        assert typed.err.count("\n") == 1


def test_the_console_shows_what_terminals_would_obey_however_it_is_printed(capsys) -> None:
    SafeConsole().print(f"[bold]x[/] {EVIL[:8]}")
    SafeConsole().print(EVIL, markup=False)
    SafeConsole().rule(EVIL)
    assert not CONTROL_CHARACTERS.findall(capsys.readouterr().out)


def test_a_sheet_on_a_terminal_is_shown_and_in_a_pipe_exact(file: Path, tmp_path: Path) -> None:
    code = "import sys; from fewlabels.cli.output import write_text; write_text('-', sys.argv[1])"
    command = [sys.executable, "-c", code, EVIL]
    assert subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout == EVIL.encode()
    ours, theirs = pty.openpty()
    try:
        subprocess.run(command, stdout=theirs, check=True)
        assert not CONTROL_CHARACTERS.findall(os.read(ours, 1000).decode().replace("\r\n", "\n"))
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize(
    "name", ["https://evil.example", "www.evil.example", "@somebody", "#12", "[a](b)", "`x`", "a|b"]
)
def test_markdown_makes_no_link_of_a_name(name: str) -> None:
    said = escape(name)
    for start in ("://", "www.", "@s", "#1", "](", "|b"):
        assert start not in said.replace("\\|", "").replace("\\]\\(", "")
