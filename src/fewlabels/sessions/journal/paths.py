"""Paths of a session's file: unused names, permissions, and the logs that SQLite keeps beside it."""

import os
from pathlib import Path

from fewlabels.errors import InputError
from fewlabels.files import remove_stale_files
from fewlabels.sessions.journal.errors import ALREADY_EXISTS

PRIVATE = 0o600  # answers, names and notes are private; to share a session, change its mode


def link_new_file(part: Path, path: Path) -> None:
    """Link the finished file to its path, unless the path exists; a rename would replace it."""
    try:
        _link_new_file(part, path)
    except FileExistsError:
        raise InputError(f"{path} {ALREADY_EXISTS}") from None
    _sync_folder(path.parent)


def _link_new_file(part: Path, path: Path) -> None:
    """Link the finished file to its path; where links are impossible, move it onto an empty file of that name."""
    try:
        path.hardlink_to(part)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: there, a kill between these two lines leaves an empty file
        path.touch(PRIVATE, exist_ok=False)
        _replace_empty(part, path)


def _replace_empty(part: Path, path: Path) -> None:
    """Move the finished file onto the empty file at its path."""
    try:
        part.replace(path)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    """Sync the folder of a path: a synced file can still lose its name in a power cut."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def require_file(path: Path) -> None:
    """Refuse a path that is no readable file; do not open it, which would drop this process's locks on it."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name the file of a session in it")
    try:
        n_names = path.stat().st_nlink
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; create a session first, or correct the name") from None
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: no permission to read it; ask its owner")
    if n_names > 1:
        remove_stale_files(path.parent)  # its creation was killed before its temporary file was removed


def require_free_path(path: Path) -> None:
    """Refuse a path that exists, or has an old log beside it, which SQLite would apply to a new file."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it")
    if os.path.lexists(path):
        raise InputError(f"{path} {ALREADY_EXISTS}")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; create it first")
    for log in (sidecar_path(path, "-wal"), sidecar_path(path, "-journal")):
        if is_nonempty(log):
            raise InputError(f"{log} is left over from a deleted session; move it away, or choose another name")


def is_writable(path: Path) -> bool:
    """Whether the path of a file and its folder are writable."""
    return os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK)


def sidecar_path(path: Path, ending: str) -> Path:
    """Return the path of a log of SQLite, which is beside the file itself, not beside a link to it."""
    path = path.resolve()
    return path.with_name(path.name + ending)


def is_nonempty(path: Path) -> bool:
    """Whether a file exists at this path and is not empty."""
    return path.exists() and path.stat().st_size > 0
