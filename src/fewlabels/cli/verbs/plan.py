"""`fewlabels plan`: estimate how many labels a goal needs."""

from dataclasses import replace

from rich.console import Console

from fewlabels.active.simulation.plan import plan as plan_labels
from fewlabels.active.simulation.plan_result import Plan
from fewlabels.cli.console import escape
from fewlabels.cli.model_files import ModelOptions
from fewlabels.cli.options import Columns, File, Flag, Path
from fewlabels.cli.output import write_simulated
from fewlabels.cli.progress import progress_bar
from fewlabels.cli.session_options import PlanOptions
from fewlabels.errors import count
from fewlabels.files import check_outputs


def plan(
    file: File,
    /,
    *more: File,
    runs: int = 50,
    jobs: int = -1,
    options: PlanOptions = PlanOptions(),
    json: Path = None,
    quiet: Flag = False,
    columns: Columns = Columns(),
    models: ModelOptions = ModelOptions(),
) -> int:
    """Estimate how many more labels a goal needs, by simulating sessions.

    Each simulation draws the rates from the posterior given the labels so far, and labels from these rates.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow; or a quoted glob.
    more: str
        Predictions of further models on the same items, for the goals compare-models and best-model.
    runs: int
        Number of simulated sessions; of several models, 1,000 are computed instead.
    jobs: int
        How many to run in parallel; -1 for all cores.
    json: str
        Write JSON to this file; - for standard output.
    quiet: bool
        Print nothing.
    """
    check_outputs({"--json": json}, (file, *more, columns.labels, options.cost, options.prior))
    choices = options.choices()
    pool = models.read((file, *more), columns)
    with progress_bar("simulating") as tick:
        played = pool.hide_labels() if options.hide_labels else pool
        found = plan_labels(played, runs=runs, n_jobs=jobs, tick=tick, **choices)
    found = _state_if_met(found)
    write_simulated(found, json, lambda out: _print_plan(out, found), quiet=quiet)
    return 0


def _print_plan(out: Console, found: Plan) -> None:
    """Print a plan: how many more labels, and what would help."""
    there = f"{count(found.n_items, 'item')}, {found.n_labels:,} labelled"
    choices = f"by {escape(found.by)}, policy {escape(found.policy)}, prior {escape(found.prior)}"
    out.print(f"{there}; {choices}", soft_wrap=True)
    out.print(f"[bold]{escape(found.sentence)}[/]", soft_wrap=True)
    if found.remedy:
        out.print(f"what would help: {escape(found.remedy)}", soft_wrap=True)


def _state_if_met(found: Plan) -> Plan:
    """Replace "about 0 more labels" in a plan by the statement that the goal is met."""
    if found.n_more != 0:
        return found
    sure = "" if found.high == 0 else f", or nearly so (80% of simulations: 0 to {found.high or 'all'} more)"
    return replace(found, sentence=f"no more labels are needed: the goal is met already{sure}")
