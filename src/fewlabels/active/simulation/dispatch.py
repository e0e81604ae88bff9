"""Dispatch replays to compiled kernels: which runs have a kernel, and how their objects become arrays."""

from collections.abc import Callable
from typing import Any, TypeGuard
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float, Int

from fewlabels.active.acquisition import Policy
from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.estimation import Estimate
from fewlabels.active.goals.goal import Goal
from fewlabels.active.goals.identification import FindBest, FindWorst
from fewlabels.active.goals.variance import square_slope
from fewlabels.active.policies import EpsilonGreedy, MultiPlay, Random, Stratified, Thompson, TopTwo, UpperBound
from fewlabels.active.simulation.kernels.compiled_measures import (
    measure_calibration,
    measure_comparison,
    measure_confusion,
    measure_estimate,
    measure_identification,
)
from fewlabels.active.simulation.kernels.labelling_loop import choose
from fewlabels.active.simulation.kernels.pool import Pool
from fewlabels.active.simulation.kernels.problems import (
    CalibrationError,
    Problem,
    Rate,
    RopeComparison,
    ShareVariance,
    Variance,
)
from fewlabels.active.simulation.kernels.problems import Cost as CostProblem
from fewlabels.active.simulation.kernels.rules import EQUAL, NEYMAN, PROPORTIONAL, RANDOM, Rule, RuleKind, multi_play
from fewlabels.active.simulation.replay import ReplayRun, follow_posterior, next_refit
from fewlabels.active.simulation.replay_measures import choose_measures, measure_true_verdict
from fewlabels.distributions.beta_dirichlet import Beta, Dirichlet
from fewlabels.distributions.randomness import Rng
from fewlabels.metrics.metric import Cost, accuracy, confusion, ece

Measured = dict[str, Float[np.ndarray, " checkpoint"]]
VERDICTS = ("below", "equivalent", "above")
NON_ADAPTIVE = (RANDOM, PROPORTIONAL, EQUAL)  # rules that do not depend on the posterior
ALLOCATIONS = {"proportional": PROPORTIONAL, "equal": EQUAL, "neyman": NEYMAN}
PROBLEM_CACHE: WeakKeyDictionary[ReplayRun, Problem | None] = WeakKeyDictionary()  # freed with the run it belongs to


def is_compiled(run: ReplayRun) -> bool:
    """Is there a compiled kernel to dispatch this goal, policy and prior to?"""
    return find_problem(run) is not None and find_rule(run.policy, run.plays) is not None


def run_policy(run: ReplayRun, rng: Rng, budget: int) -> Int[np.ndarray, " step"]:
    """Dispatch a replay to a kernel if there is one, and return the items in labelling order."""
    problem, rule = find_problem(run), find_rule(run.policy, run.plays)
    if problem is None or rule is None:
        return run.run_policy(rng, budget)
    if run.learns and rule not in NON_ADAPTIVE:
        return _run_with_refits(run, rng, rule, budget)
    return choose(rng, problem, rule, budget)


def _run_with_refits(run: ReplayRun, rng: Rng, rule: Rule, budget: int) -> Int[np.ndarray, " step"]:
    """Dispatch a replay with a learning prior between refits: each time on the unlabelled items."""
    order, left = np.zeros(0, dtype=np.int64), np.arange(run.labelled.n_items)
    while len(order) < budget:
        problem = _make_problem(run.continue_with(order, left))
        assert problem is not None
        chosen = choose(rng, problem, rule, min(next_refit(len(order)), budget) - len(order))
        if not len(chosen):
            break
        order, left = np.concatenate([order, left[chosen]]), np.delete(left, chosen)
    return order


def measure(run: ReplayRun, order: Int[np.ndarray, " step"], checkpoints: Int[np.ndarray, " checkpoint"]) -> Measured:
    """Dispatch the measures of a replay at every checkpoint to a kernel if there is one."""
    compiled = _measure_compiled(run, order, checkpoints)
    if compiled is not None:
        return compiled
    measure_posterior = choose_measures(run.goal)
    found = [measure_posterior(run, posterior) for _, posterior in follow_posterior(run, order, checkpoints.tolist())]
    return {name: np.array([row[name] for row in found]) for name in found[0]}


def _measure_compiled(
    run: ReplayRun, order: Int[np.ndarray, " step"], checkpoints: Int[np.ndarray, " checkpoint"]
) -> Measured | None:
    """Dispatch the measures of a replay to the kernel for its goal; None where there is none."""
    problem = None if run.learns else find_problem(run)
    if isinstance(problem, Rate | CalibrationError | CostProblem):
        found = measure_identification(problem, order, checkpoints, min(run.plays, problem.pool.n_groups))
        return {"mrr": found.mrr, "found": found.found.astype(np.float64)}
    if isinstance(problem, RopeComparison):
        verdict = VERDICTS.index(str(measure_true_verdict(run)))
        return {"correct": measure_comparison(problem, order, checkpoints, verdict).astype(np.float64)}
    if type(run.goal) is Estimate and isinstance(problem, Variance | ShareVariance):
        return _measure_estimate(run, problem, order, checkpoints)
    return None


def _measure_estimate(
    run: ReplayRun,
    problem: Variance | ShareVariance,
    order: Int[np.ndarray, " step"],
    checkpoints: Int[np.ndarray, " checkpoint"],
) -> Measured | None:
    """Dispatch the measures of an estimate to the kernel for its metric; None where there is none."""
    metric, belief, cells = run.goal.metric, run.start.belief, run.start.evaluation.cells
    if metric is ece and isinstance(belief, Beta):
        gap = CalibrationError(problem.pool, run.labelled.right, belief.alpha, belief.beta, cells.score)
        return {"relative_error": measure_calibration(gap, order, checkpoints, cells.bin).relative_error}
    if isinstance(problem, Variance) and problem.pool.has_one_cell_per_group and metric is accuracy:
        return measure_estimate(problem, order, checkpoints, run.level)._asdict()
    if isinstance(problem, ShareVariance) and problem.pool.has_one_cell_per_group and metric is confusion:
        assert isinstance(belief, Dirichlet)
        right = belief.marginal(cells.predicted)
        chances = Rate(problem.pool, run.labelled.right, right.alpha, right.beta)
        spread = measure_estimate(chances, order, checkpoints, run.level)
        return spread._asdict() | {"rmse": measure_confusion(problem, order, checkpoints)}
    return None


def find_rule(policy: Policy, plays: int) -> Rule | None:
    """Return the compiled rule to dispatch a policy to; None for custom policies."""
    rules: dict[type, Callable[[Any], Rule]] = {
        Random: lambda _: RANDOM,
        Stratified: lambda p: ALLOCATIONS[p.allocation],
        Thompson: lambda _: Rule(RuleKind.THOMPSON),
        TopTwo: lambda p: Rule(RuleKind.TOP_TWO, chance=p.chance),
        MultiPlay: lambda _: multi_play(plays),
        EpsilonGreedy: lambda p: Rule(RuleKind.EPSILON_GREEDY, chance=p.chance),
        UpperBound: lambda p: Rule(RuleKind.UPPER_BOUND, level=p.quantile),
    }
    return rules[type(policy)](policy) if type(policy) in rules else None


def find_problem(run: ReplayRun) -> Problem | None:
    """Return the compiled problem to dispatch a run to, cached; None for custom goals and for rates of classes."""
    if run not in PROBLEM_CACHE:
        PROBLEM_CACHE[run] = _make_problem(run)
    return PROBLEM_CACHE[run]


def _make_problem(run: ReplayRun) -> Problem | None:
    """Make the problem to dispatch a run to, from its prior: Betas or Dirichlets."""
    belief = run.start.belief
    if isinstance(belief, Beta):
        return _make_beta_problem(run, belief)
    return _make_dirichlet_problem(run, belief) if isinstance(belief, Dirichlet) else None


def make_pool(run: ReplayRun) -> Pool:
    """Convert a labelled pool to the arrays that kernels use, to dispatch its replays to them."""
    posterior, cells = run.start, run.start.evaluation.cells
    n_labels = posterior.n_labels.round().astype(np.int64)
    return Pool(
        run.labelled.start,
        run.labelled.cell(posterior.metric),
        cells.group,
        posterior.weight,
        posterior.share,
        n_labels,
    )


def _make_beta_problem(run: ReplayRun, belief: Beta) -> Problem | None:
    """Make the problem with Beta priors to dispatch a goal to; None where there is no kernel."""
    goal, posterior, arrays = run.goal, run.start, (make_pool(run), run.labelled.right, belief.alpha, belief.beta)
    if _is_identification(goal) and goal.metric is accuracy:
        return Rate(*arrays, float(goal.sign))
    if _is_identification(goal) and goal.metric is ece:
        return CalibrationError(*arrays, posterior.evaluation.cells.score, float(goal.sign))
    if type(goal) is Estimate:
        return Variance(*arrays, posterior.weight**3 * square_slope(posterior))
    if type(goal) is Compare and goal.metric is accuracy:
        return RopeComparison(*arrays, posterior.position(goal.a), posterior.position(goal.b), goal.rope)
    return None


def _make_dirichlet_problem(run: ReplayRun, belief: Dirichlet) -> Problem | None:
    """Make the problem with Dirichlet priors to dispatch a goal to; None where there is no kernel."""
    goal, posterior, cells = run.goal, run.start, run.start.evaluation.cells
    pool, label = make_pool(run), run.labelled.label
    if type(goal) is Estimate and not isinstance(goal.metric, Cost):
        return ShareVariance(pool, label, belief.alpha, posterior.weight**3)
    if not _is_identification(goal):
        return None
    if isinstance(posterior.metric, Cost) and posterior.metric.matrix is not None:
        return CostProblem(
            pool, label, belief.alpha, posterior.metric.matrix[:, cells.predicted].T.copy(), float(goal.sign)
        )
    if goal.metric is confusion:  # the probability of a right prediction is a cost of 1 for the predicted class
        return CostProblem(pool, label, belief.alpha, np.eye(belief.alpha.shape[1])[cells.predicted], float(goal.sign))
    return None


def _is_identification(goal: Goal) -> TypeGuard[FindWorst]:
    """Is the goal to dispatch a built-in identification goal? Subclasses may define another gain."""
    return type(goal) in (FindWorst, FindBest)
