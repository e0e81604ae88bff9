"""Finding the most costly predicted classes of CIFAR-100, for any factor and matrix (Tables 10 and 11, Figure 3)."""

from collections.abc import Iterator, Mapping

from experiments.identification import CROSSINGS, find_by, tell_crossings
from experiments.methods import ACTIVE, COLUMN, FLAT, IPRIOR
from experiments.options import Options
from experiments.pools import DENSENET, WIDERESNET, Dataset, find_superclasses
from experiments.prices import MATRICES
from experiments.published import Row
from experiments.replays import Curve, lay_out_classes
from experiments.tables import Page, Table, show

FACTORS = (1, 2, 5, 10)
METHODS = (FLAT, IPRIOR, ACTIVE)
RUNS = 100


def search(options: Options, dataset: Dataset, matrix: str, factor: float, m: int) -> list[Curve]:
    """MRR of the m most costly classes, by every method; Dirichlet priors of strength 1."""
    stage = lay_out_classes(options.pools, dataset, probabilities=True)
    cost = MATRICES[matrix](find_superclasses(options.pools), factor)
    at, effort = options.mark(stage.n_items), options.effort(RUNS)
    return [find_by(stage, cost, m, method, at, effort) for method in METHODS]


def tabulate_costs(options: Options, matrix: str, published: Mapping[tuple[int, int], Row], number: int) -> Page:
    """Make the page of one matrix."""
    rows = [
        row
        for dataset in (DENSENET, WIDERESNET)
        for factor in (FACTORS[-1:] if options.quick else FACTORS)
        for m in (1, dataset.m)
        for row in _lay_rows(search(options, dataset, matrix, factor, m), dataset, factor, m, published[factor, m])
    ]
    header = ("pool", "factor", "top m", "method", "published", *CROSSINGS, "runs")
    return Page(
        f"Table {number}: thousands of labels (of 10) to find the most costly predicted classes, “{matrix}”",
        "Labels until the MRR, averaged over runs, is 0.99. The published figures are of ResNet-110; our pools with "
        "the probabilities of all classes, which the informative Dirichlet prior needs, are of other architectures.",
        [Table(header, rows)],
    )


def _lay_rows(curves: list[Curve], dataset: Dataset, factor: int, m: int, published: Row) -> Iterator[list[str]]:
    for curve in curves:
        printed, runs = published[COLUMN[curve.name]], f"{len(curve.values):,}"
        yield [dataset.pool, str(factor), str(m), curve.name, show(printed), *tell_crossings(curve, 1 / 1000), runs]
