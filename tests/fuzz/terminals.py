"""`label --terminal` on random pools: typed lines in a pipe, or single keys at a pseudo-terminal, sensible and hostile."""

import contextlib
import fcntl
import io
import os
import pty
import re
import select
import struct
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from fewlabels.text import CONTROL_CHARACTERS
from tests.fuzz.commands import NEW, Command
from tests.fuzz.events import count_kinds, read_events
from tests.fuzz.judge import Run, list_faults
from tests.fuzz.mutation import ODD_TEXT

POOL = "pool.parquet"
PAUSE = 0.01  # seconds without output after which a key is pressed
CLASSES = (("a", "b"), ("0", "1"), ("cat", "dog", "emu"), ("undo", "q"), ("True", "False"), ("only",), tuple(f"kind {i}" for i in range(40)))  # fmt: skip
GOALS = (
    ("estimate", "sex"),
    ("find-worst", "predicted"),
    ("find-worst", "sex"),
    ("explore", "all"),
    ("least-certain", "sex"),
)
PRIORS = ("flat", "flat", "flat", "scores", "calibrated")
WORDS = (
    "",
    "?",
    "undo",
    "UNDO",
    " undo ",
    "quit",
    "q",
    "exit",
    "0.5",
    "1",
    "2",
    "-1",
    "nan",
    "1e999",
    "a" * 100_000,
    "\x04",
    "\x1b[A",
)
KEYS = (
    b"1", b"2", b"a", b"b", b"c", b" ", b" ", b"\x7f", b"\x7f", b"/", b"+", b"q", b"\r", b"\t", b"0.5\r", b"0.25\r", b"7\r", b"nan\r", b"/a\r",
    b"/ki\t\r", b"/zzz\r", b"\x1b[A", b"\x1b[3~", b"\x1bOP", b"\x1bx", b"\x1b[", b"\x1b[200~1\x1b[201~", b"\x1b]0;owned\x07", b"\x00", b"\x01",
    b"\xff", b"\xe6\x9d", "東".encode(), "\u202e".encode(), b"x" * 3000, b"\x9b31m", b"/" + b"y" * 500 + b"\r", b"\n\n\n",
)  # fmt: skip
CLEARED = re.compile(r"[^\n]*\r\x1b\[K")  # a line that was typed, and is drawn again
STYLE = re.compile(r"\x1b\[[\d;?]*[a-zA-Z]")  # what rich writes itself
MARK, BACK, COUNT = (
    re.compile(r"^→ ", re.M),
    re.compile(r"^undone: ", re.M),
    re.compile(r"^(\d+) answers? kept in", re.M),
)


def set_up_terminal(rng: Random, folder: Path) -> tuple[Command, tuple[bytes, ...], bool]:
    """Write a pool; choose how it is labelled, what is typed, and whether by single keys."""
    classes = rng.choice(CLASSES) if rng.random() < 0.8 else tuple(rng.sample(ODD_TEXT, rng.randint(1, 4)))
    is_graded, votes = rng.random() < 0.15, rng.choice((1, 1, 2))
    goal, by = rng.choice((("estimate", "sex"), ("explore", "all")) if is_graded else GOALS)
    pq.write_table(_make_pool(rng, classes, is_graded=is_graded), folder / POOL)
    options = [("--goal", goal), ("--by", by), ("--prior", "flat" if is_graded else rng.choice(PRIORS))]
    options += [("--votes", str(votes))] if votes > 1 else []
    options += [("--as", rng.choice(("kim", "lee", "\u202e", "k" * 300)))] if votes > 1 or rng.random() < 0.3 else []
    for extra in (("--finite-pool",), ("--new-classes",), ("--show-prediction", "after"), ("--hide-labels",)):
        options += [extra] if rng.random() < 0.3 else []
    command = Command(("label", POOL, *NEW, "--terminal", *(word for option in options for word in option)))
    has_keys = rng.random() < 0.5
    return command, (_choose_keys if has_keys else _choose_lines)(rng, classes), has_keys


def _make_pool(rng: Random, classes: Sequence[str], *, is_graded: bool) -> pa.Table:
    n = rng.choice((1, 2, 5, 12, 30))
    columns = {
        "id": [rng.choice(ODD_TEXT) + str(i) for i in range(n)] if rng.random() < 0.2 else list(range(n)),
        "predicted": rng.choices(classes, k=n), "score": [round(rng.random(), 2) for _ in range(n)], "sex": rng.choices(("f", "m"), k=n),
        "text": [rng.choice((*ODD_TEXT, f"item {i}")) for i in range(n)],
    }  # fmt: skip
    if is_graded:
        graded = [rng.choice((None, None, 0.0, 0.7, 1.0)) for _ in range(n)]
        return pa.table(
            {name: columns[name] for name in ("id", "sex", "text")} | {"agreement": pa.array(graded, pa.float64())}
        )
    if rng.random() < 0.5:
        columns["label"] = [rng.choice((None, None, *classes)) for _ in range(n)]
    return pa.table(columns)


def _choose_lines(rng: Random, classes: Sequence[str]) -> tuple[bytes, ...]:
    sensible = (*classes, "", "undo") if rng.random() < 0.8 else ("0.5", "1", "0", "", "undo")
    lines = rng.choices(sensible, k=rng.randint(0, 20))
    for _ in range(rng.choice((0, 0, 1, 1, 3))):
        odd = (*WORDS, *ODD_TEXT, *(name.upper() for name in classes))
        lines.insert(rng.randint(0, len(lines)), rng.choice(odd))
    raw = rng.choice(("\n", "\n", "\r\n")).join(lines).encode() + rng.choice((b"\n", b""))
    return (raw if rng.random() < 0.9 else raw + rng.choice((b"\xff\n", b"\x00", b"a\xe6")),)


def _choose_keys(rng: Random, classes: Sequence[str]) -> tuple[bytes, ...]:
    names = [f"/{name}\r".encode() for name in classes]
    sensible = (b"1", b"2", b"0", b"a", b"c", b" ", b"\x7f", b"0.5\r", *names)
    return tuple(rng.choice(sensible if rng.random() < 0.6 else KEYS) for _ in range(rng.randint(0, 14)))


def open_lines(typed: tuple[bytes, ...]) -> TextIO:
    """Return typed lines as standard input has them in a pipe."""
    return io.TextIOWrapper(io.BytesIO(b"".join(typed)), encoding="utf-8")


def run_at_terminal(do: Callable[[], tuple[int, str, str]], keys: Sequence[bytes], width: int) -> tuple[int, str, str]:
    """Run a command line with keys pressed at a pseudo-terminal; what it prints there comes back as its output."""
    far, near = pty.openpty()
    fcntl.ioctl(near, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    _leave_unechoed(near)
    before, done, seen = termios.tcgetattr(near), threading.Event(), list[bytes]()
    typist = threading.Thread(target=_type, args=(far, keys, done, seen), daemon=True)
    typist.start()
    try:
        with _standing_in(near):
            code, _, err = do()
        is_as_before = termios.tcgetattr(near) == before
    finally:
        done.set()
        typist.join()
        os.close(near)
    out = CLEARED.sub("", b"".join(seen).decode(errors="replace").replace("\r\n", "\n"))
    return code, STYLE.sub("", out), err if is_as_before else f"{err}the terminal is not as it was before\n"


def _leave_unechoed(terminal: int) -> None:
    """Show nothing of what is typed before keys are read one by one."""
    now = termios.tcgetattr(terminal)
    now[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, now)


@contextlib.contextmanager
def _standing_in(terminal: int) -> Iterator[None]:
    """Let standard input and output be a terminal."""
    before = sys.stdin, sys.stdout
    with open(terminal, closefd=False) as stdin, open(terminal, "w", closefd=False, errors="replace") as stdout:
        sys.stdin, sys.stdout = stdin, stdout
        try:
            yield
        finally:
            sys.stdin, sys.stdout = before


def _type(far: int, keys: Sequence[bytes], done: threading.Event, seen: list[bytes]) -> None:
    """Press a key whenever nothing is being printed; at the end, the key that stops, until it stops."""
    left = list(keys)
    os.set_blocking(far, False)
    with open(far, "rb", buffering=0):  # closes it
        while True:
            if select.select([far], [], [], PAUSE if seen else 20 * PAUSE)[0]:
                seen.append(os.read(far, 65536))
            elif done.is_set():
                return
            elif seen:
                with contextlib.suppress(BlockingIOError):
                    os.write(far, left.pop(0) if left else b"\x04")


def check_terminal(folder: Path, run_out: str, do: Callable[[tuple[str, ...]], tuple[int, str, str]]) -> Iterator[str]:
    """Say where the session holds other answers than were confirmed, or cannot be opened again."""
    if found := CONTROL_CHARACTERS.search(run_out):
        yield f"printed as it is: {found[0]!r} in {run_out[max(found.start() - 40, 0) :][:80]!r}"
    if not (folder / "new.db").exists():
        return
    events = read_events(folder / "new.db")
    said, undone = len(MARK.findall(run_out)), len(BACK.findall(run_out))
    kept = count_kinds(events, "told", "skipped"), count_kinds(events, "withdrawn")
    if kept != (said, undone):
        yield f"{kept[0]} answers and {kept[1]} undone in the session, {said} and {undone} on the screen"
    if (counted := COUNT.search(run_out)) and int(counted[1]) != said - undone:
        yield f"it says {counted[0]!r} after {said} answers, {undone} undone"
    words = ("status", "--session", "new.db", "--json", "-")
    code, out, err = do(words)
    yield from list_faults(Run(words, code, out, err))
    if code:
        yield f"the session cannot be opened again: {err[:200]}"
