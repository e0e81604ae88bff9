"""Write a result as table, JSON, Markdown and HTML, and determine the exit code."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from rich.console import Console

from fewlabels.analyses.provenance import Provenance
from fewlabels.analyses.result import write_json
from fewlabels.cli.conditions import Condition
from fewlabels.cli.console import (
    add_command,
    escape,
    name_command,
    print_warnings,
    replace_unencodable,
    stderr_console,
    stdout_console,
)
from fewlabels.cli.options import Output
from fewlabels.errors import count
from fewlabels.files import STDOUT, write_atomic
from fewlabels.reporting.markdown.checks import render_checks
from fewlabels.text import sanitize

EXIT_FAILED = 2
MAX_FAILURES = 25  # printed one by one


@runtime_checkable
class ResultLike(Protocol):
    """A Result, or an object with the same methods."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """The limitations of the estimates to write."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document to write as a dict."""
        ...

    def to_markdown(self) -> str:
        """Return GitHub-flavoured Markdown to write."""
        ...

    def report(self, path: str | Path) -> Path:
        """Write one self-contained HTML file."""
        ...


def write_result(
    result: ResultLike,
    output: Output,
    conditions: Sequence[Condition],
    show: Callable[[Console], None],
) -> int:
    """Write the requested files, print the result unless standard output is taken, and return the exit code."""
    plain = result.to_dict()
    failures = [hit for condition in conditions for hit in condition.find_matches(plain)]
    unchecked = [(condition, where) for condition in conditions for where in condition.list_undefined(plain)]
    if output.html:
        _add_provenance(result).report(output.html)
    _write_rendered(output.json, lambda: write_json(add_command(plain), None))
    _write_rendered(output.markdown, lambda: _render_markdown(result, output, failures))
    stderr = stderr_console()
    if not output.quiet:
        if STDOUT not in (output.json, output.markdown):
            show(stdout_console())
        print_warnings(stderr, result.warnings)
        for path in (output.html, output.json, output.markdown):
            if path and path != STDOUT:
                stderr.print(f"written: {escape(path)}")
    for condition, where in unchecked:
        stderr.print(f"[yellow]not checked[/]: {escape(f'{where}: {condition.name} is undefined')}")
    for failure in failures[:MAX_FAILURES]:
        stderr.print(f"[red]failed[/]: {escape(failure)}")
    if len(failures) > MAX_FAILURES:
        stderr.print(f"[red]failed[/]: and {count(len(failures) - MAX_FAILURES, 'more time')}")
    return EXIT_FAILED if failures else 0


def write_simulated(result: ResultLike, json: str | None, show: Callable[[Console], None], *, quiet: bool) -> None:
    """Write the output of a plan or a simulation (JSON), and print it unless standard output is taken."""
    _write_rendered(json, lambda: write_json(add_command(result.to_dict()), None))
    if not quiet:
        print_warnings(stderr_console(), result.warnings)
        if json != STDOUT:
            show(stdout_console())


def _add_provenance(result: ResultLike) -> ResultLike:
    """Return the result to write with the command line in its provenance, where it has one, for its report."""
    made = getattr(result, "provenance", None)
    if not isinstance(made, Provenance) or not is_dataclass(result) or "provenance" not in result.__dataclass_fields__:
        return result
    return replace(result, provenance=replace(made, command=name_command()))


def _write_rendered(path: str | None, render: Callable[[], str]) -> None:
    """Render a result as text and write it if a path is given."""
    if path:
        write_text(path, render().rstrip("\n") + "\n")


def _render_markdown(result: ResultLike, output: Output, failures: Sequence[str]) -> str:
    """Return the Markdown to write, with the checks first, where readers of a failed job look for them."""
    checks = render_checks(output.fail_if, failures)
    return f"{checks}\n\n{result.to_markdown()}" if checks else result.to_markdown()


def write_text(path: str, text: str) -> None:
    """Write output as text to a file or standard output; control characters are escaped on a terminal only."""
    if path != STDOUT:
        write_atomic(path, text)
        return
    replace_unencodable()
    sys.stdout.write(sanitize(text) if sys.stdout.isatty() else text)
