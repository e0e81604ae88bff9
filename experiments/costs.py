"""Finding the most costly predicted classes of CIFAR-100, for any factor and matrix (Tables 10 and 11, Figure 3)."""

from collections.abc import Iterator, Mapping
from functools import cache

from experiments.identification import CROSSINGS, search, tell_crossings
from experiments.methods import ACTIVE, COLUMN, FLAT, IPRIOR
from experiments.options import Options
from experiments.pools import DENSENET, WIDERESNET, Dataset, find_superclasses
from experiments.prices import MATRICES
from experiments.published import Row
from experiments.replays import Curve, lay_out_classes
from experiments.tables import Page, Table, show
from fewlabels.active.goals.identification import FindWorst
from fewlabels.active.simulation.replay import ReplayRun

FACTORS = (1, 2, 5, 10)
METHODS = (FLAT, IPRIOR, ACTIVE)
RUNS = 1000
SAME = "human"  # where dear mistakes cost what others do, all matrices are one


def find_costly(options: Options, dataset: Dataset, matrix: str, factor: float, m: int) -> list[Curve]:
    """MRR of the m most costly classes, by every method; Dirichlet priors of strength 1."""
    return _find_once(options, dataset, SAME if factor == 1 else matrix, factor, m)


@cache
def _find_once(options: Options, dataset: Dataset, matrix: str, factor: float, m: int) -> list[Curve]:
    """Play once for all tables and figures of one command."""
    labelled = lay_out_classes(options.pools, dataset, probabilities=True)
    goal = FindWorst(MATRICES[matrix](find_superclasses(options.pools), factor), m)
    at, effort = options.mark(labelled.n_items), options.effort(RUNS)
    return [search(ReplayRun(labelled, goal, way.choose(m), way.prior), at, effort, way.name) for way in METHODS]


def tabulate_costs(options: Options, matrix: str, published: Mapping[tuple[int, int], Row], number: int) -> Page:
    """Make the page of one matrix."""
    rows = [
        row
        for dataset in (DENSENET, WIDERESNET)
        for factor in (FACTORS[-1:] if options.quick else FACTORS)
        for m in (1, dataset.m)
        for row in _lay_rows(find_costly(options, dataset, matrix, factor, m), dataset, factor, m, published[factor, m])
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
