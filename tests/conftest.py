"""What every test may use: the pools, where they are, and a command line to type on."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fewlabels.cli.app import main

POOLS = Path(__file__).parents[2] / "shared" / "pools"


@pytest.fixture(autouse=True)
def _fixed_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are made at one and the same time, so that two of them can be compared."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


@pytest.fixture
def pools() -> Path:
    """The folder with real models' predictions, kept outside the project."""
    if not POOLS.is_dir():
        pytest.skip("the pools of real predictions are not on this machine")
    return POOLS


@dataclass(frozen=True)
class Typed:
    """What a command line answered."""

    code: int
    out: str
    err: str


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Typed]:
    """Type a command line, and get back exit code, output and errors."""

    def run(*words: object) -> Typed:
        monkeypatch.setattr(sys, "argv", ["fewlabels", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr()
        code = stop.value.code
        return Typed(code if isinstance(code, int) else 0, said.out, said.err)

    return run
