"""Finding extreme groups: curves of the mean reciprocal rank, and the labels they took (Tables 6, 9, 10, 11, Figures)."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from experiments.crossings import find_first, find_lasting, locate
from experiments.finite import rank_known
from experiments.methods import Method
from experiments.replays import Curve, Effort, Floats, Ints, Seed, repeat
from experiments.tables import show, show_error
from fewlabels.active.acquisition import Policy
from fewlabels.active.goals.identification import FindWorst
from fewlabels.active.simulation.dispatch import measure, run_policy
from fewlabels.active.simulation.labelled_pool import LabelledPool
from fewlabels.active.simulation.replay import ReplayRun
from fewlabels.metrics.metric import Metric
from fewlabels.models.priors import Prior

CROSSINGS = ("ours, first", "ours, lasting", "lasting, labelled = known")


def find(
    labelled: LabelledPool, goal: FindWorst, policy: Policy, prior: Prior, at: Ints, effort: Effort, name: str = ""
) -> Curve:
    """MRR of the truly worst m at these label counts; played once for all tables and figures of one command."""
    key: Any = (labelled, goal, policy, prior, tuple(at.tolist()), effort)  # frozen, all of them
    return _find_once(*key)._replace(name=name)


def find_by(labelled: LabelledPool, metric: Metric, m: int, method: Method, at: Ints, effort: Effort) -> Curve:
    """MRR by one of the paper's methods."""
    return find(labelled, FindWorst(metric, m), method.choose(m), method.prior, at, effort, method.name)


@cache
def _find_once(
    labelled: LabelledPool, goal: FindWorst, policy: Policy, prior: Prior, at: tuple[int, ...], effort: Effort
) -> Curve:
    return search(ReplayRun(labelled, goal, policy, prior), np.array(at), effort)


def search(run: ReplayRun, at: Ints, effort: Effort, name: str = "") -> Curve:
    """MRR at these label counts, read in two ways."""

    def once(seed: Seed) -> tuple[Floats, Floats]:
        order = run_policy(run, np.random.default_rng(seed), int(at[-1]))
        return measure(run, order, at)["mrr"], rank_known(run, order, at)

    values, known = (np.stack(found) for found in zip(*repeat(once, effort), strict=True))
    return Curve(name, at, values, known)


def tell_labels(curve: Curve, n_items: int, published: float | None) -> list[str]:
    """Say how much of the pool a curve needed, beside what was published, in percent."""
    return [show(published), *tell_crossings(curve, 100 / n_items), f"{len(curve.values):,}"]


def tell_crossings(curve: Curve, scale: float) -> list[str]:
    """Say where a curve first is past the target, from where on it stays so, and the same of its other reading."""
    first, _ = locate(curve, find_first)
    lasting, error = locate(curve, find_lasting)
    known, known_error = locate(curve.read_known(), find_lasting)
    return [show(scale * first), show_error(scale * lasting, scale * error), show_error(scale * known, scale * known_error)]  # fmt: skip


def tell_ratio(active: Curve, others: Sequence[Curve]) -> list[str]:
    """Say what share of the labels of others the active method needs to stay past the target."""
    needed, *each = (find_lasting(curve.n_labels, curve.mean) for curve in (active, *others))
    return [f"{100 * needed / other:.0f} %" if needed >= 0 < other else "–" for other in each]
