"""Print a comparison of models to a terminal: the answer, a row per model, and differences per group."""

from rich.console import Console
from rich.table import Table

from fewlabels.analyses.models.estimates import COUNTS, ModelDifference
from fewlabels.analyses.models.result import ModelComparison
from fewlabels.cli.console import escape
from fewlabels.errors import count
from fewlabels.text import format_probability

MAX_ROWS = 25


def print_model_comparison(out: Console, c: ModelComparison) -> None:
    """Print the tables of a comparison of models: the verdict, every model's figure, and differences."""
    quantity = "on exactly these items" if c.finite_pool else "on the population these items came from"
    out.print(
        f"[bold]{escape(c.metric)}[/] of {count(len(c.models), 'model')} {quantity}: {count(c.n_items, 'item')}, {c.n_labels:,} labelled; "
        + (f"they disagree on {c.n_disagree:,}; " if c.paired else "")
        + f"prior {escape(c.prior)}, {100 * c.level:g}% intervals"
    )
    out.print(_make_figure_table(c))
    rows = list_shown_differences(c)
    out.print(_make_difference_table(c, rows[:MAX_ROWS]))
    if len(rows) > MAX_ROWS:
        out.print(f"… and {count(len(rows) - MAX_ROWS, 'more row')}; --json or --html has them all")
    out.print(f"verdict: [bold]{escape(c.sentence)}[/]", soft_wrap=True)


def list_shown_differences(c: ModelComparison) -> list[ModelDifference]:
    """List the differences of models in a table: of two per group; of more, against the one of least regret."""
    if len(c.models) == 2:
        return list(c.differences)
    return [row for row in c.differences if c.choice.model in (row.a, row.b)]


def _make_figure_table(c: ModelComparison) -> Table:
    """Make the table of every model's figure for the terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("model", c.metric, "interval", "P(best)", "expected loss"):
        table.add_column(escape(name), justify="left" if name == "model" else "right", overflow="fold")
    for row in c.list_figures():
        interval = escape(f"[{row.low:.3f}, {row.high:.3f}]")
        table.add_row(
            escape(row.model), f"{row.mean:.3f}", interval, format_probability(row.p_best), f"{row.regret:.4f}"
        )
    return table


def _make_difference_table(c: ModelComparison, rows: list[ModelDifference]) -> Table:
    """Make the table of differences of models, a row each; what is the same in every row is left out."""
    left = [*(["difference"] if len(c.models) > 2 else []), *([c.by] if c.by != "all" else [])]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in left:
        table.add_column(escape(name), overflow="fold")
    pair = f"{c.differences[0].a} − {c.differences[0].b}" if len(c.models) == 2 else "mean"
    for name in (*COUNTS[c.paired], pair, "interval", "P(lower)", "P(within)", "P(higher)", "verdict"):
        table.add_column(escape(name), justify="left" if name == "verdict" else "right", overflow="fold")
    for row in rows:
        chances = map(format_probability, (row.p_below, row.p_equivalent, row.p_above))
        interval = escape(f"[{row.low:+.3f}, {row.high:+.3f}]")
        names = [escape(f"{row.a} − {row.b}"), escape(row.group)]
        names = [*names[: len(c.models) > 2], *names[1 : 1 + (c.by != "all")]]
        counts = (f"{n:,}" for n in row.list_counts())
        table.add_row(*names, *counts, f"{row.mean:+.3f}", interval, *chances, row.verdict)
    return table
