"""How long does one replay take: by the compiled kernels, by the plain definition in NumPy, and by the papers' code?

Run from the root of the repository: python -m bench.replay --pools ../shared/pools --out bench/replay.md
(as a module: `bench/coverage.py` would otherwise be taken for the package that Numba looks for).
A replay labels a whole pool, one item at a time. The definition draws every group at every step; it is timed over its
first steps, while all groups are open, and extrapolated to the last. Seconds are of processor time, which other users
of the machine add little to. The papers' seconds were measured elsewhere, so the ratio to the definition is the one
that travels.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bench.harness.clocks import clock
from bench.harness.main import Benchmark, start
from bench.harness.page import figure, show_table, text
from bench.harness.pools import add_pools_option
from bench.harness.rows import Row, Rows, find_settings, select
from bench.replay_definition import Definition
from bench.replay_problems import (
    Table,
    compare_two,
    estimate_accuracy,
    estimate_confusion,
    read,
    seek_costliest,
    seek_least_accurate,
    seek_least_calibrated,
)
from fewlabels.active.simulation.kernels.compiled_measures import measure_estimate
from fewlabels.active.simulation.kernels.labelling_loop import choose
from fewlabels.active.simulation.kernels.problems import Problem, RopeComparison
from fewlabels.active.simulation.kernels.rules import THOMPSON, TOP_TWO, Rule, multi_play


@dataclass(frozen=True)
class Case:
    """One line of the report."""

    name: str
    pool: str
    make: Callable[[Table], Problem]
    rule: Rule = THOMPSON
    published: float | None = None  # seconds of the papers' code
    goal: float | None = None  # seconds we set out for


CASES = (
    Case("least accurate class, Thompson", "cifar100_resnet110", seek_least_accurate, published=0.40, goal=0.05),
    Case("least accurate class, top-two", "cifar100_resnet110", seek_least_accurate, TOP_TWO, published=1.1),
    Case("10 least accurate, multi-play", "cifar100_resnet110", seek_least_accurate, multi_play(10), published=0.09),
    Case("accuracy per class, Thompson", "cifar100_resnet110", estimate_accuracy, published=2.6, goal=0.1),
    Case("classwise ECE, Thompson", "cifar100_resnet110", seek_least_calibrated, published=24.4, goal=0.5),
    Case("cost, flat prior, Thompson", "cifar100_densenet", lambda t: seek_costliest(t, scores=False), published=13.1, goal=1.0),
    Case("cost, scores prior, Thompson", "cifar100_densenet", lambda t: seek_costliest(t, scores=True), published=13.1, goal=1.0),
    Case("confusion, flat prior, Thompson", "cifar100_densenet", lambda t: estimate_confusion(t, scores=False), published=850.0, goal=1.0),
    Case("confusion, scores prior, Thompson", "cifar100_densenet", lambda t: estimate_confusion(t, scores=True), published=850.0, goal=1.0),
    Case("two classes compared, Thompson", "cifar100_resnet110", compare_two, published=2.1),
    Case("least accurate class, Thompson", "imagenet_resnet152", seek_least_accurate, goal=1.0),
    Case("accuracy per class, Thompson", "imagenet_resnet152", estimate_accuracy),
)  # fmt: skip


def clock_busy(call: Callable[[], object]) -> float:
    """Return the seconds of processor time of a call."""
    return clock(call, time.process_time)


def time_case(case: Case, table: Table, repeats: int, n_steps: int) -> Row:
    """Return the median of several replays, and the definition's first steps stretched to all."""
    problem = case.make(table)
    n_labels = int(np.diff(problem.pool.start)[problem.eligible_groups].sum())

    def replay(seed: int) -> object:
        return choose(np.random.default_rng(seed), problem, case.rule, n_labels)

    first = clock_busy(partial(replay, 0))  # compiled, or read from disk
    seconds = statistics.median(clock_busy(partial(replay, seed)) for seed in range(1, repeats + 1))
    plain = time_definition(problem, case.rule, n_steps, n_labels)
    return {
        "table": "replays", "replay": case.name, "pool": case.pool, "labels": n_labels, "kernel": seconds, "first": first,
        "slow_at_first": first > 10 * seconds + 0.1,
        "definition": plain, "times_definition": _divide(plain, seconds), "papers": case.published,
        "times_papers": _divide(case.published, seconds), "goal": case.goal,
    }  # fmt: skip


def time_definition(problem: Problem, rule: Rule, n_steps: int, n_labels: int) -> float | None:
    """Return the seconds of the plain definition; None of a comparison, whose definition is an integral and no draw."""
    if isinstance(problem, RopeComparison):
        return None
    plain = Definition(problem, rule)
    began = time.process_time()
    n = plain.run(np.random.default_rng(0), n_steps)
    return (time.process_time() - began) / n * n_labels


def _divide(seconds: float | None, kernel: float) -> float | None:
    return None if seconds is None else seconds / kernel


def time_estimates(table: Table, repeats: int) -> Row:
    """Return the seconds to measure error, coverage and width at a hundred checkpoints of a replay."""
    problem = estimate_accuracy(table)
    order = choose(np.random.default_rng(0), problem, THOMPSON, len(table.label))
    checkpoints = np.linspace(0, len(order), 100).astype(np.int64)
    measure_estimate(problem, order, checkpoints)
    spent = [clock_busy(lambda: measure_estimate(problem, order, checkpoints)) for _ in range(repeats)]
    return {"table": "estimates", "groups": problem.pool.n_groups, "seconds": statistics.median(spent)}


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for every case, and one about estimates at checkpoints."""
    tables = {name: read(options.pools / f"{name}.parquet") for name in {case.pool for case in CASES}}
    for case in CASES:
        yield time_case(case, tables[case.pool], options.repeats, options.steps)
    yield time_estimates(tables[CASES[0].pool], options.repeats)


def show_goal(row: Row) -> str:
    """Return the goal, and whether it is met."""
    if row["goal"] is None:
        return ""
    return f"{row['goal']:g} {'met' if row['kernel'] <= row['goal'] else '**missed**'}"


COLUMNS = (
    ("replay", text("replay")),
    ("pool", text("pool")),
    ("labels", figure("labels", ",")),
    ("kernel", figure("kernel", ".3g")),
    ("definition", figure("definition", ".3g")),
    ("definition / kernel", figure("times_definition", ",.0f")),
    ("papers", figure("papers", ".3g")),
    ("papers / kernel", figure("times_papers", ",.0f")),
    ("goal", show_goal),
)


def render(rows: Rows) -> Iterator[str]:
    """Yield the parts of the page."""
    settings, replays, (estimates,) = find_settings(rows), select(rows, "replays"), select(rows, "estimates")
    yield "# Replays"
    yield f"Made by `{settings['command']}`."
    yield (
        "Seconds of processor time for one replay of a whole pool on one core, one label at a time; the kernels' are medians\n"
        f'of {settings["repeats"]} runs. "Definition" is a plain NumPy loop that draws every group at every step, timed here over its first\n'
        f"{settings['steps']} labels and extrapolated: it draws closed groups too, so that all its steps cost the same.\n"
        '"Papers" are the seconds of the papers\' own code, measured earlier on two shared cores (METHODS, section 6).\n'
        f"Load of the machine over the last minute: {settings['load']:.1f} (about 1 is this script's own)."
    )
    yield show_table(COLUMNS, replays)
    yield (
        f"Measuring error, coverage and width of {estimates['groups']} intervals at 100 checkpoints of a replay takes "
        f"{estimates['seconds']:.3f} s more."
    )
    slow = [f"{row['first']:.1f} s ({row['replay'].split(',')[0]})" for row in replays if row["slow_at_first"]]
    if slow:
        yield f"The first run of a process takes longer, as it compiles its kernel or reads it from disk: {', '.join(slow)}."


BENCHMARK = Benchmark("replay", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or make the page again."""
    parser = BENCHMARK.make_parser()
    add_pools_option(parser)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    start(BENCHMARK, parser, measure, words)


if __name__ == "__main__":
    main()
