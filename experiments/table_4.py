"""What Table 4 should have been: error of the confusion matrix against that of the unlabelled scores, by prior strength."""

from collections.abc import Iterator

import fewlabels as fl
from experiments.methods import Method
from experiments.options import Options, start
from experiments.pools import DENSENET, NEWS, WIDERESNET, Dataset
from experiments.published import TABLE_4
from experiments.replays import Curve, lay_out_classes, replay
from experiments.tables import Page, Table, show_error
from fewlabels.active.simulation.replay import ReplayRun
from fewlabels.active.simulation.replay_measures import measure_confusion

PER_CLASS = (2, 5, 10)
RUNS = 1000
METHODS = (
    Method("flat, strength 1, random", fl.flat()),
    *(Method(f"scores, strength {n:g}, random", fl.from_scores(n)) for n in (1.0, 3.0, 10.0, 30.0, 100.0)),
    *(Method(f"scores, strength {n:g}, Thompson", fl.from_scores(n), active=True) for n in (1.0, 10.0, 30.0)),
)
PRINTED = {METHODS[0].name: 0, METHODS[1].name: 1, METHODS[6].name: 2}


def make(options: Options) -> Page:
    """Replay the estimation of confusion matrices."""
    rows = [row for dataset in (DENSENET, WIDERESNET, NEWS) for row in _measure(options, dataset)]
    header = ("dataset (pool)", "prior and policy", *(f"N/K = {n}" for n in PER_CLASS), "their Table 4", "runs")
    return Page(
        "In place of Table 4: RMSE of the confusion matrix, relative to the scores without any label",
        "(Σ_k p_k Σ_j (θ̂_jk − θ_jk)²)^½ over the same with θ̂ = the mean predicted probabilities: below 1, labels have "
        "helped. The published figures cannot be compared: their code counts the predicted class instead of the label, "
        "and measures squared errors against a target made the same way.",
        [Table(header, rows)],
    )


def _measure(options: Options, dataset: Dataset) -> Iterator[list[str]]:
    labelled = lay_out_classes(options.pools, dataset, probabilities=True)
    counts = [options.limit(n * len(labelled.tally.groups)) for n in PER_CLASS]
    goal = fl.Estimate(fl.confusion)
    scores = ReplayRun(labelled, goal, fl.random, fl.from_scores())
    unlabelled = measure_confusion(scores, scores.start)["rmse"]
    for method in METHODS:
        run = ReplayRun(labelled, goal, method.choose(), method.prior)
        yield _lay_row(dataset, replay(run, "rmse", counts, options.effort(RUNS), method.name), unlabelled)


def _lay_row(dataset: Dataset, curve: Curve, unlabelled: float) -> list[str]:
    ours = [show_error(float(m) / unlabelled, float(s) / unlabelled, 2) for m, s in zip(curve.mean, curve.se, strict=True)]  # fmt: skip
    column = PRINTED.get(curve.name)
    printed = [TABLE_4[dataset.name, n][column] for n in PER_CLASS] if column is not None else []
    return [dataset.title, curve.name, *ours, " / ".join(f"{x:.3f}" for x in printed), f"{len(curve.values):,}"]


if __name__ == "__main__":
    start("table_4", make)
