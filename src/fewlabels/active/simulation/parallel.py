"""Who does the work: threads, processes or a cluster, as joblib is told.

Every call brings its own seed and keeps to one thread, so that what comes back is the same wherever it was worked out, and in
the same order.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from fewlabels.active.simulation.blas import use_one_thread
from fewlabels.errors import InputError

Hint = Literal["threads", "processes"]
ALL = -1  # cores


def spread(calls: Iterable[Any], *, n_jobs: int | None = None, prefer: Hint = "processes") -> Iterator[Any]:
    """Make calls (of `joblib.delayed`) side by side, and yield what they return, in their order.

    Whoever sets `joblib.parallel_config` decides where, and how many at a time unless told here; all cores otherwise.

    >>> from joblib import delayed, parallel_config
    >>> with parallel_config(backend="threading", n_jobs=2):
    ...     list(spread(delayed(pow)(2, k) for k in range(4)))
    [1, 2, 4, 8]
    """
    _, told = get_active_backend()
    if n_jobs is not None and n_jobs < 1 and n_jobs != ALL:
        raise InputError(f"jobs: {n_jobs} at a time make no sense; say how many, or -1 for as many as there are cores")
    backend, _ = get_active_backend(prefer=prefer)
    # Some clusters hand back nothing until everything is done.
    how: Any = "generator" if backend.supports_return_generator else "list"
    steady = (delayed(call_steadily)(function, *given, **named) for function, given, named in calls)
    with use_one_thread():
        yield from Parallel(n_jobs=n_jobs or told or ALL, prefer=prefer, return_as=how)(steady)


def call_steadily(function: Callable[..., Any], /, *given: Any, **named: Any) -> Any:
    """Call with one thread for linear algebra; a worker elsewhere knows nothing of what was set here."""
    with use_one_thread():
        return function(*given, **named)
