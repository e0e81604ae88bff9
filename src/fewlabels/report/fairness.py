"""Fairness as one self-contained HTML file, in words an auditor can quote."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fewlabels.files import write_whole
from fewlabels.gaps import LARGEST, Fairness, Gap
from fewlabels.plots import plot_gap_densities, plot_gaps, plot_group_curves
from fewlabels.report.listing import Listing
from fewlabels.report.pages import render
from fewlabels.report.pictures import Picture, picture

MOST, LIKELY = 6, 0.9  # sentences in a list; probability from which a direction is worth one
METHODS = {
    "frequency": "Rates are those of the labelled people alone, as they are.",
    "beta-binomial": "Rates are those of the labelled people alone, every value of them as likely as another beforehand.",
    "calibrated": "The scores of all people count, as far as labels show that they can be trusted: one calibration curve for each group, drawn towards the others' as far as labels show them to be alike, with a step between those refused and those accepted, as high as labels demand.",
}
CALIBRATION = "The scores of all people count as a calibration curve for each group says, without a step between those refused and those accepted."


def write_fairness(f: Fairness, path: str | Path) -> Path:
    """Write it as one self-contained HTML file."""
    return write_whole(path, render_fairness(f))


def render_fairness(f: Fairness) -> str:
    """Return the page."""
    facts = [
        ("people", f"{f.n_items:,}"), ("labelled", f"{f.n_labels:,}"), ("reference", f.whom), ("margin", f"±{f.rope:g}"),
        ("level", f"{100 * f.level:g}%"), ("about", "these people" if f.finite_pool else "their population"),
    ]  # fmt: skip
    return render(
        title=f"Fairness by {f.by}",
        source=f.source,
        headline=_headline(f),
        facts=facts,
        supported=list(_list_findings(f)),
        unsupported=list(_list_doubts(f)),
        pictures=_draw(f),
        assessment=None,
        rows=(),
        number=str,
        tables=[_list_gaps(f), _list_groups(f)],
        method=_explain(f),
    )


def _headline(f: Fairness) -> str:
    """What is settled, first."""
    settled = [gap for gap in f.gaps if gap.is_settled(f.rope)]
    fair = [gap for gap in settled if -f.rope <= gap.low and gap.high <= f.rope]
    unfair = [gap for gap in settled if gap not in fair]
    if unfair:
        return f"Groups are treated differently: {f.say(max(unfair, key=lambda gap: abs(gap.mean)))}."
    if len(fair) == len(f.gaps):
        return f"Every gap is within ±{f.rope:g}, as far as {f.n_labels:,} labels tell."
    return f"{f.n_labels:,} labels do not settle whether groups are treated alike: no gap is beyond ±{f.rope:g} for certain, and not all are within."


def _list_findings(f: Fairness) -> Iterator[str]:
    """What is settled; then what is likely, the likeliest first."""
    settled = [gap for gap in f.gaps if gap.is_settled(f.rope)]
    likely = [gap for gap in f.gaps if gap.group != LARGEST and gap not in settled and _is_likely(gap)]
    for gap in [*settled, *sorted(likely, key=lambda gap: -abs(gap.p_greater - 0.5))][:MOST]:
        yield _capital(f.say(gap)) + "."
    for gap in f.gaps:
        rule = f.say_four_fifths(gap)
        if rule:
            yield _capital(rule) + "."
    if not settled and not likely:
        yield f"Nothing about who fares better, yet: {f.n_labels:,} labels are too few."


def _is_likely(gap: Gap) -> bool:
    return abs(gap.p_greater - 0.5) > LIKELY - 0.5


def _list_doubts(f: Fairness) -> Iterator[str]:
    """What is open, the easiest to settle first; and what no label can tell."""
    needs = {gap: f.count_more(gap) for gap in f.gaps if gap.group != LARGEST and not gap.is_settled(f.rope)}
    near = sorted((gap for gap, more in needs.items() if more), key=lambda gap: needs[gap] or 0)
    for gap in near[:MOST]:
        open_to = f"whether {gap.metric} of {gap.group} is within ±{f.rope:g} of {f.whom} is open"
        yield f"{open_to}: about {needs[gap]:,} more labels would settle it"
    far = [f"{gap.metric} of {gap.group}" for gap, more in needs.items() if more is None]
    if far:
        yield f"labels of all these people might not settle {', '.join(far[:MOST])}"
    yield from f.warnings
    yield "labelled people must have been picked at random; who was accepted or refused may not have decided who was labelled"
    yield "a gap says that groups fare differently, not why"


def _draw(f: Fairness) -> Iterator[Picture]:
    drawable = [gap for gap in f.gaps if not np.isnan(gap.mean)]
    if drawable:
        yield picture(plot_gaps(f), "Gaps and what counts as none", "Dots are estimates, bars the intervals; the band is the margin. Coloured: beyond it for certain.")  # fmt: skip
    if any(_varies(gap) for gap in drawable):
        yield picture(plot_gap_densities(f), "How plausible each size is", "The posterior of every gap; the band is the margin.")  # fmt: skip
    if f.curve:
        yield picture(plot_group_curves(f), "What scores mean in each group", "Curves and bands are what was learned; dots with bars the labels alone, a few neighbours at a time. On the diagonal, scores mean what they say.")  # fmt: skip


def _varies(gap: Gap) -> bool:
    return not np.isnan(gap.draws).any() and float(np.ptp(gap.draws)) > 0


def _list_gaps(f: Fairness) -> Listing:
    rows = []
    for gap in f.gaps:
        more = f.count_more(gap)
        ratio = "" if gap.ratio is None else f"{gap.ratio.median:.2f} [{gap.ratio.low:.2f}, {gap.ratio.high:.2f}]"
        numbers = (_number(v) for v in (gap.mean, gap.low, gap.high, gap.p_greater, gap.p_practically_fair))
        rows.append((f"{gap.metric}, {gap.group}", *numbers, ratio, "settled" if more == 0 else "–" if more is None else f"{more:,}"))  # fmt: skip
    columns = (f"gap to {f.whom}", "mean", "low", "high", "P(> 0)", f"P(within ±{f.rope:g})", "ratio", "more labels")
    return Listing("Every gap", columns, rows)


def _list_groups(f: Fairness) -> Listing:
    rows = [
        (row.group, row.metric, f"{row.n_items:,}", f"{row.n_labels:,}", *(_number(v) for v in (row.mean, row.low, row.high)))
        for row in f.groups
    ]  # fmt: skip
    return Listing("Every group", (f.by, "metric", "people", "labels", "mean", "low", "high"), rows)


def _explain(f: Fairness) -> list[str]:
    about = (
        "exactly these people: the labelled are known, the others come out as they may"
        if f.finite_pool
        else "the population these people came from"
    )
    lines = [METHODS.get(f.method, CALIBRATION), f"The question is about {about}."]
    if f.curve:
        lines.append(f"Drawn by Hamiltonian Monte Carlo: R-hat at most {f.health.rhat:.3f}, at least {f.health.ess:,.0f} effective draws, {f.health.divergences} lost paths.")  # fmt: skip
    return lines


def _number(value: float) -> str:
    return "undefined" if np.isnan(value) else f"{value:.3f}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
