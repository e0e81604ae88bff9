"""Shells complete verbs, options and names of files: asked of a real bash."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).parent / "fewlabels"
# What bash does when the tab key is pressed after these words, and what it would offer then.
PRESS = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_fewlabels
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The completion, installed into a home of its own."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash on this machine")
    home = tmp_path_factory.mktemp("home")
    said = subprocess.run(
        [COMMAND, "--install-completion", "--shell", "bash"], env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    (found,) = (path for path in home.rglob("fewlabels") if path.is_file())
    assert str(found) in said.stdout
    assert str(found) in (home / ".bashrc").read_text()
    return found


def press_tab(script: Path, *words: str, where: Path) -> set[str]:
    done = subprocess.run(
        ["bash", "-c", PRESS, "bash", script, "fewlabels", *words],
        cwd=where,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_verbs_options_and_files_are_completed(script: Path, tmp_path: Path) -> None:
    (tmp_path / "preds.csv").write_text("id\n")
    assert press_tab(script, "as", where=tmp_path) == {"ask", "assess"}
    assert press_tab(script, "assess", "--ma", where=tmp_path) == {"--markdown"}
    assert press_tab(script, "assess", "pre", where=tmp_path) == {"preds.csv"}
    assert press_tab(script, "assess", "x.csv", "--labels", "pre", where=tmp_path) == {"preds.csv"}


def test_zsh_and_fish_get_theirs(tmp_path: Path) -> None:
    for shell, mark in (("zsh", "#compdef fewlabels"), ("fish", "complete -c fewlabels")):
        out = tmp_path / shell
        subprocess.run(
            [COMMAND, "--install-completion", "--shell", shell, "-o", out], env={"HOME": str(tmp_path)}, check=True,
            capture_output=True,
        )  # fmt: skip
        assert mark in out.read_text()
