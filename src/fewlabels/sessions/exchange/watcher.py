"""Watch a folder for new files of answers: which are complete, and which were imported before.

A file counts as complete once it is unchanged between two scans. Digests of imported files are stored beside the
session, so that neither a restart nor a copy under another name imports a file twice.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from fewlabels.errors import InputError
from fewlabels.files import write_atomic
from fewlabels.sessions.exchange.sheets import FORMATS

READ_SUFFIX = ".read"  # appended to the name of the session
RETRY_AFTER = 60.0  # seconds before a file that could not be imported is tried again

Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class NewFile:
    """A complete file that was not imported yet."""

    path: Path
    digest: str


@dataclass
class FolderScanner:
    """The state of a folder at the last scan."""

    folder: Path
    session: str
    _seen: dict[Path, Stamp] = field(default_factory=dict)
    _done: dict[Path, Stamp] = field(default_factory=dict)
    _retry_at: dict[Path, tuple[Stamp, float]] = field(default_factory=dict)  # when to try a bad file again

    def find_new_files(self) -> list[NewFile]:
        """Scan the watched folder, and return complete new files, the oldest first."""
        now = dict(_list_watched_files(self.folder))
        complete = [path for path, stamp in now.items() if self._seen.get(path) == stamp and self._is_due(path, stamp)]
        self._seen = now
        known = read_digests(self.session) if complete else frozenset()
        found: list[NewFile] = []
        for path in sorted(complete, key=lambda path: (now[path][0], path.name)):
            digest = _read_digest(path)
            if digest in known or digest in {one.digest for one in found}:
                self._done[path] = now[path]
            elif digest is not None:
                found.append(NewFile(path, digest))
        return found

    def mark_read(self, new_file: NewFile) -> None:
        """Record that a file in the watched folder was imported."""
        self._done[new_file.path] = self._seen[new_file.path]
        names = read_digests(self.session) | {new_file.digest}
        write_atomic(self.session + READ_SUFFIX, json.dumps(sorted(names), indent=0) + "\n")

    def retry_later(self, new_file: NewFile) -> None:
        """Try a bad file in the watched folder again later: it may be corrected, or a class be added."""
        self._retry_at[new_file.path] = (self._seen[new_file.path], time.monotonic() + RETRY_AFTER)

    def _is_due(self, path: Path, stamp: Stamp) -> bool:
        """Is a file in the watched folder new, or due to be tried again?"""
        bad, due = self._retry_at.get(path, (None, 0.0))
        return self._done.get(path) != stamp and (bad != stamp or time.monotonic() >= due)


def read_digests(session: str) -> frozenset[str]:
    """Return the digests of the files that a watcher of a folder imported into a session before."""
    memory = Path(session + READ_SUFFIX)
    try:
        names = json.loads(memory.read_text(encoding="utf-8")) if memory.exists() else []
    except (OSError, ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{memory}: not a list of imported files; remove it, and all files are imported again")
    return frozenset(names)


def _list_watched_files(folder: Path) -> Iterator[tuple[Path, Stamp]]:
    """List the files in the watched folder that may hold answers, without hidden and temporary files of other programs."""
    try:
        for path in folder.iterdir():
            if path.suffix.lower() in FORMATS and not path.name.startswith((".", "~")) and path.is_file():
                found = path.stat()
                yield path, (found.st_mtime_ns, found.st_size, found.st_ino)
    except FileNotFoundError:
        if not folder.is_dir():
            raise InputError(f"{folder}: the folder no longer exists") from None
    except OSError as error:
        raise InputError(f"{folder}: {(error.strerror or str(error)).lower()}") from None


def _read_digest(path: Path) -> str | None:
    """Return the digest of the content of a watched file; None if it is gone."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None
    except OSError:
        return f"{path} cannot be read"  # importing it reports the reason
