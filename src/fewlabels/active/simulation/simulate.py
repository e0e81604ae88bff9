"""Compare policies and priors by repeated replays of a labelled table.

A simulation is flat rows: the mean of a measure over the runs, at a number of labels.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from joblib import delayed

from fewlabels.active.acquisition import Policy
from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.goal import Goal, require_enough_groups
from fewlabels.active.model_design import design_for_models
from fewlabels.active.parsing import resolve_design, resolve_policies
from fewlabels.active.policies import name_policy, random, thompson
from fewlabels.active.simulation.dispatch import Measured, is_compiled, measure, run_policy
from fewlabels.active.simulation.labelled_pool import LabelledPool, make_labelled_pool, require_labels
from fewlabels.active.simulation.model_replay import ModelReplay, ModelReplayPool
from fewlabels.active.simulation.parallel import spread
from fewlabels.active.simulation.replay import ReplayRun, schedule_replay
from fewlabels.active.simulation.replay_measures import HIGHER_IS_BETTER, get_target
from fewlabels.active.simulation.simulation_result import Row, Simulation
from fewlabels.active.study_design import StudyDesign
from fewlabels.analyses.models.checks import check_models
from fewlabels.analyses.provenance import record
from fewlabels.analyses.requirements import count_for, require_answerable, require_roles
from fewlabels.data.aggregate import aggregate_pool
from fewlabels.data.counts import CountTable
from fewlabels.data.groups import Bins, Groups, predicted
from fewlabels.data.joint_predictions import JointPredictions
from fewlabels.data.model_join import read_predictions
from fewlabels.data.predictions import Predictions
from fewlabels.data.tabulation import to_count_table
from fewlabels.errors import InputError
from fewlabels.models.blas import use_one_thread
from fewlabels.models.parsing import DEFAULT_PRIOR, resolve_priors
from fewlabels.models.priors import Prior

Checkpoints = Int[np.ndarray, " checkpoint"]
Runs = dict[str, Float[np.ndarray, "run checkpoint"]]
Reached = tuple[Int[np.ndarray, " reached"], dict[str, Float[np.ndarray, "run reached"]]]
ProgressCallback = Callable[[int, int], None]
ROUNDING = 1e-9
LABEL_ORIGIN = "in the table, for every item; requested by each policy in turn"
CHECKPOINTS, REFIT_CHECKPOINTS = 200, 40  # numbers of checkpoints; fewer where each one refits the prior


@use_one_thread()
def simulate(
    pool: Any,
    *,
    goal: Goal | str,
    policies: Policy | str | Sequence[Policy | str] = (random, thompson),
    priors: Prior | str | Sequence[Prior | str] = (DEFAULT_PRIOR,),
    by: Groups | str | Sequence[Groups | str] = predicted,
    budget: int | None = None,
    runs: int = 100,
    bins: Bins | str | int | None = None,
    level: float = 0.95,
    seed: int = 0,
    n_checkpoints: int | None = None,
    n_jobs: int | None = None,
    tick: ProgressCallback | None = None,
) -> Simulation:
    """Replay every policy with every prior over a labelled table, `runs` times each.

    Measures compare with the truth on the pool. Intervals (coverage, width) are for the finite pool, and have width 0
    with every label. Estimates and verdicts (rmse, mrr, found, relative_error, correct) are posterior means and
    probabilities for the population, as in 002: the prior keeps some weight, so they may miss the truth even with every
    label. Groups with an undefined metric even with every label are left out; a mean over runs is None if the measure
    is undefined. Label counts end at the last item of value to the goal, or when the policy returns no group; a run
    that ends early keeps its last value.

    Parameters
    ----------
    pool: Predictions, path, frame, dict of arrays or Ibis table
        The predictions; anything but `Predictions` is read by `Predictions.read`. Of several models, a dict of name to
        predictions, as for `compare_models`; then `by` is left out.
    goal: Goal or str
        What labels are for: an object like `fl.FindWorst("recall", m=2)`, or the word of a goal with its default
        settings: `"estimate"`, `"explore"`, `"least-certain"`, `"find-worst"`, `"find-best"`; of several models,
        `"compare-models"`, `"best-model"`.
    policies: Policy, str or sequence of them
        Objects like `fl.thompson` or words; one string may name several, separated by commas.
    priors: Prior, str or sequence of them
        Objects like `fl.flat()` or words, in the same way.
    by: Groups, str or sequence of them
        The groups: an object like `fl.predicted` or a word of the command line: `"all"`, `"predicted"`, `"bins:20"`,
        `"ranges:age"`, a column, or several separated by commas (every combination).
    budget: int
        Stop every run after this many labels [default: all].
    runs: int
        Number of runs of each policy with each prior.
    bins: Bins, str or int
        Score bins inside calibration error: a number (equal width), `"equal-mass:10"` or `fl.bins(10)`.
    level: float
        Probability that a credible interval contains the true value.
    seed: int
        Seed of the random draws.
    n_checkpoints: int
        Approximate number of label counts at which to measure [default: 200, or 40 with a prior that learns].
    n_jobs: int
        Number of parallel runs [default: all cores]; `joblib.parallel_config` can select a cluster.
    tick: callable
        Called as tick(done, total) when a run ends.

    >>> from fewlabels.active.goals.identification import FindWorst
    >>> from fewlabels.models.priors import flat
    >>> pool = {"predicted": ["a"] * 40 + ["b"] * 40, "label": ["a"] * 40 + ["b"] * 20 + ["a"] * 20}
    >>> rows = list(simulate(pool, goal=FindWorst(), priors=(flat(),), runs=20, n_jobs=1))
    >>> rows[-1]["n_labels"], rows[-1]["measure"], rows[-1]["mean"]
    (80, 'found', 1.0)
    """
    policies, priors = resolve_policies(policies), resolve_priors(priors)
    _require_valid_settings(runs, budget, policies, priors)
    design = resolve_design(goal, by=by, policy=policies[0], prior=priors[0], bins=bins, level=level, seed=seed)
    if design.arms != design.by:
        raise InputError(f"simulate: goal {design.goal.name} is not replayed; plan says how many labels it takes")
    design = replace(design, finite_pool=not isinstance(design.goal, Compare))  # verdicts are for the population
    pool = read_predictions(pool)
    designs = [replace(design, policy=policy, prior=prior) for prior in priors for policy in policies]
    labelled, planned_runs, warnings = _plan_runs(pool, design, designs)
    seeds = np.random.SeedSequence(seed).spawn(runs)
    rows: list[Row] = []
    reached: list[Row] = []
    for i, run in enumerate(planned_runs):
        most = run.n_askable if budget is None else min(budget, run.n_askable)
        count = _offset_progress(tick, i * runs, len(planned_runs) * runs)
        marks = schedule_replay(
            most, n_checkpoints or (REFIT_CHECKPOINTS if isinstance(run, ModelReplay) or run.learns else CHECKPOINTS)
        )
        checkpoints, found = _measure_replays(run, marks, seeds, n_jobs, count)
        rows += _tabulate_measures(run, checkpoints, found)
        reached += _find_targets(run, checkpoints, found, int(labelled.n_items.sum()))
    n_items = int(labelled.n_items.sum())
    made = record(pool.source, inputs=pool.inputs, counts=labelled, seed=seed, labels=LABEL_ORIGIN)
    return Simulation(tuple(rows), tuple(reached), n_items, pool.frame, warnings, made)


def _plan_runs(
    pool: Predictions, design: StudyDesign, designs: Sequence[StudyDesign]
) -> tuple[CountTable, Sequence[ReplayRun | ModelReplay], tuple[str, ...]]:
    """Count the items to simulate on, and return their counts, one run per design, and notes on the data."""
    if not isinstance(pool, JointPredictions):
        labelled = _read_labelled_pool(pool, design, [one.prior for one in designs])
        return labelled.tally, [ReplayRun.from_design(labelled, one) for one in designs], labelled.warnings
    found, warnings = _read_model_pool(pool, design)
    return found.start, [ModelReplay(found, design_for_models(pool, one)) for one in designs], warnings


def _read_model_pool(pool: JointPredictions, design: StudyDesign) -> tuple[ModelReplayPool, tuple[str, ...]]:
    """Count, for `simulate`, the labelled items that several models predict."""
    design = design_for_models(pool, design)
    choices = count_for(pool, design.goal.metric, design.prior)
    aggregated = aggregate_pool(pool, design.by, bins=design.bins, **choices)
    warnings, counts = check_models(pool, aggregated), to_count_table(aggregated)
    require_labels(pool, int(counts.n_labels.sum()))
    return ModelReplayPool.from_labelled(counts), warnings


def _read_labelled_pool(pool: Predictions, design: StudyDesign, priors: Sequence[Prior]) -> LabelledPool:
    """Count, for `simulate`, the labelled pool once, with what every prior needs."""
    metric = design.goal.metric
    for prior in priors:
        require_roles(pool, metric, prior)
    labelled = make_labelled_pool(pool, design.by, bins=design.bins, **count_for(pool, metric, *priors))
    require_answerable(labelled.tally, metric)
    require_enough_groups(design.goal, len(labelled.tally.groups))
    return labelled


def _require_valid_settings(runs: int, budget: int | None, policies: Sequence[Policy], priors: Sequence[Prior]) -> None:
    """Refuse settings of `simulate` that leave nothing to replay, or nothing to compare."""
    if runs < 2:
        raise InputError(f"simulate: runs is {runs}; variation needs at least 2, use 20 or more")
    if budget is not None and budget < 1:
        raise InputError(f"simulate: a budget of {budget} labels leaves nothing to replay")
    if not policies or not priors:
        raise InputError("simulate: give at least one policy and one prior")
    for kind, names in (("policies", [*map(name_policy, policies)]), ("priors", [prior.name for prior in priors])):
        if len(set(names)) < len(names):
            raise InputError(f"simulate: two {kind} have the same name in {', '.join(names)}; their rows could not be told apart")  # fmt: skip


def _offset_progress(tick: ProgressCallback | None, done: int, total: int) -> Callable[[int], None]:
    """Return the progress of one simulated configuration as part of all of them."""
    return (lambda n: tick(done + n, total)) if tick else (lambda _: None)


def run_once(run: ReplayRun, checkpoints: Checkpoints, seed: np.random.SeedSequence) -> Measured:
    """Simulate one replay, and return its measures at every checkpoint."""
    return _measure_replay(run, checkpoints, seed)[1]


def _measure_replay(
    run: ReplayRun | ModelReplay, checkpoints: Checkpoints, seed: np.random.SeedSequence
) -> tuple[int, Measured]:
    """Simulate one replay; return its number of labels and its measures."""
    if isinstance(run, ModelReplay):
        return run.replay(np.random.default_rng(seed), checkpoints)
    order = run_policy(run, np.random.default_rng(seed), int(checkpoints[-1]))
    return len(order), measure(run, order, checkpoints)


def _measure_replays(
    run: ReplayRun | ModelReplay,
    checkpoints: Checkpoints,
    seeds: Sequence[np.random.SeedSequence],
    n_jobs: int | None,
    count: Callable[[int], None],
) -> Reached:
    """Simulate every seed: compiled replays in threads, others in processes, unless joblib is configured otherwise."""
    runs = [_measure_replay(run, checkpoints, seeds[0])]  # compiles the kernel, if there is one
    count(1)
    calls = (delayed(_measure_replay)(run, checkpoints, seed) for seed in seeds[1:])
    for i, result in enumerate(
        spread(
            calls, n_jobs=n_jobs, prefer="threads" if isinstance(run, ReplayRun) and is_compiled(run) else "processes"
        )
    ):
        runs.append(result)
        count(i + 2)
    found = {name: np.stack([measured[name] for _, measured in runs]) for name in runs[0][1]}
    return _drop_unreached(checkpoints, found, max(n for n, _ in runs))


def _drop_unreached(checkpoints: Checkpoints, found: Runs, longest: int) -> Reached:
    """Drop checkpoints that no simulated run reached; the last is the end of the longest run."""
    reached, at = np.unique(np.minimum(checkpoints, longest), return_index=True)
    return reached, {name: values[:, at] for name, values in found.items()}


def _tabulate_measures(run: ReplayRun | ModelReplay, checkpoints: Checkpoints, found: Runs) -> Iterable[Row]:
    """Tabulate what was simulated: mean and standard error of every measure at every checkpoint."""
    for name, values in found.items():
        runs = len(values)
        mean, se = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(runs)
        for n, m, s in zip(checkpoints.tolist(), mean.tolist(), se.tolist(), strict=True):
            yield _name_configuration(run) | {
                "n_labels": n,
                "measure": name,
                "mean": _none_if_nan(m),
                "se": _none_if_nan(s),
                "runs": runs,
            }


def _none_if_nan(figure: float) -> float | None:
    """Replace nan by None in the rows of a simulation: JSON has no nan."""
    return None if np.isnan(figure) else figure


def _find_targets(run: ReplayRun | ModelReplay, checkpoints: Checkpoints, found: Runs, n_items: int) -> Iterable[Row]:
    """Find, in what was simulated, the first label count from which the mean measure stays past its target."""
    for name, values in found.items():
        target = get_target(name, run.goal.metric)
        if target is None:
            continue
        mean = values.mean(axis=0)
        past = mean >= target - ROUNDING if name in HIGHER_IS_BETTER else mean <= target + ROUNDING
        stays = np.logical_and.accumulate(past[::-1])[::-1]
        n = int(checkpoints[stays.argmax()]) if stays.any() else None
        share = None if n is None else n / n_items
        yield _name_configuration(run) | {"measure": name, "target": target, "n_labels": n, "share": share}


def _name_configuration(run: ReplayRun | ModelReplay) -> Row:
    """Return the columns that name a simulated configuration: goal, metric, policy and prior."""
    design = run.design if isinstance(run, ModelReplay) else run
    return {
        "goal": run.goal.name, "metric": run.goal.metric.name, "policy": name_policy(design.policy), "prior": design.prior.name,
    }  # fmt: skip
