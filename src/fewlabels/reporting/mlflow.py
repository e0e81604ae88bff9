"""Log assessments to MLflow (extra: mlflow), in the run and on the server that MLflow is configured for.

Every estimate is logged with its interval; the assessment as JSON and its HTML report are logged as artifacts.
"""

import re
from collections.abc import Iterator
from importlib import import_module
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.assessment_rows import Estimate, Row
from fewlabels.errors import InputError

FORBIDDEN_CHARACTERS = re.compile(r"[^\w\-. :]")  # not allowed in MLflow names; the slash separates their parts
BATCH_SIZE = 1000  # metrics in one request
MAX_NAME_LENGTH = 75  # characters of a name; up to three names are joined, and MLflow allows 250


def log_assessment(a: Assessment, *, name: str | None = None, folder: str = "fewlabels") -> str:
    """Log an assessment to the active MLflow run (or a new one), and return the run's id.

    Metrics are `NAME`, `NAME.low` and `NAME.high` overall, and `NAME by GROUPS/GROUP`, … for every group. Settings are
    logged as parameters `NAME.by`, …; `FOLDER/NAME/report.html` and `assessment.json` are artifacts.

    Parameters
    ----------
    a
        the assessment to log.
    name
        prefix of all names, by default that of the metric. Set it to log the same metric twice in one run.
    folder
        folder of the artifacts.
    """
    mlflow = _load_mlflow()
    name = _sanitize_name(name or a.metric)
    fresh = mlflow.active_run() is None
    run = mlflow.active_run() or mlflow.start_run()
    try:
        mlflow.log_params({f"{name}.{key}": value for key, value in _collect_params(a).items()})
        values = list(_collect_metrics(name, a))
        for start in range(0, len(values), BATCH_SIZE):
            mlflow.log_metrics(dict(values[start : start + BATCH_SIZE]))
        _log_files(mlflow, a, f"{folder}/{name}")
    finally:
        if fresh:
            mlflow.end_run()
    run_id: str = run.info.run_id
    return run_id


def _collect_params(a: Assessment) -> dict[str, Any]:
    """Return the settings of an assessment as parameters of an MLflow run."""
    return {
        "by": a.by, "prior": a.prior, "level": a.level, "finite_pool": a.finite_pool, "n_items": a.n_items,
        "n_labels": a.n_labels, "seed": a.spec.seed,
    }  # fmt: skip


def _collect_metrics(name: str, a: Assessment) -> Iterator[tuple[str, float]]:
    """Yield overall and group estimates with their intervals as metrics of MLflow; number groups whose sanitized names are equal."""
    yield from _flatten_estimate(name, a.overall)
    seen: set[str] = set()
    for row in a.groups if len(a.groups) > 1 else ():
        group = _sanitize_name(row.group)
        free = next(word for word in chain([group], (f"{group} {i}" for i in count(2))) if word not in seen)
        seen.add(free)
        yield from _flatten_estimate(f"{name} by {_sanitize_name(a.by)}/{free}", row)


def _flatten_estimate(name: str, found: Estimate | Row) -> Iterator[tuple[str, float]]:
    """Return an estimate and its interval as three metrics of MLflow."""
    yield name, found.mean
    yield f"{name}.low", found.low
    yield f"{name}.high", found.high


def _sanitize_name(name: str) -> str:
    """Replace the characters that MLflow does not allow in names.

    >>> _sanitize_name("[0.9, 1]"), _sanitize_name("../x"), _sanitize_name("")
    ('_0.9_ 1_', '_x', '_')
    """
    return FORBIDDEN_CHARACTERS.sub("_", name).strip(" .")[:MAX_NAME_LENGTH] or "_"


def _log_files(mlflow: Any, a: Assessment, folder: str) -> None:
    """Log the report and the JSON of an assessment as files of an MLflow run."""
    with TemporaryDirectory() as place:
        a.report(Path(place) / "report.html")
        a.to_json(Path(place) / "assessment.json")
        mlflow.log_artifacts(place, folder)


def _load_mlflow() -> Any:
    """Import MLflow; it needs an extra."""
    try:
        return import_module("mlflow")
    except ImportError:
        raise InputError("logging an assessment needs MLflow: pip install 'fewlabels[mlflow]'") from None
