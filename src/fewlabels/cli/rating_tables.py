"""Print a rating to a terminal."""

from rich.console import Console
from rich.table import Table

from fewlabels.analyses.rating.result import Rating
from fewlabels.cli.console import escape
from fewlabels.errors import count
from fewlabels.reporting.rating_text import (
    JUDGE_COLUMNS,
    SET_COLUMNS,
    SYSTEM_COLUMNS,
    describe_judges,
    describe_pool,
    describe_position,
    describe_sets,
    explain_figure,
    list_judge_rows,
    list_next_rows,
    list_set_rows,
    list_system_rows,
    name_figure,
)

MAX_SHOWN = 40


def print_rating(out: Console, r: Rating) -> None:
    """Print the tables of a rating: the overall figure, groups, distribution of grades, and reliability of judges."""
    if r.sets:
        _print_sets(out, r)
        return
    quantity = "on exactly these items" if r.finite_pool else "on the population these items came from"
    out.print(f"[bold]{escape(name_figure(r))}[/] {quantity}: {escape(describe_pool(r))}; {100 * r.level:g}% intervals", soft_wrap=True)  # fmt: skip
    out.print(escape(explain_figure(r)), soft_wrap=True)
    out.print(f"overall [bold]{r.overall.mean:.3f}[/]  {escape(f'[{r.overall.low:.3f}, {r.overall.high:.3f}]')}")
    if r.ranking:
        out.print(_make_system_table(r))
        out.print(escape(describe_position(r)), soft_wrap=True)
    if len(r.groups) > 1:
        out.print(_make_group_table(r))
        if len(r.groups) > MAX_SHOWN:
            out.print(f"… and {count(len(r.groups) - MAX_SHOWN, 'more group')}; --json or --html has them all")
    if not r.scale.is_binary:
        shares = [f"{one.grade}: {100 * one.mean:.0f}%" for one in r.distribution if one.group is None]
        out.print(escape(f"distribution of grades: {', '.join(shares)}"), soft_wrap=True)
    if r.judges:
        out.print(_make_judge_table(r))
        out.print(escape(describe_judges(r)), soft_wrap=True)
    if r.plan:
        out.print(escape(r.plan.sentence), soft_wrap=True)
    if r.next:
        out.print("to grade next, drawn at random within their group and judges' grades:", soft_wrap=True)
        out.print(_make_next_table(r))


def _make_group_table(r: Rating) -> Table:
    """Make the table of a rating's groups for the terminal."""
    said = dict(zip((row.group for row in r.groups), r.judges[0].said, strict=True)) if r.judges else {}
    table = _make_rating_table(r.by, "items", "grades", *(["judge"] if r.judges else []), name_figure(r), f"{100 * r.level:g}% interval", "P(worst)")  # fmt: skip
    for row in r.worst_first[:MAX_SHOWN]:
        own = said.get(row.group)
        judged = ["–" if own is None else f"{own:.3f}"] if r.judges else []
        table.add_row(
            escape(row.group), f"{row.n_items:,}", f"{row.n_grades:,}", *judged, f"{row.mean:.3f}",
            escape(f"[{row.low:.3f}, {row.high:.3f}]"), row.chance_of_worst,
        )  # fmt: skip
    return table


def _make_judge_table(r: Rating) -> Table:
    """Make the table of a rating's judges for the terminal."""
    table = _make_rating_table(*JUDGE_COLUMNS)
    for cells in list_judge_rows(r):
        table.add_row(*map(escape, cells))
    return table


def _make_system_table(r: Rating) -> Table:
    """Make the table of a rating's systems for the terminal."""
    table = _make_rating_table(*SYSTEM_COLUMNS)
    for cells in list_system_rows(r):
        table.add_row(*map(escape, cells))
    return table


def _print_sets(out: Console, r: Rating) -> None:
    """Print the tables of a rating of sets of labels."""
    whose = "on exactly these items" if r.finite_pool else "on the population these items came from"
    out.print(f"[bold]sets of labels[/] {whose}: {escape(describe_pool(r))}; {100 * r.level:g}% intervals", soft_wrap=True)  # fmt: skip
    out.print(_make_set_table(r))
    out.print(escape(describe_sets(r)), soft_wrap=True)


def _make_set_table(r: Rating) -> Table:
    """Make the table of labels in a rating of sets."""
    table = _make_rating_table(*SET_COLUMNS)
    for cells in list_set_rows(r):
        table.add_row(*map(escape, cells))
    return table


def _make_next_table(r: Rating) -> Table:
    """Make the table of answers to grade next in a rating."""
    table = _make_rating_table("id", r.by, *(judge.name for judge in r.judges))
    for cells in list_next_rows(r)[:MAX_SHOWN]:
        table.add_row(*map(escape, cells))
    if len(r.next) > MAX_SHOWN:
        table.caption = f"… and {count(len(r.next) - MAX_SHOWN, 'more answer')}; --json has them all"
    return table


def _make_rating_table(*columns: str) -> Table:
    """Make an empty table of a rating with these columns."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(columns):
        table.add_column(escape(name), justify="right" if i else "left", overflow="fold")
    return table
