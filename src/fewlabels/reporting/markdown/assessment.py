"""An assessment as Markdown: the overall estimate, a row per group, and the warnings."""

from collections.abc import Sequence

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.assessment_rows import Row
from fewlabels.errors import count
from fewlabels.reporting.confusion_rows import tabulate_confusion
from fewlabels.reporting.markdown.markup import collapse, escape, format_interval, join, render_table, render_warnings

VISIBLE_ROWS, MAX_ROWS = 20, 500  # visible rows, and rows in all: a comment on a pull request holds 65,536 characters


def render_assessment(a: Assessment) -> str:
    """Return an assessment as Markdown."""
    whole = f"{a.overall.mean:.3f} ({format_interval(a.overall.low, a.overall.high)})"
    of = f" of class {escape(a.positive)}" if a.positive is not None else ""
    title = f"### {escape(a.metric)}{of}: {whole}"
    return join(
        title, _summarize_assessment(a), *_list_assessed_groups(a), *_render_confusion(a), render_warnings(a.warnings)
    )


def _render_confusion(a: Assessment) -> list[str]:
    """Return the confusion matrix of an assessment as a Markdown table."""
    if not a.matrix:
        return []
    title, (header, rows) = tabulate_confusion(a)
    cells = [tuple(map(escape, row)) for row in rows]
    return [f"{escape(title)}:", render_table(tuple(map(escape, header)), cells)]


def _summarize_assessment(a: Assessment) -> str:
    """Say in Markdown what was assessed and how."""
    quantity = "exactly these items" if a.finite_pool else "the population these items came from"
    return (
        f"{escape(a.source)}: {count(a.n_items, 'item')}, {a.n_labels:,} labelled; groups by {escape(a.by)}, prior "
        f"{escape(a.prior)}, {100 * a.level:g}% intervals, about {quantity}."
    )


def _list_assessed_groups(a: Assessment) -> list[str]:
    """Return the groups of an assessment as Markdown tables, the worst first and the others collapsed."""
    rows = a.in_order
    if len(rows) < 2:
        return []
    parts = [_render_group_table(a, rows[:VISIBLE_ROWS])]
    if len(rows) > VISIBLE_ROWS:
        parts.append(
            collapse(
                count(len(rows[:MAX_ROWS]) - VISIBLE_ROWS, "more group"),
                _render_group_table(a, rows[VISIBLE_ROWS:MAX_ROWS]),
            )
        )
    if len(rows) > MAX_ROWS:
        parts.append(f"{count(len(rows) - MAX_ROWS, 'group')} are left out; JSON and HTML have them all.")
    return parts


def _render_group_table(a: Assessment, rows: Sequence[Row]) -> str:
    """Return groups of an assessment as a Markdown table."""
    header = (escape(a.by), "items", "labels", escape(a.metric), f"{100 * a.level:g}% interval", "P(worst)", "rank")
    return render_table(header, [_list_row_cells(row) for row in rows])


def _list_row_cells(row: Row) -> tuple[str, ...]:
    """Return the cells of a group in the Markdown table of an assessment."""
    interval = format_interval(row.low, row.high)
    return (
        escape(row.group), f"{row.n_items:,}", f"{row.n_labels:,}", f"{row.mean:.3f}", interval, row.chance_of_worst, row.ranks,
    )  # fmt: skip
