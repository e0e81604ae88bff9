"""A surface as one self-contained HTML file, in words that can be quoted."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from fewlabels.analyses.surface.result import Arm, Reading, Surface
from fewlabels.files import write_whole
from fewlabels.reporting.html.pages import render
from fewlabels.reporting.html.pictures import Picture, picture
from fewlabels.reporting.html.surface_text import explain, headline, list_doubts, list_findings, percent
from fewlabels.reporting.html.tables import Listing
from fewlabels.reporting.plots.surface import plot_surface

SHOWN, KEPT = 50, 1000  # arms that are open to see, and arms that the page has at all
Cells = tuple[str | float, ...]
Answers = Sequence[tuple[str, Reading]]
WORST = "The least accurate arms, a row each: dots are estimates, bars the intervals, the line and band the whole pool. Hollow arms have no label of their own: others speak for them."
CROSSED = "Accuracy where the two attributes that matter most cross, over what the others are in the pool. Orange is below the whole, blue above it."
EFFECTS = "Every value of an attribute: as it is found in the pool, and what it would be if the other attributes were as in the whole pool. Where the two differ, other attributes are to blame."
COVERAGE = "How much of the space has labels of its own. Where there are none, a number is what the attributes suggest."


def write_surface(surface: Surface, path: str | Path, *, answers: Answers = ()) -> Path:
    """Write it as one self-contained HTML file, with what was asked of it."""
    return write_whole(path, render_surface(surface, answers), inputs=surface.provenance.inputs)


def render_surface(s: Surface, answers: Answers = ()) -> str:
    """Return the page."""
    facts = [
        ("items", f"{s.n_items:,}"), ("labelled", f"{s.n_labels:,}"), ("arms", f"{len(s.arms):,}"), ("model", s.model),
        ("level", f"{100 * s.level:g}%"), ("about", "these items" if s.finite_pool else "their population"),
    ]  # fmt: skip
    return render(
        title=f"Accuracy over {', '.join(s.attributes)}",
        source=s.source,
        headline=headline(s),
        facts=facts,
        supported=list(list_findings(s)),
        unsupported=list(list_doubts(s)),
        pictures=_draw(s),
        assessment=None,
        rows=(),
        number=percent,
        tables=[*([_list_answers(answers)] if answers else []), _list_arms(s)],
        method=explain(s),
    )


def _draw(s: Surface) -> Iterator[Picture]:
    yield picture(plot_surface(s, "worst"), "Where it is worst", WORST)
    yield picture(plot_surface(s, "effects"), "What each attribute does", EFFECTS)
    yield picture(plot_surface(s, "heatmap"), "Two attributes together", CROSSED)
    yield picture(plot_surface(s, "coverage"), "Where the labels are", COVERAGE)


def _list_answers(answers: Answers) -> Listing:
    rows = [(question or "everything", *_count(one), one.mean, one.low, one.high) for question, one in answers]
    return Listing("What was asked", ("question", "items", "labels", "accuracy", "low", "high"), rows)


def _list_arms(s: Surface) -> Listing:
    """The whole, then arms, the worst first."""
    arms, n = s.worst_first[:KEPT], len(s.attributes)
    counts = f"{s.n_items:,}", f"{s.n_labels:,}"
    rows: list[Cells] = [("overall", *[""] * (n - 1), *counts, s.overall.mean, s.overall.low, s.overall.high, "")]
    rows += [(*arm.arm.values(), *_count(arm), arm.mean, arm.low, arm.high, f"{arm.p_worst:.2f}") for arm in arms]
    left = f"The {KEPT:,} worst of {len(s.arms):,} arms; --json, or to_json and to_frame in Python, has them all."
    return Listing(
        "Every arm, the worst first" if len(arms) == len(s.arms) else f"The worst of {len(s.arms):,} arms",
        (*s.attributes, "items", "labels", "accuracy", "low", "high", "P(worst)"), rows, n_names=n, shown=SHOWN + 1,
        note="" if len(arms) == len(s.arms) else left, has_whole=True,
    )  # fmt: skip


def _count(one: Arm | Reading) -> tuple[str, str]:
    return f"{one.n_items:,}", f"{one.n_labels:,}"
