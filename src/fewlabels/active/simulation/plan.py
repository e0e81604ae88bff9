"""Sample size planning: run a goal and a policy on simulated labels until the goal is settled.

Without labels, labels are simulated from the prior predictive distribution (truths from the prior, labels from the
truths); with labels, from the posterior predictive distribution.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Int
from joblib import delayed

from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.estimation import Estimate
from fewlabels.active.goals.extremes import FindWorst
from fewlabels.active.goals.goal import Goal, count_sought, require_enough
from fewlabels.active.policies import Policy, choose_policy, name_policy
from fewlabels.active.simulation.blas import use_one_thread
from fewlabels.active.simulation.dispatch import play
from fewlabels.active.simulation.labelled_pool import Stage
from fewlabels.active.simulation.parallel import spread
from fewlabels.active.simulation.run import Trial, count_askable
from fewlabels.analyses.assess import count_for, require_objects, require_roles
from fewlabels.analyses.assessment import require_answerable, require_seed
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.data.aggregate import take_census
from fewlabels.data.checks import require_sound
from fewlabels.data.counts import NONE, Tally, arrange
from fewlabels.data.groups import Bins, Groups, predicted
from fewlabels.data.predictions import Predictions
from fewlabels.distributions.belief import Rng
from fewlabels.errors import InputError
from fewlabels.models.calibrated.prior import calibrated
from fewlabels.models.draws import N_DRAWS_REPLAYED, N_DRAWS_ROUGH
from fewlabels.models.inference import infer
from fewlabels.models.posterior import Posterior
from fewlabels.models.priors import Flat, Prior

Tick = Callable[[int, int], None]
EVERY = 20  # check after each of the first 20 labels, then whenever the count has grown by 1/20
CLOSER = 10  # checks between the last count that did not settle a goal and the first that did
FURTHER = 4  # factor on the budget while a future is not settled


@dataclass(frozen=True)
class Plan:
    """Predicted number of further labels to settle a goal."""

    goal: str
    metric: str
    by: str
    policy: str
    prior: str
    n_items: int
    n_labels: int  # so far
    n_more: int | None  # median over simulated futures; None if most never settle
    low: int | None  # central 80 % of futures
    high: int | None
    p_settled: float  # share of futures that settle
    runs: int
    sentence: str
    remedy: str | None
    warnings: tuple[str, ...] = ()  # about the table
    provenance: Provenance = field(default_factory=record, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as a dict."""
        return {**asdict(self), "warnings": list(self.warnings), "provenance": self.provenance.to_dict()}


@use_one_thread()
def plan(
    pool: Any,
    *,
    goal: Goal,
    by: Groups = predicted,
    policy: Policy | None = None,
    prior: Prior | None = None,
    level: float = 0.95,
    finite_pool: bool = False,
    bins: Bins | None = None,
    runs: int = 50,
    seed: int = 0,
    n_jobs: int | None = None,
    tick: Tick | None = None,
) -> Plan:
    """Predict how many more labels a goal takes, by simulating labels until it is first settled.

    A learning prior is fixed at its current fit: new labels in one group do not inform other groups, so fewer may be
    enough. Every future is checked after each of its first 20 labels, then after every 5 % more, so it may be found
    settled up to 5 % late; counts are rounded up to two digits.

    >>> pool = {"predicted": ["a"] * 500 + ["b"] * 500}
    >>> plan(pool, goal=Estimate(width=0.2), runs=20, n_jobs=1).n_more < 200
    True
    """
    require_seed(seed)
    pool = pool if isinstance(pool, Predictions) else Predictions.read(pool)
    prior, policy = prior or calibrated(), policy or choose_policy(count_sought(goal))
    require_objects(by=by, goal=goal, prior=prior)
    require_roles(pool, goal.metric, prior)
    if runs < 2:
        raise InputError(f"plan: runs is {runs}; variation needs at least 2, use 20 or more")
    census = take_census(pool, by, bins=bins, **count_for(pool, prior))
    warnings = require_sound(pool, census)
    counts = arrange(census)
    require_answerable(counts, goal.metric)
    require_enough(goal, len(counts.groups))
    known = infer(counts, goal.metric, prior, finite_pool=finite_pool, level=level, n_draws=N_DRAWS_REPLAYED)
    most = count_askable(goal, known)
    if not most:
        raise InputError(
            f"plan: every item of {pool.source} that could help is labelled; there is nothing left to plan, "
            "unless you hide these labels (--hide-labels; Python: pool.hide_labels())"
        )
    setting = {
        "goal": goal, "policy": policy, "prior": Flat(), "level": level, "finite": finite_pool, "given": known,
    }  # fmt: skip
    needed = _repeat(
        partial(_play_once, counts, known, setting), np.random.SeedSequence(seed).spawn(runs), n_jobs, tick
    )
    found = _conclude(goal, policy, prior, counts, needed, most)
    made = record(pool.source, inputs=pool.inputs, counts=counts, seed=seed)
    return replace(found, warnings=warnings, provenance=made)


def imagine_stage(rng: Rng, counts: Tally, known: Posterior) -> Stage:
    """Draw a truth, then counts of labels for the unlabelled items of each cell (items of a cell are exchangeable)."""
    n = (known.finish(rng).counts - known.counts).round().astype(np.int64)  # (cell, outcome)
    cell, outcome = (np.repeat(index.reshape(-1), n.reshape(-1)) for index in np.indices(n.shape))
    entry = np.unique(counts.place(known.metric.splits)[1], return_index=True)[1][cell]  # any entry of the cell
    if known.metric.reads == "right":
        return Stage(counts, entry, np.full(len(entry), NONE), 1.0 - outcome)
    return Stage(counts, entry, outcome, (outcome == counts.predicted[entry]).astype(np.float64))


@dataclass(frozen=True)
class Future:
    """One simulated future: seeded, so that a longer run has the same labels in the same order."""

    trial: Trial
    playing: np.random.SeedSequence
    judging: np.random.SeedSequence

    def play(self, budget: int) -> Int[np.ndarray, " step"]:
        """Return the labelled items in order, up to a budget."""
        return play(self.trial, np.random.default_rng(self.playing), budget)

    def is_settled(self, known: Posterior) -> bool:
        """Is the goal settled? As in a session, every check uses the same draws: a few, then all if it is."""
        looks = (replace(known, n_draws=N_DRAWS_ROUGH), known)
        return all(self.trial.goal.settled(look, np.random.default_rng(self.judging)) for look in looks)


def count_until_settled(future: Future) -> int | None:
    """Find the first label count at which the goal is settled; None if all labels do not settle it.

    A settled goal may be unsettled one label later, and labelling stops the first time. So check from the start: after
    each of the first 20 labels, then whenever there are 5 % more; once settled, check about ten counts since the
    previous check. A goal settled only between two checks is missed.
    """
    known, n, budget = future.trial.start, 0, EVERY
    order = future.play(budget)
    if future.is_settled(known):
        return 0
    while n < len(order):
        later = min(n + max(1, n // EVERY), len(order))
        then = future.trial.learn(known, order[n:later])
        if future.is_settled(then):
            return _look_closer(future, known, order[:later], n)
        known, n = then, later
        if n == budget:
            budget *= FURTHER
            order = future.play(budget)
    return None


def _look_closer(future: Future, known: Posterior, order: Int[np.ndarray, " step"], n: int) -> int:
    """Refine the count: find the first of about ten counts, between n (not settled) and the end (settled)."""
    step = max(1, (len(order) - n) // CLOSER)
    for later in range(n + step, len(order), step):
        known = future.trial.learn(known, order[later - step : later])
        if future.is_settled(known):
            return later
    return len(order)


def _play_once(counts: Tally, known: Posterior, setting: dict[str, Any], seed: np.random.SeedSequence) -> int | None:
    imagining, playing, judging = seed.spawn(3)
    stage = imagine_stage(np.random.default_rng(imagining), counts, known)
    return count_until_settled(Future(Trial(stage, **setting), playing, judging))


def _repeat(
    imagine: Callable[[np.random.SeedSequence], int | None],
    seeds: list[np.random.SeedSequence],
    n_jobs: int | None,
    tick: Tick | None,
) -> list[int | None]:
    needed = []
    for i, n in enumerate(spread((delayed(imagine)(seed) for seed in seeds), n_jobs=n_jobs, prefer="threads")):
        needed.append(n)
        if tick:
            tick(i + 1, len(seeds))
    return needed


def _conclude(goal: Goal, policy: Policy, prior: Prior, counts: Tally, needed: list[int | None], most: int) -> Plan:
    """Summarize futures by quantiles; a future that never settles counts as infinite."""
    sizes = np.array([np.inf if n is None else n for n in needed], dtype=np.float64)
    low, middle, high = (_round(q) for q in np.quantile(sizes, [0.1, 0.5, 0.9], method="inverted_cdf"))
    settles = float(np.isfinite(sizes).mean())
    return Plan(
        goal=goal.name, metric=goal.metric.name, by=counts.by, policy=name_policy(policy), prior=prior.name,
        n_items=int(counts.n_items.sum()), n_labels=int(counts.n_labels.sum()), n_more=middle, low=low, high=high,
        p_settled=settles, runs=len(needed), sentence=_say(goal, middle, low, high, settles, most),
        remedy=None if settles > 0.5 else getattr(goal, "remedy", None),
    )  # fmt: skip


def _round(n: float) -> int | None:
    """Round up to two significant digits; None if infinite."""
    if not np.isfinite(n):
        return None
    digits = 10 ** max(0, len(str(int(n))) - 2)
    return int(-(-n // digits) * digits)


def _say(goal: Goal, middle: int | None, low: int | None, high: int | None, settles: float, most: int) -> str:
    aim = _say_aim(goal)
    if middle is None:
        often = "in none" if not settles else f"in only {settles:.0%}"
        return f"{often} of the simulated futures would labelling {'the last item' if most == 1 else f'all {most:,} items'} {aim}"
    if not middle and not high:
        return "no more labels are needed: the goal is met already"
    upper = f"{high:,}" if high is not None else "more than there are items"
    return f"about {middle:,} more labels will {aim} (eight in ten simulated futures: {low:,} to {upper})"


def _say_aim(goal: Goal) -> str:
    if isinstance(goal, Estimate):
        return f"get {goal.metric.name} of every group within ±{_points(goal.width / 2, goal.metric.is_share)}"
    if isinstance(goal, FindWorst):
        which = goal.name.removeprefix("find-")
        named = f"the {which} group" if goal.m == 1 else f"the {goal.m} {which} groups"
        return f"name {named} by {goal.metric.name} with probability {goal.confidence:g}"
    if isinstance(goal, Compare):
        return f"tell whether {goal.a} and {goal.b} differ by more than {goal.rope:g}, with probability {goal.confidence:g}"
    return f"settle {goal.name}"


def _points(half: float, is_share: bool) -> str:
    return f"{100 * half:.3g} points" if is_share else f"{half:.3g}"
