"""How many threads linear algebra may use while a replay is played: one, wherever it is.

Sums that are split over threads round differently, and a policy that follows them goes another way: with as many threads as
there happen to be cores, the same seed would not give the same rows on another machine, nor in another process.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from threadpoolctl import threadpool_limits


@dataclass
class _Hold:
    """Who relies on one thread. The number is the whole process's, so only the last one to leave may give it back."""

    lock: Lock = field(default_factory=Lock)
    holders: int = 0
    limits: threadpool_limits | None = None

    def take(self) -> None:
        with self.lock:
            if not self.holders:
                self.limits = threadpool_limits(limits=1, user_api="blas")
            self.holders += 1

    def leave(self) -> None:
        with self.lock:
            self.holders -= 1
            if not self.holders and self.limits is not None:
                self.limits.restore_original_limits()


_HOLD = _Hold()


@contextmanager
def use_one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread; side by side and inside one another, too.

    >>> import numpy as np
    >>> with use_one_thread():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    _HOLD.take()
    try:
        yield
    finally:
        _HOLD.leave()
