"""Table 4.4 of the dissertation: how often intervals of the gap in accuracy hold the truth."""

from collections.abc import Iterator

from experiments.audits import audit_often, list_cells
from experiments.options import Options, start
from experiments.published_fairness import TABLE_4_4
from experiments.studies import NOTES, OURS, QUICK_CELLS, TITLES
from experiments.tables import Page, Table, show

RUNS = 1000
METHODS = ("beta-binomial", "bc", OURS)


def make(options: Options) -> Page:
    """Count how often intervals hold the truth, and measure how wide they are."""
    effort = options.effort(RUNS)
    header = ["pool", "labels", *(title for name in METHODS for title in _head(name))]
    return Page(
        "Table 4.4: coverage of 95 % intervals of the gap in accuracy, in percent, MLP",
        f"Over {effort.runs:,} runs; one standard error of a coverage of 95 is {100 * (0.95 * 0.05 / effort.runs) ** 0.5:.1f}. "
        "Widths in points.",
        [Table(header, list(_measure(options)))],
        notes=(
            *NOTES,
            "Intervals here are about exactly these people: where half of them are labelled, half is known.",
        ),
    )


def _head(name: str) -> list[str]:
    whose = [] if name == OURS else [f"{TITLES[name]}, published"]
    return [*whose, f"{TITLES[name]}, here", "width"]


def _measure(options: Options) -> Iterator[list[str]]:
    for pool, model, n in list_cells(TABLE_4_4)[: QUICK_CELLS if options.quick else None]:
        row = [pool, str(n)]
        for name in METHODS:
            found = audit_often(options.pools, pool, model, n, name, options.effort(RUNS))
            published = [] if name == OURS else [show(TABLE_4_4[pool, model, n].get(name))]
            row += [*published, show(found.coverage("accuracy")), show(found.mean_width("accuracy"))]
        yield row


if __name__ == "__main__":
    start("fairness_4_4", make)
