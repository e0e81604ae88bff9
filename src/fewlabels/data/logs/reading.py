"""Read the evaluation logs of a source, in whichever format they are."""

import glob
from importlib import import_module
from pathlib import Path
from typing import Any

from fewlabels.data.logs.rows import Log
from fewlabels.errors import InputError

# Readers are imported when a file has one of their extensions, because pydantic is slow to import.
READERS = (
    ("lm-evaluation-harness", "fewlabels.data.logs.harness", (".jsonl", ".jsonl.gz")),
    ("Inspect", "fewlabels.data.logs.inspect_logs", (".json", ".eval")),
)


def read_log(source: Any) -> Log | None:
    """Read the evaluation log of a source, in whichever format; None for any other source."""
    paths = _find_log_files(source)
    for name, module, endings in READERS:
        if not any(path.name.lower().endswith(endings) for path in paths):
            continue
        reader = import_module(module)
        found = [path.name.lower().endswith(endings) and reader.is_log(path) for path in paths]
        if found and all(found):
            log: Log = reader.read_logs(paths)
            return log
        if any(found):
            other = paths[found.index(False)]
            raise InputError(
                f"{source}: {paths[found.index(True)]} is a log of {name} and {other} is none; name one kind"
            )
    return None


def _find_log_files(source: Any) -> list[Path]:
    """Find the log files to read of a source, which may be a pattern."""
    if not isinstance(source, str | Path):
        return []
    if Path(source).is_file():
        return [Path(source)]
    return sorted(map(Path, glob.glob(str(source), recursive=True)))  # noqa: PTH207 (a pattern may be absolute)
