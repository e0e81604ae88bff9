"""The page of `bench.grades_peers`: every tool on the same grades, overall and per slice."""

from collections.abc import Iterator

from bench.harness.page import figure, points, show_notes, show_table, text
from bench.harness.rows import Rows, find_settings, select

COLUMNS = (
    ("pool and judge", text("pool")), ("grades", text("n")), ("tool", text("tool")),
    ("error overall", points("overall_rmse", ".2f")), ("covered", points("overall_coverage", ".0f")), ("width", points("overall_width", ".1f")),
    ("slices answered", points("answered", ".0f")), ("error of slices", points("slices_rmse", ".1f")), ("ours there", points("ours_there", ".1f")),
    ("slices covered", points("slices_coverage", ".0f")), ("width of slices", points("slices_width", ".0f")), ("runs", figure("runs", "d")),
)  # fmt: skip


def render(rows: Rows) -> Iterator[str]:
    """Yield the parts of the page."""
    yield "# Few human grades, many of a judge: beside other tools"
    yield f"`{find_settings(rows)['command']}`"
    yield (
        "Mean grade on a scale of 0 to 1, in points (hundredths); items for people drawn at random over the pool; 95 % intervals; errors are "
        "root mean squares over runs, and over the slices that a tool answers. `ours there` is the error of fewlabels on the same slices. "
        "Every tool runs with its defaults, on the same grades: truescore 0.7.4 (slices from 20 grades on), evalstats 0.3.3 and cje-eval 0.9.3 "
        "(each slice by itself), ppi-python 0.2.3 (PPI++)."
    )
    yield show_table(COLUMNS, select(rows, "peers"))
    yield from show_notes(rows)
