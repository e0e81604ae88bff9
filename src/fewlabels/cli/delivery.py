"""Deliver a result where it was asked for: table, JSON, HTML, exit code."""

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.markup import escape

from fewlabels.cli.conditions import Condition
from fewlabels.cli.options import Output
from fewlabels.cli.printing import complainer, print_warnings, printer
from fewlabels.comparison import Comparison
from fewlabels.gaps import Fairness
from fewlabels.summary import Assessment

FAILED = 2


def deliver(
    result: Assessment | Comparison | Fairness,
    output: Output,
    conditions: Sequence[Condition],
    show: Callable[[Console], None],
) -> int:
    """Write what was asked for, show the rest, and return the exit code."""
    plain = result.to_dict()
    failures = [hit for condition in conditions for hit in condition.hits(plain)]
    if output.html:
        result.report(output.html)
    if output.json == "-":
        print(result.to_json())
    elif output.json:
        result.to_json(output.json)
    aside = complainer()
    if not output.quiet:
        if output.json != "-":
            show(printer())
        print_warnings(aside, result.warnings)
        for path in (output.html, output.json if output.json != "-" else None):
            if path:
                aside.print(f"written: {escape(path)}")
    for failure in failures:
        aside.print(f"[red]failed[/]: {escape(failure)}")
    return FAILED if failures else 0
