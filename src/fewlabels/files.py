"""Write output files atomically, and refuse to overwrite an input.

A regular file is written to a temporary file in the same folder and then renamed, so readers see either the old or the
new content. A link stays a link: its target is replaced. Pipes, terminals and devices are written to directly.
"""

import os
import re
import secrets
import socket
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from glob import glob
from hashlib import sha256
from itertools import combinations
from pathlib import Path

from fewlabels.errors import InputError

TEMPORARY_NAME = ".fewlabels-{host}-{process}-{random}.part"  # name of a temporary file while it is written
TEMPORARY_PATTERN = re.compile(r"\.fewlabels-(?P<host>\w+)-(?P<process>\d+)-\w+\.part")
STDIN = STDOUT = "-"
DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|(?:/dev|/proc/self)/fd/(\d+)")
STANDARD_DESCRIPTORS = {"stdout": 1, "stderr": 2}
SQLITE_MAGIC = b"SQLite format 3\0"
_OWN_TEMPORARY_FILES: set[str] = set()  # temporary files of this process
PERMISSION_BITS, GROUP_PERMISSION_BITS = 0o777, 0o070


def write_atomic(path: str | Path, content: str | bytes, *, inputs: Iterable[str | None] = ()) -> Path:
    """Write a file atomically; see `check_output` for what is refused. A failure leaves no temporary file behind."""
    check_output(path, inputs)
    data = content.encode(errors="replace") if isinstance(content, str) else content
    try:
        if is_stream(path):
            _write_stream(str(path), data)
        else:
            _replace_file(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise _describe_unwritable(path, error) from None
    return Path(path)


def check_outputs(outputs: Mapping[str, str | None], inputs: Iterable[str | None] = ()) -> None:
    """Refuse files to write (option -> path) that cannot be written, overwrite an input, or are the same file twice."""
    inputs = list(inputs)
    given = [(option, path) for option, path in outputs.items() if path is not None]
    for _, path in given:
        if path != STDOUT:
            check_output(path, inputs)
    for (one, path), (other, second) in combinations(given, 2):
        if _is_same_file(path, second):
            where = "standard output" if path == STDOUT else path
            raise InputError(f"{one} and {other} cannot both go to {where}; name another file for one of them")


def check_output(path: str | Path, inputs: Iterable[str | None] = ()) -> None:
    """Refuse a file to write that cannot be written or that is one of the inputs."""
    try:
        found = _stat_target(path)
    except (OSError, ValueError) as error:
        raise _describe_unwritable(path, error) from None
    if found is not None and any(os.path.samestat(found, other) for other in _stat_inputs(inputs)):
        raise InputError(f"{path} is what is being read; write to another file")
    _check_destination(path, found)


def is_stream(path: str | Path) -> bool:
    """Return whether a file to write is a pipe, a character device, or an open file descriptor of this process."""
    found = _stat_target(path)
    kind = 0 if found is None else found.st_mode
    return stat.S_ISFIFO(kind) or stat.S_ISCHR(kind) or bool(DESCRIPTOR.fullmatch(str(path)))


def _stat_target(path: str | Path) -> os.stat_result | None:
    """Stat the file at a path, following links; None if nothing exists there."""
    try:
        return os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        return None


def _stat_inputs(names: Iterable[str | None]) -> Iterable[os.stat_result]:
    """Stat every input that is a file: a path, a glob pattern, or standard input redirected from a file."""
    for name in names:
        if name == STDIN:
            with suppress(OSError, AttributeError):  # standard input may be closed or replaced
                found = os.fstat(sys.stdin.fileno())
                if stat.S_ISREG(found.st_mode):
                    yield found
        elif name:
            for path in [name] if os.path.lexists(name) else glob(name, recursive=True):  # noqa: PTH207
                with suppress(OSError):
                    yield os.stat(path)  # noqa: PTH116


def _check_destination(path: str | Path, found: os.stat_result | None) -> None:
    """Refuse a path where no file can be written."""
    kind = 0 if found is None else found.st_mode
    if stat.S_ISDIR(kind):
        raise InputError(f"{path} is a folder; name a file in it")
    if stat.S_ISBLK(kind) or stat.S_ISSOCK(kind):
        raise InputError(f"{path} is a {'block device' if stat.S_ISBLK(kind) else 'socket'}; name a file or a pipe")
    if is_stream(path):
        return
    place = Path(os.path.realpath(path))
    if found is not None and not os.access(place, os.W_OK):
        raise InputError(f"{path} cannot be written: permission denied")
    if not place.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no such folder")
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise InputError(f"{path} cannot be written: no file can be added to its folder")
    if found is not None and _is_database(place):
        raise InputError(f"{path} is a database, perhaps a session; write to another file")


def _is_database(place: Path) -> bool:
    """Is the file at this path a database of SQLite?"""
    if not os.access(place, os.R_OK):
        return False
    with place.open("rb") as file:
        return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC


def _is_same_file(path: str, other: str) -> bool:
    """Do two paths name the same file?"""
    if STDOUT in (path, other):
        return path == other
    one, two = _stat_target(path), _stat_target(other)
    if one is not None and two is not None:
        return os.path.samestat(one, two) and stat.S_ISREG(one.st_mode)
    return os.path.realpath(path) == os.path.realpath(other)


def _write_stream(path: str, data: bytes) -> None:
    """Write to a pipe, a device or an open file descriptor."""
    found = DESCRIPTOR.fullmatch(path)
    if found:
        sys.stdout.flush()
        handle = os.dup(STANDARD_DESCRIPTORS[found[1]] if found[1] else int(found[2]))
    else:
        handle = os.open(path, os.O_WRONLY | getattr(os, "O_NOCTTY", 0))
    with os.fdopen(handle, "wb") as file:
        file.write(data)


def _replace_file(place: Path, data: bytes) -> None:
    """Write a temporary file and rename it; owner and mode of an existing file are kept."""
    before = _stat_target(place)
    with temporary_file(place.parent, 0o666 if before is None else 0o600) as part:
        with part.open("r+b") as file:
            file.write(data)
            file.flush()
            if before is not None:
                _copy_permissions(file.fileno(), before)
            os.fsync(file.fileno())
        part.replace(place)


def _copy_permissions(handle: int, before: os.stat_result) -> None:
    """Copy owner, group and mode of a file; if the group cannot be kept, drop the group permissions."""
    if os.name != "posix":
        return
    for user, group in ((-1, before.st_gid), (before.st_uid, -1)):
        with suppress(OSError):
            os.chown(handle, user, group)
    lost = 0 if os.fstat(handle).st_gid == before.st_gid else GROUP_PERMISSION_BITS
    os.chmod(handle, before.st_mode & PERMISSION_BITS & ~lost)


@contextmanager
def temporary_file(folder: Path, mode: int) -> Iterator[Path]:
    """Create an empty temporary file, and remove it on exit if it still exists; also remove those of killed processes.

    The file is neither open nor locked: its name contains the process id. On some systems a lock of ours would block
    SQLite, and closing our handle would release SQLite's locks.
    """
    remove_stale_files(folder)
    part = folder / TEMPORARY_NAME.format(host=_hash_host(), process=os.getpid(), random=secrets.token_hex(8))
    _OWN_TEMPORARY_FILES.add(part.name)
    try:
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode))
        yield part
    finally:
        _remove_temporary(part)
        _OWN_TEMPORARY_FILES.discard(part.name)


def remove_stale_files(folder: Path) -> None:
    """Remove temporary files of killed processes. A file with a second hard link is already in its final place."""
    if os.name != "posix":
        return  # on Windows os.kill(pid, 0) would end the process
    for part in folder.glob(TEMPORARY_NAME.format(host="*", process="*", random="*")):
        with suppress(OSError):
            if part.lstat().st_nlink > 1 or (part.is_file() and _is_stale(part.name)):
                _remove_temporary(part)


def _is_stale(name: str) -> bool:
    """Return whether the process that wrote this file has ended; files of other hosts count as in use."""
    found = TEMPORARY_PATTERN.fullmatch(name)
    if not found or found["host"] != _hash_host() or name in _OWN_TEMPORARY_FILES:
        return False
    process = int(found["process"])
    return process == os.getpid() or not _is_alive(process)


def _is_alive(process: int) -> bool:
    """Is the process that wrote a temporary file still running?"""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


@cache
def _hash_host() -> str:
    """Hash the host name and the process-id namespace for the name of a temporary file: process ids are unique within them."""
    name = socket.gethostname()
    with suppress(OSError, AttributeError):
        name += os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    return sha256(name.encode()).hexdigest()[:8]


def _remove_temporary(part: Path) -> None:
    """Remove a temporary file and its SQLite logs; the file last, because its name locates the logs."""
    for ending in ("-wal", "-shm", ""):
        part.with_name(part.name + ending).unlink(missing_ok=True)


def _describe_unwritable(path: str | Path, error: OSError | ValueError) -> InputError:
    """Return the error about a file that cannot be written."""
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(f"{path} cannot be written: {reason[:1].lower()}{reason[1:]}")
