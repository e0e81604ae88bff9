"""Sentences and numbers of a rating, for the terminal, Markdown, HTML and plots."""

from collections.abc import Iterator

from fewlabels.analyses.assessment_rows import Estimate
from fewlabels.analyses.rating.estimates import MEAN_GRADE, PASS_RATE, WIN_RATE, GradeRow
from fewlabels.analyses.rating.judges import MIN_GRADES, JudgeAgreement, JudgeRating
from fewlabels.analyses.rating.result import Rating
from fewlabels.analyses.rating.sets import SetFigures
from fewlabels.errors import count, join_names
from fewlabels.text import format_probability

FIGURES = {PASS_RATE: "pass rate", MEAN_GRADE: "mean grade", WIN_RATE: "win rate"}
SETTLED = 0.95  # P(worst) from which a group is called the worst
SET_COLUMNS = ("label", "predicted", "precision", "recall", "F1")
SYSTEM_COLUMNS = ("system", "comparisons", "by people", "wins against all others", "interval", "P(best)", "rank")
JUDGE_COLUMNS = ("judge", "items", "grades", "TPR", "TNR", "kappa", "bias")


def name_figure(r: Rating) -> str:
    """Return the figure of a rating as text."""
    if r.sets:
        return "share of items with the label"
    return FIGURES[r.figure]


def explain_figure(r: Rating) -> str:
    """Say in a rating's text what its figure is, on which scale."""
    if r.sets:
        return "precision, recall and F1 of predicted labels against people's; micro: all labels of all items together; macro: mean over labels"
    if r.figure == PASS_RATE:
        return f"pass rate: the share of outputs that people grade {r.scale.describe(r.bar)}{'' if r.bar == r.scale.high else ' or higher'}; scale {r.scale.words}"
    if r.figure == WIN_RATE:
        return "win rate of the first output over the second, as people prefer; a tie counts half"
    return f"mean grade by people's standard; scale {r.scale.words}"


def format_figure(r: Rating, value: float) -> str:
    """Format a value of a rating as text: in percent if it is a share, with two decimals on other scales."""
    return f"{100 * value:.1f}%" if r.is_share else f"{value:.2f}"


def format_whole(r: Rating, one: Estimate | GradeRow) -> str:
    """Format a value of a rating with its interval as text."""
    return f"{format_figure(r, one.mean)} ({format_figure(r, one.low)} to {format_figure(r, one.high)})"


def headline(r: Rating) -> str:
    """State the overall figure of a rating as text in one sentence."""
    scope = "of these items" if r.finite_pool else "of outputs like these"
    o = r.overall
    if r.sets:
        return _headline_sets(r, r.sets)
    if not r.n_grades:
        return f"No item has a grade of people: the {name_figure(r)} {scope} by people's standard is unknown."
    if r.ranking:
        best = r.ranking.systems[0]
        return (
            f"“{best.system}” ranks first of {len(r.ranking.systems)} systems, and is the best with probability {format_probability(best.p_best)}: by people's standard "
            f"it wins {format_share(best.mean)} against all others alike; with {100 * r.level:g}% probability between {format_share(best.low)} and {format_share(best.high)}."
        )
    return (
        f"The {name_figure(r)} {scope} by people's standard is {format_figure(r, o.mean)}; with {100 * r.level:g}% "
        f"probability it lies between {format_figure(r, o.low)} and {format_figure(r, o.high)}."
    )


def _headline_sets(r: Rating, sets: SetFigures) -> str:
    """State the micro F1 of a rating of sets of labels as text."""
    scope = "of these items" if r.finite_pool else "of items like these"
    if not r.n_grades:
        return f"No item is labelled by people: how well sets of labels {scope} are predicted is unknown."
    return f"The micro F1 of predicted sets of labels {scope} is {format_share(sets.micro.f1.mean)}; with {100 * r.level:g}% probability it lies between {format_share(sets.micro.f1.low)} and {format_share(sets.micro.f1.high)}."


def format_share(value: float) -> str:
    """Format a share in a rating's text in percent."""
    return f"{100 * value:.1f}%"


def list_findings(r: Rating) -> Iterator[str]:
    """List in sentences of text what the estimates of a rating support."""
    if not r.n_grades:
        return
    if r.sets:
        yield f"Macro F1 is {_format_percent(r.sets.macro.f1)}."
        yield f"{describe_sets(r)[:1].upper()}{describe_sets(r)[1:]}."
        return
    if r.ranking:
        best = r.ranking.systems[0]
        if best.p_best >= SETTLED:
            yield f"“{best.system}” is the best system with probability {format_probability(best.p_best)}."
        yield f"{describe_position(r).capitalize()}."
    elif len(r.groups) > 1:
        worst = max(r.groups, key=lambda row: row.p_worst or 0.0)
        if (worst.p_worst or 0.0) >= SETTLED:
            yield f"“{worst.group}” has the lowest {name_figure(r)} with probability {worst.chance_of_worst}: {format_whole(r, worst)}."
        below = [row for row in r.groups if row.high < r.overall.low]
        above = [row for row in r.groups if row.low > r.overall.high]
        if below:
            yield f"Below the overall interval: {'; '.join(f'“{row.group}” {format_whole(r, row)}' for row in below[:5])}."
        if above:
            yield f"Above the overall interval: {'; '.join(f'“{row.group}” {format_whole(r, row)}' for row in above[:5])}."
    for judge in r.judges:
        yield from _describe_judge(r, judge)


def _describe_judge(r: Rating, judge: JudgeRating) -> Iterator[str]:
    """Say in a rating's text how a judge agrees with people, and how it is biased."""
    one = judge.overall
    yield (
        f"Of what people pass, {judge.name} passes {_format_percent(one.tpr)}; of what people fail, it fails {_format_percent(one.tnr)} "
        f"(it passes an output from {judge.bar:g} on)."
    )
    figure = FIGURES[judge.bias_of]
    if one.bias.low > 0 or one.bias.high < 0:
        side = "higher" if one.bias.low > 0 else "lower"
        name = "favours a position" if judge.bias_of == WIN_RATE else "is biased"
        yield f"{judge.name} {name}: its {figure} is {side} than people's, by {_format_bias(r, judge, one.bias)}."


def list_caveats(r: Rating) -> Iterator[str]:
    """List in sentences of text what the estimates of a rating do not support."""
    yield from r.warnings
    yield "the items that people graded must have been drawn at random within each group and grade of the judges"
    if r.cluster is None:
        yield "items are taken as independent; if several belong together, such as samples of one prompt, name their column (cluster)"


def explain_method(r: Rating) -> list[str]:
    """List in sentences of text how the figures of a rating were computed."""
    said = [
        f"Figure: {explain_figure(r)}.",
        "Model: the log probability of every grade is a line over grades, shifted by the judges' grades, by the group and by their "
        "combination, with departures from the line for every judge's grade and group. How large these effects are is learned from "
        "the grades and averaged over, so groups are pooled as far as they are alike.",
        "Posterior: normal approximations at many settings of these scales, reweighted to the exact density.",
        "TPR: of the outputs people pass, the share the judge passes. TNR: of those people fail, the share it fails. Kappa: agreement beyond "
        "chance. Bias: the judge's figure minus people's.",
    ]
    if r.ranking:
        said.append(
            "Systems: the line over verdicts also has the difference of two systems' effects (Davidson 1970). To every draw of the pairs' "
            "win rates, Bradley-Terry strengths with an advantage of the first position are fitted; the win rate of a system is its mean "
            "against all others alike, wherever it stands."
        )
    if r.cluster is not None:
        said.append(f"Items with the same {r.cluster} form a cluster with an effect of its own, whose size is learned.")
    return said


def list_judge_rows(r: Rating) -> list[tuple[str, ...]]:
    """Return the cells of a rating's `JUDGE_COLUMNS` as text: every judge overall, then in groups with enough grades."""
    rows = []
    for judge in r.judges:
        rows.append((judge.name, *_format_agreement(r, judge, judge.overall)))
        rows += [(f"{judge.name}, {one.group}", *_format_agreement(r, judge, one)) for one in judge.groups]
    return rows


def describe_judges(r: Rating) -> str:
    """Say in a rating's text which grades pass in the judges' rates, and in which groups people graded too little to measure judges."""
    if not r.judges:
        return ""
    bars = ", ".join(f"{judge.name} {judge.bar:g}" for judge in r.judges)
    passes = (
        f"TPR, TNR and kappa: an output passes from people's grade {r.scale.describe(r.bar)} on (judges' bars: {bars})"
    )
    if r.scale.is_preference:
        passes = "TPR, TNR and kappa: an output passes if the first is preferred"
    measured = {one.group for one in r.judges[0].groups}
    left = [row.group for row in r.groups if row.group not in measured] if len(r.groups) > 1 else []
    if r.ranking or not left:
        return passes
    return (
        f"{passes}; judges are measured in groups with {MIN_GRADES} grades of people or more: not in {join_names(left)}"
    )


def list_next_rows(r: Rating) -> list[tuple[str, ...]]:
    """Return the answers that people should grade next for a rating, as text: id, group, and every judge's grade."""
    return [
        (str(one.id), one.group, *("–" if grade is None else f"{grade:.4g}" for grade in one.judged)) for one in r.next
    ]


def list_system_rows(r: Rating) -> list[tuple[str, ...]]:
    """Return the cells of a rating's `SYSTEM_COLUMNS` as text: every system, best first."""
    rows = r.ranking.systems if r.ranking else ()
    return [
        (
            one.system, f"{one.n_items:,}", f"{one.n_grades:,}", f"{100 * one.mean:.1f}\u202f%",
            f"{100 * one.low:.1f} to {100 * one.high:.1f}\u202f%", format_probability(one.p_best),
            f"{one.rank_low}" if one.rank_low == one.rank_high else f"{one.rank_low}–{one.rank_high}",
        )
        for one in rows
    ]  # fmt: skip


def describe_position(r: Rating) -> str:
    """Say in a rating's text how often people prefer what stands first, of two equal systems."""
    return (
        f"of two equal systems, people prefer what stands first in {_format_percent(r.ranking.position)}"
        if r.ranking
        else ""
    )


def list_set_rows(r: Rating) -> list[tuple[str, ...]]:
    """Return the cells of a rating's `SET_COLUMNS` as text: every label, then micro and macro averages."""
    rows = (*r.sets.labels, r.sets.micro, r.sets.macro) if r.sets else ()
    return [
        (one.label, f"{one.n_predicted:,}", *map(_format_percent, (one.precision, one.recall, one.f1))) for one in rows
    ]


def describe_sets(r: Rating) -> str:
    """State in a rating's text the subset accuracy and Hamming loss."""
    if not r.sets:
        return ""
    return f"the whole set is right in {_format_percent(r.sets.subset_accuracy)} of the items (subset accuracy); Hamming loss {100 * r.sets.hamming_loss.mean:.1f}\u202f% ({100 * r.sets.hamming_loss.low:.1f} to {100 * r.sets.hamming_loss.high:.1f})"


def _format_agreement(r: Rating, judge: JudgeRating, one: JudgeAgreement) -> tuple[str, ...]:
    """Format the agreement of a judge with people in a rating as text."""
    bias = _format_bias(r, judge, one.bias)
    kappa = f"{one.kappa.mean:.2f} ({one.kappa.low:.2f} to {one.kappa.high:.2f})"
    return f"{one.n_items:,}", f"{one.n_grades:,}", _format_percent(one.tpr), _format_percent(one.tnr), kappa, bias


def _format_percent(one: Estimate) -> str:
    """Format an estimate of a rating with its interval as text, in percent."""
    return f"{100 * one.mean:.0f}% ({100 * one.low:.0f} to {100 * one.high:.0f})"


def _format_bias(r: Rating, judge: JudgeRating, bias: Estimate) -> str:
    """Format a judge's bias in a rating with its interval as text: in points of a share, or in grades."""
    if judge.bias_of == PASS_RATE or r.is_share:
        mean, low, high = (round(100 * value) for value in (bias.mean, bias.low, bias.high))
        return f"{mean:+d} ({low:+d} to {high:+d}) points"
    return f"{bias.mean:+.2f} ({bias.low:+.2f} to {bias.high:+.2f})"


def describe_pool(r: Rating) -> str:
    """Say in a rating's text how many items people and judges graded."""
    judges = ", ".join(judge.name for judge in r.judges)
    if r.sets:
        return f"{count(r.n_items, 'item')}, {r.n_grades:,} labelled by people, {count(len(r.sets.labels), 'label')}"
    return f"{count(r.n_items, 'item')}, {r.n_grades:,} graded by people{f', judged by {judges}' if judges else ''}"


def list_group_cells(r: Rating, row: GradeRow, said: float | None) -> tuple[str, ...]:
    """Return the cells of a group in a rating's table as text: items, grades, P(worst), and what the judge says."""
    return f"{row.n_items:,}", f"{row.n_grades:,}", "–" if said is None else format_figure(r, said), format_probability(row.p_worst)  # fmt: skip
