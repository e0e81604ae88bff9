"""How long calls take in this process."""

import statistics
import time
from collections.abc import Callable


def clock(call: Callable[[], object], now: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of a call, on the wall unless another clock is given."""
    began = now()
    call()
    return now() - began


def clock_often(call: Callable[[], object], times: int) -> list[float]:
    """Return the seconds of every call."""
    return [clock(call) for _ in range(times)]


def find_median_time(call: Callable[[], object], times: int) -> float:
    """Return the median of the seconds of several calls."""
    return statistics.median(clock_often(call, times))
