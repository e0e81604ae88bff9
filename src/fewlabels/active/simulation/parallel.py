"""Parallel execution in threads, processes or a cluster, as configured in joblib.

Every call has its own seed and uses one thread for linear algebra, so results and their order do not depend on the
backend.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from fewlabels.errors import InputError
from fewlabels.models.blas import use_one_thread

Preference = Literal["threads", "processes"]
ALL = -1  # cores


def spread(calls: Iterable[Any], *, n_jobs: int | None = None, prefer: Preference = "processes") -> Iterator[Any]:
    """Run `joblib.delayed` calls in parallel and yield their results in order.

    `joblib.parallel_config` sets the backend, and the number of jobs if `n_jobs` is None; the default is all cores.

    >>> from joblib import delayed, parallel_config
    >>> with parallel_config(backend="threading", n_jobs=2):
    ...     list(spread(delayed(pow)(2, k) for k in range(4)))
    [1, 2, 4, 8]
    """
    _, configured_jobs = get_active_backend()
    if n_jobs is not None and n_jobs < 1 and n_jobs != ALL:
        raise InputError(f"jobs must be 1 or more, or -1 for all cores, got {n_jobs}")
    backend, _ = get_active_backend(prefer=prefer)
    # Some cluster backends return nothing until all calls are done.
    return_as: Any = "generator" if backend.supports_return_generator else "list"
    tasks = (delayed(call_single_threaded)(function, *given, **named) for function, given, named in calls)
    with use_one_thread():
        yield from Parallel(n_jobs=n_jobs or configured_jobs or ALL, prefer=prefer, return_as=return_as)(tasks)


def call_single_threaded(function: Callable[..., Any], /, *given: Any, **named: Any) -> Any:
    """Call in a parallel worker with one thread for linear algebra; workers do not inherit this limit."""
    with use_one_thread():
        return function(*given, **named)
