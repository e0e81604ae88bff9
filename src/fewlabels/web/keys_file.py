"""The keys file beside a session: credentials, for their owner alone, followed while the page is served.

A file that other users could have written may hold credentials of theirs, and one that they may read gives tokens away: both are
refused, as are links and files of another user. Changes are atomic, and two processes that change it take turns.
"""

import errno
import logging
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from pydantic import ValidationError

from fewlabels.errors import InputError
from fewlabels.files import lend_part
from fewlabels.sessions.journal.paths import PRIVATE, put_in_place
from fewlabels.web.credentials import Credentials, KeysUnavailableError

try:
    import fcntl
except ImportError:  # Windows: there, of two changes at the same moment the later one counts
    HAS_LOCKS = False
else:
    HAS_LOCKS = True

ENDING = ".keys"  # after the name of the session's file
LARGEST = 1_000_000  # bytes
ANEW = "delete it to make new links"
READ_ONLY = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # no links; no waiting for a pipe
READ_AND_WRITE = READ_ONLY | os.O_RDWR  # without the right to write, a file on NFS cannot be locked
REFUSED = (
    errno.ELOOP,
    errno.EACCES,
    errno.EPERM,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENXIO,
)  # what the file is, or its mode
SHARED = "%s held one link for everybody, which no longer works: open the owner's new link, and invite each annotator (fewlabels access --session SESSION --invite NAMES)"  # fmt: skip
log = logging.getLogger(__name__)


def name_keys(session: str | Path) -> Path:
    """Return where the keys of a session are."""
    return Path(f"{session}{ENDING}")


def read_keys(path: Path) -> Credentials:
    """Read the credentials, if no other user could have written or read them."""
    try:
        with _opened(path) as handle:
            return _read(handle, path)
    except OSError as error:  # too many open files, a disk that fails: nothing about the keys
        raise KeysUnavailableError(f"{path} cannot be read at the moment: {error.strerror}; try again") from None


def change_keys(path: Path, change: Callable[[Credentials], Credentials]) -> Credentials:
    """Change the credentials; where there are none yet, the owner's is made first."""
    try:
        if not os.path.lexists(path):
            _create(path)
        with _locked(path):
            before = read_keys(path)
            after = change(before)
            if after != before or before.shared:
                _replace(path, after)
            if before.shared:
                log.warning(SHARED, path)
            return after
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


@dataclass
class KeysFile:
    """Credentials in a file, read again whenever the file changes, so that invitations and revocations count at once."""

    path: Path
    _seen: tuple[int, ...] = ()
    _credentials: Credentials | None = None
    _lock: Lock = field(default_factory=Lock, repr=False)

    def read(self) -> Credentials | None:
        """Return the credentials; None where the file is gone or may not be trusted.

        Raises KeysUnavailableError where that cannot be found out at the moment.
        """
        with self._lock:
            seen = _sign(self.path)
            if seen != self._seen:
                self._credentials = self._load()  # where the system fails, the next request tries again
                self._seen = seen
            return self._credentials

    def _load(self) -> Credentials | None:
        try:
            return read_keys(self.path)
        except KeysUnavailableError:
            raise
        except InputError as error:
            log.warning("all requests are refused: %s", error)
            return None


def _sign(path: Path) -> tuple[int, ...]:
    """Tell one state of a file from another."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return (-1,)
    except OSError as error:
        raise KeysUnavailableError(f"{path} cannot be read at the moment: {error.strerror}; try again") from None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode)


@contextmanager
def _opened(path: Path, how: int = READ_ONLY) -> Iterator[int]:
    try:
        handle = os.open(path, how)
    except FileNotFoundError:
        raise InputError(f"{path} is gone; serve the page again to make new links") from None
    except OSError as error:
        if error.errno not in REFUSED:
            raise
        problem = "is a symbolic link" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}"
        raise InputError(f"{path} {problem}; {ANEW}") from None
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes from changing the file. Who had the lock before may have replaced the file meanwhile."""
    while HAS_LOCKS:
        with _opened(path, READ_AND_WRITE) as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if os.fstat(handle).st_ino == path.lstat().st_ino:
                yield
                return
    yield


def _read(handle: int, path: Path) -> Credentials:
    _refuse_unsafe(os.fstat(handle), path)
    with open(handle, "rb", closefd=False) as file:
        text = file.read(LARGEST + 1)
    try:
        return Credentials.model_validate_json(text).replace_shared()
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]  # what came may be a secret
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"{path} is no file of keys: {f'{place}: ' if place else ''}{first['msg']}; {ANEW}") from None


def _refuse_unsafe(found: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is no ordinary file; {ANEW}")
    if found.st_size > LARGEST:
        raise InputError(f"{path} is no file of keys: it has {found.st_size:,} bytes; {ANEW}")
    if os.name != "posix":
        return
    if found.st_uid != os.geteuid():
        raise InputError(f"{path} belongs to another user, who could let anybody in; {ANEW}")
    if found.st_mode & 0o077:
        raise InputError(f"{path}: other users may read or write it (mode {found.st_mode & 0o777:03o}), so its links are not secret; {ANEW}")  # fmt: skip


def _create(path: Path) -> None:
    with lend_part(path.parent, PRIVATE) as part:
        _write(part, Credentials.create())
        try:
            put_in_place(part, path)
        except InputError:  # another process was quicker
            if not os.path.lexists(path):
                raise


def _replace(path: Path, credentials: Credentials) -> None:
    with lend_part(path.parent, PRIVATE) as part:
        _write(part, credentials)
        part.replace(path)


def _write(part: Path, credentials: Credentials) -> None:
    with part.open("wb") as file:
        file.write(credentials.model_dump_json(indent=1).encode())
        file.flush()
        os.fsync(file.fileno())
