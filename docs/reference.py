"""Write the help of every verb into its reference page: `python docs/reference.py`. The tests check that it is current."""

import re
from io import StringIO
from pathlib import Path

from rich.console import Console

from fewlabels.cli.app import VERBS, app

PAGES = Path(__file__).parent / "reference"
PLACE = re.compile(r"<!-- help: (\w+) -->\n+(?:```text\n.*?\n```\n)?\n*", flags=re.DOTALL)


def render_help(verb: str) -> str:
    """Return what `fewlabels VERB --help` prints, at a fixed width."""
    out = StringIO()
    app([verb, "--help"], console=Console(file=out, width=100, force_terminal=False))
    return "\n".join(line.rstrip() for line in out.getvalue().strip().splitlines())


def fill_page(text: str) -> str:
    """Return a page with its help block filled in."""
    return (
        PLACE.sub(
            lambda found: f"<!-- help: {found[1]} -->\n\n```text\n{render_help(found[1])}\n```\n\n", text
        ).rstrip()
        + "\n"
    )


def main() -> None:
    """Rewrite every page."""
    for verb in VERBS:
        page = PAGES / f"{verb}.md"
        page.write_text(fill_page(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
