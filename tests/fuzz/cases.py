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
from tests.fuzz.commands import KINDS, OPTIONS, SESSIONS, TERMINAL, WATCH, Command, choose_command, choose_options
from tests.fuzz.events import read_events
from tests.fuzz.judge import Run, list_faults
from tests.fuzz.mutation import mutate
from tests.fuzz.terminals import check_terminal, open_lines, run_at_terminal, set_up_terminal
from tests.fuzz.watching import IN, check_watch, set_up_watch, writing_meanwhile

WRITES = ("ask", "tell", "import", "label", "watch")  # verbs that may change a session
KEEPS_ALL_OR_NOTHING = ("tell", "import")
BESIDE = {"watch": ".read", "access": ".keys"}  # what a verb keeps beside a session
WIDTHS = (10, 40, 80, 80, 200)  # of a terminal


@dataclass(frozen=True)
class Case:
    """What is run: a command line in a folder of its own."""

    number: int
    kind: str
    command: Command
    folder: Path
    typed: tuple[bytes, ...] = ()
    has_keys: bool = False  # typed at a terminal, key by key


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
    if kind == WATCH:
        return Case(number, kind, set_up_watch(rng, corpus, folder), folder)
    if kind == TERMINAL:
        command, typed, has_keys = set_up_terminal(rng, folder)
        return Case(number, kind, command, folder, typed, has_keys)
    command = choose_options(rng, quick=quick) if kind == OPTIONS else choose_command(rng, kind, quick=quick)
    lay_out(command, kind, corpus, folder)
    if kind != OPTIONS:
        mutate(rng, folder / kind)
    return Case(number, kind, command, folder)


def run(case: Case) -> Verdict:
    """Run a case in this process, in its folder."""
    words, before, events = case.command.words, _take_digests(case.folder), _read_sound_events(case)
    with contextlib.chdir(case.folder):
        code, out, err = _type_in(case)
        litter, changed = _list_litter(case, before), _list_changed(case, before)
        faults = list_faults(Run(words, code, out, err, litter, changed))
        if case.kind == WATCH:
            faults += check_watch(words, case.folder, out, type_in)
        if case.kind == TERMINAL:
            faults += check_terminal(case.folder, out, type_in)
    if code == 1 and words[0] in KEEPS_ALL_OR_NOTHING and _read_sound_events(case) != events:
        faults.append("refused, and something was kept")
    return Verdict(
        case.number, case.kind, words, code, tuple(fault.encode(errors="replace").decode() for fault in faults)
    )


def _type_in(case: Case) -> tuple[int, str, str]:
    words = case.command.words
    if case.has_keys:
        return run_at_terminal(lambda: _call(words), case.typed, WIDTHS[case.number % len(WIDTHS)])
    if words[0] == "watch" and "--once" not in words:
        with writing_meanwhile(case.folder / IN):
            return type_in(words)
    return type_in(words, (Path(case.command.stdin).read_bytes(),) if case.command.stdin else case.typed)


def _list_litter(case: Case, before: dict[str, str]) -> tuple[str, ...]:
    """List files that nobody asked for."""
    names, verb = _take_digests(case.folder), case.command.words[0]
    kept = {f"{session}{BESIDE[verb]}" for session in SESSIONS} if verb in BESIDE else set()
    new = [name for name in sorted(names.keys() - before.keys() - kept) if not name.startswith("new.")]
    parts = [name for name in names if name.endswith(".part") or (name.startswith(".") and name not in before)]
    return tuple(dict.fromkeys(parts + new))


def _list_changed(case: Case, before: dict[str, str]) -> tuple[str, ...]:
    """List files that were only to be read."""
    verb, after = case.command.words[0], _take_digests(case.folder)
    may_change = {*(SESSIONS if verb in WRITES else ()), *(f"{session}{BESIDE.get(verb)}" for session in SESSIONS)}
    return tuple(name for name, digest in before.items() if after.get(name) != digest and name not in may_change)


def _read_sound_events(case: Case) -> list[tuple] | None:
    """Return the events of the session of a case, unless it was damaged."""
    words = case.command.words
    is_sound = "--session" in words and case.kind not in SESSIONS
    return read_events(case.folder / words[words.index("--session") + 1]) if is_sound else None


def type_in(words: tuple[str, ...], typed: tuple[bytes, ...] = ()) -> tuple[int, str, str]:
    """Run a command line with this on its standard input, and return its exit code, output and errors."""
    out, stdin = io.StringIO(), sys.stdin
    sys.stdin = open_lines(typed)
    try:
        with contextlib.redirect_stdout(out):
            code, _, err = _call(words)
    finally:
        sys.stdin = stdin
    return code, out.getvalue(), err


def _call(words: tuple[str, ...]) -> tuple[int, str, str]:
    err = io.StringIO()
    argv, sys.argv = sys.argv, ["fewlabels", *words]
    try:
        with contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("always")
            for hidden in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
                warnings.simplefilter("ignore", hidden)  # as Python itself does
            main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0, "", err.getvalue()
    finally:
        sys.argv = argv
    return -1, "", err.getvalue()


def _take_digests(folder: Path) -> dict[str, str]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in files}
