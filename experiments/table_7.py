"""Labels to tell which of two predicted groups is more accurate, over all pairs."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

import fewlabels as fl
from experiments.comparisons import compare_pairs, summarise_pairs
from experiments.methods import ACTIVE, COLUMN, FLAT, IPRIOR
from experiments.options import Options, start
from experiments.pools import CIFAR100, DENSENET, NEWS, add_superclasses, read_pool, without_probabilities
from experiments.published import TABLE_7
from experiments.replays import lay_out
from experiments.tables import Page, Table, show, show_error
from fewlabels.data.groups import Groups

RUNS = 1000  # over 190 pairs, each equally often
SUPERCLASS = fl.column("predicted_superclass")


def make(options: Options) -> Page:
    """Replay the comparison of all pairs."""
    pools: list[tuple[str, str, pd.DataFrame, Groups]] = [
        ("CIFAR-100, Superclass", dataset.pool, add_superclasses(options.pools, dataset), SUPERCLASS)
        for dataset in (CIFAR100, DENSENET)
    ]
    pools.append(("20 News", NEWS.pool, without_probabilities(read_pool(options.pools, NEWS)), fl.predicted))
    rows = [row for name, file, pool, by in pools for row in _measure(options, name, file, pool, by)]
    header = (
        "dataset (pool)",
        "method",
        "published",
        "ours, first",
        "median",
        "sd of one",
        "ours, lasting",
        "late, %",
        "pairs × runs",
    )
    return Page(
        "Table 7: labels to compare the accuracies of two predicted groups",
        "Mean over all pairs of groups of the labels until the likeliest of below, equivalent and above (rope 0.05) is "
        "the one that all labels of both groups give, and its probability λ within 5 % of what they give. “First” "
        "is the paper's definition; “lasting” is from where on it stays so. “Late”: comparisons that got there "
        "only with more than 95 % of both groups labelled; the paper's code counts a run that never gets there as 1 label.",
        [Table(header, rows)],
    )


def _measure(options: Options, name: str, file: str, pool: pd.DataFrame, by: Groups) -> Iterator[list[str]]:
    labelled = lay_out(pool, by)
    for method in (FLAT, IPRIOR, ACTIVE):
        needed = compare_pairs(labelled, method, options.effort(RUNS), 3 if options.quick else None)
        (first, lasting, late), (error, lasting_error, _) = summarise_pairs(needed)
        each = needed[:, :, 0]
        ours = [
            show_error(first, error),
            f"{np.median(each):.0f}",
            f"{each.std():.0f}",
            show_error(lasting, lasting_error),
        ]
        printed = show(TABLE_7[name][COLUMN[method.name]])
        count = f"{needed.shape[0]} × {needed.shape[1]}"
        yield [f"{name} ({file})", method.name, printed, *ours, f"{100 * late:.1f}", count]


if __name__ == "__main__":
    start("table_7", make)
