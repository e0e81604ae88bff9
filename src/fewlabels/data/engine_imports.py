"""Import Ibis with the SQL compiler of DuckDB only; those of other engines are imported when something asks for them.

Ibis imports the compilers of twenty engines with the first one, which takes as long as an assessment of a small file.
This module stands in for that package until another compiler is needed, and then runs the package's own code.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType

COMPILERS = "ibis.backends.sql.compilers"


class _CompilersOnDemand(ModuleType):
    """The package of compilers; its first missing attribute runs the code of the package."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") or self.__spec__ is None or self.__spec__.loader is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        self.__class__ = ModuleType  # type: ignore[assignment]
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def postpone_compilers() -> None:
    """Import no compilers of other engines, by a stand-in; nothing happens if Ibis has imported them already."""
    parent = import_module(COMPILERS.rpartition(".")[0])
    spec = find_spec(COMPILERS)
    if COMPILERS in sys.modules or spec is None:
        return
    package = module_from_spec(spec)
    package.__class__ = _CompilersOnDemand
    sys.modules[COMPILERS] = package
    parent.compilers = package  # type: ignore[attr-defined]
    package.DuckDBCompiler = import_module(f"{COMPILERS}.duckdb").DuckDBCompiler  # type: ignore[attr-defined]


postpone_compilers()
