"""A rate limit for each credential, well above human labelling speed; it stops a stuck key from labelling items."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

MAX_CREDENTIALS = 10_000  # credentials tracked; the least recent are dropped


@dataclass
class RateLimit:
    """A token bucket per credential: requests per second and a burst."""

    rate: float = 30.0
    burst: float = 60.0
    clock: Callable[[], float] = time.monotonic
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def allows(self, credential: str) -> bool:
        """Return whether this credential may send one more request now, and count it.

        >>> rate_limit = RateLimit(rate=1.0, burst=2.0, clock=lambda: 0.0)
        >>> [rate_limit.allows("one") for _ in range(3)], rate_limit.allows("other")
        ([True, True, False], True)
        """
        now = self.clock()
        with self._lock:
            left, then = self._buckets.pop(credential, (self.burst, now))
            left = min(self.burst, left + self.rate * (now - then))
            self._buckets[credential] = (left - 1 if left >= 1 else left, now)
            if len(self._buckets) > MAX_CREDENTIALS:
                del self._buckets[next(iter(self._buckets))]
            return left >= 1
