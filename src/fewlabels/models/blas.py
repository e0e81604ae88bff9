"""Limit linear algebra to one thread, so that a seed gives the same figures on every machine, and sooner.

Sums split over threads round differently: a policy can then choose another group, and chains diverge. Where matrices are
small, threads spend their time waiting for each other: chains of fifty groups took four times the processor time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from threadpoolctl import threadpool_limits


@dataclass
class _ThreadLimit:
    """Reference-counted thread limit: it applies to the whole process, so the last user restores it."""

    lock: Lock = field(default_factory=Lock)
    n_users: int = 0
    limits: threadpool_limits | None = None

    def acquire(self) -> None:
        """Limit BLAS to one thread, if this is the first user."""
        with self.lock:
            if not self.n_users:
                self.limits = threadpool_limits(limits=1, user_api="blas")
            self.n_users += 1

    def release(self) -> None:
        """Restore the number of BLAS threads after the last user."""
        with self.lock:
            self.n_users -= 1
            if not self.n_users and self.limits is not None:
                self.limits.restore_original_limits()


_THREAD_LIMIT = _ThreadLimit()


@contextmanager
def use_one_thread() -> Iterator[None]:
    """Limit linear algebra (BLAS) to one thread; nested and concurrent use is safe.

    >>> import numpy as np
    >>> with use_one_thread():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    _THREAD_LIMIT.acquire()
    try:
        yield
    finally:
        _THREAD_LIMIT.release()
