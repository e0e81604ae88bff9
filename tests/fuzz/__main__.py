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
    words.add_argument("--case", type=int, help="run only this case, in this process")
    words.add_argument("--failures", type=Path, default=Path("fuzz-failures"), help="folder for what failed")
    chosen = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="fewlabels-corpus-") as corpus:
        build(Path(corpus))
        if chosen.case is not None:
            return _run_again(chosen.seed, chosen.case, Path(corpus), chosen.failures)
        return _run_all(chosen, Path(corpus))


def _run_all(chosen: argparse.Namespace, corpus: Path) -> int:
    start, cases, answered, failed = time.monotonic(), Counter[str](), Counter[str](), Counter[str]()
    numbers = range(chosen.first, chosen.first + chosen.cases)
    for verdict in run_cases(numbers, chosen.seed, corpus, chosen.jobs):
        cases[verdict.kind] += 1
        answered[verdict.kind] += verdict.code in (0, 2)
        if verdict.faults:
            failed[verdict.kind] += 1
            _keep(chosen.seed, verdict, corpus, chosen.failures)
            print(f"case {verdict.number} ({verdict.kind}): {verdict.faults[0]}", flush=True)
    for kind, n in sorted(cases.items()):
        print(f"{kind:26}{n:7,} cases{answered[kind]:7,} answered{failed[kind]:6,} failed")
    seconds = time.monotonic() - start
    total = f"{cases.total():7,} cases{answered.total():7,} answered{failed.total():6,} failed"
    print(f"{'all':26}{total} in {seconds:,.0f} s (seed {chosen.seed})")
    return 1 if failed else 0


def _run_again(seed: int, number: int, corpus: Path, failures: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="fewlabels-fuzz-") as folder:
        verdict = run(set_up(seed, number, corpus, Path(folder)))
    _keep(seed, verdict, corpus, failures)
    print(f"fewlabels {shlex.join(verdict.words)}\nexit code {verdict.code}", *verdict.faults, sep="\n")
    return 1 if verdict.faults else 0


def _keep(seed: int, verdict: Verdict, corpus: Path, failures: Path) -> None:
    """Keep the files of a failed case, the command line, and what was wrong."""
    folder = failures / f"{seed}-{verdict.number}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    case = set_up(seed, verdict.number, corpus, folder)
    about = {"command": f"fewlabels {shlex.join(case.command.words)}", "kind": case.kind, "faults": verdict.faults}
    (folder / "about.json").write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
