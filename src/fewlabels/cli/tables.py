"""Print results to a terminal as tables and warnings."""

from rich.console import Console
from rich.table import Table

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.assessment_rows import Row
from fewlabels.analyses.comparison import Comparison
from fewlabels.analyses.diagnosis import Diagnosis
from fewlabels.cli.console import escape
from fewlabels.errors import count
from fewlabels.reporting.confusion_rows import tabulate_confusion
from fewlabels.reporting.summaries import describe_size
from fewlabels.text import format_probability

MAX_SHOWN = 25
NAMES = ("predicted", "true class")  # columns of names in a confusion matrix


def print_assessment(out: Console, a: Assessment) -> None:
    """Print the table of an assessment: the overall estimate, and the groups, worst first or in order of score."""
    quantity = "on exactly these items" if a.finite_pool else "on the population these items came from"
    of = f" of class {escape(a.positive)}" if a.positive is not None else ""
    out.print(
        f"[bold]{escape(a.metric)}[/]{of} {quantity}: {count(a.n_items, 'item')}, {a.n_labels:,} labelled; prior {escape(a.prior)}, {100 * a.level:g}% intervals"
    )
    interval = escape(f"[{a.overall.low:.3f}, {a.overall.high:.3f}]")
    out.print(f"overall [bold]{a.overall.mean:.3f}[/]  {interval}")
    rows = a.in_order
    if len(rows) > 1:
        out.print(_make_table(a, rows[:MAX_SHOWN]))
    if len(rows) > MAX_SHOWN:
        out.print(f"… and {count(len(rows) - MAX_SHOWN, 'more group')}; --json or --html has them all")
    if a.matrix:
        _print_confusion(out, a)


def _print_confusion(out: Console, a: Assessment) -> None:
    """Print the table of an assessment's confusion matrix."""
    title, (header, rows) = tabulate_confusion(a)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in header:
        table.add_column(escape(name), justify="left" if name in (a.by, *NAMES) else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    out.print(escape(title))
    out.print(table)


def _make_table(a: Assessment, rows: tuple[Row, ...]) -> Table:
    """Make the table of an assessment's groups."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in (a.by, "items", "labels", a.metric, f"{100 * a.level:g}% interval", "P(worst)", "rank"):
        table.add_column(escape(name), justify="left" if name == a.by else "right", overflow="fold")
    for r in rows:
        interval = escape(f"[{r.low:.3f}, {r.high:.3f}]")
        table.add_row(
            escape(r.group), f"{r.n_items:,}", f"{r.n_labels:,}", f"{r.mean:.3f}", interval, r.chance_of_worst, r.ranks
        )
    return table


def print_comparison(out: Console, c: Comparison) -> None:
    """Print the table of a comparison of two groups: difference, credible interval, ROPE probabilities and verdict."""
    a, b = (escape(name) for name in c.groups)
    out.print(
        f"[bold]{escape(c.metric)}[/] of {a} minus {b}: {c.mean:+.3f}  {escape(f'[{c.low:+.3f}, {c.high:+.3f}]')}  ({100 * c.level:g}%)"
    )
    out.print(
        f"P(below −{c.rope:g}) {format_probability(c.p_below)}   P(within) {format_probability(c.p_equivalent)}   P(above +{c.rope:g}) {format_probability(c.p_above)}"
    )
    out.print(f"verdict: [bold]{escape(c.sentence)}[/]", soft_wrap=True)


def print_diagnosis(out: Console, d: Diagnosis) -> None:
    """Print the tables of a diagnosis: roles of columns, findings, what can be assessed, the next commands."""
    out.print(f"[bold]{escape(d.source)}[/]")
    if d.is_sound:
        out.print(f"  {describe_size(d)}")
    for role, name in d.roles.items():
        out.print(f"  {role:15} {escape(name)}")
    if d.attributes:
        listed = ", ".join(f"{name} ({n:,})" for name, n in d.attributes.items())
        out.print(f"  {'to group by':15} {escape(listed)}")
    if not d.roles:
        out.print(f"  {'columns':15} {escape(', '.join(f'{name} ({kind})' for name, kind in d.columns.items()))}")
    for finding in d.findings:
        colour = "red" if finding.severity == "error" else "yellow"
        out.print(f"[{colour}]{finding.severity}[/]: {escape(finding.message)}")
    if d.can:
        out.print(f"can be assessed: {'; '.join(d.can)}")
    for line in d.next:
        out.print(f"  [bold]$ {escape(line)}[/]", soft_wrap=True)
