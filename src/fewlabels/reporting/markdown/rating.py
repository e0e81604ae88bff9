"""A rating as Markdown: the overall figure, a row per group, the judges, and the warnings."""

from fewlabels.analyses.rating.result import Rating
from fewlabels.errors import count
from fewlabels.reporting.markdown.markup import collapse, escape, format_interval, join, render_table, render_warnings
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
    list_set_rows,
    list_system_rows,
    name_figure,
)

VISIBLE_ROWS, MAX_ROWS = 20, 500


def render_rating(r: Rating) -> str:
    """Return a rating as Markdown."""
    name, one = ("micro F1", r.sets.micro.f1) if r.sets else (name_figure(r), r.overall)
    title = f"### {name}: {one.mean:.3f} ({format_interval(one.low, one.high)})"
    quantity = "exactly these items" if r.finite_pool else "the population these items came from"
    about = (
        f"{escape(r.source)}: {escape(describe_pool(r))}; groups by {escape(r.by)}, {100 * r.level:g}% intervals, about "
        f"{quantity}. {escape(explain_figure(r)).capitalize()}."
    )
    parts = [] if r.sets else [*_render_group_table(r), _render_judge_table(r)]
    return join(title, about, *_render_system_table(r), *parts, render_warnings(r.warnings))


def _render_system_table(r: Rating) -> list[str]:
    """Return the systems (or sets) of a rating as a Markdown table."""
    if r.sets:
        rows = [tuple(map(escape, cells)) for cells in list_set_rows(r)]
        return [render_table(SET_COLUMNS, rows), f"{escape(describe_sets(r)).capitalize()}."]
    if not r.ranking:
        return []
    rows = [tuple(map(escape, cells)) for cells in list_system_rows(r)]
    return [render_table(SYSTEM_COLUMNS, rows), f"{escape(describe_position(r)).capitalize()}."]


def _render_group_table(r: Rating) -> list[str]:
    """Return the groups of a rating as a Markdown table."""
    if len(r.groups) < 2:
        return []
    header = (escape(r.by), "items", "grades", name_figure(r), f"{100 * r.level:g}% interval", "P(worst)")
    rows = [
        (escape(row.group), f"{row.n_items:,}", f"{row.n_grades:,}", f"{row.mean:.3f}", format_interval(row.low, row.high), row.chance_of_worst)
        for row in r.worst_first[:MAX_ROWS]
    ]  # fmt: skip
    parts = [render_table(header, rows[:VISIBLE_ROWS])]
    if len(rows) > VISIBLE_ROWS:
        more = count(len(rows) - VISIBLE_ROWS, "more group")
        parts.append(collapse(more, render_table(header, rows[VISIBLE_ROWS:])))
    if len(r.groups) > MAX_ROWS:
        parts.append(f"{count(len(r.groups) - MAX_ROWS, 'group')} are left out; JSON and HTML have them all.")
    return parts


def _render_judge_table(r: Rating) -> str:
    """Return the judges of a rating as a Markdown table."""
    rows = [tuple(map(escape, cells)) for cells in list_judge_rows(r)]
    return join(render_table(JUDGE_COLUMNS, rows), f"{escape(describe_judges(r))}.") if rows else ""
