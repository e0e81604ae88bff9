"""`python -m tests.fuzz --cases 10000 --seed 0 --jobs 2`: a table of cases per kind, and a folder per failure."""

import argparse
import json
import shlex
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.cases import Verdict, run, set_up
from tests.fuzz.corpus import build
from tests.fuzz.crew import run_cases


def main() -> int:
    """Run cases, or one of them again."""
    words = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    words.add_argument("--cases", type=int, default=10_000)
    words.add_argument("--first", type=int, default=0, help="number of the first case")
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--jobs", type=int, default=2)
    words.add_argument("--quick", action="store_true", help="leave out verbs that compile for a minute")
    words.add_argument("--case", type=int, help="run only this case, in this process")
    words.add_argument("--failures", type=Path, default=Path("fuzz-failures"), help="folder for what failed")
    chosen = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="fewlabels-corpus-") as corpus:
        build(Path(corpus))
        if chosen.case is not None:
            return _run_again(chosen, Path(corpus))
        return _run_all(chosen, Path(corpus))


def _run_all(chosen: argparse.Namespace, corpus: Path) -> int:
    start, cases, answered, failed = time.monotonic(), Counter[str](), Counter[str](), Counter[str]()
    numbers = range(chosen.first, chosen.first + chosen.cases)
    for verdict in run_cases(numbers, chosen.seed, corpus, chosen.jobs, quick=chosen.quick):
        cases[verdict.kind] += 1
        answered[verdict.kind] += verdict.code in (0, 2)
        if verdict.faults:
            failed[verdict.kind] += 1
            _keep(chosen, verdict, corpus)
            print(f"case {verdict.number} ({verdict.kind}): {verdict.faults[0]}", flush=True)
    for kind, n in sorted(cases.items()):
        print(f"{kind:26}{n:7,} cases{answered[kind]:7,} answered{failed[kind]:6,} failed")
    seconds = time.monotonic() - start
    total = f"{cases.total():7,} cases{answered.total():7,} answered{failed.total():6,} failed"
    print(f"{'all':26}{total} in {seconds:,.0f} s (seed {chosen.seed})")
    return 1 if failed else 0


def _run_again(chosen: argparse.Namespace, corpus: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="fewlabels-fuzz-") as folder:
        verdict = run(set_up(chosen.seed, chosen.case, corpus, Path(folder), quick=chosen.quick))
    _keep(chosen, verdict, corpus)
    print(f"fewlabels {shlex.join(verdict.words)}\nexit code {verdict.code}", *verdict.faults, sep="\n")
    return 1 if verdict.faults else 0


def _keep(chosen: argparse.Namespace, verdict: Verdict, corpus: Path) -> None:
    """Keep the files of a failed case, the command line, and what was wrong."""
    folder = chosen.failures / f"{chosen.seed}-{verdict.number}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    case = set_up(chosen.seed, verdict.number, corpus, folder, quick=chosen.quick)
    about = {"command": f"fewlabels {shlex.join(case.command.words)}", "kind": case.kind, "faults": verdict.faults}
    (folder / "about.json").write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
