"""`fewlabels plan`: how many labels will this take?"""

from dataclasses import replace

from rich.console import Console

from fewlabels.active.simulation.plan import Plan
from fewlabels.active.simulation.plan import plan as plan_labels
from fewlabels.analyses.result import write_json
from fewlabels.cli.console import sign, write_text
from fewlabels.cli.options import Columns, File, Flag, Path
from fewlabels.cli.progress import counting
from fewlabels.cli.session_options import Outlook
from fewlabels.cli.tables import complainer, escape, print_warnings, printer
from fewlabels.errors import count
from fewlabels.files import check_outputs


def plan(
    file: File,
    /,
    *,
    runs: int = 50,
    jobs: int = -1,
    outlook: Outlook = Outlook(),
    json: Path = None,
    quiet: Flag = False,
    columns: Columns = Columns(),
) -> int:
    """Say how many more labels a goal will take, by playing it on imagined futures.

    Truths are drawn from the prior, and from the labels there are; labels are drawn from these truths.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow; a glob of them in quotes.
    runs: int
        How many futures to imagine.
    jobs: int
        How many to play at a time; -1 for all cores.
    json: str
        Write JSON to this file; - for standard output.
    quiet: bool
        Print nothing.
    """
    check_outputs({"--json": json}, (file, columns.labels, outlook.cost, outlook.prior))
    choices = outlook.choices()
    pool = columns.read(file)
    with counting("imagining") as tick:
        played = pool.hide_labels() if outlook.hide_labels else pool
        found = plan_labels(played, runs=runs, n_jobs=jobs, tick=tick, **choices)
    found = _say_if_met(found)
    if json:
        write_text(json, write_json(sign(found.to_dict()), None) + "\n")
    if not quiet:
        print_warnings(complainer(), found.warnings)
        if json != "-":
            _print(printer(), found)
    return 0


def _print(out: Console, found: Plan) -> None:
    there = f"{count(found.n_items, 'item')}, {found.n_labels:,} labelled"
    choices = f"by {escape(found.by)}, policy {escape(found.policy)}, prior {escape(found.prior)}"
    out.print(f"{there}; {choices}", soft_wrap=True)
    out.print(f"[bold]{escape(found.sentence)}[/]", soft_wrap=True)
    if found.remedy:
        out.print(f"what would help: {escape(found.remedy)}", soft_wrap=True)


def _say_if_met(found: Plan) -> Plan:
    """Say so where the labels there are suffice: nobody asks for about 0 labels."""
    if found.n_more != 0:
        return found
    sure = "" if found.high == 0 else f", or nearly so (eight in ten imagined futures: 0 to {found.high or 'all'} more)"
    return replace(found, sentence=f"no more labels are needed: the goal is met already{sure}")
