"""Documentation is executed: what a page prints after `$` and `>>>` is what one gets."""

import doctest
import re
import shlex
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import reference  # noqa: E402

STEP = re.compile(r"```(console|python)\n(.*?)```", flags=re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/tutorial.md",
        "docs/labelling.md",
        "docs/label-studio.md",
        "docs/calibrated.md",
        "docs/fairness.md",
        "docs/surfaces.md",
        "docs/scale.md",
    ],
)
def test_a_page_does_what_it_shows(page: str, type_in, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for language, block in STEP.findall((ROOT / page).read_text(encoding="utf-8")):
        if language == "python":
            names = run_python(block, page, names)
            continue
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE):
            typed = type_in(*shlex.split(command)[1:])
            got = "\n".join(line.rstrip() for line in (typed.out + typed.err).splitlines()) + "\n"
            assert doctest.OutputChecker().check_output(shown, got, FLAGS), f"$ {command}\n{got}"


def run_python(block: str, page: str, names: dict[str, object]) -> dict[str, object]:
    """Run a block of a page's Python with the names of the blocks before it, and return the names after it."""
    test = doctest.DocTestParser().get_doctest(block, names, page, page, 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    said: list[str] = []
    runner.run(test, out=said.append, clear_globs=False)
    assert runner.failures == 0, "".join(said)
    return test.globs


@pytest.mark.parametrize("verb", reference.VERBS)
def test_a_reference_page_shows_the_current_help(verb: str) -> None:
    text = (reference.PAGES / f"{verb}.md").read_text(encoding="utf-8")
    assert reference.fill_page(text) == text, "run: python docs/reference.py"


def test_every_page_is_linked_from_the_readme() -> None:
    linked = set(re.findall(r"\]\(([^)]+\.md)\)", (ROOT / "README.md").read_text(encoding="utf-8")))
    pages = {str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")}
    assert pages <= linked
    assert all((ROOT / page).exists() for page in linked)
