"""Dispatch replays to compiled kernels: which runs have a kernel, and how their objects become arrays."""

from collections.abc import Callable
from typing import Any, TypeGuard
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float, Int

from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.estimation import Estimate
from fewlabels.active.goals.extremes import FindBest, FindWorst
from fewlabels.active.goals.goal import Goal
from fewlabels.active.policies import (
    EpsilonGreedy,
    MultiPlay,
    Policy,
    Random,
    Stratified,
    Thompson,
    TopTwo,
    UpperBound,
)
from fewlabels.active.simulation.kernels.loop import choose
from fewlabels.active.simulation.kernels.measures import (
    measure_calibration,
    measure_comparison,
    measure_confusion,
    measure_estimate,
    measure_finding,
)
from fewlabels.active.simulation.kernels.pool import Pool
from fewlabels.active.simulation.kernels.problems import Cost as CostProblem
from fewlabels.active.simulation.kernels.problems import Gap, Problem, Rate, Rope, Spread, Variance
from fewlabels.active.simulation.kernels.rules import EQUAL, NEYMAN, PROPORTIONAL, RANDOM, Kind, Rule, multi_play
from fewlabels.active.simulation.measures import choose_measures, judge_truth
from fewlabels.active.simulation.run import Trial, next_lesson, watch
from fewlabels.distributions.belief import Beta, Dirichlet, Rng
from fewlabels.metrics.metric import Cost, accuracy, confusion, ece

Measured = dict[str, Float[np.ndarray, " checkpoint"]]
VERDICTS = ("below", "equivalent", "above")
BLIND = (RANDOM, PROPORTIONAL, EQUAL)  # rules that do not depend on the posterior
QUOTAS = {"proportional": PROPORTIONAL, "equal": EQUAL, "neyman": NEYMAN}
PROBLEMS: WeakKeyDictionary[Trial, Problem | None] = WeakKeyDictionary()  # freed with the run it belongs to


def is_compiled(trial: Trial) -> bool:
    """Is there a kernel for this goal, policy and prior?"""
    return find_problem(trial) is not None and find_rule(trial.policy, trial.plays) is not None


def play(trial: Trial, rng: Rng, budget: int) -> Int[np.ndarray, " step"]:
    """Return the items in labelling order, from a kernel if there is one."""
    problem, rule = find_problem(trial), find_rule(trial.policy, trial.plays)
    if problem is None or rule is None:
        return trial.play(rng, budget)
    if trial.learns and rule not in BLIND:
        return _play_lessons(trial, rng, rule, budget)
    return choose(rng, problem, rule, budget)


def _play_lessons(trial: Trial, rng: Rng, rule: Rule, budget: int) -> Int[np.ndarray, " step"]:
    """Run a learning prior between refits: each time on the unlabelled items, from the refitted prior."""
    order, left = np.zeros(0, dtype=np.int64), np.arange(trial.stage.n_items)
    while len(order) < budget:
        problem = _lay_problem(trial.go_on(order, left))
        assert problem is not None
        chosen = choose(rng, problem, rule, min(next_lesson(len(order)), budget) - len(order))
        if not len(chosen):
            break
        order, left = np.concatenate([order, left[chosen]]), np.delete(left, chosen)
    return order


def measure(trial: Trial, order: Int[np.ndarray, " step"], checkpoints: Int[np.ndarray, " checkpoint"]) -> Measured:
    """Measure a replay at every checkpoint, with a kernel if there is one."""
    fast = _measure_fast(trial, order, checkpoints)
    if fast is not None:
        return fast
    look = choose_measures(trial.goal)
    found = [look(trial, known) for _, known in watch(trial, order, checkpoints.tolist())]
    return {name: np.array([row[name] for row in found]) for name in found[0]}


def _measure_fast(
    trial: Trial, order: Int[np.ndarray, " step"], checkpoints: Int[np.ndarray, " checkpoint"]
) -> Measured | None:
    problem = None if trial.learns else find_problem(trial)
    if isinstance(problem, Rate | Gap | CostProblem):
        found = measure_finding(problem, order, checkpoints, min(trial.plays, problem.pool.n_groups))
        return {"mrr": found.mrr, "found": found.found.astype(np.float64)}
    if isinstance(problem, Rope):
        verdict = VERDICTS.index(str(judge_truth(trial)))
        return {"correct": measure_comparison(problem, order, checkpoints, verdict).astype(np.float64)}
    if type(trial.goal) is Estimate and isinstance(problem, Variance | Spread):
        return _measure_estimate(trial, problem, order, checkpoints)
    return None


def _measure_estimate(
    trial: Trial,
    problem: Variance | Spread,
    order: Int[np.ndarray, " step"],
    checkpoints: Int[np.ndarray, " checkpoint"],
) -> Measured | None:
    metric, belief, cells = trial.goal.metric, trial.start.belief, trial.start.scheme.cells
    if metric is ece and isinstance(belief, Beta):
        gap = Gap(problem.pool, trial.stage.right, belief.alpha, belief.beta, cells.score)
        return {"relative_error": measure_calibration(gap, order, checkpoints, cells.bin).relative_error}
    if isinstance(problem, Variance) and problem.pool.is_plain and metric is accuracy:
        return measure_estimate(problem, order, checkpoints, trial.level)._asdict()
    if isinstance(problem, Spread) and problem.pool.is_plain and metric is confusion:
        assert isinstance(belief, Dirichlet)
        right = belief.marginal(cells.predicted)
        chances = Rate(problem.pool, trial.stage.right, right.alpha, right.beta)
        spread = measure_estimate(chances, order, checkpoints, trial.level)
        return spread._asdict() | {"rmse": measure_confusion(problem, order, checkpoints)}
    return None


def find_rule(policy: Policy, plays: int) -> Rule | None:
    """Return the compiled rule of a policy; None for custom policies."""
    rules: dict[type, Callable[[Any], Rule]] = {
        Random: lambda _: RANDOM,
        Stratified: lambda p: QUOTAS[p.allocation],
        Thompson: lambda _: Rule(Kind.THOMPSON),
        TopTwo: lambda p: Rule(Kind.TOP_TWO, chance=p.chance),
        MultiPlay: lambda _: multi_play(plays),
        EpsilonGreedy: lambda p: Rule(Kind.EPSILON_GREEDY, chance=p.chance),
        UpperBound: lambda p: Rule(Kind.UPPER_BOUND, level=p.quantile),
    }
    return rules[type(policy)](policy) if type(policy) in rules else None


def find_problem(trial: Trial) -> Problem | None:
    """Return the compiled problem of a run, cached; None for custom goals and for rates of classes."""
    if trial not in PROBLEMS:
        PROBLEMS[trial] = _lay_problem(trial)
    return PROBLEMS[trial]


def _lay_problem(trial: Trial) -> Problem | None:
    belief = trial.start.belief
    if isinstance(belief, Beta):
        return _of_chances(trial, belief)
    return _of_classes(trial, belief) if isinstance(belief, Dirichlet) else None


def lay_pool(trial: Trial) -> Pool:
    """Convert a labelled pool to the arrays that kernels use."""
    known, cells = trial.start, trial.start.scheme.cells
    n_labels = known.n_labels.round().astype(np.int64)
    return Pool(trial.stage.start, trial.stage.cell(known.metric), cells.group, known.weight, known.share, n_labels)


def _of_chances(trial: Trial, belief: Beta) -> Problem | None:
    goal, known, arrays = trial.goal, trial.start, (lay_pool(trial), trial.stage.right, belief.alpha, belief.beta)
    if _is_finding(goal) and goal.metric is accuracy:
        return Rate(*arrays, float(goal.sign))
    if _is_finding(goal) and goal.metric is ece:
        return Gap(*arrays, known.scheme.cells.score, float(goal.sign))
    if type(goal) is Estimate:
        return Variance(*arrays, known.weight**3)
    if type(goal) is Compare and goal.metric is accuracy:
        return Rope(*arrays, known.position(goal.a), known.position(goal.b), goal.rope)
    return None


def _of_classes(trial: Trial, belief: Dirichlet) -> Problem | None:
    goal, known, cells = trial.goal, trial.start, trial.start.scheme.cells
    pool, label = lay_pool(trial), trial.stage.label
    if type(goal) is Estimate and not isinstance(goal.metric, Cost):
        return Spread(pool, label, belief.alpha, known.weight**3)
    if not _is_finding(goal):
        return None
    if isinstance(known.metric, Cost) and known.metric.matrix is not None:
        return CostProblem(
            pool, label, belief.alpha, known.metric.matrix[:, cells.predicted].T.copy(), float(goal.sign)
        )
    if goal.metric is confusion:  # the probability of a right prediction is a cost of 1 for the predicted class
        return CostProblem(pool, label, belief.alpha, np.eye(belief.alpha.shape[1])[cells.predicted], float(goal.sign))
    return None


def _is_finding(goal: Goal) -> TypeGuard[FindWorst]:
    """Is it a built-in identification goal? Subclasses may define another gain."""
    return type(goal) in (FindWorst, FindBest)
