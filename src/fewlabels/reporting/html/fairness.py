"""Fairness as one self-contained HTML file, in words an auditor can quote."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fewlabels.analyses.fairness.api import Fairness
from fewlabels.analyses.fairness.definitions import SELECTION, call, define
from fewlabels.analyses.fairness.gaps import LARGEST, ODDS, Gap
from fewlabels.errors import count, listing
from fewlabels.files import write_whole
from fewlabels.reporting.html.pages import render
from fewlabels.reporting.html.pictures import Picture, picture
from fewlabels.reporting.html.tables import Listing
from fewlabels.reporting.plots.gaps import plot_gap_densities, plot_gaps, plot_group_curves

MOST, LIKELY = 6, 0.9  # sentences in a list; probability from which a direction is worth one
ROWS = 60  # of a table that are open to see
MANY = 40  # gaps, of which one is beyond its interval on either side by chance
METHODS = {
    "frequency": "Rates are those of the labelled people alone, as they are.",
    "beta-binomial": "Rates are those of the labelled people alone, every value of them as likely as another beforehand.",
    "calibrated": "The scores of all people count, as far as labels show that they can be trusted: one calibration curve for each group, drawn towards the others' as far as labels show them to be alike, with a step between those refused and those accepted, as high as labels demand.",
}
GAPS = "A gap is the group's value minus that of the reference, a ratio the one as a multiple of the other, both with intervals. Of the largest gap, the ratio is that of the lowest to the highest; of equalised odds, the one further from 1. More labels: about how many, of people picked at random, would bring the whole interval to one side of the margin, if its middle stays where it is; –: those there are might not."
CALIBRATION = "The scores of all people count as a calibration curve for each group says, without a step between those refused and those accepted."


def write_fairness(f: Fairness, path: str | Path) -> Path:
    """Write it as one self-contained HTML file."""
    return write_whole(path, render_fairness(f), inputs=f.provenance.inputs)


def render_fairness(f: Fairness) -> str:
    """Return the page."""
    facts = [
        ("people", f"{f.n_items:,}"), ("labelled", f"{f.n_labels:,}"), ("reference", f.whom), ("positive", f.positive), ("margin", f"±{f.rope:g}"),
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
        tables=[_list_meanings(f), _list_gaps(f), _list_groups(f)],
        method=_explain(f),
    )


def _headline(f: Fairness) -> str:
    """What is settled, first."""
    settled = [gap for gap in f.gaps if gap.is_settled]
    fair = [gap for gap in settled if -f.rope <= gap.low and gap.high <= f.rope]
    unfair = [gap for gap in settled if gap not in fair]
    if unfair:
        clearest = max(unfair, key=lambda gap: (gap.metric != ODDS, abs(gap.mean)))
        return f"Groups are treated differently: {f.say(clearest)}."
    if len(fair) == len(f.gaps):
        return f"Every gap is within ±{f.rope:g}, as far as {count(f.n_labels, 'label')} can tell."
    return f"{count(f.n_labels, 'label').capitalize()} cannot settle whether groups are treated alike: no gap is beyond ±{f.rope:g} for certain, and not all are within."


def _list_findings(f: Fairness) -> Iterator[str]:
    """What is settled; then what is likely, the likeliest first; then ratios, the lowest first."""
    settled = [gap for gap in f.gaps if gap.is_settled]
    likely = [gap for gap in f.gaps if gap.group != LARGEST and gap not in settled and _is_likely(gap)]
    for gap in [*settled, *sorted(likely, key=lambda gap: -abs(gap.p_greater - 0.5))][:MOST]:
        yield _capital(f.say(gap)) + "."
    ratios = sorted((gap.ratio.median, rule) for gap in f.gaps if gap.ratio and (rule := f.say_four_fifths(gap)))
    for _, rule in ratios[:MOST]:
        yield _capital(rule) + "."
    if not settled and not likely:
        yield f"Nothing about who fares better, yet: {count(f.n_labels, 'label')} {'is' if f.n_labels == 1 else 'are'} too few."


def _is_likely(gap: Gap) -> bool:
    """Does one side seem to fare better? What is never below nothing has no side."""
    return gap.metric != ODDS and abs(gap.p_greater - 0.5) > LIKELY - 0.5


def _list_doubts(f: Fairness) -> Iterator[str]:
    """What is open, the easiest to settle first; and what no label can tell."""
    unsettled = [gap for gap in f.gaps if gap.group != LARGEST and not gap.is_settled and not np.isnan(gap.mean)]
    for gap in sorted((gap for gap in unsettled if gap.more_labels), key=lambda gap: gap.more_labels or 0)[:MOST]:
        of = f"{gap.group} and {f.whom} differ in {call(gap.metric)} by more than {f.rope:g}"
        yield f"whether {of} is open: about {count(gap.more_labels or 0, 'more label')}, of people picked at random, would settle it"
    far = [gap for gap in unsettled if gap.more_labels is None]
    told = [f"{call(gap.metric)} of {gap.group}" for gap in far if gap.metric != SELECTION]
    if told:
        yield f"labels of all these people might not settle {listing(told, MOST)}"
    if len(told) < len(far):
        yield "no label tells more of selection rates: what is open about them takes more people"
    yield from f.warnings
    yield "labelled people must have been picked at random; who was accepted or refused may not have decided who was labelled"
    if len(f.gaps) > MANY:
        yield f"{len(f.gaps):,} gaps were looked at, each by its own interval: among so many, some lie beyond the margin by chance; pictures show those that seem furthest from fair"
    yield "a gap says that groups fare differently, not why"


def _draw(f: Fairness) -> Iterator[Picture]:
    drawable = [gap for gap in f.gaps if not np.isnan(gap.mean)]
    if drawable:
        yield picture(plot_gaps(f), "Gaps and what counts as none", "Dots are estimates, bars the intervals; the band is the margin. Coloured: beyond it for certain.")  # fmt: skip
    if any(_varies(gap) for gap in drawable):
        yield picture(plot_gap_densities(f), "How plausible each size is", "The posterior of each gap, every one as high; darker: its interval; the band is the margin.")  # fmt: skip
    if f.curve:
        yield picture(plot_group_curves(f), "What scores mean in each group", "Curves and bands are what was learned of each group (thin: the other groups); dots with bars are labels alone, a few neighbours at a time. On the diagonal, scores mean what they say.")  # fmt: skip


def _varies(gap: Gap) -> bool:
    return not np.isnan(gap.draws).any() and float(np.ptp(gap.draws)) > 0


def _list_meanings(f: Fairness) -> Listing:
    asked = dict.fromkeys(gap.metric for gap in f.gaps)
    rows = [(metric, call(metric), define(metric, f.positive)) for metric in asked]
    return Listing("What was asked", ("metric", "is the", "which is"), rows, n_names=3)


def _list_gaps(f: Fairness) -> Listing:
    rows = []
    for gap in f.gaps:
        ratio = "" if gap.ratio is None else f"{gap.ratio.median:.2f} [{gap.ratio.low:.2f}, {gap.ratio.high:.2f}]"
        numbers = (_number(v) for v in (gap.mean, gap.low, gap.high, gap.p_greater, gap.p_practically_fair))
        more = "settled" if gap.is_settled else "–" if gap.more_labels is None else f"{gap.more_labels:,}"
        rows.append((gap.metric, gap.group, *numbers, ratio, more))
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
    return Listing("Every gap", columns, rows, n_names=2, shown=ROWS, note=GAPS)


def _list_groups(f: Fairness) -> Listing:
    rows = [
        (row.metric, row.group, f"{row.n_items:,}", f"{row.n_labels:,}", *(_number(v) for v in (row.mean, row.low, row.high)))
        for row in f.groups
    ]  # fmt: skip
    return Listing(
        "Every group", ("metric", f.by, "people", "labels", "mean", "low", "high"), rows, n_names=2, shown=ROWS
    )


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
