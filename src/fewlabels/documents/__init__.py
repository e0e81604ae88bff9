"""Documents that other programs wrote, or that lay on a disk: read through a schema into typed, frozen values.

Sizes, depths and numbers are bounded, and whatever does not fit the schema ends in one `InputError` that names the file,
the place in it and the reason. What the values mean is up to the modules above. Names are loaded when first used: pydantic
takes a while to import, and most commands read none of these documents.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fewlabels.documents.earlier import EarlierAssessment, read_earlier
    from fewlabels.documents.harness import HarnessSample
    from fewlabels.documents.inspection import InspectHeader, InspectLog, InspectSample
    from fewlabels.documents.reading import check, check_type, parse, parse_any, read_file, read_lines, read_member
    from fewlabels.documents.session import SessionDocument
    from fewlabels.documents.studio import Annotation, Result, Task, TaskList
    from fewlabels.documents.surface import SurfaceDocument

_HOMES = {
    "earlier": ("EarlierAssessment", "read_earlier"),
    "harness": ("HarnessSample",),
    "inspection": ("InspectHeader", "InspectLog", "InspectSample"),
    "reading": ("check", "check_type", "parse", "parse_any", "read_file", "read_lines", "read_member"),
    "session": ("SessionDocument",),
    "studio": ("Annotation", "Result", "Task", "TaskList"),
    "surface": ("SurfaceDocument",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Annotation", "EarlierAssessment", "HarnessSample", "InspectHeader", "InspectLog", "InspectSample", "Result",
    "SessionDocument", "SurfaceDocument", "Task", "TaskList", "check", "check_type", "parse", "parse_any", "read_earlier", "read_file",
    "read_lines", "read_member",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fewlabels.documents' has no attribute {name!r}")
    return getattr(import_module(f"fewlabels.documents.{_HOME[name]}"), name)
