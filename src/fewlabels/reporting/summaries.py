"""Sentences and table cells of diagnoses, plans and simulations, for Markdown, HTML reports and the command line."""

from collections.abc import Iterator, Sequence

from fewlabels.active.simulation.plan_result import Plan
from fewlabels.active.simulation.simulation_result import CONFIGURATION, Row, Simulation
from fewlabels.analyses.diagnosis import Diagnosis
from fewlabels.errors import count, join_names

TARGET_COLUMNS = ("goal", "policy", "prior", "measure", "target", "labels needed", "of all", "at the end (± 2 se)")
QUANTILE_COLUMNS = ("share of futures", "more labels, at most")
N_TARGET_NAMES = 4  # leading columns that hold names


def summarize_diagnosis(d: Diagnosis) -> str:
    """Summarize a diagnosis in one sentence: what the table holds, or that it must be corrected."""
    n_errors = sum(finding.severity == "error" for finding in d.findings)
    if n_errors:
        return f"This table cannot be assessed before {count(n_errors, 'error')} {'is' if n_errors == 1 else 'are'} corrected."
    return f"This table can be assessed: {describe_size(d)}."


def describe_size(d: Diagnosis) -> str:
    """Summarize the numbers of items, labels and classes of a diagnosis as text; graded outputs have no classes."""
    kind = "graded outputs" if {"agreement", "grade", "judge"} & d.roles.keys() else count(len(d.classes), "class")
    return f"{count(d.n_items, 'item')}, {d.n_labels:,} labelled; {kind}"


def summarize_plan(p: Plan) -> str:
    """Summarize a plan in one sentence: how many more labels the goal needs."""
    return f"{p.sentence[0].upper()}{p.sentence[1:]}."


def list_quantiles(p: Plan) -> list[tuple[str, str]]:
    """Summarize a plan by quantiles of the labels needed over futures, as the cells of `QUANTILE_COLUMNS`."""
    names = ("10%", "50% (median)", "90%")
    numbers = (p.low, p.n_more, p.high)
    return [
        (name, "not settled with all labels" if n is None else f"{n:,}") for name, n in zip(names, numbers, strict=True)
    ]


def summarize_simulation(s: Simulation) -> str:
    """Summarize a simulation in one sentence: what reaches the first target with the fewest labels."""
    return next(compare_configurations(s), f"The replays of {count(s.n_items, 'item')} have no target to reach.")


def compare_configurations(s: Simulation) -> Iterator[str]:
    """Summarize a simulation by the configuration that reaches each target with the fewest labels."""
    keys = [(row["goal"], row["metric"], row["measure"]) for row in s.labels_to_target]
    for key in dict.fromkeys(keys):
        yield _compare_labels_needed(
            [row for row, its in zip(s.labels_to_target, keys, strict=True) if its == key], s.n_items
        )


def _compare_labels_needed(rows: Sequence[Row], n_items: int) -> str:
    """Summarize which configuration of a simulation reaches a target with the fewest labels."""
    target = f"{_name_target(rows[0])} for goal {rows[0]['goal']}, metric {rows[0]['metric']}"
    reached = [row for row in rows if row["n_labels"] is not None]
    if not reached:
        return f"No configuration reaches {target}."
    fewest = min(row["n_labels"] for row in reached)
    names = join_names(f"{row['policy']} with prior {row['prior']}" for row in reached if row["n_labels"] == fewest)
    return f"Fewest labels to reach {target}: {fewest:,} of {n_items:,}, by {names}."


def describe_targets(s: Simulation) -> Iterator[str]:
    """Summarize a simulation by how many labels every configuration needs to reach its target."""
    for row in s.labels_to_target:
        needed = "never reaches" if row["n_labels"] is None else f"needs {count(row['n_labels'], 'label')} to reach"
        yield f"{row['goal']}: {row['policy']} with prior {row['prior']} {needed} {_name_target(row)}."


def _name_target(row: Row) -> str:
    """Name a target of a simulation in its summary."""
    return f"{row['measure']} {row['target']:g}"


def list_targets(s: Simulation) -> list[tuple[str, ...]]:
    """Summarize a simulation by labels needed and final measures, as the cells of `TARGET_COLUMNS`."""
    last = s.last_rows()
    return [_format_target(row, last[tuple(row[name] for name in CONFIGURATION)]) for row in s.labels_to_target]


def _format_target(row: Row, end: Row) -> tuple[str, ...]:
    """Return the cells of a target and its configuration in the summary of a simulation."""
    needed = ("never", "") if row["n_labels"] is None else (f"{row['n_labels']:,}", f"{row['share']:.1%}")
    names = (row["goal"], row["policy"], row["prior"], row["measure"])
    return (*names, f"{row['target']:g}", *needed, f"{_format_mean(end)} at {end['n_labels']:,}")


def _format_mean(row: Row) -> str:
    """Format a mean over runs of a simulation with two standard errors, or "undefined", for its summary."""
    return "undefined" if row["mean"] is None else f"{row['mean']:.3f} ± {2 * (row['se'] or 0):.3f}"
