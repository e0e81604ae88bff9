"""Render a rating as one self-contained HTML file; its sentences are in `rating_text`."""

from collections.abc import Iterator

from fewlabels.analyses.rating.result import Rating
from fewlabels.reporting import rating_text as words
from fewlabels.reporting.html.captions import CaptionedFigure, render_figure
from fewlabels.reporting.html.next_steps import propose_after_rating
from fewlabels.reporting.html.tables import ReportTable
from fewlabels.reporting.html.template import render
from fewlabels.reporting.plots.rating import plot_rating

VISIBLE_GROUPS = 50
GROUPS_CAPTION = "Dots are estimates and bars their intervals; the line and band are the overall estimate and its interval. Open diamonds are the judge's own figure. Hollow dots mark groups that nobody graded: their estimates come from other groups and the judges."
DISTRIBUTION_CAPTION = "The share of every grade by people's standard, with its interval, over all items."
JUDGES_CAPTION = "How far each judge can be relied on: of what people pass, the share it passes (TPR); of what people fail, the share it fails (TNR); and agreement beyond chance (kappa)."


def render_rating(r: Rating) -> str:
    """Return the HTML report of a rating."""
    return render(
        title=_choose_title(r),
        source=r.source,
        headline=words.headline(r),
        facts=_list_rating_facts(r),
        supported=list(words.list_findings(r)),
        unsupported=list(words.list_caveats(r)),
        pictures=_draw_rating_figures(r),
        number=lambda value: words.format_figure(r, value),
        tables=list(_make_rating_tables(r)),
        method=words.explain_method(r),
        made=r.provenance,
        next_steps=propose_after_rating(r),
    )


def _choose_title(r: Rating) -> str:
    """Return the title of the HTML report of a rating."""
    if r.sets:
        return "sets of labels"
    return "ranking of systems" if r.ranking else f"{words.name_figure(r)} by {r.by}"


def _list_rating_facts(r: Rating) -> list[tuple[str, str]]:
    """List what was rated, for the head of its HTML report."""
    judges = ", ".join(one.name for one in r.judges) or "none"
    about = [("level", f"{100 * r.level:g}%"), ("about", "these items" if r.finite_pool else "their population")]
    if r.sets:
        return [("items", f"{r.n_items:,}"), ("labelled by people", f"{r.n_grades:,}"), ("predicted sets", judges), ("labels", f"{len(r.sets.labels):,}"), *about]  # fmt: skip
    return [
        ("items", f"{r.n_items:,}"), ("graded by people", f"{r.n_grades:,}"), ("judges", judges),
        ("groups", f"{len(r.groups):,} by {r.by}"), ("scale", r.scale.words), *about,
    ]  # fmt: skip


def _draw_rating_figures(r: Rating) -> Iterator[CaptionedFigure]:
    """Draw the figures of the HTML report of a rating."""
    if len(r.groups) > 1:
        title = "Share of items with each label" if r.sets else f"{words.name_figure(r)} per group"
        yield render_figure(plot_rating(r, "groups"), title, GROUPS_CAPTION)
    if not r.scale.is_binary:
        yield render_figure(plot_rating(r, "distribution"), "Distribution of grades", DISTRIBUTION_CAPTION)
    if r.judges and not r.sets:
        yield render_figure(plot_rating(r, "judges"), "Judges against people", JUDGES_CAPTION)


def _make_rating_tables(r: Rating) -> Iterator[ReportTable]:
    """Make the HTML tables of a rating."""
    if r.next:
        columns = ("id", r.by, *(judge.name for judge in r.judges))
        yield ReportTable("To grade next", columns, words.list_next_rows(r), n_names=2, shown=VISIBLE_GROUPS)
    if r.sets:
        yield ReportTable("Sets of labels", words.SET_COLUMNS, words.list_set_rows(r))
        return
    if r.ranking:
        yield ReportTable("Systems", words.SYSTEM_COLUMNS, words.list_system_rows(r))
    said = r.judges[0].said if r.judges else (None,) * len(r.groups)
    judged = dict(zip((row.group for row in r.groups), said, strict=True))
    whole: tuple[str | float, ...] = ("overall", f"{r.n_items:,}", f"{r.n_grades:,}", "", r.overall.mean, r.overall.low, r.overall.high, "")  # fmt: skip
    rows = [whole]
    for row in r.worst_first:
        n_items, n_grades, own, worst = words.list_group_cells(r, row, judged[row.group])
        rows.append((row.group, n_items, n_grades, own, row.mean, row.low, row.high, worst))
    columns = (r.by, "items", "grades", "judge says", words.name_figure(r), "low", "high", "P(worst)")
    yield ReportTable("Every group", columns, rows, shown=VISIBLE_GROUPS + 1, has_whole=True)
    if r.judges:
        yield ReportTable("Judges", words.JUDGE_COLUMNS, words.list_judge_rows(r), note=f"{words.describe_judges(r)}.")
