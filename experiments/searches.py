"""Figures of searches for the least accurate or least calibrated classes: which ways to draw, pool by pool."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import fewlabels as fl
from experiments.identification import find, tell_crossings
from experiments.options import Options
from experiments.pictures import Panel, draw_grid
from experiments.pools import Dataset
from experiments.replays import lay_out_classes
from experiments.tables import Page, Table, show
from fewlabels.active.acquisition import Policy
from fewlabels.active.goals.identification import FindWorst
from fewlabels.metrics.metric import Metric
from fewlabels.models.priors import Prior

HEADER = (
    "pool and goal", "line", "% of the pool until MRR stays ≥ 0.99", "the same, labelled = known", "MRR at 5 %", "at 10 %",
    "at 20 %", "runs",
)  # fmt: skip


class Way(NamedTuple):
    """A line of a figure."""

    name: str
    policy: Policy
    prior: Prior


Ways = Callable[[int], Sequence[Way]]  # for each m


class Study(NamedTuple):
    """What a figure compares, and how often it can afford to."""

    datasets: Sequence[Dataset]
    ways: Ways
    runs: int
    heavy: int
    metric: Metric = fl.accuracy
    reach: float = 1.0  # share of a pool to label, of a heavy one
    tops: bool = True  # the worst m too, not only the worst one
    known: bool = False  # draw the reading in which labelled items are known, too


def make_page(options: Options, study: Study, name: str, title: str, says: str) -> Page:
    """Replay a study, draw it, and tabulate what each line needed."""
    panels = [
        [_search(options, study, dataset, dataset.m if top else 1) for dataset in study.datasets]
        for top in ((False, True) if study.tops else (False,))
    ]
    others = [[_read_known(panel) for panel in line] for line in panels] if study.known else []
    draw_grid([*panels, *others], options.out / f"{name}.png")
    rows = [row for line in panels for panel in line for row in _tell(panel)]
    return Page(title, says, [Table(HEADER, rows)], f"{name}.png")


def _search(options: Options, study: Study, dataset: Dataset, m: int) -> Panel:
    labelled = lay_out_classes(options.pools, dataset)
    at = options.mark(labelled.n_items, study.reach if dataset.heavy else 1.0)
    effort = options.effort(study.runs, dataset, study.heavy)
    goal = FindWorst(study.metric, m)
    curves = [find(labelled, goal, way.policy, way.prior, at, effort, way.name) for way in study.ways(m)]
    return Panel(f"{dataset.pool}, top {m}", curves, labelled.n_items)


def _read_known(panel: Panel) -> Panel:
    return Panel(f"{panel.title}\nlabelled = known", [curve.read_known() for curve in panel.curves], panel.n_items)


def _tell(panel: Panel) -> Iterator[list[str]]:
    for curve in panel.curves:
        share = 100 * curve.n_labels / panel.n_items
        _, *needed = tell_crossings(curve, 100 / panel.n_items)
        early = [show(float(curve.mean[share <= at][-1]), 3) for at in (5, 10, 20)]
        yield [panel.title, curve.name, *needed, *early, f"{len(curve.values):,}"]
