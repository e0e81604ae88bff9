"""Render assessments and comparisons as HTML."""

from dataclasses import asdict

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.comparison import Comparison
from fewlabels.reporting.html import assessment_text as words
from fewlabels.reporting.html.assessment_figures import draw_difference, draw_figures
from fewlabels.reporting.html.interval_bars import IntervalScale
from fewlabels.reporting.html.next_steps import propose_after_comparison, propose_next_steps
from fewlabels.reporting.html.template import render


def render_report(a: Assessment) -> str:
    """Return the HTML page that reports an assessment."""
    facts = [
        ("items", f"{a.n_items:,}"), ("labelled", f"{a.n_labels:,}"), ("groups", f"{len(a.groups):,} by {a.by}"),
        ("prior", a.prior), ("level", f"{100 * a.level:g}%"), ("about", "these items" if a.finite_pool else "their population"),
    ]  # fmt: skip
    scale = IntervalScale.covering([asdict(a.overall), *map(asdict, a.groups)])
    return render(
        title=words.title(a),
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
        made=a.provenance,
        next_steps=propose_next_steps(a),
        bar=scale.draw if scale else None,
    )


def render_comparison(c: Comparison) -> str:
    """Return the HTML page that reports a comparison of two groups."""
    first, *rest = words.verdict(c)
    facts = [("metric", c.metric), ("ROPE", f"±{c.rope:g}"), ("level", f"{100 * c.level:g}%")]
    return render(
        title=f"{c.groups[0]} against {c.groups[1]}",
        source=c.provenance.source,
        headline=first,
        facts=facts,
        supported=rest,
        unsupported=[*c.warnings, "The labelled items must have been drawn at random within each group."],
        pictures=[draw_difference(c)],
        method=[
            f"Metric: {c.metric}, {words.define_metric(c.metric)}.",
            f"The verdict is the region (lower, practically equivalent, higher) whose posterior probability is at least {c.required:g}; if no region reaches it, the comparison is not settled.",
        ],
        made=c.provenance,
        next_steps=propose_after_comparison(c),
    )
