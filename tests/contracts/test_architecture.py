"""The house keeps its rules: floors, types, style, and a light door."""

import subprocess
import sys
from pathlib import Path

import pytest

import fewlabels as fl

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "command",
    [
        ["lint-imports", "--no-cache", "--no-logo"],
        ["mypy", "--no-error-summary"],
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
    ],
    ids=["floors", "types", "style", "format"],
)
def test_the_tools_find_nothing(command: list[str]) -> None:
    done = subprocess.run([BIN / command[0], *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_public_name_can_be_reached() -> None:
    assert all(getattr(fl, name) is not None for name in fl.__all__)
    assert set(fl.__all__) <= set(dir(fl))
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        fl.nothing_of_the_kind  # noqa: B018


def test_help_loads_neither_the_engine_nor_numpy() -> None:
    look = "import sys; from fewlabels.cli import app; app.app(['--help']); print([m for m in ('ibis', 'duckdb', 'numpy', 'pandas', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_assessing_loads_no_pictures_and_no_scipy_stats() -> None:
    look = "import sys, fewlabels as fl; fl.assess({'predicted': ['a'], 'label': ['a']}); print([m for m in ('matplotlib', 'scipy.stats', 'scipy.optimize', 'sklearn', 'jinja2') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_a_word_where_an_object_belongs_is_explained() -> None:
    """In a process of its own: here the shape checks would speak first."""
    look = "import fewlabels as fl; fl.assess({'predicted': ['a'], 'label': ['a']}, metric='recall')"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=False)
    assert "'recall' is a word for the command line" in done.stderr
