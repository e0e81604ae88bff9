"""Labels to find the most costly predicted classes of CIFAR-100, “superclass” costs."""

from experiments.costs import tabulate_costs
from experiments.options import Options, start
from experiments.published import TABLE_11
from experiments.tables import Page


def make(options: Options) -> Page:
    """Replay the search with every factor."""
    return tabulate_costs(options, "superclass", TABLE_11, 11)


if __name__ == "__main__":
    start("table_11", make)
