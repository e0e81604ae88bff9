"""Output files: written whole or not at all, through links, pipes and devices, and never over an input.

A regular file is written beside its place and moved there, so that readers see the old content or the new one. A link
stays a link: its target is replaced. A pipe or a terminal is written to as it stands.
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

PART = ".fewlabels-{host}-{process}-{random}.part"  # a file that is being written
PART_NAME = re.compile(r"\.fewlabels-(?P<host>\w+)-(?P<process>\d+)-\w+\.part")
STDIN = STDOUT = "-"
DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|(?:/dev|/proc/self)/fd/(\d+)")
STANDARD = {"stdout": 1, "stderr": 2}
DATABASE = b"SQLite format 3\0"
_LENT: set[str] = set()  # names of this process's parts
RIGHTS, GROUP_RIGHTS = 0o777, 0o070


def write_whole(path: str | Path, content: str | bytes, *, inputs: Iterable[str | None] = ()) -> Path:
    """Write a file, or refuse: see `check_output`. Whatever happens, no part of a file stays behind."""
    check_output(path, inputs)
    data = content.encode(errors="replace") if isinstance(content, str) else content
    try:
        if is_stream(path):
            _write_through(str(path), data)
        else:
            _replace(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise _refuse(path, error) from None
    return Path(path)


def check_outputs(outputs: Mapping[str, str | None], inputs: Iterable[str | None] = ()) -> None:
    """Refuse outputs, by option, that cannot be written or are the same as an input or as each other."""
    inputs = list(inputs)
    given = [(option, path) for option, path in outputs.items() if path is not None]
    for _, path in given:
        if path != STDOUT:
            check_output(path, inputs)
    for (one, path), (other, second) in combinations(given, 2):
        if _is_same(path, second):
            where = "standard output" if path == STDOUT else path
            raise InputError(f"{one} and {other} cannot both go to {where}; name another file for one of them")


def check_output(path: str | Path, inputs: Iterable[str | None] = ()) -> None:
    """Refuse a path that cannot be written, or that holds what is being read."""
    try:
        found = _look(path)
    except (OSError, ValueError) as error:
        raise _refuse(path, error) from None
    if found is not None and any(os.path.samestat(found, other) for other in _list_inputs(inputs)):
        raise InputError(f"{path} is what is being read; write to another file")
    _check_place(path, found)


def is_stream(path: str | Path) -> bool:
    """Is this a pipe, a terminal or another character device, or an open file of this process?"""
    found = _look(path)
    kind = 0 if found is None else found.st_mode
    return stat.S_ISFIFO(kind) or stat.S_ISCHR(kind) or bool(DESCRIPTOR.fullmatch(str(path)))


def _look(path: str | Path) -> os.stat_result | None:
    """Return what stands at a path, or at the end of its links."""
    try:
        return os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        return None


def _list_inputs(names: Iterable[str | None]) -> Iterable[os.stat_result]:
    """Look at every input that is a file: a path, a pattern, or standard input where that is a file."""
    for name in names:
        if name == STDIN:
            with suppress(OSError, AttributeError):  # there may be none
                found = os.fstat(sys.stdin.fileno())
                if stat.S_ISREG(found.st_mode):
                    yield found
        elif name:
            for path in [name] if os.path.lexists(name) else glob(name, recursive=True):  # noqa: PTH207
                with suppress(OSError):
                    yield os.stat(path)  # noqa: PTH116


def _check_place(path: str | Path, found: os.stat_result | None) -> None:
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
    if not os.access(place, os.R_OK):
        return False
    with place.open("rb") as file:
        return file.read(len(DATABASE)) == DATABASE


def _is_same(path: str, other: str) -> bool:
    if STDOUT in (path, other):
        return path == other
    one, two = _look(path), _look(other)
    if one is not None and two is not None:
        return os.path.samestat(one, two) and stat.S_ISREG(one.st_mode)
    return os.path.realpath(path) == os.path.realpath(other)


def _write_through(path: str, data: bytes) -> None:
    found = DESCRIPTOR.fullmatch(path)
    if found:
        sys.stdout.flush()
        handle = os.dup(STANDARD[found[1]] if found[1] else int(found[2]))
    else:
        handle = os.open(path, os.O_WRONLY | getattr(os, "O_NOCTTY", 0))
    with os.fdopen(handle, "wb") as file:
        file.write(data)


def _replace(place: Path, data: bytes) -> None:
    """Write beside the place and move there; what was there before leaves its owner and mode."""
    before = _look(place)
    with lend_part(place.parent, 0o666 if before is None else 0o600) as part:
        with part.open("r+b") as file:
            file.write(data)
            file.flush()
            if before is not None:
                _copy_rights(file.fileno(), before)
            os.fsync(file.fileno())
        part.replace(place)


def _copy_rights(handle: int, before: os.stat_result) -> None:
    """Keep owner, group and mode; rights of a group that cannot be kept are dropped."""
    if os.name != "posix":
        return
    for user, group in ((-1, before.st_gid), (before.st_uid, -1)):
        with suppress(OSError):
            os.chown(handle, user, group)
    lost = 0 if os.fstat(handle).st_gid == before.st_gid else GROUP_RIGHTS
    os.chmod(handle, before.st_mode & RIGHTS & ~lost)


@contextmanager
def lend_part(folder: Path, mode: int) -> Iterator[Path]:
    """Lend an empty file, and remove it if it is still there at the end; those that killed processes left are removed too.

    It is neither open nor locked meanwhile: its name says which process writes it. On some systems our lock would keep SQLite
    out, and closing our handle would drop SQLite's locks.
    """
    remove_parts(folder)
    part = folder / PART.format(host=_name_host(), process=os.getpid(), random=secrets.token_hex(8))
    _LENT.add(part.name)
    try:
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode))
        yield part
    finally:
        _remove(part)
        _LENT.discard(part.name)


def remove_parts(folder: Path) -> None:
    """Remove parts that killed processes left. A part of two names is in its place already."""
    if os.name != "posix":
        return  # there, asking whether a process is alive would end it
    for part in folder.glob(PART.format(host="*", process="*", random="*")):
        with suppress(OSError):
            if part.lstat().st_nlink > 1 or (part.is_file() and _is_left(part.name)):
                _remove(part)


def _is_left(name: str) -> bool:
    """Is this the part of a process of this machine that is gone? Of other machines one cannot tell."""
    found = PART_NAME.fullmatch(name)
    if not found or found["host"] != _name_host() or name in _LENT:
        return False
    process = int(found["process"])
    return process == os.getpid() or not _is_alive(process)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


@cache
def _name_host() -> str:
    """Name the machine, or the container, whose process numbers these are."""
    name = socket.gethostname()
    with suppress(OSError, AttributeError):
        name += os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    return sha256(name.encode()).hexdigest()[:8]


def _remove(part: Path) -> None:
    """Remove a part and SQLite's logs of it; the part last, since the logs are found by it."""
    for ending in ("-wal", "-shm", ""):
        part.with_name(part.name + ending).unlink(missing_ok=True)


def _refuse(path: str | Path, error: OSError | ValueError) -> InputError:
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(f"{path} cannot be written: {reason[:1].lower()}{reason[1:]}")
