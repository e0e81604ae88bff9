"""The page of `bench.grades`: error and coverage per slice and overall, ours and others'."""

from collections.abc import Iterator

from bench.harness.page import figure, points, show_notes, show_table, text
from bench.harness.rows import Rows, find_settings, select

COLUMNS = (
    ("pool and judge", text("pool")), ("grades per slice", text("per_slice")),
    ("error of slices", points("ours_rmse", ".1f")), ("plain", points("plain_rmse", ".1f")),
    ("covered", points("ours_coverage", ".0f")), ("plain covers", points("plain_coverage", ".0f")),
    ("width", points("ours_width", ".0f")), ("plain width", points("plain_width", ".0f")),
    ("error overall", points("ours_overall_rmse", ".2f")), ("PPI++", points("ppi_overall_rmse", ".2f")),
    ("covered overall", points("ours_overall_coverage", ".0f")), ("PPI++ covers", points("ppi_overall_coverage", ".0f")),
    ("width overall", points("ours_overall_width", ".1f")), ("PPI++ width", points("ppi_overall_width", ".1f")), ("runs", figure("runs", "d")),
)  # fmt: skip


def render(rows: Rows) -> Iterator[str]:
    """Yield the parts of the page."""
    yield "# Few human grades, many of a judge"
    yield f"`{find_settings(rows)['command']}`"
    yield (
        "Mean grade on a scale of 0 to 1, in points (hundredths); errors are root mean squares over slices and runs; 95 % intervals about the pool. "
        "`plain` is the mean of a slice's grades with Jeffreys' interval, or the bootstrap's where there are more than two grades. PPI++ is "
        "weighted by the sizes of slices. Simulated answers are graded 1 to 5, or pass and fail, in eight slices; every run simulates a pool of its own."
    )
    yield show_table(COLUMNS, select(rows, "grades"))
    yield from show_notes(rows)
