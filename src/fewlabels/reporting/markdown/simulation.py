"""A simulation as Markdown: how many labels every configuration needs to reach its target."""

from fewlabels.active.simulation.simulation_result import Simulation
from fewlabels.errors import count
from fewlabels.reporting.markdown.markup import escape, join, render_table, render_warnings
from fewlabels.reporting.summaries import N_TARGET_NAMES, TARGET_COLUMNS, list_targets, summarize_simulation


def render_simulation(s: Simulation) -> str:
    """Return a simulation as Markdown."""
    runs = max((row["runs"] for row in s), default=0)
    about = f"{escape(s.provenance.source)}: {count(s.n_items, 'labelled item')}, {count(runs, 'run')} of each configuration."
    rows = [[escape(cell) if cell else "" for cell in cells] for cells in list_targets(s)]
    table = render_table(TARGET_COLUMNS, rows, n_names=N_TARGET_NAMES) if rows else ""
    return join("### Simulation", f"**{escape(summarize_simulation(s))}**", about, table, render_warnings(s.warnings))
