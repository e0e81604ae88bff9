"""The owner's browser, opened without a secret on a command line, which every user of the machine can read.

The browser is given a file that only the owner can read. It leads to the page with a code that can be used once, and is
removed when that is done. It lies beside the session: sandboxed browsers see no other user files and no temporary ones.
"""

import html
import os
import re
import secrets
import tempfile
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Condition, Thread

from fewlabels.web.credentials import make_token

SECONDS = 120.0  # for which a code can be used
REDIRECT = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<title>fewlabels</title><meta http-equiv="refresh" content="0;url={address}"><p><a href="{address}">Go on to the labelling page</a></p></html>
"""


@dataclass
class OneTimeCodes:
    """Codes that stand for the owner's token once, and for two minutes only.

    >>> codes = OneTimeCodes()
    >>> code = codes.issue()
    >>> codes.redeem("wrong"), codes.redeem(code), codes.redeem(code)
    (False, True, False)
    """

    seconds: float = SECONDS
    _until: dict[bytes, float] = field(default_factory=dict, repr=False)
    _changed: Condition = field(default_factory=Condition, repr=False)

    def issue(self) -> str:
        """Return a new code."""
        code = make_token()
        with self._changed:
            self._until[_hash(code)] = time.monotonic() + self.seconds
        return code

    def redeem(self, code: str) -> bool:
        """Use a code up; False where it is unknown, used or too old."""
        with self._changed:
            until = self._until.pop(_hash(code), 0.0)
            self._changed.notify_all()
        return until > time.monotonic()

    def wait_until_used(self, code: str) -> None:
        """Wait until a code is used, or too old."""
        with self._changed:
            until = self._until.get(_hash(code), 0.0)
            self._changed.wait_for(lambda: _hash(code) not in self._until, until - time.monotonic())

    def drop(self) -> None:
        """Forget all codes."""
        with self._changed:
            self._until.clear()
            self._changed.notify_all()


@contextmanager
def opened_browser(address: str, codes: OneTimeCodes, beside: Path | None) -> Iterator[None]:
    """Open a browser at the page, and leave no file behind when the block ends."""
    code = codes.issue()
    beside = (beside or Path(tempfile.gettempdir(), "fewlabels")).absolute()
    file = beside.with_name(f"{beside.name}.{secrets.token_hex(4)}.html")
    _remove_leftovers(beside)
    try:
        _write(file, REDIRECT.format(address=html.escape(f"{address}/?code={code}")))
    except OSError:  # the link is printed in any case
        yield
        return
    for work in (lambda: webbrowser.open(file.as_uri()), lambda: _remove_used(file, code, codes)):
        Thread(target=work, daemon=True, name="browser").start()  # some browsers return only once they are closed
    try:
        yield
    finally:
        codes.drop()
        file.unlink(missing_ok=True)


def _write(file: Path, text: str) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
        opened.write(text)


def _remove_leftovers(beside: Path) -> None:
    """Remove files of servers that were killed; their codes are of no use any more."""
    now = time.time()
    name = re.compile(rf"{re.escape(beside.name)}\.[0-9a-f]{{8}}\.html")
    with suppress(OSError):
        for file in [one for one in beside.parent.iterdir() if name.fullmatch(one.name)]:
            if now - file.lstat().st_mtime > SECONDS:  # a younger one may be another server's
                file.unlink(missing_ok=True)


def _remove_used(file: Path, code: str, codes: OneTimeCodes) -> None:
    codes.wait_until_used(code)
    file.unlink(missing_ok=True)


def _hash(code: str) -> bytes:
    return sha256(code.encode("utf-8", "surrogateescape")).digest()
