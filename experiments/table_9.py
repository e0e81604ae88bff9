"""Share of the pool to find the least calibrated predicted classes."""

from collections.abc import Iterator

import fewlabels as fl
from experiments.identification import CROSSINGS, find_by, tell_labels, tell_ratio
from experiments.methods import ACTIVE, IPRIOR
from experiments.options import Options, start
from experiments.pools import PAPER, Dataset
from experiments.published import TABLE_9
from experiments.replays import lay_out_classes
from experiments.tables import Page, Table

RUNS, HEAVY = 1000, 200


def make(options: Options) -> Page:
    """Replay the search for classes of the greatest ECE."""
    rows = [row for dataset in PAPER for m in (1, dataset.m) for row in _measure(options, dataset, m)]
    header = ("dataset (pool)", "top m", "method", "published", *CROSSINGS, "runs", "TS / random, labelled = known")
    return Page(
        "Table 9: percent of the pool labelled to find the least calibrated predicted classes",
        "Classwise ECE over ten bins of equal width, the weights of bins from all items. Labels until the MRR, averaged "
        "over runs, is 0.99: where it first is (or 99 % of the most it ever is), and from where on it stays so; in the last "
        "reading labelled items count as known, and the prior speaks for the rest only.",
        [Table(header, rows)],
        notes=["The published figures are of a pool of which a tenth was held out: 90 is all there was."],
    )


def _measure(options: Options, dataset: Dataset, m: int) -> Iterator[list[str]]:
    labelled = lay_out_classes(options.pools, dataset)
    effort, at = options.effort(RUNS, dataset, HEAVY), options.mark(labelled.n_items)
    published = TABLE_9[dataset.name, m]
    random, active = (find_by(labelled, fl.ece, m, method, at, effort) for method in (IPRIOR, ACTIVE))
    yield [dataset.title, str(m), random.name, *tell_labels(random, labelled.n_items, published[0]), ""]
    yield [dataset.title, str(m), active.name, *tell_labels(active, labelled.n_items, published[1]), *tell_ratio(active.read_known(), [random.read_known()])]  # fmt: skip


if __name__ == "__main__":
    start("table_9", make)
