"""The page of `bench.surface_pools`."""

from collections.abc import Iterator, Sequence

import numpy as np

from bench.harness.page import Table, figure, points, show_notes, show_table, text
from bench.harness.rows import Row, Rows, find_settings, select
from bench.surface_estimators import BAR, CLASS_BAR, ESTIMATORS, OURS
from bench.surface_sources import REAL


def list_cells(rows: Rows) -> Iterator[dict[str, Row]]:
    """Yield the rows of all estimators of every pool and number of labels."""
    for ours in select(rows, "tools", tool=OURS):
        same = {name: ours[name] for name in ("pool", "labels", "scored")}
        yield {row["tool"]: row for row in select(rows, "tools", **same)}


def compare(cell: dict[str, Row], what: str, bar: Sequence[str] = BAR) -> float:
    """Return ours over the best of the others."""
    return float(cell[OURS][what] / min(cell[name][what] for name in bar))


def render(rows: Rows) -> Iterator[str]:
    """Yield the parts of the page."""
    settings, cells = find_settings(rows), list(list_cells(rows))
    yield "# Surfaces of real pools"
    yield f"`{settings['command']}`"
    yield ABOUT.format(runs=settings["runs"])
    for scored, title in enumerate(("## Without scores", "## With scores")):
        inside = [cell for cell in cells if cell[OURS]["scored"] == scored]
        if inside:
            yield title
            yield from summarize([cell for cell in inside if cell[OURS]["pool"] in REAL])
            yield show_errors(inside)
            yield show_table(COVERAGE, [cell[OURS] for cell in inside])
    yield NOTES
    yield from show_notes(rows)


def summarize(cells: Sequence[dict[str, Row]]) -> Iterator[str]:
    """Yield a sentence for each measure, over real pools; those whose attributes imply the label stand apart."""
    for about, is_service in (("pools about people", False), ("hatecheck", True)):
        some = [cell for cell in cells if ("hatecheck" in cell[OURS]["pool"]) == is_service]
        for what in ("macro", "worst") if some else ():
            plain, fair = ([compare(cell, what, bar) for cell in some] for bar in (BAR, CLASS_BAR))
            yield (
                f"{about}, {what}: ours is {np.mean(plain):.2f} of the best of {', '.join(BAR)} ({min(plain):.2f} to "
                f"{max(plain):.2f}), and {np.mean(fair):.2f} of the best of those given the predicted class too "
                f"({min(fair):.2f} to {max(fair):.2f})."
            )
    covered = [cell[OURS] for cell in cells]
    if covered:
        means = {
            name: np.mean([row[name] for row in covered if row[name] is not None])
            for name in ("coverage", "unlabelled", "tenth")
        }
        yield (
            f"Of arms {100 * means['coverage']:.1f} % are covered, of those without labels {100 * means['unlabelled']:.1f} %, "
            f"of the worst tenth {100 * means['tenth']:.1f} % (averages over pools)."
        )


def show_errors(cells: Sequence[dict[str, Row]]) -> str:
    """Return the table of squared errors."""
    lines = [
        [
            cell[OURS]["pool"], str(cell[OURS]["arms"]), f"{cell[OURS]['labels']:,}",
            *(f"{cell[name]['macro']:.2f} / {cell[name]['worst']:.2f}" for name in ESTIMATORS),
            *(" / ".join(f"{compare(cell, what, bar):.2f}" for what in ("macro", "worst")) for bar in (BAR, CLASS_BAR)),
        ]
        for cell in cells
    ]  # fmt: skip
    header = ["pool", "arms", "labels", *ESTIMATORS, "ours / best without class", "ours / best with class"]
    return str(Table(header, lines, "Squared error × 100, all arms of at least 5 items / the 50 worst of these."))


ABOUT = (
    "{runs} runs of each cell: labels at random, the same for all. Errors and intervals are of exactly these items. "
    "fewlabels sees the predicted class of every item, as it always does; the others do where their name says so."
)
NOTES = (
    "On hatecheck the attribute `functionality` implies the label, so that with the predicted class hardly anything is left "
    "to estimate. The worst tenth of arms is chosen by the truth: a posterior that is exactly right covers less there than its level, "
    "as all that misses low is among the worst. BetaGP-SL is measured in `experiments` (table 2 of the accuracy-surface paper), on made-up "
    "surfaces and hatecheck."
)
COVERAGE = (
    ("pool", text("pool")),
    ("labels", figure("labels", ",")),
    ("95 % intervals cover", points("coverage", ".1f")),
    ("arms without labels", points("unlabelled", ".1f")),
    ("the worst tenth", points("tenth", ".1f")),
    ("width", points("width", ".1f")),
)
