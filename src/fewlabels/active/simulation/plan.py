"""Sample size planning: run a goal and a policy on simulated labels until the goal is settled.

Without labels, labels are simulated from the prior predictive distribution (truths from the prior, labels from the
truths); with labels, from the posterior predictive distribution.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Int
from joblib import delayed

from fewlabels.active.acquisition import Policy
from fewlabels.active.goals.goal import Goal, get_aim, get_stated_metric, require_enough_groups, word_for_grades
from fewlabels.active.goals.models import BestModel, CompareModels
from fewlabels.active.model_design import design_for_models
from fewlabels.active.parsing import resolve_design
from fewlabels.active.policies import name_policy
from fewlabels.active.simulation.grade_forecast import find_grade_forecast
from fewlabels.active.simulation.labelled_pool import LabelledPool
from fewlabels.active.simulation.parallel import spread
from fewlabels.active.simulation.plan_result import Plan
from fewlabels.active.simulation.quick_forecast import count_roughly
from fewlabels.active.simulation.replay import ReplayRun, count_askable
from fewlabels.active.study_design import StudyDesign
from fewlabels.analyses.models.checks import check_predictions
from fewlabels.analyses.models.sample_size import N_FUTURES, summarize_needed
from fewlabels.analyses.provenance import record
from fewlabels.analyses.requirements import count_for, require_answerable, require_roles
from fewlabels.data.aggregate import aggregate_pool
from fewlabels.data.counts import NONE, CountTable
from fewlabels.data.groups import Bins, Groups, predicted
from fewlabels.data.joint_predictions import JointPredictions
from fewlabels.data.model_join import read_predictions
from fewlabels.data.tabulation import to_count_table
from fewlabels.distributions.budgets import N_DRAWS_ROUGH, N_DRAWS_SIMULATED
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import InputError, choose_words
from fewlabels.models.blas import use_one_thread
from fewlabels.models.inference import infer
from fewlabels.models.posterior import Posterior
from fewlabels.models.priors import Flat, Prior

ProgressCallback = Callable[[int, int], None]
CHECK_RESOLUTION = 20  # check after each of the first 20 labels, then whenever the count has grown by 1/20
QUICK_RUNS = 10  # futures of a session's status
REFINED_CHECKS = 10  # checks between the last count that did not settle a goal and the first that did


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
    settled up to 5 % late; counts are rounded up to two digits. The policy chooses all labels between two checks from
    one posterior, as when people label in batches.

    Parameters
    ----------
    pool: Predictions, path, frame, dict of arrays or Ibis table
        The predictions; anything but `Predictions` is read by `Predictions.read`. Of several models, a dict of name to
        predictions, as for `compare_models`; then `by` is left out.
    goal: Goal or str
        What labels are for: an object like `fl.FindWorst("recall", m=2)`, or the word of a goal with its default
        settings: `"estimate"`, `"explore"`, `"least-certain"`, `"find-worst"`, `"find-best"`; of several models,
        `"compare-models"`, `"best-model"`.
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
        Number of simulated futures; of several models, a thousand that cost nothing are drawn instead.
    seed: int
        Seed of the random draws.
    n_jobs: int
        Number of parallel runs [default: all cores]; `joblib.parallel_config` can select a cluster.
    tick: callable
        Called as tick(done, total) when a run ends.

    >>> from fewlabels.active.goals.estimation import Estimate
    >>> pool = {"predicted": ["a"] * 500 + ["b"] * 500}
    >>> plan(pool, goal=Estimate(width=0.2), runs=20, n_jobs=1).n_more < 200
    True
    """
    pool = read_predictions(pool)
    design = resolve_design(
        goal, by=by, policy=policy, prior=prior, bins=bins, level=level, finite_pool=finite_pool, seed=seed
    )
    design = design_for_models(pool, design) if isinstance(pool, JointPredictions) else design
    goal, prior = design.goal, design.prior
    require_roles(pool, goal.metric, prior)
    if runs < 2:
        raise InputError(f"plan: runs is {runs}; variation needs at least 2, use 20 or more")
    aggregated = aggregate_pool(pool, design.arms, bins=design.bins, **count_for(pool, goal.metric, prior))
    warnings = check_predictions(pool, aggregated)
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
    found = plan_labels(counts, posterior, design, runs=runs, n_jobs=n_jobs, tick=tick)
    made = record(pool.source, inputs=pool.inputs, counts=counts, seed=seed)
    return replace(found, warnings=warnings, provenance=made, frame=pool.frame)


def plan_labels(
    counts: CountTable,
    posterior: Posterior,
    design: StudyDesign,
    *,
    runs: int = QUICK_RUNS,
    n_jobs: int | None = 1,
    tick: ProgressCallback | None = None,
) -> Plan:
    """Plan how many more labels settle a goal, from its posterior; `status` and the page show the same plan."""
    if posterior.models is not None:
        return _plan_comparison(counts, posterior, design)
    posterior = replace(posterior, n_draws=N_DRAWS_SIMULATED)
    needed = _simulate_futures(
        find_grade_forecast(counts, posterior, design) or partial(_simulate_once, counts, posterior, design),
        np.random.SeedSequence(design.seed).spawn(runs),
        n_jobs,
        tick,
    )
    return _summarize_futures(design, counts, needed, count_askable(design.goal, posterior))


def _plan_comparison(counts: CountTable, posterior: Posterior, design: StudyDesign) -> Plan:
    """Plan a comparison of models by its own forecast, so that `compare`, `status` and `plan` say the same."""
    goal = design.goal
    assert isinstance(goal, CompareModels | BestModel)
    is_settled = goal.settled(posterior, np.random.default_rng(0))
    needed: list[int | None] = [0] * N_FUTURES if is_settled else list(goal.forecast(posterior).needed)
    return _summarize_futures(design, counts, needed, count_askable(goal, posterior))


def draw_planned_labels(rng: Rng, counts: CountTable, posterior: Posterior) -> LabelledPool:
    """Draw the labels that a plan simulates: a truth, then labels for the unlabelled items of each cell."""
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

    run: ReplayRun
    policy_seed: np.random.SeedSequence
    answer_seed: np.random.SeedSequence

    def label_in_batches(self) -> Iterator[tuple[Int[np.ndarray, " item"], Posterior]]:
        """Yield what is labelled between two checks of the plan, and the posterior after it."""
        return self.run.label_in_batches(np.random.default_rng(self.policy_seed), CHECK_RESOLUTION)

    def is_settled(self, posterior: Posterior) -> bool:
        """Is the planned goal settled? As in a session, checks use the same draws: a few, then all if it is."""
        looks = (replace(posterior, n_draws=N_DRAWS_ROUGH), posterior)
        return all(self.run.goal.settled(look, np.random.default_rng(self.answer_seed)) for look in looks)


def count_until_settled(future: SimulatedFuture) -> int | None:
    """Find the first label count at which a plan's goal is settled; None if all labels do not settle it.

    A settled goal may be unsettled one label later, and labelling stops the first time. So check from the start: after
    each of the first 20 labels, then whenever there are 5 % more; once settled, check about ten counts since the
    previous check. A goal settled only between two checks is missed.
    """
    posterior, n = future.run.start, 0
    if future.is_settled(posterior):
        return 0
    for items, then in future.label_in_batches():
        if future.is_settled(then):
            return n + _refine_count(future, posterior, items)
        posterior, n = then, n + len(items)
    return None


def _refine_count(future: SimulatedFuture, posterior: Posterior, items: Int[np.ndarray, " item"]) -> int:
    """Refine a plan's count: how many of these items settle the goal, by about ten checks; all of them do."""
    step = max(1, len(items) // REFINED_CHECKS)
    for later in range(step, len(items), step):
        posterior = future.run.update_posterior(posterior, items[later - step : later])
        if future.is_settled(posterior):
            return later
    return len(items)


def _simulate_once(
    counts: CountTable, posterior: Posterior, design: StudyDesign, seed: np.random.SeedSequence
) -> int | None:
    """Simulate one future of the plan: how many more labels settle the goal."""
    design = replace(design, prior=Flat())
    if posterior.learned_covariance is not None:
        return count_roughly(np.random.default_rng(seed), posterior, design.goal, design.policy)
    label_seed, policy_seed, answer_seed = seed.spawn(3)
    labelled = draw_planned_labels(np.random.default_rng(label_seed), counts, posterior)
    return count_until_settled(
        SimulatedFuture(ReplayRun.from_design(labelled, design, posterior), policy_seed, answer_seed)
    )


def _simulate_futures(
    simulate_future: Callable[[np.random.SeedSequence], int | None],
    seeds: list[np.random.SeedSequence],
    n_jobs: int | None,
    tick: ProgressCallback | None,
) -> list[int | None]:
    """Simulate the futures of a plan in parallel: how many more labels settle the goal in each."""
    needed = []
    for i, n in enumerate(spread((delayed(simulate_future)(seed) for seed in seeds), n_jobs=n_jobs, prefer="threads")):
        needed.append(n)
        if tick:
            tick(i + 1, len(seeds))
    return needed


def _summarize_futures(design: StudyDesign, counts: CountTable, needed: list[int | None], most: int) -> Plan:
    """Summarize a plan's futures by quantiles; a future that never settles counts as infinite."""
    goal = design.goal
    sizes = np.array([np.inf if n is None else n for n in needed], dtype=np.float64)
    found = summarize_needed(sizes, most)
    low, middle, high = found.low, found.n_more, found.high
    p_settled = float(np.isfinite(sizes).mean())
    return Plan(
        goal=goal.name, metric=get_stated_metric(goal).name, by=counts.by, policy=name_policy(design.policy), prior=design.prior.name,
        n_items=int(counts.n_items.sum()), n_labels=int(counts.n_labels.sum()), n_more=middle, low=low, high=high,
        p_settled=p_settled, runs=len(needed), sentence=_describe_plan(word_for_grades(goal, counts), middle, low, high, p_settled, most),
        remedy=None if p_settled > 0.5 else getattr(goal, "remedy", None), needed=tuple(needed),
    )  # fmt: skip


def _describe_plan(
    goal: Goal, middle: int | None, low: int | None, high: int | None, p_settled: float, most: int
) -> str:
    """Describe in a sentence how many more labels the plan expects."""
    aim = get_aim(goal)
    if middle is None:
        often = "in none" if not p_settled else f"in only {p_settled:.0%}"
        return f"{often} of the simulated futures would labelling {'the last item' if most == 1 else f'all {most:,} items'} {aim}"
    if not middle and not high:
        return "no more labels are needed: the goal is met already"
    upper = f"{high:,}" if high is not None else "more than there are items"
    return f"about {middle:,} more labels will {aim} (eight in ten simulated futures: {low:,} to {upper})"
