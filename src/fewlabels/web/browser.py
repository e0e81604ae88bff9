"""Open the owner's browser without a secret on its command line, which every user of the machine can read.

The browser gets a file that only the owner can read. The file redirects to the page with a one-time code and is removed
once the code is used. It is next to the session, because sandboxed browsers cannot read temporary files.
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
from pathlib import Path
from threading import Thread

from fewlabels.web.one_time_codes import LIFETIME, OneTimeCodes

REDIRECT = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<title>fewlabels</title><meta http-equiv="refresh" content="0;url={address}"><p><a href="{address}">Continue to the labelling page</a></p></html>
"""


@contextmanager
def opened_browser(address: str, codes: OneTimeCodes, session_path: Path | None) -> Iterator[None]:
    """Open a browser at the page; remove the redirect file when the block ends."""
    code = codes.issue()
    session_path = (session_path or Path(tempfile.gettempdir(), "fewlabels")).absolute()
    file = session_path.with_name(f"{session_path.name}.{secrets.token_hex(4)}.html")
    _remove_leftovers(session_path)
    try:
        _write_private_file(file, REDIRECT.format(address=html.escape(f"{address}/?code={code}")))
    except OSError:  # the link is printed anyway
        yield
        return
    for work in (lambda: webbrowser.open(file.as_uri()), lambda: _remove_used(file, code, codes)):
        Thread(target=work, daemon=True, name="browser").start()  # some browsers block until they are closed
    try:
        yield
    finally:
        codes.drop()
        file.unlink(missing_ok=True)


def _write_private_file(file: Path, text: str) -> None:
    """Write the redirect file for the browser, which only its owner can read."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
        opened.write(text)


def _remove_leftovers(session_path: Path) -> None:
    """Remove redirect files of killed servers from earlier browsers; their codes have expired."""
    now = time.time()
    name = re.compile(rf"{re.escape(session_path.name)}\.[0-9a-f]{{8}}\.html")
    with suppress(OSError):
        for file in [one for one in session_path.parent.iterdir() if name.fullmatch(one.name)]:
            if now - file.lstat().st_mtime > LIFETIME:  # a newer file may belong to another server
                file.unlink(missing_ok=True)


def _remove_used(file: Path, code: str, codes: OneTimeCodes) -> None:
    """Remove the redirect file once the browser has used its code."""
    codes.wait_until_used(code)
    file.unlink(missing_ok=True)
