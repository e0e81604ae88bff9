"""`fewlabels simulate`: compare policies and priors by simulation on a fully labelled file."""

from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from fewlabels.active.parsing import parse_policy
from fewlabels.active.simulation.simulate import simulate as run_simulation
from fewlabels.active.simulation.simulation_result import Simulation
from fewlabels.cli.console import escape
from fewlabels.cli.model_files import ModelOptions
from fewlabels.cli.options import Columns, File, Flag, Path
from fewlabels.cli.output import write_simulated
from fewlabels.cli.progress import progress_bar
from fewlabels.cli.session_options import GOAL_GROUP, GoalOptions, shown_default
from fewlabels.data.parsing import split_names
from fewlabels.errors import count
from fewlabels.files import check_outputs
from fewlabels.models.parsing import DEFAULT_PRIOR, parse_prior
from fewlabels.reporting.summaries import N_TARGET_NAMES, TARGET_COLUMNS, list_targets

POLICIES = "random,thompson"
CHECK_FORMAT = "fewlabels.reporting.plots.figure:check_format"  # imported only to plot


@Parameter(name="*", group=GOAL_GROUP)
@dataclass(frozen=True)
class SimulateOptions(GoalOptions):
    """Goals, policies and priors to simulate, several of each."""

    goal: Annotated[str | None, shown_default("estimate")] = None
    "estimate (the metric in every group, large groups first), explore (every group equally), least-certain (the group with the largest variance), find-worst, find-best, or compare (two groups); with several models, compare-models (two models) or best-model; several separated by commas."
    policy: Annotated[str | None, shown_default(POLICIES)] = None
    "How to choose the group of the next item, several separated by commas: random, stratified, stratified:equal, stratified:neyman, thompson, top-two, multi-play, epsilon-greedy, upper-bound."
    prior: Annotated[str | None, shown_default(DEFAULT_PRIOR)] = None
    "calibrated (learns the calibration of the scores from the labels), smooth (partial pooling of groups that share attributes), scores, flat, or the JSON file of an earlier assessment; several separated by commas."


def simulate(
    file: File,
    /,
    *more: File,
    budget: int | None = None,
    runs: int = 100,
    checkpoints: Annotated[int | None, shown_default("200, or 40 with a prior that learns")] = None,
    jobs: int = -1,
    options: SimulateOptions = SimulateOptions(),
    json: Path = None,
    plot: str | None = None,
    quiet: Flag = False,
    columns: Columns = Columns(),
    models: ModelOptions = ModelOptions(),
) -> int:
    """Simulate labelling on a fully labelled file, and report how many labels each policy and prior needs.

    Every combination of the goals, policies and priors is simulated.

    Parameters
    ----------
    file: str
        Fully labelled predictions: Parquet, CSV(.gz), JSON lines or Arrow; or a quoted glob.
    more: str
        Predictions of further models on the same items, for the goals compare-models and best-model.
    budget: int
        Stop after this many labels [default: all].
    runs: int
        Number of runs of each combination.
    checkpoints: int | None
        Approximate number of label counts at which to measure.
    jobs: int
        How many to run in parallel; -1 for all cores.
    json: str
        Write JSON to this file; - for standard output.
    plot: str
        Plot every measure against the number of labels to this file (.png, .svg, .pdf).
    quiet: bool
        Print no table.
    """
    names = split_names(options.prior or DEFAULT_PRIOR)
    check_outputs({"--json": json, "--plot": plot}, (file, *more, columns.labels, options.cost, *names))
    if plot:
        resolve_name(CHECK_FORMAT)(plot)
    goals = split_names(options.goal or "estimate")
    policies = [parse_policy(name) for name in split_names(options.policy or POLICIES)]
    priors = [parse_prior(name, options.strength, options.discount) for name in names]
    asked = [
        replace(options, goal=goal, policy=None, prior=None, strength=None, discount=None).choices() for goal in goals
    ]
    for choices in asked:
        del choices["prior"]  # priors are passed separately
    pool = models.read((file, *more), columns)
    with progress_bar("simulating") as tick:
        found = [
            run_simulation(pool, policies=policies, priors=priors, budget=budget, runs=runs, n_checkpoints=checkpoints,
                   n_jobs=jobs, tick=tick, **choices)
            for choices in asked
        ]  # fmt: skip
    result = sum(found[1:], found[0])
    if plot:
        result.write_plots(plot)
    write_simulated(result, json, lambda out: _print_simulation(out, result), quiet=quiet)
    return 0


def _print_simulation(out: Console, result: Simulation) -> None:
    """Print how many labels each simulated combination needed, and its measures at the end."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for i, column in enumerate(TARGET_COLUMNS):
        table.add_column(column, justify="left" if i < N_TARGET_NAMES else "right")
    for cells in list_targets(result):
        table.add_row(*map(escape, cells))
    runs = result.rows[0]["runs"]
    out.print(f"{count(result.n_items, 'labelled item')}, {count(runs, 'run')} of each combination")
    out.print(table)
