"""`fewlabels simulate`: what would each way of labelling have cost on this labelled table?"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from fewlabels.active.simulation.simulate import Simulation
from fewlabels.active.simulation.simulate import simulate as replay
from fewlabels.analyses.result import write_json
from fewlabels.cli.console import sign, write_text
from fewlabels.cli.options import Columns, File, Flag, Path
from fewlabels.cli.parsing import DEFAULT, read_policy, read_prior, split_names
from fewlabels.cli.progress import counting
from fewlabels.cli.session_options import GOAL, Aim, usually
from fewlabels.cli.tables import complainer, escape, print_warnings, printer
from fewlabels.errors import count
from fewlabels.files import check_outputs

POLICIES = "random,thompson"
CHECK = "fewlabels.reporting.plots.curves:check_format"  # loaded by those who want a picture


@Parameter(name="*", group=GOAL)
@dataclass(frozen=True)
class Aims(Aim):
    """What is played: of goals, policies and priors several at once."""

    goal: Annotated[str | None, usually("estimate")] = None
    "estimate (know the metric in every group), explore (in every group alike), least-certain, find-worst, find-best, or compare (two groups); several joined by commas."
    policy: Annotated[str | None, usually(POLICIES)] = None
    "Which group is asked about next, several joined by commas: random, stratified, stratified:equal, stratified:neyman, thompson, top-two, multi-play, epsilon-greedy, upper-bound."
    prior: Annotated[str | None, usually(DEFAULT)] = None
    "calibrated (learns from the labels how far to trust the scores), smooth (groups that share attributes learn from each other), scores, flat, or the JSON file of an earlier assessment; several joined by commas."


def simulate(
    file: File,
    /,
    *,
    budget: int | None = None,
    runs: int = 100,
    checkpoints: Annotated[int | None, usually("200, or 40 with a prior that learns")] = None,
    jobs: int = -1,
    aims: Aims = Aims(),
    json: Path = None,
    plot: str | None = None,
    quiet: Flag = False,
    columns: Columns = Columns(),
) -> int:
    """Replay ways of labelling over a table whose labels are all known, and say what each would have cost.

    Give several goals, policies or priors joined by commas: every combination is played.

    Parameters
    ----------
    file: str
        Predictions with labels: Parquet, CSV(.gz), JSON lines or Arrow; a glob of them in quotes.
    budget: int
        Stop after this many labels [default: all].
    runs: int
        How often each combination is played.
    checkpoints: int | None
        At about how many label counts to measure.
    jobs: int
        How many to play at a time; -1 for all cores.
    json: str
        Write JSON to this file; - for standard output.
    plot: str
        Draw every measure against labels in this file (.png, .svg, .pdf).
    quiet: bool
        Print no table.
    """
    names = split_names(aims.prior or DEFAULT)
    check_outputs({"--json": json, "--plot": plot}, (file, columns.labels, aims.cost, *names))
    if plot:
        resolve_name(CHECK)(plot)
    goals = split_names(aims.goal or "estimate")
    policies = [read_policy(name) for name in split_names(aims.policy or POLICIES)]
    priors = [read_prior(name, aims.strength) for name in names]
    asked = [replace(aims, goal=goal, policy=None, prior=None, strength=None).choices() for goal in goals]
    for choices in asked:
        del choices["prior"]  # they are played in turn
    pool = columns.read(file)
    with counting("replaying") as tick:
        found = [
            replay(pool, policies=policies, priors=priors, budget=budget, runs=runs, n_checkpoints=checkpoints,
                   n_jobs=jobs, tick=tick, **choices)
            for choices in asked
        ]  # fmt: skip
    return _deliver(sum(found[1:], found[0]), json, plot, quiet)


def _deliver(result: Simulation, json: str | None, plot: str | None, quiet: bool) -> int:
    if plot:
        result.write_plots(plot)
    if json:
        write_text(json, write_json(sign(result.to_dict()), None) + "\n")
    if not quiet:
        print_warnings(complainer(), result.warnings)
        if json != "-":
            _print(printer(), result)
    return 0


def _print(out: Console, result: Simulation) -> None:
    """Print how many labels each way needed, beside where it ended."""
    last = {(r["goal"], r["policy"], r["prior"], r["measure"]): r for r in result.rows}
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("goal", "policy", "prior", "measure", "target", "labels needed", "of all", "at the end (± 2 se)"):
        table.add_column(column, justify="left" if column in ("goal", "policy", "prior", "measure") else "right")
    for row in result.labels_to_target:
        end = last[row["goal"], row["policy"], row["prior"], row["measure"]]
        needed = ("never", "") if row["n_labels"] is None else (f"{row['n_labels']:,}", f"{row['share']:.1%}")
        ended = f"{_say_mean(end)} at {end['n_labels']:,}"
        words = (row["goal"], row["policy"], row["prior"], row["measure"])
        table.add_row(*map(escape, words), f"{row['target']:g}", *needed, ended)
    runs = result.rows[0]["runs"]
    out.print(f"{count(result.n_items, 'labelled item')}, every way played {runs:,} times")
    out.print(table)


def _say_mean(row: Mapping[str, Any]) -> str:
    """A mean over runs, with two standard errors; there is none where the measure is undefined."""
    return "undefined" if row["mean"] is None else f"{row['mean']:.3f} ± {2 * (row['se'] or 0):.3f}"
