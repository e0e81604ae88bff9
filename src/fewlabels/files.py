"""Output files: written whole or not at all, through links, pipes and devices, and never over an input.

A regular file is written beside its place and moved there, so that readers see the old content or the new one. A link
stays a link: its target is replaced. A pipe or a terminal is written to as it stands.
"""

import os
import re
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import glob
from itertools import combinations
from pathlib import Path

from fewlabels.errors import InputError

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

PART, PART_LETTERS = ".fewlabels-{}.part", 16  # a file that is being written
STDIN = STDOUT = "-"
DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|(?:/dev|/proc/self)/fd/(\d+)")
STANDARD = {"stdout": 1, "stderr": 2}
DATABASE = b"SQLite format 3\0"
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
    for user, group in ((-1, before.st_gid), (before.st_uid, -1)):
        with suppress(OSError):
            os.chown(handle, user, group)
    lost = 0 if os.fstat(handle).st_gid == before.st_gid else GROUP_RIGHTS
    os.chmod(handle, before.st_mode & RIGHTS & ~lost)


@contextmanager
def lend_part(folder: Path, mode: int) -> Iterator[Path]:
    """Lend an empty file, and remove it if it is still there at the end; those that killed processes left are removed too.

    A part is locked while its process lives, so others can tell which parts are abandoned.
    """
    remove_parts(folder)
    part, handle = _make_part(folder, mode)
    try:
        yield part
    finally:
        _remove(part)
        os.close(handle)  # last: closing it drops the locks that SQLite has on the file in this process


def remove_parts(folder: Path) -> None:
    """Remove parts that killed processes left.

    A part of two names is in its place already. It must not be opened: that could drop locks of SQLite.
    """
    for part in folder.glob(PART.format("?" * PART_LETTERS)):
        with suppress(OSError):
            if part.lstat().st_nlink > 1:
                part.unlink()
            elif part.is_file():
                _remove_if_left(part)


def _make_part(folder: Path, mode: int) -> tuple[Path, int]:
    while True:
        part = folder / PART.format(secrets.token_hex(PART_LETTERS // 2))
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        with suppress(OSError):
            _lock(handle)
        if os.fstat(handle).st_nlink:
            return part, handle
        os.close(handle)  # another process took it for a part that was left, before it was locked


def _remove_if_left(part: Path) -> None:
    handle = os.open(part, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        _lock(handle)  # which fails while its process is alive
        _remove(part)
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    """Lock a file until it is closed, at the latest by the death of this process."""
    if fcntl is None:
        raise OSError("no locks on this system")
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove(part: Path) -> None:
    """Remove a part and SQLite's logs of it; the part last, since the logs are found by it."""
    for ending in ("-wal", "-shm", ""):
        part.with_name(part.name + ending).unlink(missing_ok=True)


def _refuse(path: str | Path, error: OSError | ValueError) -> InputError:
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(f"{path} cannot be written: {reason[:1].lower()}{reason[1:]}")
