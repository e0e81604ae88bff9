"""Where a session's file lies: a name nobody has yet, rights, and the logs SQLite keeps beside it."""

import os
from pathlib import Path

from fewlabels.errors import InputError
from fewlabels.files import remove_parts
from fewlabels.sessions.journal.errors import TAKEN

PRIVATE = 0o600  # answers, names and notes are for the owner; to share a session, change its mode


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
        path.touch(PRIVATE, exist_ok=False)
        _replace_empty(part, path)


def _replace_empty(part: Path, path: Path) -> None:
    try:
        part.replace(path)
    except OSError:
        path.unlink(missing_ok=True)
        raise


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
        remove_parts(path.parent)  # its creation was killed before the part was removed


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
