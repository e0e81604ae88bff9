"""Compilation with Numba: without the GIL, and cached on disk for all processes. The only module that imports Numba.

Only entry points (called from Python) are cached; they contain everything they call. Numba does not notice changes in
other files, so a hash of all source files of this package is part of the name of each entry point.
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
SOURCE_HASH = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()
IMPLEMENTED: dict[Callable[..., Any], dict[type, Callable[..., Any]]] = {}


def compiled(function: Function) -> Function:
    """Compile with Numba's JIT a function called only by kernels; first unwrap the type checks that tests add."""
    return cast(Function, njit(**OPTIONS)(unwrap(function)))


def force_inlined(function: Function) -> Function:
    """Compile with Numba's JIT, and inline into every caller (LLVM)."""
    return cast(Function, njit(forceinline=True, **OPTIONS)(unwrap(function)))


def inlined(function: Function) -> Function:
    """Compile with Numba's JIT, and inline before type inference: compiles faster for one large caller."""
    return cast(Function, njit(inline="always", **OPTIONS)(unwrap(function)))


def entry_point(function: Function) -> Function:
    """Compile with Numba's JIT an entry point called from Python, cached on disk by its name and the hash of the sources."""
    plain: Any = unwrap(function)
    plain.__qualname__ = f"{plain.__name__}_{SOURCE_HASH[:16]}"
    return cast(Function, njit(cache=True, **OPTIONS)(plain))


def generic(stub: Function) -> Function:
    """Compile with Numba's JIT a generic function that each kind of state implements."""
    table = IMPLEMENTED[stub] = {}

    def resolve(*arguments: Any) -> Callable[..., Any] | None:
        kinds = [a.instance_class for a in arguments if isinstance(a, NamedTuple) and a.instance_class in table]
        return table[kinds[0]] if kinds else None

    overload(stub, strict=False, jit_options=OPTIONS)(resolve)
    return stub


def implements(stub: Callable[..., Any], state: type) -> Callable[[Function], Function]:
    """Compile with Numba's JIT the implementation of a generic function for one kind of state."""

    def register(function: Function) -> Function:
        IMPLEMENTED[stub][state] = unwrap(function)
        return function

    return register


def _borrow_typed(typing: Any, kind: Any) -> Any:  # noqa: ARG001
    """Return the type and the compiled code of `borrow`, for Numba."""
    return kind(kind), lambda context, builder, _, given: _clear_owner(context, builder, kind, given[0])


def _clear_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Clear the owner of an array, or of all in a named tuple, so that compiled code does not count references."""
    if isinstance(kind, NamedTuple):
        for i, part in enumerate(kind.types):
            borrowed = _clear_owner(context, builder, part, builder.extract_value(value, i))
            value = builder.insert_value(value, borrowed, i)
    elif isinstance(kind, Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo, array.parent = array.meminfo.type(None), array.parent.type(None)
        return array._getvalue()
    return value


# Borrow arrays, or named tuples of them, without reference counting: atomic counts cost more than most draws.
# Only safe for arguments that the caller of an entry point keeps alive.
borrow: Any = intrinsic(_borrow_typed)
