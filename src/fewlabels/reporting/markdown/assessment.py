"""An assessment as Markdown: the overall estimate, a row per group, and the warnings."""

from collections.abc import Sequence

from fewlabels.analyses.assessment import Assessment, Row
from fewlabels.errors import count
from fewlabels.reporting.markdown.markup import escape, fold, join, lay_out, remark, write_interval

OPEN, MOST = 20, 500  # visible rows, and rows in all: a comment on a pull request holds 65,536 characters


def render_assessment(a: Assessment) -> str:
    """Return an assessment as Markdown."""
    whole = f"{a.overall.mean:.3f} ({write_interval(a.overall.low, a.overall.high)})"
    of = f" of class {escape(a.positive)}" if a.positive is not None else ""
    title = f"### {escape(a.metric)}{of}: {whole}"
    return join(title, _describe(a), *_list_groups(a), remark(a.warnings))


def _describe(a: Assessment) -> str:
    quantity = "exactly these items" if a.finite_pool else "the population these items came from"
    return (
        f"{escape(a.source)}: {count(a.n_items, 'item')}, {a.n_labels:,} labelled; groups by {escape(a.by)}, prior "
        f"{escape(a.prior)}, {100 * a.level:g}% intervals, about {quantity}."
    )


def _list_groups(a: Assessment) -> list[str]:
    rows = a.in_order
    if len(rows) < 2:
        return []
    parts = [_table_of(a, rows[:OPEN])]
    if len(rows) > OPEN:
        parts.append(fold(count(len(rows[:MOST]) - OPEN, "more group"), _table_of(a, rows[OPEN:MOST])))
    if len(rows) > MOST:
        parts.append(f"{count(len(rows) - MOST, 'group')} are left out; JSON and HTML have them all.")
    return parts


def _table_of(a: Assessment, rows: Sequence[Row]) -> str:
    header = (escape(a.by), "items", "labels", escape(a.metric), f"{100 * a.level:g}% interval", "P(worst)", "rank")
    return lay_out(header, [_cells(row) for row in rows])


def _cells(row: Row) -> tuple[str, ...]:
    interval = write_interval(row.low, row.high)
    return (
        escape(row.group), f"{row.n_items:,}", f"{row.n_labels:,}", f"{row.mean:.3f}", interval, row.chance_of_worst, row.ranks,
    )  # fmt: skip
