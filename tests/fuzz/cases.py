"""One case: made from its seed and number, run in this process, judged."""

import contextlib
import io
import shutil
import sys
import warnings
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random

from fewlabels.cli.app import main
from tests.fuzz.commands import KINDS, OPTIONS, SESSIONS, Command, choose_command, choose_options
from tests.fuzz.judge import Run, list_faults
from tests.fuzz.mutation import mutate

WRITES = ("ask", "tell", "import", "label", "watch")  # verbs that may change a session


@dataclass(frozen=True)
class Case:
    """What is run: a command line in a folder of its own."""

    number: int
    kind: str
    command: Command
    folder: Path


@dataclass(frozen=True)
class Verdict:
    """How a case ended."""

    number: int
    kind: str
    words: tuple[str, ...]
    code: int
    faults: tuple[str, ...]


def lay_out(command: Command, kind: str, corpus: Path, folder: Path) -> None:
    """Copy what a command line needs."""
    for name in {*command.beside, kind} - {OPTIONS}:
        shutil.copy(corpus / name, folder / name)


def set_up(seed: int, number: int, corpus: Path, folder: Path, *, quick: bool = False) -> Case:
    """Make the files of a case in an empty folder."""
    rng = Random(f"{seed}/{number}")
    kind = KINDS[number % len(KINDS)]
    command = choose_options(rng, quick=quick) if kind == OPTIONS else choose_command(rng, kind, quick=quick)
    lay_out(command, kind, corpus, folder)
    if kind != OPTIONS:
        mutate(rng, folder / kind)
    return Case(number, kind, command, folder)


def run(case: Case) -> Verdict:
    """Run a case in this process, in its folder."""
    before = _take_digests(case.folder)
    with contextlib.chdir(case.folder):
        code, out, err = type_in(case.command.words)
    after = _take_digests(case.folder)
    new = tuple(name for name in sorted(after.keys() - before.keys()) if not name.startswith("new."))
    litter = tuple(name for name in after if name.endswith(".part") or name.startswith(".")) + new
    may_change = SESSIONS if case.command.words[0] in WRITES else ()
    changed = tuple(name for name, digest in before.items() if after.get(name) != digest and name not in may_change)
    faults = list_faults(Run(case.command.words, code, out, err, tuple(dict.fromkeys(litter)), changed))
    return Verdict(case.number, case.kind, case.command.words, code, tuple(faults))


def type_in(words: tuple[str, ...]) -> tuple[int, str, str]:
    """Run a command line, and return its exit code, output and errors."""
    out, err = io.StringIO(), io.StringIO()
    argv, sys.argv = sys.argv, ["fewlabels", *words]
    stdin, sys.stdin = sys.stdin, io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("always")
            for hidden in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
                warnings.simplefilter("ignore", hidden)  # as Python itself does
            main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0, out.getvalue(), err.getvalue()
    finally:
        sys.argv, sys.stdin = argv, stdin
    return -1, out.getvalue(), err.getvalue()


def _take_digests(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir()) if path.is_file()}
