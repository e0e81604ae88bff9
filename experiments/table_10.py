"""Labels to find the most costly predicted classes of CIFAR-100, “human” costs."""

from experiments.costs import tabulate_costs
from experiments.options import Options, start
from experiments.published import TABLE_10
from experiments.tables import Page


def make(options: Options) -> Page:
    """Replay the search with every factor."""
    return tabulate_costs(options, "human", TABLE_10, 10)


if __name__ == "__main__":
    start("table_10", make)
