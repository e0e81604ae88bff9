"""MRR of the most costly predicted classes of CIFAR-100, two cost matrices, top 1 and top 10."""

from experiments.costs import find_costly
from experiments.options import Options, start
from experiments.pictures import Panel, draw_grid
from experiments.pools import DENSENET, WIDERESNET
from experiments.tables import Page

FACTOR = 10
N_ITEMS = 10_000


def make(options: Options) -> Page:
    """Replay the four searches on both pools."""
    columns = [(dataset, matrix) for dataset in (DENSENET, WIDERESNET) for matrix in ("human", "superclass")]
    panels = [
        [Panel(f"{dataset.pool}\n{matrix}, top {m}", find_costly(options, dataset, matrix, FACTOR, m), N_ITEMS) for dataset, matrix in columns]
        for m in (1, 10)
    ]  # fmt: skip
    draw_grid(panels, options.out / "figure_3.png", percent=False)
    return Page(
        "Figure 3: finding the most costly predicted classes",
        "Dear mistakes cost ten times the others. The paper: the active method is much more efficient than both random "
        "ones. Tables 10 and 11 have the labels each line needs.",
        picture="figure_3.png",
    )


if __name__ == "__main__":
    start("figure_3", make)
