"""A surface as Markdown: the overall estimate, answers to questions, and the worst arms."""

from collections.abc import Sequence

from fewlabels.analyses.surface.result import Arm, Surface, SurfaceEstimate
from fewlabels.errors import count
from fewlabels.reporting.markdown.markup import escape, format_interval, join, render_table, render_warnings

MAX_ARMS = 20  # arms


def render_surface(s: Surface, answers: Sequence[tuple[str, SurfaceEstimate]] = ()) -> str:
    """Return a surface as Markdown, with the answers to questions about it."""
    title = f"### accuracy: {s.overall.mean:.3f} ({format_interval(s.overall.low, s.overall.high)})"
    quantity = "exactly these items" if s.finite_pool else "the population these items came from"
    about = (
        f"{escape(s.source)}: {count(s.n_items, 'item')}, {s.n_labels:,} labelled, in {count(len(s.arms), 'arm')} of "
        f"{escape(', '.join(s.attributes))}; model {escape(s.model)}, {100 * s.level:g}% intervals, about {quantity}."
    )
    return join(title, about, _render_answer_table(s, answers), *_render_arm_table(s), render_warnings(s.warnings))


def _render_answer_table(s: Surface, answers: Sequence[tuple[str, SurfaceEstimate]]) -> str:
    """Return the answers to questions about a surface as a Markdown table."""
    if not answers:
        return ""
    rows = [(escape(question or "all items"), *_format_numbers(reading)) for question, reading in answers]
    return render_table(("question", *_list_arm_columns(s)), rows)


def _render_arm_table(s: Surface) -> list[str]:
    """Return the worst arms of a surface as a Markdown table."""
    if len(s.arms) < 2:
        return []
    arms = s.worst_first[:MAX_ARMS]
    rows = [(*(escape(arm.arm[name]) for name in s.attributes), *_format_numbers(arm)) for arm in arms]
    header = (*map(escape, s.attributes), *_list_arm_columns(s))
    left_out = len(s.arms) - len(arms)
    said = (
        f"The {len(arms)} worst arms; the JSON output has {left_out:,} more." if left_out else "All arms, worst first."
    )
    return [said, render_table(header, rows, n_names=len(s.attributes))]


def _list_arm_columns(s: Surface) -> tuple[str, ...]:
    """Return the headers of numbers in the Markdown tables of a surface."""
    return ("items", "labels", "accuracy", f"{100 * s.level:g}% interval")


def _format_numbers(row: Arm | SurfaceEstimate) -> tuple[str, ...]:
    """Return the cells of numbers in the Markdown tables of a surface."""
    return f"{row.n_items:,}", f"{row.n_labels:,}", f"{row.mean:.3f}", format_interval(row.low, row.high)
