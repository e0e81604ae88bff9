"""Types and shapes of arrays, checked in every call of fewlabels while tests run.

`jaxtyping`'s own import hook wraps every function twice, whether shapes are in its signature or not, which takes a third
of the time of all tests. This one wraps a function once: by beartype, and inside a context of jaxtyping where a shape is
in its signature, so that `group` means the same number in all arguments and in what is returned. Every test checks the
first calls of each function: a function that a sampler calls a million times has the same shapes in the last as in the first.
"""

import ast
import builtins
import functools
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import cache_from_source
from itertools import count
from types import CodeType, ModuleType
from typing import Any, ForwardRef, get_args
from unittest.mock import patch

from beartype import beartype
from jaxtyping import AbstractArray, jaxtyped

NAME = "__check_shapes__"  # how modules call `check_shapes`
VERSION = "shapes1"  # of the compiled files
SHAPES = ("Float[", "Int[", "Bool[")
OFTEN = 20  # calls of a function that are checked in each test
TEST = count()  # numbers of tests
_running = [next(TEST)]  # the number of the test that runs


def start_test() -> None:
    """Check the first calls of every function again."""
    _running[0] = next(TEST)


def check_shapes(checked: Any) -> Any:
    """Return a function, property or dataclass that checks the types of what it gets and returns."""
    if isinstance(checked, classmethod | staticmethod):
        return type(checked)(check_shapes(checked.__func__))
    if isinstance(checked, property):
        return property(*(part and check_shapes(part) for part in (checked.fget, checked.fset, checked.fdel)))
    if inspect.isclass(checked):
        if is_dataclass(checked) and "__init__" in vars(checked):
            checked.__init__ = check_shapes(checked.__init__)
        return checked
    hints, is_generator = checked.__annotations__.values(), inspect.isgeneratorfunction(checked)
    has_shapes = any(map(_is_shape, hints))
    if (has_shapes and is_generator) or not all(_is_known(hint, checked) for hint in hints):
        return _check_often(checked, jaxtyped(checked, typechecker=beartype))  # beartype checks generators too late
    return _check_often(checked, _share_names(beartype(checked)) if has_shapes else beartype(checked))


def _check_often(plain: Callable[..., Any], checked: Callable[..., Any]) -> Callable[..., Any]:
    """Check the first calls in each test; call the function itself after that."""
    if checked is plain:
        return plain
    test, n_calls = _running[0], 0

    @functools.wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal test, n_calls
        if test != _running[0]:
            test, n_calls = _running[0], 0
        n_calls += 1
        return (checked if n_calls <= OFTEN else plain)(*args, **kwargs)

    return call


def _share_names(checked: Callable[..., Any]) -> Callable[..., Any]:
    """Let names of axes mean one number during a call."""

    @functools.wraps(checked)
    def call(*args: Any, **kwargs: Any) -> Any:
        with jaxtyped("context"):
            return checked(*args, **kwargs)

    return call


def _is_known(hint: Any, function: Callable[..., Any]) -> bool:
    """Can a hint be resolved, or was it imported for type checkers only?"""
    if not isinstance(hint, str):
        return True
    known = {**vars(builtins), **function.__globals__, function.__qualname__.partition(".")[0]: object}
    return all(name in known for name in re.findall(r"\b[A-Za-z_]\w*\b(?<!\.)", hint))


def _is_shape(hint: Any) -> bool:
    """Is there a shape in a hint, or in the text of one that is written as text?"""
    if isinstance(hint, str | ForwardRef):
        return any(shape in str(hint) for shape in SHAPES)
    if inspect.isclass(hint) and issubclass(hint, AbstractArray):
        return True
    return any(map(_is_shape, hint if isinstance(hint, list) else get_args(hint)))


class _Decorator(ast.NodeTransformer):
    """Put `check_shapes` last above functions, and first above classes, so that `dataclass` comes before it."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list.append(ast.copy_location(ast.Name(NAME, ast.Load()), node))
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list.insert(0, ast.copy_location(ast.Name(NAME, ast.Load()), node))
        return self.generic_visit(node)


class _Loader(SourceFileLoader):
    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        tree = _Decorator().visit(ast.parse(data, path))
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)

    def get_code(self, fullname: str) -> CodeType | None:
        apart = functools.partial(cache_from_source, optimization=VERSION)  # from what is compiled without checks
        with patch("importlib._bootstrap_external.cache_from_source", lambda path, *_, **__: apart(path)):
            return super().get_code(fullname)

    def exec_module(self, module: ModuleType) -> None:
        setattr(module, NAME, check_shapes)
        super().exec_module(module)


class _Finder(MetaPathFinder):
    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != self.package:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def install(package: str) -> None:
    """Check a package's functions from now on; nothing of it may have been imported."""
    if any(name.partition(".")[0] == package for name in sys.modules):
        raise RuntimeError(f"{package} was imported before its shapes could be checked")
    sys.meta_path.insert(0, _Finder(package))
