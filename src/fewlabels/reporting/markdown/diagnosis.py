"""A diagnosis as Markdown: the columns of a table, its classes, findings and the next commands."""

from fewlabels.analyses.diagnosis import Diagnosis
from fewlabels.reporting.markdown.markup import escape, join, render_table, render_warnings
from fewlabels.reporting.summaries import summarize_diagnosis
from fewlabels.text import sanitize_line

MAX_CLASSES = 20  # classes listed


def render_diagnosis(d: Diagnosis) -> str:
    """Return a diagnosis as Markdown."""
    title = f"### {escape(d.source)}"
    can = f"Can be assessed: {escape('; '.join(d.can))}." if d.can else ""
    return join(
        title,
        f"**{escape(summarize_diagnosis(d))}**",
        _render_column_table(d),
        *_render_size_table(d),
        can,
        _list_commands(d),
        render_warnings(d.warnings),
    )


def _render_column_table(d: Diagnosis) -> str:
    """Return the columns of a diagnosis as a Markdown table."""
    rows = (
        (escape(row["column"]), escape(row["type"]), escape(row["role"]) if row["role"] else "", _format_count(row["n_values"]))
        for row in d.list_rows()
    )  # fmt: skip
    return render_table(("column", "type", "role", "values"), rows, n_names=3)


def _render_size_table(d: Diagnosis) -> list[str]:
    """Return the sizes of groups in a diagnosis as a Markdown table, with a note on those left out."""
    if not d.sizes:
        return []
    largest = sorted(d.sizes, key=lambda size: -size.n_items)[:MAX_CLASSES]
    rows = ((escape(size.group), f"{size.n_items:,}", f"{size.n_labels:,}") for size in largest)
    left_out = len(d.sizes) - len(largest)
    note = f"The {MAX_CLASSES} largest classes; {left_out:,} more are not listed." if left_out else ""
    return [render_table(("predicted" if d.classes else "", "items", "labels"), rows), note]


def _list_commands(d: Diagnosis) -> str:
    """List the next commands of a diagnosis in Markdown, as indented code, which no file name can end."""
    return "\n".join(f"    {sanitize_line(line)}" for line in d.next)


def _format_count(n: int | None) -> str:
    """Format a count in the Markdown of a diagnosis; nothing for None."""
    return "" if n is None else f"{n:,}"
