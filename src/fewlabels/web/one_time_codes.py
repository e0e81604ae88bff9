"""One-time codes that sign a browser in, so that no token is on a command line."""

import time
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Condition

from fewlabels.web.credentials import make_token

LIFETIME = 120.0  # seconds


@dataclass
class OneTimeCodes:
    """One-time codes that sign the owner in; they expire after two minutes.

    >>> codes = OneTimeCodes()
    >>> code = codes.issue()
    >>> codes.redeem("wrong"), codes.redeem(code), codes.redeem(code)
    (False, True, False)
    """

    seconds: float = LIFETIME
    _expiries: dict[bytes, float] = field(default_factory=dict, repr=False)
    _changed: Condition = field(default_factory=Condition, repr=False)

    def issue(self) -> str:
        """Return a new code."""
        code = make_token()
        with self._changed:
            self._expiries[_hash_code(code)] = time.monotonic() + self.seconds
        return code

    def redeem(self, code: str) -> bool:
        """Consume a code; False if it is unknown, used or expired."""
        with self._changed:
            until = self._expiries.pop(_hash_code(code), 0.0)
            self._changed.notify_all()
        return until > time.monotonic()

    def wait_until_used(self, code: str) -> None:
        """Wait until a code is used or expired."""
        with self._changed:
            until = self._expiries.get(_hash_code(code), 0.0)
            self._changed.wait_for(lambda: _hash_code(code) not in self._expiries, until - time.monotonic())

    def drop(self) -> None:
        """Invalidate all codes."""
        with self._changed:
            self._expiries.clear()
            self._changed.notify_all()


def _hash_code(code: str) -> bytes:
    """Hash a one-time code."""
    return sha256(code.encode("utf-8", "surrogateescape")).digest()
