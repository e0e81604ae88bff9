"""Compare policies and priors by repeated replays of a labelled table.

A simulation is flat rows: the mean of a measure over the runs, at a number of labels.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from joblib import delayed

from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.goal import Goal, require_enough
from fewlabels.active.policies import Policy, name_policy, random, thompson
from fewlabels.active.simulation.blas import use_one_thread
from fewlabels.active.simulation.dispatch import Measured, is_compiled, measure, play
from fewlabels.active.simulation.labelled_pool import Stage, set_stage
from fewlabels.active.simulation.measures import GREATER, name_target
from fewlabels.active.simulation.parallel import spread
from fewlabels.active.simulation.run import Trial, mark_checkpoints
from fewlabels.analyses.assess import require_objects, require_roles
from fewlabels.analyses.assessment import require_answerable, require_seed
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.analyses.result import write_json
from fewlabels.data.counts import STRATA
from fewlabels.data.groups import Bins, Groups, predicted
from fewlabels.data.predictions import Predictions
from fewlabels.data.sources import Frame
from fewlabels.errors import InputError
from fewlabels.files import check_output
from fewlabels.models.calibrated.prior import calibrated
from fewlabels.models.priors import Prior, list_uses

FRAME, PLOT = "fewlabels.analyses.frames:to_frame", "fewlabels.reporting.plots.curves:plot_simulation"
WRITE = "fewlabels.reporting.plots.curves:write_curves"
Row = dict[str, Any]
Checkpoints = Int[np.ndarray, " checkpoint"]
Runs = dict[str, Float[np.ndarray, "run checkpoint"]]
Reached = tuple[Int[np.ndarray, " reached"], dict[str, Float[np.ndarray, "run reached"]]]
Tick = Callable[[int, int], None]
ROUNDING = 1e-9
REPLAYED = "in the table, for every item; requested by each policy in turn"
CHECKPOINTS, LESSONS = 200, 40  # numbers of checkpoints; fewer where each one refits the prior


@dataclass(frozen=True)
class Simulation:
    """Rows of measures, and the labels each policy and prior needed to reach the target."""

    rows: tuple[Row, ...]
    labels_to_target: tuple[Row, ...]
    n_items: int
    frame: Frame = "pandas"
    warnings: tuple[str, ...] = ()  # about the table
    provenance: Provenance = field(default_factory=record, repr=False)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __add__(self, other: "Simulation") -> "Simulation":
        """Concatenate two simulations of the same table."""
        both = (*self.labels_to_target, *other.labels_to_target)
        warnings = tuple(dict.fromkeys((*self.warnings, *other.warnings)))
        return Simulation((*self.rows, *other.rows), both, self.n_items, self.frame, warnings, self.provenance)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON as a dict."""
        return {
            "rows": list(self.rows),
            "labels_to_target": list(self.labels_to_target),
            "n_items": self.n_items,
            "warnings": list(self.warnings),
            "provenance": self.provenance.to_dict(),
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the JSON, and write it if a path is given."""
        return write_json(self.to_dict(), path, self.provenance.inputs)

    def to_frame(self, kind: Frame | None = None) -> Any:
        """Return a data frame with one row per checkpoint and measure, of the same kind as the predictions."""
        return resolve_name(FRAME)(self.rows, kind or self.frame)

    def plot(self, measure: str | None = None, *, ax: Any = None) -> Any:
        """Plot a measure against the number of labels, with bands of two standard errors."""
        return resolve_name(PLOT)(self.rows, measure, n_items=self.n_items, ax=ax)

    def write_plots(self, path: str | Path) -> Path:
        """Plot every measure against the number of labels in a PNG, SVG or PDF file."""
        check_output(path, self.provenance.inputs)
        written: Path = resolve_name(WRITE)(self.rows, path, n_items=self.n_items)
        return written


@use_one_thread()
def simulate(
    pool: Any,
    *,
    goal: Goal,
    policies: Sequence[Policy] = (random, thompson),
    priors: Sequence[Prior] = (calibrated(),),
    by: Groups = predicted,
    budget: int | None = None,
    runs: int = 100,
    bins: Bins | None = None,
    level: float = 0.95,
    seed: int = 0,
    n_checkpoints: int | None = None,
    n_jobs: int | None = None,
    tick: Tick | None = None,
) -> Simulation:
    """Replay every policy with every prior over a labelled table, `runs` times each.

    Measures compare with the truth on the pool. Intervals (coverage, width) are for the finite pool, and have width 0
    with every label. Estimates and verdicts (rmse, mrr, found, relative_error, correct) are posterior means and
    probabilities for the population, as in 002: the prior keeps some weight, so they may miss the truth even with every
    label. Groups with an undefined metric even with every label are left out; a mean over runs is None if the measure
    is undefined. Label counts end at the last item of value to the goal, or when the policy returns no group; a run
    that ends early keeps its last value. `tick(done, total)` is called as runs end. `n_jobs` runs are executed in
    parallel (default: all cores); `joblib.parallel_config` can select a cluster, with the same rows.

    >>> from fewlabels.active.goals.extremes import FindWorst
    >>> from fewlabels.models.priors import flat
    >>> pool = {"predicted": ["a"] * 40 + ["b"] * 40, "label": ["a"] * 40 + ["b"] * 20 + ["a"] * 20}
    >>> rows = list(simulate(pool, goal=FindWorst(), priors=(flat(),), runs=20, n_jobs=1))
    >>> rows[-1]["n_labels"], rows[-1]["measure"], rows[-1]["mean"]
    (80, 'found', 1.0)
    """
    require_seed(seed)
    pool = pool if isinstance(pool, Predictions) else Predictions.read(pool)
    require_objects(by=by, goal=goal)
    _require_sense(runs, budget, policies, priors)
    for prior in priors:
        require_roles(pool, goal.metric, prior)
    uses = {use for prior in priors for use in list_uses(prior)}
    probabilities = goal.metric.reads == "label" and "probabilities" in uses and pool.has("probabilities")
    stage = set_stage(pool, by, bins=bins, probabilities=probabilities, strata=STRATA if "strata" in uses else ())
    require_answerable(stage.tally, goal.metric)
    require_enough(goal, len(stage.tally.groups))
    finite = not isinstance(goal, Compare)  # verdicts are for the population
    trials = [Trial(stage, goal, policy, prior, level, finite) for prior in priors for policy in policies]
    seeds = np.random.SeedSequence(seed).spawn(runs)
    rows: list[Row] = []
    reached: list[Row] = []
    for i, trial in enumerate(trials):
        most = trial.n_askable if budget is None else min(budget, trial.n_askable)
        count = _tick_from(tick, i * runs, len(trials) * runs)
        marks = mark_checkpoints(most, n_checkpoints or (LESSONS if trial.learns else CHECKPOINTS))
        checkpoints, found = _repeat(trial, marks, seeds, n_jobs, count)
        rows += _tabulate(trial, checkpoints, found)
        reached += _find_targets(trial, checkpoints, found, stage)
    made = record(pool.source, inputs=pool.inputs, counts=stage.tally, seed=seed, labels=REPLAYED)
    return Simulation(tuple(rows), tuple(reached), stage.n_items, pool.frame, stage.warnings, made)


def _require_sense(runs: int, budget: int | None, policies: Sequence[Policy], priors: Sequence[Prior]) -> None:
    if runs < 2:
        raise InputError(f"simulate: runs is {runs}; variation needs at least 2, use 20 or more")
    if budget is not None and budget < 1:
        raise InputError(f"simulate: a budget of {budget} labels leaves nothing to replay")
    if not policies or not priors:
        raise InputError("simulate: give at least one policy and one prior")
    for kind, names in (("policies", [*map(name_policy, policies)]), ("priors", [prior.name for prior in priors])):
        if len(set(names)) < len(names):
            raise InputError(f"simulate: two {kind} have the same name in {', '.join(names)}; their rows could not be told apart")  # fmt: skip


def _tick_from(tick: Tick | None, done: int, total: int) -> Callable[[int], None]:
    return (lambda n: tick(done + n, total)) if tick else (lambda _: None)


def run_once(trial: Trial, checkpoints: Checkpoints, seed: np.random.SeedSequence) -> Measured:
    """Run a replay once, and return its measures at every checkpoint."""
    return _run(trial, checkpoints, seed)[1]


def _run(trial: Trial, checkpoints: Checkpoints, seed: np.random.SeedSequence) -> tuple[int, Measured]:
    """Run a replay once; return its number of labels and its measures."""
    order = play(trial, np.random.default_rng(seed), int(checkpoints[-1]))
    return len(order), measure(trial, order, checkpoints)


def _repeat(
    trial: Trial,
    checkpoints: Checkpoints,
    seeds: Sequence[np.random.SeedSequence],
    n_jobs: int | None,
    count: Callable[[int], None],
) -> Reached:
    """Run every seed: compiled replays in threads, others in processes, unless joblib is configured otherwise."""
    runs = [_run(trial, checkpoints, seeds[0])]  # compiles the kernel, if there is one
    count(1)
    calls = (delayed(_run)(trial, checkpoints, seed) for seed in seeds[1:])
    for i, result in enumerate(spread(calls, n_jobs=n_jobs, prefer="threads" if is_compiled(trial) else "processes")):
        runs.append(result)
        count(i + 2)
    found = {name: np.stack([measured[name] for _, measured in runs]) for name in runs[0][1]}
    return _cut(checkpoints, found, max(n for n, _ in runs))


def _cut(checkpoints: Checkpoints, found: Runs, longest: int) -> Reached:
    """Drop checkpoints that no run reached; the last is the end of the longest run."""
    reached, at = np.unique(np.minimum(checkpoints, longest), return_index=True)
    return reached, {name: values[:, at] for name, values in found.items()}


def _tabulate(trial: Trial, checkpoints: Checkpoints, found: Runs) -> Iterable[Row]:
    for name, values in found.items():
        runs = len(values)
        mean, se = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(runs)
        for n, m, s in zip(checkpoints.tolist(), mean.tolist(), se.tolist(), strict=True):
            yield _name(trial) | {"n_labels": n, "measure": name, "mean": _say(m), "se": _say(s), "runs": runs}


def _say(figure: float) -> float | None:
    """Replace nan by None: JSON has no nan."""
    return None if np.isnan(figure) else figure


def _find_targets(trial: Trial, checkpoints: Checkpoints, found: Runs, stage: Stage) -> Iterable[Row]:
    """Find the first label count from which the mean measure stays past its target."""
    for name, values in found.items():
        target = name_target(name, trial.goal.metric)
        if target is None:
            continue
        mean = values.mean(axis=0)
        past = mean >= target - ROUNDING if name in GREATER else mean <= target + ROUNDING
        stays = np.logical_and.accumulate(past[::-1])[::-1]
        n = int(checkpoints[stays.argmax()]) if stays.any() else None
        share = None if n is None else n / stage.n_items
        yield _name(trial) | {"measure": name, "target": target, "n_labels": n, "share": share}


def _name(trial: Trial) -> Row:
    return {
        "goal": trial.goal.name, "metric": trial.goal.metric.name, "policy": name_policy(trial.policy), "prior": trial.prior.name,
    }  # fmt: skip
