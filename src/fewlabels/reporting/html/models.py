"""Render a comparison of models as one self-contained HTML file: who wins where, and by how much."""

from collections.abc import Iterator

from fewlabels.analyses.models.estimates import COUNTS, ModelDifference, describe_estimated_difference
from fewlabels.analyses.models.result import ModelComparison
from fewlabels.distributions.difference import NOT_SETTLED
from fewlabels.errors import count, join_names
from fewlabels.reporting.html.assessment_text import define_metric
from fewlabels.reporting.html.captions import CaptionedFigure, render_figure
from fewlabels.reporting.html.next_steps import propose_after_models
from fewlabels.reporting.html.tables import ReportTable
from fewlabels.reporting.html.template import render
from fewlabels.reporting.plots.models import plot_differences, plot_figures
from fewlabels.text import format_probability

SHOWN = 25  # rows of a table that are not collapsed
DIFFERENCES_CAPTION = "Dots are estimates and bars their intervals; filled ones have a verdict. Shaded: the region of practical equivalence (ROPE), differences too small to matter. On the right, the labels of items on which the two models disagree: only these tell them apart."
FIGURES_CAPTION = "The estimate of every model with its interval, and the probability that it is the best of them. Intervals may overlap although one is surely better: models are right and wrong on the same items."


def headline(c: ModelComparison) -> str:
    """State in one sentence of the HTML report which of several models is the best."""
    return f"{c.sentence[0].upper()}{c.sentence[1:]}." if not c.sentence.startswith(c.models) else f"{c.sentence}."


def render_models(c: ModelComparison) -> str:
    """Return the HTML report of a comparison of models."""
    facts = [
        ("items", f"{c.n_items:,}"), ("labelled", f"{c.n_labels:,}"), *([("disagree on", f"{c.n_disagree:,}")] if c.paired else []),
        ("metric", c.metric), ("ROPE", f"±{c.rope:g}"), ("prior", c.prior), ("level", f"{100 * c.level:g}%"),
        ("about", "these items" if c.finite_pool else "their population"),
    ]  # fmt: skip
    return render(
        title=f"{c.metric}: {join_names(c.models, most=4)}",
        source=c.provenance.source,
        headline=headline(c),
        facts=facts,
        supported=list(_list_findings(c)),
        unsupported=[*_list_unsettled(c), *c.warnings, "The labelled items must have been drawn at random among items on which the models agree or disagree alike."],
        pictures=_draw_model_figures(c),
        tables=list(_make_model_tables(c)),
        number=lambda value: f"{value:.3f}",
        method=_describe_method(c),
        made=c.provenance,
        next_steps=propose_after_models(c),
    )  # fmt: skip


def _list_findings(c: ModelComparison) -> Iterator[str]:
    """State in the HTML report every model's figure, and which model is better in which groups."""
    for one in c.list_figures():
        yield f"{one.model}: {one.mean:.3f} ({one.low:.3f} to {one.high:.3f}); best with probability {format_probability(one.p_best)}; choosing it costs {one.regret:.4f} in expectation."
    settled = [row for row in _list_group_rows(c) if row.verdict != NOT_SETTLED]
    wins: dict[str, list[str]] = {}
    for row in settled:
        is_better = (row.verdict == "above") != c.lowest_is_best
        if row.verdict != "equivalent":
            wins.setdefault(row.a if is_better else row.b, []).append(f"“{row.group}” {row.mean:+.3f}")
    for model, groups in wins.items():
        yield f"{model} is better in {join_names(groups, most=8)}."
    same = [f"“{row.group}”" for row in settled if row.verdict == "equivalent"]
    if same:
        yield f"No difference that matters in {join_names(same, most=8)}."


def _list_unsettled(c: ModelComparison) -> Iterator[str]:
    """State in the HTML report in which groups it is not settled which model is better."""
    rows = [row for row in _list_group_rows(c) if row.verdict == NOT_SETTLED]
    if rows:
        yield f"Which model is better is not settled in {count(len(rows), 'group')}: {join_names((row.group for row in rows), most=6)}."


def _list_group_rows(c: ModelComparison) -> list[ModelDifference]:
    """Return the differences of two models per group, for the HTML report."""
    return [row for row in c.differences if row.group != c.whole] if len(c.models) == 2 else []


def _draw_model_figures(c: ModelComparison) -> Iterator[CaptionedFigure]:
    """Draw the figures of the HTML report of a comparison of models."""
    yield render_figure(plot_differences(c), "Differences", DIFFERENCES_CAPTION)
    yield render_figure(plot_figures(c), f"{c.metric} of every model", FIGURES_CAPTION)


def _make_model_tables(c: ModelComparison) -> Iterator[ReportTable]:
    """Make the HTML tables of a comparison of models: differences and figures."""
    where = () if c.by == "all" else (c.by,)
    columns = (
        "difference",
        *where,
        *COUNTS[c.paired],
        "mean",
        "low",
        "high",
        "P(lower)",
        "P(within)",
        "P(higher)",
        "verdict",
    )
    rows = [
        (f"{row.a} − {row.b}", *((row.group,) if where else ()), *(f"{n:,}" for n in row.list_counts()), f"{row.mean:+.3f}", f"{row.low:+.3f}",
         f"{row.high:+.3f}", *map(format_probability, (row.p_below, row.p_equivalent, row.p_above)), row.verdict)
        for row in c.differences
    ]  # fmt: skip
    yield ReportTable("Differences", columns, rows, n_names=1 + len(where), shown=SHOWN)
    yield ReportTable(
        "Models", ("model", *where, c.metric, "low", "high", "P(best)", "expected loss"),
        [(r.model, *((r.group,) if where else ()), r.mean, r.low, r.high, format_probability(r.p_best), f"{r.regret:.4f}") for r in c.figures],
        n_names=1 + len(where), shown=SHOWN,
    )  # fmt: skip
    if c.disagreements:
        named = c.by != "all"
        yield ReportTable(
            "Labelled items on which the models disagree",
            ("id", *((c.by,) if named else ()), "label", *c.models),
            [(item.id, *((item.group,) if named else ()), item.label, *(f"{said} ✓" if said == item.label else said for said in item.predicted)) for item in c.disagreements],
            n_names=2 + named + len(c.models), shown=SHOWN, note="At most 100 are listed; ✓ marks the models that are right.",
        )  # fmt: skip


def _describe_method(c: ModelComparison) -> list[str]:
    """Explain in the HTML report how the models were compared."""
    n_draws = c.provenance.n_draws
    paired = (
        "Where two models predict the same class, both are right or both are wrong; where they differ, at most one is right. The outcome of every item is one of its candidate classes or none, with probabilities learned from the labels, the scores of all models, and effects of groups."
        if c.paired
        else "The models are compared on different items, each by its own labels."
    )
    pair = describe_estimated_difference(c.list_differences()[0], c.rope, c.required)
    return [
        f"Metric: {c.metric}, {define_metric(c.metric)}.",
        paired,
        f"Estimates are posterior means; intervals are equal-tailed {100 * c.level:g}% credible intervals from {n_draws or 0:,} joint draws (seed {c.provenance.seed}).",
        f"A verdict is stated from a probability of {c.required:g} on. {pair[0].upper() if pair.startswith(NOT_SETTLED) else pair[0]}{pair[1:]}.",
    ]
