"""Convert evaluation logs of language models to columns with roles.

Two formats are recognised by content: samples of lm-evaluation-harness (`--log_samples`) and logs of Inspect. The
answers to multiple-choice questions become classes: predicted, label and, if logged, probabilities. Other outputs are
graded: the grade of the harness becomes the agreement.
"""

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
    """Read an evaluation log; None for any other source."""
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
    if not isinstance(source, str | Path):
        return []
    if Path(source).is_file():
        return [Path(source)]
    return sorted(map(Path, glob.glob(str(source), recursive=True)))  # noqa: PTH207 (a pattern may be absolute)


__all__ = ["Log", "read_log"]
