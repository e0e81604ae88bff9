"""Where a session's file lies: a name nobody has yet, rights, and the logs SQLite keeps beside it."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from fewlabels.errors import InputError
from fewlabels.journal.faults import TAKEN

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

PART_LETTERS = 8


@contextmanager
def lend_part(path: Path) -> Iterator[Path]:
    """Lend an empty file beside the one to come, and remove those that killed processes left."""
    remove_parts(path)
    part, handle = _make_part(path)
    try:
        yield part
    finally:
        _remove(part)
        os.close(handle)  # after SQLite has closed its own: closing one drops the locks of all


def remove_parts(path: Path) -> None:
    """Remove what killed processes left of files that were to become this one.

    A part that has become this file is only a second name. It must not be opened: that would drop our locks on the file.
    """
    for part in path.parent.glob(f".{escape(path.name)}.{'?' * PART_LETTERS}.part"):
        with suppress(OSError):
            if path.exists() and part.samefile(path):
                part.unlink()
            else:
                _remove_if_left(part)


def _make_part(path: Path) -> tuple[Path, int]:
    """Make an empty file and lock it, so that others know that its process is alive."""
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(PART_LETTERS // 2)}.part")
        handle = os.open(
            part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666
        )  # SQLite would give it fewer rights than the umask
        with suppress(OSError):
            _lock(handle)
        if os.fstat(handle).st_nlink:
            return part, handle
        os.close(handle)  # another process took it for a part that was left, before it was locked


def _remove_if_left(part: Path) -> None:
    handle = os.open(part, os.O_RDWR)
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
    """Remove a part and its logs; the part last, since the logs are found by it."""
    for name in (name_beside(part, "-wal"), name_beside(part, "-shm"), part):
        name.unlink(missing_ok=True)


def put_in_place(part: Path, path: Path) -> None:
    """Give the finished file its name, unless the name is taken, which a rename would not notice."""
    try:
        _link(part, path)
    except FileExistsError:
        raise InputError(f"{path} {TAKEN}") from None
    _sync_folder(path.parent)


def _link(part: Path, path: Path) -> None:
    try:
        path.hardlink_to(part)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: there, a kill between these two lines leaves an empty file
        path.touch(exist_ok=False)
        part.replace(path)


def _sync_folder(folder: Path) -> None:
    """A file that is synced can still lose its name in a power cut."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refuse_other_than_file(path: Path) -> None:
    """Ask the file system only: reading the file here would drop the locks that this process has on it."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name the file of a session in it")
    try:
        n_names = path.stat().st_nlink
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; create a session first, or mend the name") from None
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: you may not read it; ask its owner")
    if n_names > 1:
        remove_parts(path)  # its creation was killed before the part was removed


def refuse_taken(path: Path) -> None:
    """An old log beside a new file would be played into it."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it")
    if os.path.lexists(path):
        raise InputError(f"{path} {TAKEN}")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; make it first")
    for log in (name_beside(path, "-wal"), name_beside(path, "-journal")):
        if has_bytes(log):
            raise InputError(f"{log} is left of a session that is gone; move it away, or choose another name")


def is_writable(path: Path) -> bool:
    """May we write the file, and beside it?"""
    return os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK)


def name_beside(path: Path, ending: str) -> Path:
    """SQLite keeps its logs beside the file itself, not beside a link to it."""
    path = path.resolve()
    return path.with_name(path.name + ending)


def has_bytes(path: Path) -> bool:
    """Is there anything in a file?"""
    return path.exists() and path.stat().st_size > 0
