"""A process that runs cases one after the other, as their numbers come in, and may be killed at any time."""

import faulthandler
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.fuzz.cases import run, set_up


def work(seed: int, corpus: Path, *, quick: bool) -> None:
    """Answer each number on standard input with a verdict on standard output."""
    answers = sys.stdout
    for line in sys.stdin:
        with tempfile.TemporaryDirectory(prefix="fewlabels-fuzz-") as folder:
            verdict = run(set_up(seed, int(line), corpus, Path(folder), quick=quick))
        print(json.dumps(asdict(verdict)), file=answers, flush=True)


if __name__ == "__main__":
    faulthandler.enable()
    work(int(sys.argv[1]), Path(sys.argv[2]), quick="quick" in sys.argv[3:])
