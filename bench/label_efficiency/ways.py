"""Ways to label: the papers' and ours."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from joblib import delayed

import fewlabels as fl
from fewlabels.active.acquisition import Policy
from fewlabels.active.goals.goal import Goal
from fewlabels.active.simulation.labelled_pool import LabelledPool
from fewlabels.active.simulation.parallel import spread
from fewlabels.active.simulation.replay import ReplayRun
from fewlabels.models.priors import Prior

PRIORS: dict[str, Prior] = {"flat": fl.flat(), "scores": fl.from_scores(), "calibrated": fl.calibrated()}
POLICIES: dict[str, Policy] = {"random": fl.random, "Thompson": fl.thompson, "multi-play": fl.multi_play}
Figures = dict[str, np.ndarray]


@dataclass(frozen=True)
class Way:
    """A prior and a policy."""

    prior: str
    policy: str

    def __str__(self) -> str:
        return f"{self.prior}, {self.policy}"

    def try_on(self, labelled: LabelledPool, goal: Goal, *, finite_pool: bool = True) -> ReplayRun:
        """Return the trial of this way."""
        return ReplayRun(labelled, goal, POLICIES[self.policy], PRIORS[self.prior], finite_pool=finite_pool)

    def seek(self, m: int) -> "Way":
        """Return the way that asks about as many groups at once as are sought."""
        return self if m == 1 else replace(self, policy="multi-play")


FLAT = Way("flat", "random")
THEIRS = (Way("scores", "random"), Way("scores", "Thompson"))
OURS = (Way("calibrated", "random"), Way("calibrated", "Thompson"))
ALL = (FLAT, *THEIRS, *OURS)


def repeat(one: Callable[[int], Figures], runs: int) -> Figures:
    """Play many times, on all cores or a cluster; figures of all runs, one under the other."""
    found = list(spread(delayed(one)(seed) for seed in range(runs)))
    return {name: np.stack([f[name] for f in found]) for name in found[0]}
