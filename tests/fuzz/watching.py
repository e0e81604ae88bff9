"""`watch` on a folder of sheets and exports: valid, damaged, cut short, with hostile names, or still being written.

What it keeps is compared with importing the same files one by one, and a second run must keep nothing.
"""

import contextlib
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from random import Random

from fewlabels.errors import InputError
from fewlabels.sessions.exchange.watcher import read_digests
from tests.fuzz.commands import SHEETS, Command
from tests.fuzz.events import read_events
from tests.fuzz.mutation import mutate

IN, ORIGINAL = "in", "original"
ONCE = ("--once", "--every", "0")
LIVE = ("--every", "0.02")
NAMES = (
    "a", "b (1)", "label=x", "d[1]", "s*", "-rf", "a\nb", "\x1b[31mred\x1b]0;owned\x07", "\u202egpj", "'; DROP TABLE events; --", "%s{}",
    "[bold]:x:", "é\u0301", "n" * 240, os.fsdecode(b"\xff\xfe"), "session.db", ".hidden", "~backup", " ", "new\r",
)  # fmt: skip
OPTIONS = ((), (), ("--as", "kim"), ("--as", "lee", "--new-classes"), ("--cannot-tell", "b"), ("--new-classes",))
Do = Callable[[tuple[str, ...]], tuple[int, str, str]]


def set_up_watch(rng: Random, corpus: Path, folder: Path) -> Command:
    """Fill a folder, and choose how it is watched."""
    session = rng.choice(("session.db", "session.db", "votes.db"))
    for name in (session, f"{ORIGINAL}.db"):
        shutil.copy(corpus / session, folder / name)
    (folder / IN).mkdir()
    for i in range(rng.randint(1, 5)):
        _put_file(rng, corpus, folder / IN, i)
    if rng.random() < 0.1:
        memory = rng.choice(("", "{", "[1]", "[]", '["x"]', "[" * 100_000, "null", "\x00"))
        (folder / f"{session}.read").write_text(memory)
    if rng.random() < 0.1:
        _put_trap(rng, folder / IN)
    how = LIVE if rng.random() < 0.15 else ONCE
    return Command(("watch", IN, "--session", session, *how, *rng.choice(OPTIONS)))


def _put_file(rng: Random, corpus: Path, folder: Path, number: int) -> None:
    """Put a sheet or an export there, by age in a known order."""
    kind = rng.choice(SHEETS)
    path = folder / kind
    shutil.copy(corpus / kind, path)
    way = rng.random()
    if way < 0.3:
        mutate(rng, path)
    elif way < 0.45:
        raw = path.read_bytes()
        path.write_bytes(raw[: rng.randrange(len(raw))])
    elif kind == "sheet.csv" and way < 0.8:
        path.write_text(_make_sheet(rng))
    stem = rng.choice(NAMES) if rng.random() < 0.5 else f"file{number}"
    new = folder / f"{stem}{rng.choice((path.suffix, path.suffix.upper()))}"
    path.rename(new)
    os.utime(new, (1000 + number, 1000 + number))


def _make_sheet(rng: Random) -> str:
    """Write a sheet with other answers than the corpus has, most of them valid."""
    labels = rng.choices(("a", "b", "?", "", "c"), (8, 8, 2, 1, rng.choice((0, 0, 1))), k=rng.randint(1, 8))
    rows = [f"{i},{label},{rng.choice(('kim', 'lee', 'max'))}" for i, label in enumerate(labels, rng.randrange(16))]
    return "\n".join(["id,label,who", *rows]) + "\n"


def _put_trap(rng: Random, folder: Path) -> None:
    """Put there what looks like a sheet and is none."""
    path = folder / f"trap{rng.choice(('.csv', '.json'))}"
    rng.choice(
        (path.mkdir, lambda: path.symlink_to("nowhere"), lambda: path.symlink_to(path), lambda: os.mkfifo(path))
    )()


def check_watch(words: tuple[str, ...], folder: Path, out: str, do: Do) -> Iterator[str]:
    """Say where more or less was kept than the files say."""
    session = words[words.index("--session") + 1]
    again = tuple(word for word in words if word not in (*ONCE, *LIVE)) + ONCE
    if LIVE[0] in words and "--once" not in words:
        out += do(again)[1]  # what had not been read when it was stopped
    kept = read_events(folder / session)
    if "--once" in words and kept != (wanted := _import_one_by_one(words, folder, do)):
        yield f"watch kept {kept[len(wanted) :]} of {len(kept):,} events; imports keep {wanted[len(kept) :]} of {len(wanted):,}"
    code, said, _ = do(again)
    if read_events(folder / session) != kept:
        yield f"a second run keeps more (exit code {code}): {said[:200]!r}"


def _import_one_by_one(words: tuple[str, ...], folder: Path, do: Do) -> list[tuple]:
    """Import what was read into a copy of the session, in the same order."""
    session = words[words.index("--session") + 1]
    try:
        read = read_digests(str(folder / session))
    except InputError:
        read = frozenset()
    options = tuple(word for word in words[4:] if word not in ONCE)
    for path in _list_by_age(folder / IN):
        digest = sha256(path.read_bytes()).hexdigest()
        if digest in read:
            read -= {digest}  # a copy under another name is not read again
            do(("import", f"{IN}/{path.name}", "--session", f"{ORIGINAL}.db", *options))
    return read_events(folder / f"{ORIGINAL}.db")


def _list_by_age(folder: Path) -> list[Path]:
    """List files, the oldest first, as `watch` reads them: hidden and temporary files of other programs are left alone."""
    files = [path for path in folder.iterdir() if path.is_file() and not path.name.startswith((".", "~"))]
    return sorted(files, key=lambda path: (path.stat().st_mtime_ns, path.name))


@contextlib.contextmanager
def writing_meanwhile(folder: Path) -> Iterator[None]:
    """Write the files of a folder again in pieces while it is watched, and then interrupt the watching."""
    done = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: _interrupt(done))
    writer = threading.Thread(target=_write_and_interrupt, args=(folder, done), daemon=True)
    writer.start()
    try:
        yield
    finally:
        done.set()
        writer.join()
        signal.signal(signal.SIGINT, before)


def _interrupt(done: threading.Event) -> None:
    if not done.is_set():
        raise KeyboardInterrupt


def _write_and_interrupt(folder: Path, done: threading.Event) -> None:
    for path in _list_by_age(folder):
        raw = path.read_bytes()
        for part in (raw[: len(raw) // 2], raw):
            path.write_bytes(part)
            done.wait(0.03)
    while not done.wait(0.1):  # what Python was told inside a callback of C is not heard
        os.kill(os.getpid(), signal.SIGINT)
