"""The keys file next to a session: credentials that only its owner may read, reloaded while the page is served.

A file that other users can write may hold their credentials, and one that they can read reveals tokens: both are
refused, as are symbolic links and files of another user. Changes are atomic, and a lock serializes writers.
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
from urllib.parse import parse_qsl, urlsplit

from pydantic import ValidationError

from fewlabels.errors import InputError
from fewlabels.files import temporary_file
from fewlabels.sessions.journal.paths import PRIVATE, link_new_file
from fewlabels.sessions.journal.storage import is_address
from fewlabels.web.credentials import Credentials, KeysUnavailableError

try:
    import fcntl
except ImportError:  # Windows: the later of two simultaneous changes wins
    HAS_LOCKS = False
else:
    HAS_LOCKS = True

SUFFIX = ".keys"  # appended to the path of the session
MAX_BYTES = 1_000_000  # bytes
DELETE_HINT = "delete it to make new links"
READ_ONLY = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
)  # do not follow links or block on pipes
READ_AND_WRITE = READ_ONLY | os.O_RDWR  # NFS locks need write access
UNSAFE_ERRORS = (
    errno.ELOOP,
    errno.EACCES,
    errno.EPERM,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENXIO,
)  # the kind of file or its mode; other errors are temporary
SHARED_LINK_WARNING = "%s held one link for all users, which no longer works: open the owner's new link, and invite each annotator (fewlabels access --session SESSION --invite NAMES)"  # fmt: skip
log = logging.getLogger(__name__)


def get_keys_path(session: str | Path) -> Path:
    """Return the path of the keys file of a session: beside it, or in the working directory if it is in a database."""
    return Path(
        f"{dict(parse_qsl(urlsplit(str(session)).query)).get('session', 'session') if is_address(session) else session}{SUFFIX}"
    )


def read_keys(path: Path) -> Credentials:
    """Read the keys file (credentials); refuse one that other users can read or write."""
    try:
        with _opened_file(path) as handle:
            return _read_credentials(handle, path)
    except OSError as error:  # too many open files, or a failing disk: the keys may be valid
        raise KeysUnavailableError(f"{path} cannot be read at the moment: {error.strerror}; try again") from None


def change_keys(path: Path, change: Callable[[Credentials], Credentials]) -> Credentials:
    """Change the keys file (credentials); create the owner's key first if there is no file."""
    try:
        if not os.path.lexists(path):
            _create_keys_file(path)
        with _locked_keys_file(path):
            before = read_keys(path)
            after = change(before)
            if after != before or before.shared:
                _replace_keys_file(path, after)
            if before.shared:
                log.warning(SHARED_LINK_WARNING, path)
            return after
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


@dataclass
class KeysFile:
    """Credentials in a file, reloaded when it changes, so that invitations and revocations take effect at once."""

    path: Path
    _last_stat: tuple[int, ...] = ()
    _credentials: Credentials | None = None
    _lock: Lock = field(default_factory=Lock, repr=False)

    def read(self) -> Credentials | None:
        """Return the credentials in the keys file; None if it is missing or unsafe.

        Raises KeysUnavailableError if the file cannot be read at the moment.
        """
        with self._lock:
            current_stat = _stat_keys_file(self.path)
            if current_stat != self._last_stat:
                self._credentials = self._load()  # after a temporary error the next request retries
                self._last_stat = current_stat
            return self._credentials

    def _load(self) -> Credentials | None:
        """Read the keys file, and log why it cannot be trusted."""
        try:
            return read_keys(self.path)
        except KeysUnavailableError:
            raise
        except InputError as error:
            log.warning("all requests are refused: %s", error)
            return None


def _stat_keys_file(path: Path) -> tuple[int, ...]:
    """Return the attributes of the keys file that change when it is replaced or written."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return (-1,)
    except OSError as error:
        raise KeysUnavailableError(f"{path} cannot be read at the moment: {error.strerror}; try again") from None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode)


@contextmanager
def _opened_file(path: Path, how: int = READ_ONLY) -> Iterator[int]:
    """Open the keys file; refuse one that is missing, or a link."""
    try:
        handle = os.open(path, how)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; serve the page again to make new links") from None
    except OSError as error:
        if error.errno not in UNSAFE_ERRORS:
            raise
        problem = "is a symbolic link" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}"
        raise InputError(f"{path} {problem}; {DELETE_HINT}") from None
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def _locked_keys_file(path: Path) -> Iterator[None]:
    """Lock the keys file against other writers; retry if the previous writer replaced it."""
    while HAS_LOCKS:
        with _opened_file(path, READ_AND_WRITE) as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if os.fstat(handle).st_ino == path.lstat().st_ino:
                yield
                return
    yield


def _read_credentials(handle: int, path: Path) -> Credentials:
    """Read the credentials from the open keys file."""
    _refuse_unsafe(os.fstat(handle), path)
    with open(handle, "rb", closefd=False) as file:
        text = file.read(MAX_BYTES + 1)
    try:
        return Credentials.model_validate_json(text).replace_shared()
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]  # the input may be a secret
        location = ".".join(map(str, first["loc"]))
        raise InputError(
            f"{path} is not a keys file: {f'{location}: ' if location else ''}{first['msg']}; {DELETE_HINT}"
        ) from None


def _refuse_unsafe(found: os.stat_result, path: Path) -> None:
    """Refuse a keys file that is too large, no regular file, or accessible to others."""
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is not a regular file; {DELETE_HINT}")
    if found.st_size > MAX_BYTES:
        raise InputError(f"{path} is not a keys file: it has {found.st_size:,} bytes; {DELETE_HINT}")
    if os.name != "posix":
        return
    if found.st_uid != os.geteuid():
        raise InputError(f"{path} belongs to another user, who could grant access to anyone; {DELETE_HINT}")
    if found.st_mode & 0o077:
        raise InputError(f"{path}: other users may read or write it (mode {found.st_mode & 0o777:03o}), so its links are not secret; {DELETE_HINT}")  # fmt: skip


def _create_keys_file(path: Path) -> None:
    """Create the keys file with the owner's credential, unless another process did."""
    with temporary_file(path.parent, PRIVATE) as part:
        _write_credentials(part, Credentials.create())
        try:
            link_new_file(part, path)
        except InputError:  # another process created it first
            if not os.path.lexists(path):
                raise


def _replace_keys_file(path: Path, credentials: Credentials) -> None:
    """Replace the keys file in one step."""
    with temporary_file(path.parent, PRIVATE) as part:
        _write_credentials(part, credentials)
        part.replace(path)


def _write_credentials(part: Path, credentials: Credentials) -> None:
    """Write credentials to the keys file, and wait until they are on the disk."""
    with part.open("wb") as file:
        file.write(credentials.model_dump_json(indent=1).encode())
        file.flush()
        os.fsync(file.fileno())
