"""Documentation is executed: what a page prints after `$` and `>>>` is what one gets.

A block's language says what is done with it. `console` and `python` are run and compared; of `yaml`, a job, the commands are run; of
`sh` and on reference pages commands are read by the parser that would run them, since they are about files that are not there or
would change the machine; `text` is output that others check. There is no other language.
"""

import doctest
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from fewlabels.cli.app import VERBS, app

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import reference  # noqa: E402

BLOCK = re.compile(
    r"(?:<!-- not run: (?P<why>[^>]+) -->\n+)?^```(?P<language>\w*)\n(?P<text>.*?)^```", re.DOTALL | re.M
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))]
RUN = [page for page in PAGES if not page.startswith("docs/reference/")]
RUN_ELSEWHERE = re.compile(
    r"python3 -m venv \.venv && \.venv/bin/pip install"
)  # by .ci/run, on a machine that has nothing


def read_blocks(page: str) -> list[tuple[str, str, str]]:
    """The language and text of every block of a page, and why it is not run, where it says so."""
    found = BLOCK.finditer((ROOT / page).read_text(encoding="utf-8"))
    return [(block["language"], block["text"], block["why"] or "") for block in found]


def list_commands(block: str, sign: str) -> Iterator[tuple[str, str]]:
    """Commands of a block, and what each prints."""
    yield from re.findall(rf"^{sign}(.*)\n((?:(?!{sign}).*\n)*)", block, flags=re.MULTILINE)


@pytest.mark.parametrize("page", RUN)
def test_a_page_does_what_it_shows(page: str, type_in, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for language, block, _ in read_blocks(page):
        if language == "python":
            names = run_python(block, page, names)
        elif language == "console":
            for command, shown in list_commands(block, r"\$ "):
                typed = type_in(*shlex.split(command)[1:])
                got = "\n".join(line.rstrip() for line in (typed.out + typed.err).splitlines()) + "\n"
                assert doctest.OutputChecker().check_output(shown, got, FLAGS), f"$ {command}\n{got}"
        elif language == "yaml":
            run_job(yaml.safe_load(block), type_in)


def run_python(block: str, page: str, names: dict[str, object]) -> dict[str, object]:
    """Run a block of a page's Python with the names of the blocks before it, and return the names after it."""
    test = doctest.DocTestParser().get_doctest(block, names, page, page, 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    said: list[str] = []
    runner.run(test, out=said.append, clear_globs=False)
    assert runner.failures == 0, "".join(said)
    return test.globs


def run_job(job: dict, type_in) -> None:
    """Run our commands in a job, each of which writes its part of the summary."""
    steps = [step["run"] for part in job["jobs"].values() for step in part["steps"] if "run" in step]
    ours = [line for step in steps for line in step.splitlines() if line.startswith("fewlabels ")]
    assert ours
    for line in ours:
        command, _, target = line.partition(" >> ")
        typed = type_in(*shlex.split(command)[1:])
        assert typed.code == 0, typed.err
        assert target == '"$GITHUB_STEP_SUMMARY"'
        assert typed.out.startswith("✅ **Passed**")


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_language_with_a_rule(page: str) -> None:
    for language, block, why in read_blocks(page):
        assert language in ("console", "python", "yaml", "sh", "text"), block
        if language == "sh" and not RUN_ELSEWHERE.match(block):
            assert why or block.startswith("fewlabels "), f"say why it is not run (<!-- not run: ... -->):\n{block}"
        if language == "sh" or page.startswith("docs/reference/"):
            for command, _ in list_commands(block, r"(?:\$ )?(?=fewlabels )"):
                require_understood(command)


def require_understood(command: str) -> None:
    """Have a command read by the parser that would run it; a wrong verb or option is refused there."""
    words = shlex.split(command)[1:]
    assert words[0] in VERBS or words[0].startswith("--"), command
    app.parse_args(words, exit_on_error=False, print_error=False)


@pytest.mark.parametrize("verb", reference.VERBS)
def test_a_reference_page_shows_the_current_help(verb: str) -> None:
    text = (reference.PAGES / f"{verb}.md").read_text(encoding="utf-8")
    assert reference.fill_page(text) == text, "run: python docs/reference.py"


def test_every_page_is_in_the_site_and_links_of_the_readme_exist() -> None:
    navigation = set(
        re.findall(r"[:-] (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.MULTILINE)
    )
    assert {page.removeprefix("docs/") for page in PAGES if page != "README.md"} <= navigation
    linked = set(re.findall(r"\]\(([^)#]+\.(?:md|png))[^)]*\)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert {"docs/index.md", "docs/tutorial.md", "CONTRIBUTING.md"} <= linked
    assert all((ROOT / page).exists() for page in linked)


def test_the_readme_shows_measured_figures() -> None:
    rows = re.findall(r"^\| \**([^|*]+?)\** \| \**([\d.]+) points\** \| \**(\d+) % \((\d+)\)\** \|$", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)  # fmt: skip
    assert len(rows) == 5
    measured = (ROOT / "bench/peers.md").read_text(encoding="utf-8")
    for tool, error, coverage, lowest in rows:
        assert f"| 200 | {tool} | {error} | {coverage} ({lowest}) |" in measured


def test_figures_beside_other_tools_are_those_that_were_measured() -> None:
    shown = re.findall(
        r"^\| \d+ \|.*$", (ROOT / "docs/side-by-side.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert len(shown) == 18
    assert set(shown) <= set((ROOT / "bench/peers.md").read_text(encoding="utf-8").splitlines())
