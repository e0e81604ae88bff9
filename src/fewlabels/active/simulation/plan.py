"""Sample size planning: run a goal and a policy on simulated labels until the goal is settled.

Without labels, labels are simulated from the prior predictive distribution (truths from the prior, labels from the
truths); with labels, from the posterior predictive distribution.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Int
from joblib import delayed

from fewlabels.active.acquisition import Policy
from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.estimation import Estimate
from fewlabels.active.goals.goal import Goal, require_enough_groups
from fewlabels.active.goals.identification import FindWorst
from fewlabels.active.parsing import resolve_design
from fewlabels.active.policies import name_policy
from fewlabels.active.simulation.blas import use_one_thread
from fewlabels.active.simulation.dispatch import run_policy
from fewlabels.active.simulation.labelled_pool import LabelledPool
from fewlabels.active.simulation.parallel import spread
from fewlabels.active.simulation.results import Plan
from fewlabels.active.simulation.run import Run, count_askable
from fewlabels.active.study_design import StudyDesign
from fewlabels.analyses.provenance import record
from fewlabels.analyses.requirements import count_for, require_answerable, require_roles
from fewlabels.data.aggregate import aggregate_pool
from fewlabels.data.checks import require_valid
from fewlabels.data.counts import NONE, CountTable
from fewlabels.data.groups import Bins, Groups, predicted
from fewlabels.data.predictions import Predictions
from fewlabels.data.tabulation import to_count_table
from fewlabels.distributions.budgets import N_DRAWS_ROUGH, N_DRAWS_SIMULATED
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import InputError, choose_words
from fewlabels.models.inference import infer
from fewlabels.models.posterior import Posterior
from fewlabels.models.priors import Flat, Prior

ProgressCallback = Callable[[int, int], None]
CHECK_RESOLUTION = 20  # check after each of the first 20 labels, then whenever the count has grown by 1/20
REFINED_CHECKS = 10  # checks between the last count that did not settle a goal and the first that did
BUDGET_GROWTH = 4  # factor on the budget while a future is not settled


@use_one_thread()
def plan(
    pool: Any,
    *,
    goal: Goal | str,
    by: Groups | str | Sequence[Groups | str] = predicted,
    policy: Policy | str | None = None,
    prior: Prior | str | None = None,
    level: float = 0.95,
    finite_pool: bool = False,
    bins: Bins | str | int | None = None,
    runs: int = 50,
    seed: int = 0,
    n_jobs: int | None = None,
    tick: ProgressCallback | None = None,
) -> Plan:
    """Predict how many more labels a goal takes, by simulating labels until it is first settled.

    A learning prior is fixed at its current fit: new labels in one group do not inform other groups, so fewer may be
    enough. Every future is checked after each of its first 20 labels, then after every 5 % more, so it may be found
    settled up to 5 % late; counts are rounded up to two digits.

    Parameters
    ----------
    pool: Predictions, path, frame, dict of arrays or Ibis table
        The predictions; anything but `Predictions` is read by `Predictions.read`.
    goal: Goal or str
        What labels are for: an object like `fl.FindWorst("recall", m=2)`, or the word of a goal with its default
        settings: `"estimate"`, `"explore"`, `"least-certain"`, `"find-worst"`, `"find-best"`.
    by: Groups, str or sequence of them
        The groups: an object like `fl.predicted` or a word of the command line: `"all"`, `"predicted"`, `"bins:20"`,
        `"ranges:age"`, a column, or several separated by commas (every combination).
    policy: Policy or str
        How to choose the group of the next item: an object like `fl.thompson` or a word such as `"top-two"`. By default
        Thompson sampling, multi-play if the goal seeks several groups.
    prior: Prior or str
        An object like `fl.flat()` or a word: `"calibrated"` (default), `"smooth"`, `"scores"`, `"flat"`, or the path of
        the JSON of an earlier assessment.
    level: float
        Probability that a credible interval contains the true value.
    finite_pool: bool
        Estimate the metric on exactly these items instead of the population they came from.
    bins: Bins, str or int
        Score bins inside calibration error: a number (equal width), `"equal-mass:10"` or `fl.bins(10)`.
    runs: int
        Number of simulated futures.
    seed: int
        Seed of the random draws.
    n_jobs: int
        Number of parallel runs [default: all cores]; `joblib.parallel_config` can select a cluster.
    tick: callable
        Called as tick(done, total) when a run ends.

    >>> pool = {"predicted": ["a"] * 500 + ["b"] * 500}
    >>> plan(pool, goal=Estimate(width=0.2), runs=20, n_jobs=1).n_more < 200
    True
    """
    design = resolve_design(
        goal, by=by, policy=policy, prior=prior, bins=bins, level=level, finite_pool=finite_pool, seed=seed
    )
    pool = pool if isinstance(pool, Predictions) else Predictions.read(pool)
    goal, prior = design.goal, design.prior
    require_roles(pool, goal.metric, prior)
    if runs < 2:
        raise InputError(f"plan: runs is {runs}; variation needs at least 2, use 20 or more")
    aggregated = aggregate_pool(pool, design.by, bins=design.bins, **count_for(pool, prior))
    warnings = require_valid(pool, aggregated)
    counts = to_count_table(aggregated)
    require_answerable(counts, goal.metric)
    require_enough_groups(goal, len(counts.groups))
    posterior = infer(counts, goal.metric, prior, finite_pool=finite_pool, level=level, n_draws=N_DRAWS_SIMULATED)
    most = count_askable(goal, posterior)
    if not most:
        raise InputError(
            f"plan: every item of {pool.source} that could help is labelled; there is nothing left to plan, "
            f"unless you hide these labels ({choose_words('--hide-labels', 'pool.hide_labels()')})"
        )
    needed = _simulate_futures(
        partial(_simulate_once, counts, posterior, replace(design, prior=Flat())),
        np.random.SeedSequence(seed).spawn(runs),
        n_jobs,
        tick,
    )
    found = _summarize_futures(design, counts, needed, most)
    made = record(pool.source, inputs=pool.inputs, counts=counts, seed=seed)
    return replace(found, warnings=warnings, provenance=made, frame=pool.frame)


def draw_labelled_pool(rng: Rng, counts: CountTable, posterior: Posterior) -> LabelledPool:
    """Draw a truth, then counts of labels for the unlabelled items of each cell (items of a cell are exchangeable)."""
    n = (posterior.simulate_completion(rng).counts - posterior.counts).round().astype(np.int64)  # (cell, outcome)
    cell, outcome = (np.repeat(index.reshape(-1), n.reshape(-1)) for index in np.indices(n.shape))
    entry = np.unique(counts.assign_cells(posterior.metric.splits)[1], return_index=True)[1][
        cell
    ]  # any entry of the cell
    if posterior.metric.reads == "right":
        return LabelledPool(counts, entry, np.full(len(entry), NONE), 1.0 - outcome)
    return LabelledPool(counts, entry, outcome, (outcome == counts.predicted[entry]).astype(np.float64))


@dataclass(frozen=True)
class SimulatedFuture:
    """One simulated future: seeded, so that a longer run has the same labels in the same order."""

    run: Run
    policy_seed: np.random.SeedSequence
    answer_seed: np.random.SeedSequence

    def run_policy(self, budget: int) -> Int[np.ndarray, " step"]:
        """Return the labelled items in order, up to a budget."""
        return run_policy(self.run, np.random.default_rng(self.policy_seed), budget)

    def is_settled(self, posterior: Posterior) -> bool:
        """Is the goal settled? As in a session, every check uses the same draws: a few, then all if it is."""
        looks = (replace(posterior, n_draws=N_DRAWS_ROUGH), posterior)
        return all(self.run.goal.settled(look, np.random.default_rng(self.answer_seed)) for look in looks)


def count_until_settled(future: SimulatedFuture) -> int | None:
    """Find the first label count at which the goal is settled; None if all labels do not settle it.

    A settled goal may be unsettled one label later, and labelling stops the first time. So check from the start: after
    each of the first 20 labels, then whenever there are 5 % more; once settled, check about ten counts since the
    previous check. A goal settled only between two checks is missed.
    """
    posterior, n, budget = future.run.start, 0, CHECK_RESOLUTION
    order = future.run_policy(budget)
    if future.is_settled(posterior):
        return 0
    while n < len(order):
        later = min(n + max(1, n // CHECK_RESOLUTION), len(order))
        then = future.run.update_posterior(posterior, order[n:later])
        if future.is_settled(then):
            return _refine_count(future, posterior, order[:later], n)
        posterior, n = then, later
        if n == budget:
            budget *= BUDGET_GROWTH
            order = future.run_policy(budget)
    return None


def _refine_count(future: SimulatedFuture, posterior: Posterior, order: Int[np.ndarray, " step"], n: int) -> int:
    """Refine the count: find the first of about ten counts, between n (not settled) and the end (settled)."""
    step = max(1, (len(order) - n) // REFINED_CHECKS)
    for later in range(n + step, len(order), step):
        posterior = future.run.update_posterior(posterior, order[later - step : later])
        if future.is_settled(posterior):
            return later
    return len(order)


def _simulate_once(
    counts: CountTable, posterior: Posterior, design: StudyDesign, seed: np.random.SeedSequence
) -> int | None:
    label_seed, policy_seed, answer_seed = seed.spawn(3)
    labelled = draw_labelled_pool(np.random.default_rng(label_seed), counts, posterior)
    return count_until_settled(SimulatedFuture(Run.from_design(labelled, design, posterior), policy_seed, answer_seed))


def _simulate_futures(
    imagine: Callable[[np.random.SeedSequence], int | None],
    seeds: list[np.random.SeedSequence],
    n_jobs: int | None,
    tick: ProgressCallback | None,
) -> list[int | None]:
    needed = []
    for i, n in enumerate(spread((delayed(imagine)(seed) for seed in seeds), n_jobs=n_jobs, prefer="threads")):
        needed.append(n)
        if tick:
            tick(i + 1, len(seeds))
    return needed


def _summarize_futures(design: StudyDesign, counts: CountTable, needed: list[int | None], most: int) -> Plan:
    """Summarize futures by quantiles; a future that never settles counts as infinite."""
    goal = design.goal
    sizes = np.array([np.inf if n is None else n for n in needed], dtype=np.float64)
    low, middle, high = (_round_up_count(q) for q in np.quantile(sizes, [0.1, 0.5, 0.9], method="inverted_cdf"))
    p_settled = float(np.isfinite(sizes).mean())
    return Plan(
        goal=goal.name, metric=goal.metric.name, by=counts.by, policy=name_policy(design.policy), prior=design.prior.name,
        n_items=int(counts.n_items.sum()), n_labels=int(counts.n_labels.sum()), n_more=middle, low=low, high=high,
        p_settled=p_settled, runs=len(needed), sentence=_describe_plan(goal, middle, low, high, p_settled, most),
        remedy=None if p_settled > 0.5 else getattr(goal, "remedy", None), needed=tuple(needed),
    )  # fmt: skip


def _round_up_count(n: float) -> int | None:
    """Round up to two significant digits; None if infinite."""
    if not np.isfinite(n):
        return None
    digits = 10 ** max(0, len(str(int(n))) - 2)
    return int(-(-n // digits) * digits)


def _describe_plan(
    goal: Goal, middle: int | None, low: int | None, high: int | None, p_settled: float, most: int
) -> str:
    aim = _describe_goal(goal)
    if middle is None:
        often = "in none" if not p_settled else f"in only {p_settled:.0%}"
        return f"{often} of the simulated futures would labelling {'the last item' if most == 1 else f'all {most:,} items'} {aim}"
    if not middle and not high:
        return "no more labels are needed: the goal is met already"
    upper = f"{high:,}" if high is not None else "more than there are items"
    return f"about {middle:,} more labels will {aim} (eight in ten simulated futures: {low:,} to {upper})"


def _describe_goal(goal: Goal) -> str:
    if isinstance(goal, Estimate):
        return (
            f"get {goal.metric.name} of every group within ±{_format_half_width(goal.width / 2, goal.metric.is_share)}"
        )
    if isinstance(goal, FindWorst):
        which = goal.name.removeprefix("find-")
        named = f"the {which} group" if goal.m == 1 else f"the {goal.m} {which} groups"
        return f"name {named} by {goal.metric.name} with probability {goal.confidence:g}"
    if isinstance(goal, Compare):
        return f"tell whether {goal.a} and {goal.b} differ by more than {goal.rope:g}, with probability {goal.confidence:g}"
    return f"settle {goal.name}"


def _format_half_width(half: float, is_share: bool) -> str:
    return f"{100 * half:.3g} points" if is_share else f"{half:.3g}"
