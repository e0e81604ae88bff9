"""Render assessments and comparisons as HTML."""

from pathlib import Path

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.comparison import Comparison
from fewlabels.files import write_atomic
from fewlabels.reporting.html import assessment_text as words
from fewlabels.reporting.html.figures import draw_difference, draw_figures
from fewlabels.reporting.html.template import render


def write_report(a: Assessment, path: str | Path) -> Path:
    """Write an assessment as one self-contained HTML file."""
    return write_atomic(path, render_report(a), inputs=a.provenance.inputs)


def write_comparison(c: Comparison, path: str | Path) -> Path:
    """Write a comparison as one self-contained HTML file."""
    return write_atomic(path, render_comparison(c), inputs=c.provenance.inputs)


def render_report(a: Assessment) -> str:
    """Return the HTML report of an assessment."""
    facts = [
        ("items", f"{a.n_items:,}"), ("labelled", f"{a.n_labels:,}"), ("groups", f"{len(a.groups):,} by {a.by}"),
        ("prior", a.prior), ("level", f"{100 * a.level:g}%"), ("about", "these items" if a.finite_pool else "their population"),
    ]  # fmt: skip
    return render(
        title=f"{a.metric} by {a.by}",
        source=a.source,
        headline=words.headline(a),
        facts=facts,
        supported=words.supported(a),
        unsupported=words.unsupported(a),
        pictures=draw_figures(a),
        assessment=a,
        rows=a.in_order,
        number=lambda value: words.number(a, value),
        method=words.method(a),
    )


def render_comparison(c: Comparison) -> str:
    """Return the HTML report of a comparison."""
    first, *rest = words.verdict(c)
    facts = [("metric", c.metric), ("ROPE", f"±{c.rope:g}"), ("level", f"{100 * c.level:g}%")]
    return render(
        title=f"{c.groups[0]} against {c.groups[1]}",
        source="",
        headline=first,
        facts=facts,
        supported=rest,
        unsupported=[*c.warnings, "The labelled items must have been drawn at random within each group."],
        pictures=[draw_difference(c)],
        method=[
            f"Metric: {c.metric}, {words.define_metric(c.metric)}.",
            f"The verdict is the region (lower, practically equivalent, higher) whose posterior probability is at least {c.required:g}; if no region reaches it, the comparison is not settled.",
        ],
    )
