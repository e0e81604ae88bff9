"""How fast one person may answer: nobody reads thirty items a second, and a stuck key should not label a thousand."""

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

MOST = 10_000  # people remembered


@dataclass
class Pace:
    """So many requests a second for everyone, and some at once."""

    rate: float = 30.0
    burst: float = 60.0
    clock: Callable[[], float] = time.monotonic
    _left: dict[str, tuple[float, float]] = field(default_factory=lambda: defaultdict(lambda: (0.0, 0.0)), repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def allows(self, who: str) -> bool:
        """May this person go on now?

        >>> pace = Pace(rate=1.0, burst=2.0, clock=lambda: 0.0)
        >>> [pace.allows("ann") for _ in range(3)], pace.allows("bob")
        ([True, True, False], True)
        """
        now = self.clock()
        with self._lock:
            if len(self._left) > MOST:  # a name costs nothing to make up
                self._left.clear()
            left, then = self._left.get(who, (self.burst, now))
            left = min(self.burst, left + self.rate * (now - then))
            self._left[who] = (left - 1 if left >= 1 else left, now)
            return left >= 1
