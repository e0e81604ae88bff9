"""A folder into which files of answers come: which of them are complete, and which were read before.

A file counts as complete once it stays the same from one look to the next. What was read is remembered by content in a
file beside the session, so that a restart reads nothing twice, and a copy under another name is no news.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from fewlabels.errors import InputError
from fewlabels.files import write_whole
from fewlabels.sessions.exchange.sheets import ENDINGS

MEMORY = ".read"  # after the name of the session
PATIENCE = 60.0  # seconds until a file that could not be read is tried again

Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Arrival:
    """A complete file that was not read yet."""

    path: Path
    digest: str


@dataclass
class Arrivals:
    """What a folder held at the last look. It changes only by looking again."""

    folder: Path
    session: str
    _seen: dict[Path, Stamp] = field(default_factory=dict)
    _done: dict[Path, Stamp] = field(default_factory=dict)
    _again: dict[Path, tuple[Stamp, float]] = field(default_factory=dict)  # when a bad file is due once more

    def look(self) -> list[Arrival]:
        """Return the files that are complete and new, the oldest first."""
        now = dict(_list_files(self.folder))
        complete = [path for path, stamp in now.items() if self._seen.get(path) == stamp and self._is_due(path, stamp)]
        self._seen = now
        known = recall_files(self.session) if complete else frozenset()
        found: list[Arrival] = []
        for path in sorted(complete, key=lambda path: (now[path][0], path.name)):
            digest = _read_digest(path)
            if digest in known or digest in {one.digest for one in found}:
                self._done[path] = now[path]
            elif digest is not None:
                found.append(Arrival(path, digest))
        return found

    def keep(self, arrival: Arrival) -> None:
        """Remember that a file was read."""
        self._done[arrival.path] = self._seen[arrival.path]
        names = recall_files(self.session) | {arrival.digest}
        write_whole(self.session + MEMORY, json.dumps(sorted(names), indent=0) + "\n")

    def put_off(self, arrival: Arrival) -> None:
        """Leave a bad file alone for a while: it may be mended, or a class be added."""
        self._again[arrival.path] = (self._seen[arrival.path], time.monotonic() + PATIENCE)

    def _is_due(self, path: Path, stamp: Stamp) -> bool:
        bad, due = self._again.get(path, (None, 0.0))
        return self._done.get(path) != stamp and (bad != stamp or time.monotonic() >= due)


def recall_files(session: str) -> frozenset[str]:
    """Return the contents that were read into a session."""
    memory = Path(session + MEMORY)
    try:
        names = json.loads(memory.read_text(encoding="utf-8")) if memory.exists() else []
    except (OSError, ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{memory} should say which files were read, and does not; remove it, and all are read again")
    return frozenset(names)


def _list_files(folder: Path) -> Iterator[tuple[Path, Stamp]]:
    """List the files that may hold answers; those that programs hide while they write are left out."""
    try:
        for path in folder.iterdir():
            if path.suffix.lower() in ENDINGS and not path.name.startswith((".", "~")) and path.is_file():
                found = path.stat()
                yield path, (found.st_mtime_ns, found.st_size, found.st_ino)
    except FileNotFoundError:
        if not folder.is_dir():
            raise InputError(f"{folder}: the folder is gone") from None
    except OSError as error:
        raise InputError(f"{folder}: {(error.strerror or str(error)).lower()}") from None


def _read_digest(path: Path) -> str | None:
    """Tell a content from others; None where the file is gone again."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None
    except OSError:
        return f"{path} cannot be read"  # reading it says why
