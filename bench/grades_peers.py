"""Few human grades, many of a judge: `rate` beside truescore, evalstats, cje-eval and ppi-python on the same grades.

Items for people are drawn at random over the whole pool, as the others assume. The other tools run in an environment of
their own (`--python`), with their defaults; truescore leaves out slices of few grades, cje-eval and evalstats are asked
about every slice by itself, as they know no slices.
Run it from the project's folder: python -m bench.grades_peers --python OTHER/bin/python --out bench/grades_peers.md
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

import fewlabels as fl
from bench.grades import Graded, list_sources
from bench.grades_peers_page import render
from bench.harness.main import Benchmark, start
from bench.harness.pools import add_pools_option
from bench.harness.rows import Row

SIZES, RUNS = (60, 200), 10
POOLS = ("judgebench_reward", "llmconf_gpt", "cifar10_lenet judged by cifar10_wideresnet", "simulated, lenient", "simulated, biased by slice", "simulated, useless", "simulated, pass or fail, lenient")  # fmt: skip
TOOLS = Path(__file__).parent / "grades_tools.py"
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A pool, and the items that people graded."""

    pool: Graded
    shown: npt.NDArray[np.int64]

    @property
    def truth(self) -> Floats:
        """The mean grade overall, then of every slice."""
        parts = range(self.pool.n_slices)
        return np.array([self.pool.human.mean(), *(self.pool.human[self.pool.part == part].mean() for part in parts)])


def draw_case(make: Any, n: int, seed: int) -> Case:
    """Draw the items that people grade at random over the pool."""
    pool = make(seed)
    return Case(pool, np.random.default_rng([13, n, seed]).choice(len(pool.part), n, replace=False))


def ask_us(case: Case) -> Floats:
    """Return our estimates and intervals: overall, then of every slice."""
    pool, human = case.pool, np.full(len(case.pool.part), np.nan)
    human[case.shown] = pool.human[case.shown]
    table = {"human": human, "judge": pool.judge, "slice": pool.part.astype(str)}
    found = fl.rate(table, grade="human", judge="judge", by="slice", scale=[0, 0.25, 0.5, 0.75, 1] if (pool.human % 1).any() else None)  # fmt: skip
    rows = sorted(found.groups, key=lambda row: int(row.group))
    all_rows: tuple[Any, ...] = (found.overall, *rows)
    return np.array([[one.mean, one.low, one.high] for one in all_rows])


def ask_ppi(case: Case) -> Floats:
    """Return the estimates and intervals of PPI++, NaN for slices with fewer than two grades."""
    pool, out = case.pool, []
    for inside in (np.ones(len(case.pool.part), bool), *(case.pool.part == part for part in range(case.pool.n_slices))):
        mine = case.shown[inside[case.shown]]
        rest = np.setdiff1d(np.flatnonzero(inside), mine)
        if len(mine) < 2 or not len(rest):
            out.append([np.nan] * 3)
            continue
        graded = pool.human[mine], np.asarray(pool.judge)[mine], np.asarray(pool.judge)[rest]
        low, high = ppi_mean_ci(*graded, alpha=0.05)
        out.append([float(np.ravel(value)[0]) for value in (ppi_mean_pointestimate(*graded), low, high)])
    return np.array(out)


def ask_others(python: str, cases: Sequence[Case]) -> dict[str, list[Floats]]:
    """Run the other tools on the cases, in their own environment."""
    arrays: dict[str, Any] = {"n": len(cases)}
    for i, case in enumerate(cases):
        arrays |= {f"human{i}": case.pool.human[case.shown], f"judge{i}": case.pool.judge, f"shown{i}": case.shown, f"part{i}": case.pool.part}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "cases.npz", **arrays)
        command = [python, "-P", str(TOOLS), str(Path(folder) / "cases.npz")]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})  # fmt: skip
    found: dict[str, list[Floats]] = {}
    for line in done.stdout.splitlines():
        said = json.loads(line)
        found.setdefault(said["tool"], []).append(np.array([[np.nan] * 3 if one is None else one for one in said["said"]]))  # fmt: skip
    return found


def summarize(name: str, n: int, tool: str, cases: Sequence[Case], said: Sequence[Floats]) -> Row:
    """Return a row: error, coverage and width overall and of slices that the tool answers."""
    overall = np.stack([one[0] for one in said])
    truth = np.array([case.truth[0] for case in cases])
    slices, right = np.concatenate([one[1:] for one in said]), np.concatenate([case.truth[1:] for case in cases])
    has = ~np.isnan(slices[:, 0])
    row: dict[str, Any] = {"table": "peers", "pool": name, "n": n, "tool": tool, "runs": len(cases), "answered": float(has.mean())}  # fmt: skip
    for what, found, known in (("overall", overall, truth), ("slices", slices[has], right[has])):
        covered = (found[:, 1] <= known + 1e-9) & (known - 1e-9 <= found[:, 2])
        row[f"{what}_rmse"] = float(np.sqrt(((found[:, 0] - known) ** 2).mean())) if len(found) else None
        row[f"{what}_coverage"] = float(covered.mean()) if len(found) else None
        row[f"{what}_width"] = float((found[:, 2] - found[:, 1]).mean()) if len(found) else None
    return row


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for every pool, number of grades and tool; ours also for the slices that each tool answers."""
    sources = list_sources(options.pools)
    for name in POOLS:
        for n in SIZES if name in sources else ():
            cases = [draw_case(sources[name], n, seed) for seed in range(options.runs)]
            ours = [ask_us(case) for case in cases]
            said = {"ppi-python": [ask_ppi(case) for case in cases]} | ask_others(options.python, cases)
            yield summarize(name, n, "fewlabels", cases, ours)
            for tool, theirs in said.items():
                row = dict(summarize(name, n, tool, cases, theirs))
                same = [np.where(np.isnan(one[:, :1]), np.nan, mine) for one, mine in zip(theirs, ours, strict=True)]
                row["ours_there"] = summarize(name, n, tool, cases, same)["slices_rmse"]
                print(row, flush=True)
                yield row


BENCHMARK = Benchmark("grades_peers", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or make the page again."""
    parser = BENCHMARK.make_parser()
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument(
        "--python", default=sys.executable, help="the Python that has truescore, evalstats and cje-eval"
    )
    add_pools_option(parser)
    start(BENCHMARK, parser, measure, words)


if __name__ == "__main__":
    main()
