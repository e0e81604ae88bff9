"""Read logs of Inspect: one JSON object (`.json`), or a zip archive with a JSON file per sample (`.eval`).

The first score of a sample is its grade; C, I, P and N mean 1, 0, 0.5 and 0, as in Inspect's mean metric. A question
repeated over several epochs is one item, graded by the mean over epochs.
"""

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from fewlabels.data.compression import require_bounded
from fewlabels.data.documents.parsing import parse, read_file, read_member
from fewlabels.data.logs.inspect_schema import InspectHeader, InspectLog, InspectSample
from fewlabels.data.logs.rows import Item, Log, are_classes, as_unit_float, make_ids_unique, to_log_columns
from fewlabels.errors import InputError, count

HEAD_BYTES = 4096  # first bytes, enough to recognise a log in JSON
LOG_HEADER = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"(?:started|success|cancelled|error)"')
GRADE_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
HEADERS = ("header.json", "_journal/start.json", "start.json")  # newest first
NO_ANSWER = "(no answer)"
CUT_SHORT = "was the log cut short?"
Part = TypeVar("Part", InspectHeader, InspectSample)


def is_log(path: Path) -> bool:
    """Return whether a file is a log of Inspect, by its extension or first bytes."""
    if path.name.lower().endswith(".eval"):
        return True
    with path.open("rb") as file:
        return LOG_HEADER.match(file.read(HEAD_BYTES)) is not None


def read_logs(paths: Sequence[Path]) -> Log:
    """Read the samples of one or several logs of Inspect."""
    found = [(path, _read_inspect_log(path)) for path in paths]
    merged = [(path, item) for path, items in found for item in _merge_epochs(items)]
    items = make_ids_unique([item for _, item in merged], [path for path, _ in merged])
    if not any(item.grade is not None for item in items):
        raise InputError(
            f"{paths[0]}: a log of Inspect with nothing to assess: none of its {count(len(items), 'sample')} has a score "
            "from 0 to 1; score it first (inspect score)"
        )
    repeated = sum(len(same) for _, same in found) - len(items)
    classes = not repeated and are_classes(items)
    notes = (f"{count(repeated, 'answer')} of later epochs: every question is one item, graded by the mean",)
    return Log(to_log_columns(items, classes=classes), notes if repeated else ())


def _read_inspect_log(path: Path) -> list[Item]:
    """Read the items of one log of Inspect."""
    header, samples = _read_inspect_archive(path) if path.suffix.lower() == ".eval" else _read_inspect_json(path)
    task, model = (header.eval.task, header.eval.model) if header.eval else (None, None)
    if not samples:
        raise InputError(
            f"{path}: a log of Inspect with nothing to assess: it holds no samples (status: {header.status or 'unknown'}); "
            "was it run with --no-log-samples, or stopped at once?"
        )
    return [_read_sample(task or path.stem, model, sample) for sample in samples]


def _read_inspect_json(path: Path) -> tuple[InspectHeader, Sequence[InspectSample]]:
    """Read a log of Inspect that is one JSON object."""
    log = parse(InspectLog, read_file(path), str(path), CUT_SHORT)
    return log, log.samples or []


def _read_inspect_archive(path: Path) -> tuple[InspectHeader, Sequence[InspectSample]]:
    """Read a log of Inspect that is a zip archive."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise InputError(f"{path}: cannot be read as a log of Inspect: {error}") from None
    with archive:
        require_bounded(path, sum(member.file_size for member in archive.infolist()))
        names = set(archive.namelist())
        found = next((name for name in HEADERS if name in names), None)
        header = _read_member(archive, path, found, InspectHeader) if found else InspectHeader()
        samples = [_read_member(archive, path, name, InspectSample) for name in sorted(_sample_names(names))]
    return header, samples


def _sample_names(names: set[str]) -> Iterator[str]:
    """List the members of an Inspect archive that are samples."""
    return (name for name in names if name.startswith("samples/") and name.endswith(".json"))


def _read_member(archive: zipfile.ZipFile, path: Path, name: str, schema: type[Part]) -> Part:
    """Read a member of an Inspect archive."""
    raw = read_member(archive, name, str(path))
    return parse(schema, raw, f"{path}, {name}", CUT_SHORT)


def _read_sample(task: str, model: str | None, sample: InspectSample) -> Item:
    """Convert a sample of Inspect to an item."""
    scores = sample.scores or {}
    first = next(iter(scores.values()), None)
    grade, is_choice = _read_grade(first and first.value), bool(sample.choices)
    given = _as_answer(first and first.answer)
    others = {
        "model": model, **(sample.metadata or {}), "input": _as_text(sample.input), "target": _read_single_target(sample.target),
        **{name: _read_grade(score.value) for name, score in scores.items()},
    }  # fmt: skip
    return Item(
        f"{task}/{sample.id}", task, given or (NO_ANSWER if is_choice else _read_completion(sample)), grade,
        _read_single_target(sample.target) if is_choice and grade is not None else None, others=others,
    )  # fmt: skip


def _as_answer(answer: Any) -> str | None:
    """Return the answer that a scorer of Inspect extracted, if it is a plain value."""
    return str(answer) if isinstance(answer, str | int | float) else None


def _read_grade(value: Any) -> float | None:
    """Convert a score of Inspect to a number from 0 to 1; None if that is impossible or the sample was not scored."""
    if isinstance(value, str):
        value = GRADE_VALUES.get(value, GRADE_VALUES.get(value.lower(), value))
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return as_unit_float(value)


def _read_single_target(target: Any) -> str | None:
    """Return the right answer of an Inspect sample; None if there are several."""
    if isinstance(target, list):
        return str(target[0]) if len(target) == 1 else None
    return None if target is None else str(target)


def _read_completion(sample: InspectSample) -> str | None:
    """Return the text that the model wrote in an Inspect sample."""
    if sample.output is None:
        return None
    if sample.output.completion:
        return str(sample.output.completion)
    first = next(iter(sample.output.choices or []), None)
    return _as_text(first.message.content) if first and first.message else None


def _as_text(content: Any) -> str | None:
    """Return the text of a message in an Inspect log, of a list of messages, or of message parts."""
    if content is None or isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = [_as_text(part.get("text") or part.get("content")) for part in parts if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if text) or None


def _merge_epochs(items: Sequence[Item]) -> list[Item]:
    """Merge the epochs of every question in an Inspect log into one item, graded by their mean."""
    asked: dict[str, list[Item]] = {}
    for item in items:
        asked.setdefault(item.id, []).append(item)
    return [_average_epochs(same) if len(same) > 1 else same[0] for same in asked.values()]


def _average_epochs(same: Sequence[Item]) -> Item:
    """Average the grades of a question over the epochs of an Inspect log."""
    grades = [item.grade for item in same if item.grade is not None]
    return replace(same[0], grade=sum(grades) / len(grades) if grades else None)
