"""RMSE of the accuracy of ten score bins, at 20, 50 and 100 labels."""

from collections.abc import Iterator

import fewlabels as fl
from experiments.estimation import HEADER, measure_errors, set_beside
from experiments.options import Options, start
from experiments.pools import CIFAR10, PAPER, Dataset, add_deciles, read_pool
from experiments.published import TABLE_8
from experiments.replays import lay_out
from experiments.tables import Page, Table

N_LABELS = {20: 20, 30: 20, 50: 50, 60: 50, 100: 100, 110: 100}  # ours: theirs, read on time and ten labels late
RUNS = 1000


def make(options: Options) -> Page:
    """Replay estimation over deciles of the score."""
    rows = [row for dataset in (*PAPER, CIFAR10) for row in _measure(options, dataset)]
    return Page(
        "Table 8: RMSE of binwise accuracy, in points",
        "Groups are ten bins of equal size by rank of the score. The paper's rows N = 20 hold 30 labels, its log being "
        "read one step (ten labels) late; every row is shown both on time and late.",
        [Table(("dataset (pool)", "N", *HEADER), rows)],
        notes=["CIFAR-10 is not in the paper."],
    )


def _measure(options: Options, dataset: Dataset) -> Iterator[list[str]]:
    labelled = lay_out(add_deciles(read_pool(options.pools, dataset)), fl.column("decile"))
    counts = sorted({options.limit(n) for n in N_LABELS})
    curves = measure_errors(labelled, counts, options.effort(RUNS))
    for i, n in enumerate(counts):
        theirs = N_LABELS.get(n, n)
        published = TABLE_8.get((dataset.name, theirs))
        says = str(n) if n == theirs else f"{n} (their {theirs})"
        yield [dataset.title, says, *set_beside(curves, i, published)]


if __name__ == "__main__":
    start("table_8", make)
