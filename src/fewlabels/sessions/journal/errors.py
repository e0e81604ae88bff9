"""Errors of SQLite and the operating system, translated into messages that say what to do."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fewlabels.errors import InputError


class StorageError(InputError):
    """A session's file could not be read or written at the moment: a full disk, a lock of another process. Nothing was saved."""


class UnusableError(InputError):
    """A session's file is damaged, or may not be written: trying again does not help. Nothing was saved."""


ALREADY_EXISTS = "already exists; open it, or choose another name"
ASK_OWNER = "ask its owner for write permission, or work on a copy"
RESTORE_COPY = "go back to an earlier copy"
MAX_MESSAGE = 200  # characters of SQLite's message, which may repeat damaged text
NOT_A_SESSION = "not a session of fewlabels; name the file that was created as one"
_BUSY = "another process has locked it; try again when it is done"
_REASONS = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_PROTOCOL: _BUSY,
    sqlite3.SQLITE_FULL: "{said}; free some space and {again}",
    sqlite3.SQLITE_IOERR: "{said}; free some space and {again}",
    sqlite3.SQLITE_READONLY: "{said}; " + ASK_OWNER,
    sqlite3.SQLITE_CANTOPEN: "{said}; check that its folder is writable, or work on a copy of it and its -wal",
    sqlite3.SQLITE_NOTADB: NOT_A_SESSION,
    sqlite3.SQLITE_CORRUPT: "damaged ({said}); " + RESTORE_COPY,
    sqlite3.SQLITE_ERROR: "damaged ({said}); " + RESTORE_COPY,
}
_TRANSIENT = (  # trying again may help
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
)


@contextmanager
def translated_errors(path: Path, undone: str = "", again: str = "try again") -> Iterator[None]:
    """Translate errors of SQLite and the operating system about a journal's file."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # a closed journal was used: a bug of the caller, not a fault of the file
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        said = str(error)[:MAX_MESSAGE].partition("\n")[0]
        reason = _REASONS.get(code, "{said}").format(said=said, again=again)
        kind = StorageError if code in _TRANSIENT else UnusableError
        raise kind(f"{path}: {undone}{reason}") from None
    except OSError as error:
        raise StorageError(f"{path}: {undone}{error.strerror}") from None
    except UnicodeDecodeError:  # SQLite's message repeats the names of tables
        raise InputError(f"{path}: {undone}damaged (it holds text that is not UTF-8); {RESTORE_COPY}") from None
    except UnicodeEncodeError as error:
        raise InputError(f"{path}: {undone}{error.object!a} is not text; {again} without it") from None
