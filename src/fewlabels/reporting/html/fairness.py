"""Render a fairness result as one self-contained HTML file, with sentences that an auditor can quote."""

from collections.abc import Iterator

import numpy as np

from fewlabels.analyses.fairness.definitions import SELECTION, define, display_name
from fewlabels.analyses.fairness.gaps import LARGEST, ODDS, Gap
from fewlabels.analyses.fairness.result import Fairness
from fewlabels.errors import count, join_names
from fewlabels.reporting.html.captions import CaptionedFigure, render_figure
from fewlabels.reporting.html.next_steps import propose_after_fairness
from fewlabels.reporting.html.tables import ReportTable
from fewlabels.reporting.html.template import render
from fewlabels.reporting.plots.fairness import plot_gap_densities, plot_gaps, plot_group_curves
from fewlabels.text import format_probability

MAX_SENTENCES = 6  # sentences in a list
VISIBLE_ROWS = 60  # visible rows of a table
MANY_GAPS = 40  # gaps, of which about two 95% intervals are expected to miss the true value
METHOD_TEXTS = {
    "frequency": "Rates are the relative frequencies among the labelled people; unlabelled people and scores are not used.",
    "beta-binomial": "Rates are estimated from the labelled people alone, with a flat prior (beta-binomial); unlabelled people and scores are not used.",
    "calibrated": "Rates are estimated from labels and from the scores of all people. The labels fit one calibration curve per group; the curves are partially pooled, and shrink towards each other as far as the labels show that groups are alike. Each curve may have a step between people predicted negative and people predicted positive, whose height is learned from the labels.",
}
GAPS_NOTE = (
    "A gap is the group's value minus the reference's value; a ratio is the group's value divided by the reference's. Both have "
    "intervals. For the largest gap, the ratio is the lowest value divided by the highest; for equalised odds, it is the ratio that "
    "is further from 1. More labels: roughly how many more labels, of people drawn at random, would put the whole interval inside or "
    "outside the margin, if its centre does not move; –: labelling everybody might not be enough."
)
CALIBRATION_TEXT = "Rates are estimated from labels and from the scores of all people, through calibration curves fitted to the labels, without a step between people predicted negative and people predicted positive."


def render_fairness(f: Fairness) -> str:
    """Return the HTML report of a fairness result."""
    facts = [
        ("people", f"{f.n_items:,}"), ("labelled", f"{f.n_labels:,}"), ("reference", f.whom), ("positive", f.positive), ("margin", f"±{f.rope:g}"),
        ("level", f"{100 * f.level:g}%"), ("about", "these people" if f.finite_pool else "their population"),
    ]  # fmt: skip
    return render(
        title=f"Fairness by {f.by}",
        source=f.source,
        headline=headline(f),
        facts=facts,
        supported=list(_list_findings(f)),
        unsupported=list(_list_caveats(f)),
        pictures=_draw_fairness_figures(f),
        tables=[_make_definition_table(f), _make_gap_table(f), _make_group_table(f)],
        method=_explain_method(f),
        made=f.provenance,
        next_steps=propose_after_fairness(f),
    )


def headline(f: Fairness) -> str:
    """State in one sentence of the HTML report which gaps of a fairness result are settled."""
    settled = [gap for gap in f.gaps if gap.is_settled]
    fair = [gap for gap in settled if -f.rope <= gap.low and gap.high <= f.rope]
    unfair = [gap for gap in settled if gap not in fair]
    if unfair:
        clearest = max(unfair, key=lambda gap: (gap.metric != ODDS, abs(gap.mean)))
        return f"Groups differ by more than ±{f.rope:g}: {f.say(clearest)}."
    if len(fair) == len(f.gaps):
        return f"All gaps are within ±{f.rope:g}, with {count(f.n_labels, 'label')}: every {100 * f.level:g}% interval lies inside."
    return f"Not settled with {count(f.n_labels, 'label')}: no gap's interval lies entirely outside ±{f.rope:g}, and not every interval lies inside."


def _list_findings(f: Fairness) -> Iterator[str]:
    """State in the HTML report of fairness the settled gaps, then likely ones (most probable sign first), then ratios (lowest first)."""
    settled = [gap for gap in f.gaps if gap.is_settled]
    likely = [gap for gap in f.gaps if gap.group != LARGEST and gap not in settled and _has_likely_sign(f, gap)]
    for gap in [*settled, *sorted(likely, key=lambda gap: -abs(gap.p_greater - 0.5))][:MAX_SENTENCES]:
        yield _capitalize(f.say(gap)) + "."
    ratios = sorted((gap.ratio.median, rule) for gap in f.gaps if gap.ratio and (rule := f.say_four_fifths(gap)))
    for _, rule in ratios[:MAX_SENTENCES]:
        yield _capitalize(rule) + "."
    if not settled and not likely:
        yield f"No direction of any gap is clear yet: {count(f.n_labels, 'label')} {'is' if f.n_labels == 1 else 'are'} too few."


def _has_likely_sign(f: Fairness, gap: Gap) -> bool:
    """Is the sign of a fairness gap, for the HTML report, as probable as the stated level?"""
    return gap.has_sign and max(gap.p_greater, 1 - gap.p_greater) >= f.level


def _list_caveats(f: Fairness) -> Iterator[str]:
    """State in the HTML report of fairness the unsettled gaps (fewest missing labels first), then caveats."""
    unsettled = [gap for gap in f.gaps if gap.group != LARGEST and not gap.is_settled and not np.isnan(gap.mean)]
    for gap in sorted((gap for gap in unsettled if gap.more_labels), key=lambda gap: gap.more_labels or 0)[
        :MAX_SENTENCES
    ]:
        of = f"{gap.group} and {f.whom} differ in {display_name(gap.metric)} by more than {f.rope:g}"
        yield f"it is not settled whether {of}; about {count(gap.more_labels or 0, 'more label')}, of people drawn at random, would settle it"
    far = [gap for gap in unsettled if gap.more_labels is None]
    told = [f"{display_name(gap.metric)} of {gap.group}" for gap in far if gap.metric != SELECTION]
    if told:
        yield f"labelling all these people might not settle these gaps: {join_names(told, MAX_SENTENCES)}"
    if len(told) < len(far):
        yield "selection rates do not depend on labels: gaps in them that are not settled need more people, not more labels"
    yield from f.warnings
    yield "labelled people must have been drawn at random; whether a person was labelled must not depend on whether they were accepted"
    if len(f.gaps) > MANY_GAPS:
        yield f"{len(f.gaps):,} gaps were examined, each with its own interval: among so many, some intervals lie outside the margin by chance; the figures show the gaps least likely to be within the margin"
    yield "a gap shows that groups differ, not why"


def _draw_fairness_figures(f: Fairness) -> Iterator[CaptionedFigure]:
    """Draw the figures of the HTML report of fairness."""
    drawable = [gap for gap in f.gaps if not np.isnan(gap.mean)]
    if drawable:
        yield render_figure(plot_gaps(f), "Gaps and the margin", "Dots are estimates and bars their intervals; the band is the margin. Coloured: settled, with the whole interval outside it; the largest of several gaps is never settled outside.")  # fmt: skip
    if any(_is_uncertain(gap) for gap in drawable):
        yield render_figure(plot_gap_densities(f), "Posterior of each gap", "The posterior density of each gap, scaled to the same height; darker: its interval; the band is the margin.")  # fmt: skip
    if f.curve:
        yield render_figure(plot_group_curves(f), "Calibration curve of each group", "Curves and bands are the fitted calibration curve of each group and its intervals (thin lines: the other groups). Dots with bars are rates of labels alone, binned by score. On the diagonal, scores are calibrated.")  # fmt: skip


def _is_uncertain(gap: Gap) -> bool:
    """Do the draws of a fairness gap differ, so that they have a density?"""
    return not np.isnan(gap.draws).any() and float(np.ptp(gap.draws)) > 0


def _make_definition_table(f: Fairness) -> ReportTable:
    """Make the HTML table that defines the fairness metrics."""
    asked = dict.fromkeys(gap.metric for gap in f.gaps)
    rows = [(metric, display_name(metric), define(metric, f.positive)) for metric in asked]
    return ReportTable("Definitions", ("metric", "name", "definition"), rows, n_names=3)


def _make_gap_table(f: Fairness) -> ReportTable:
    """Make the HTML table of all fairness gaps."""
    rows = []
    for gap in f.gaps:
        ratio = "" if gap.ratio is None else f"{gap.ratio.median:.2f} [{gap.ratio.low:.2f}, {gap.ratio.high:.2f}]"
        numbers = (_format_value(v) for v in (gap.mean, gap.low, gap.high))
        chances = (
            format_probability(gap.p_greater) if gap.has_sign else "",
            format_probability(gap.p_practically_fair),
        )
        more = "settled" if gap.is_settled else "–" if gap.more_labels is None else f"{gap.more_labels:,}"
        rows.append((gap.metric, gap.group, *numbers, *chances, ratio, more))
    columns = (
        "metric",
        f"gap to {f.whom}",
        "mean",
        "low",
        "high",
        "P(> 0)",
        f"P(within ±{f.rope:g})",
        "ratio",
        "more labels",
    )
    return ReportTable("Every gap", columns, rows, n_names=2, shown=VISIBLE_ROWS, note=GAPS_NOTE)


def _make_group_table(f: Fairness) -> ReportTable:
    """Make the HTML table of every group's rates in a fairness result."""
    rows = [
        (row.metric, row.group, f"{row.n_items:,}", f"{row.n_labels:,}", *(_format_value(v) for v in (row.mean, row.low, row.high)))
        for row in f.groups
    ]  # fmt: skip
    return ReportTable(
        "Every group", ("metric", f.by, "people", "labels", "mean", "low", "high"), rows, n_names=2, shown=VISIBLE_ROWS
    )


def _explain_method(f: Fairness) -> list[str]:
    """Explain in the HTML report how the fairness gaps were computed."""
    about = (
        "exactly these people: labelled people are known, only the others are uncertain"
        if f.finite_pool
        else "the population these people came from"
    )
    lines = [METHOD_TEXTS.get(f.method, CALIBRATION_TEXT), f"The rates are those of {about}."]
    if f.curve:
        lines.append(f"Sampled by Hamiltonian Monte Carlo: R-hat at most {f.health.rhat:.3f}, at least {f.health.ess:,.0f} effective draws, {count(f.health.divergences, 'divergent transition')}.")  # fmt: skip
    return lines


def _format_value(value: float) -> str:
    """Format a rate or a gap for the HTML report of fairness."""
    return "undefined" if np.isnan(value) else f"{value:.3f}"


def _capitalize(text: str) -> str:
    """Start a sentence of the HTML report of fairness with a capital letter."""
    return text[0].upper() + text[1:]
