"""How kernels are compiled: without the interpreter's lock, and once for all processes.

Only doors (what Python calls) are kept on disk; they contain everything they call. Numba would go on using a door after
a neighbouring file has changed, so the text of the whole folder is part of its name. The only room that knows Numba.
"""

import hashlib
from collections.abc import Callable
from inspect import unwrap
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.types import Array, NamedTuple
from numba.extending import intrinsic, overload

Function = TypeVar("Function", bound=Callable[..., Any])
OPTIONS: Any = {"nogil": True, "error_model": "numpy"}
TEXT = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()
IMPLEMENTED: dict[Callable[..., Any], dict[type, Callable[..., Any]]] = {}


def inner(function: Function) -> Function:
    """Compile what only kernels call; checks of types that tests wrap around it are taken off first."""
    return cast(Function, njit(**OPTIONS)(unwrap(function)))


def pasted(function: Function) -> Function:
    """Compile into every caller."""
    return cast(Function, njit(forceinline=True, **OPTIONS)(unwrap(function)))


def woven(function: Function) -> Function:
    """Compile as part of the caller: quicker to compile where there is only one, and that one large."""
    return cast(Function, njit(inline="always", **OPTIONS)(unwrap(function)))


def door(function: Function) -> Function:
    """Compile what Python calls, and keep it on disk under the name of the function and the text around it."""
    plain: Any = unwrap(function)
    plain.__qualname__ = f"{plain.__name__}_{TEXT[:16]}"
    return cast(Function, njit(cache=True, **OPTIONS)(plain))


def generic(stub: Function) -> Function:
    """Declare a function that each kind of state implements for itself."""
    table = IMPLEMENTED[stub] = {}

    def resolve(*arguments: Any) -> Callable[..., Any] | None:
        kinds = [a.instance_class for a in arguments if isinstance(a, NamedTuple) and a.instance_class in table]
        return table[kinds[0]] if kinds else None

    overload(stub, strict=False, jit_options=OPTIONS)(resolve)
    return stub


def implements(stub: Callable[..., Any], state: type) -> Callable[[Function], Function]:
    """Implement a generic function for one kind of state."""

    def register(function: Function) -> Function:
        IMPLEMENTED[stub][state] = unwrap(function)
        return function

    return register


def _look_at(typing: Any, kind: Any) -> Any:  # noqa: ARG001
    return kind(kind), lambda context, builder, _, given: _forget_owner(context, builder, kind, given[0])


def _forget_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, NamedTuple):
        for i, part in enumerate(kind.types):
            borrowed = _forget_owner(context, builder, part, builder.extract_value(value, i))
            value = builder.insert_value(value, borrowed, i)
    elif isinstance(kind, Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo, array.parent = array.meminfo.type(None), array.parent.type(None)
        return array._getvalue()
    return value


# Look at arrays, or named tuples of them, without counting who does: counts are atomic, and cost more than most draws.
# Only for what the caller of a door holds on to meanwhile.
borrow: Any = intrinsic(_look_at)
