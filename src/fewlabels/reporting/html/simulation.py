"""Render a simulation as one self-contained HTML file."""

from collections.abc import Iterator

from fewlabels.active.simulation.simulation_result import Simulation
from fewlabels.reporting.html.captions import CaptionedFigure, render_figure
from fewlabels.reporting.html.tables import ReportTable
from fewlabels.reporting.html.template import SIMULATED, render
from fewlabels.reporting.plots.simulation import MEASURE_NAMES, list_measures, plot_simulation
from fewlabels.reporting.summaries import (
    N_TARGET_NAMES,
    TARGET_COLUMNS,
    compare_configurations,
    describe_targets,
    list_targets,
    summarize_simulation,
)

MAX_SENTENCES = 8
CAPTION = "The mean over runs against the number of labels; bands are two standard errors on either side."
CAVEATS = (
    "These are means over runs: differences of about two standard errors may be due to chance. More runs make them smaller.",
    "This is a replay of one labelled table; other tables may order the policies and priors differently.",
)
METHOD = (
    "Every run hides all labels, asks for them one by one with the policy, and compares the estimates with the truth in the whole table.",
    "Labels needed: the first number of labels from which the mean over runs stays past the target.",
)


def render_simulation(s: Simulation) -> str:
    """Return the HTML report of a simulation."""
    targets = ReportTable("Labels needed", TARGET_COLUMNS, list_targets(s), n_names=N_TARGET_NAMES)
    return render(
        title="Simulation",
        source=s.provenance.source,
        headline=summarize_simulation(s),
        facts=list(_list_simulation_facts(s)),
        headings=SIMULATED,
        supported=[*compare_configurations(s), *describe_targets(s)][
            1 : MAX_SENTENCES + 1
        ],  # the first is the headline
        unsupported=[*s.warnings, *CAVEATS],
        pictures=_draw_simulation_figures(s),
        tables=[targets] if targets.rows else [],
        method=METHOD,
        made=s.provenance,
    )


def _list_simulation_facts(s: Simulation) -> Iterator[tuple[str, str]]:
    """List what was simulated, for the head of its HTML report."""
    yield "items", f"{s.n_items:,}"
    for name, values in (("goals", "goal"), ("metrics", "metric"), ("policies", "policy"), ("priors", "prior")):
        yield name, ", ".join(dict.fromkeys(row[values] for row in s))
    yield "runs of each", f"{max((row['runs'] for row in s), default=0):,}"


def _draw_simulation_figures(s: Simulation) -> Iterator[CaptionedFigure]:
    """Draw the figures of the HTML report of a simulation."""
    for measure in list_measures(s):
        name = MEASURE_NAMES.get(measure, measure)
        yield render_figure(plot_simulation(s, measure), f"{name[0].upper()}{name[1:]}", CAPTION)
