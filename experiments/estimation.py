"""Errors of estimates at a few label counts: the four methods side by side with the published three (Tables 3, 5, 8)."""

from collections.abc import Iterator, Mapping, Sequence

import fewlabels as fl
from experiments.methods import ACTIVE, ALL, FLAT, IPRIOR, UPRIOR
from experiments.published import Row
from experiments.replays import Curve, Effort, replay
from experiments.tables import show, show_error
from fewlabels.active.simulation.labelled_pool import LabelledPool
from fewlabels.active.simulation.replay import ReplayRun

Curves = Mapping[str, Curve]
HEADER = (
    "UPrior, published", "ours, 1e-6", "ours, flat", "IPrior, published", "ours", "IPrior+TS, published", "ours", "runs",
)  # fmt: skip
NOTHING = (float("nan"),) * 3


def measure_errors(labelled: LabelledPool, n_labels: Sequence[int], effort: Effort) -> dict[str, Curve]:
    """RMSE of group accuracy in points, for every method."""
    found = {}
    for method in ALL:
        run = ReplayRun(labelled, fl.Estimate(), method.choose(), method.prior)
        curve = replay(run, "rmse", n_labels, effort, method.name)
        found[method.name] = curve._replace(values=100 * curve.values)
    return found


def set_beside(curves: Curves, i: int, published: Row | None, digits: int = 2) -> list[str]:
    """Lay the methods at one label count beside the published row."""
    return list(_interleave(curves, i, iter(published or NOTHING), digits))


def _interleave(curves: Curves, i: int, printed: Iterator[float], digits: int) -> Iterator[str]:
    for names in ((UPRIOR.name, FLAT.name), (IPRIOR.name,), (ACTIVE.name,)):
        yield show(next(printed))
        yield from (show_error(float(curves[name].mean[i]), float(curves[name].se[i]), digits) for name in names)
    yield f"{len(curves[IPRIOR.name].values):,}"
