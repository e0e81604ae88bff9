"""Read samples of lm-evaluation-harness: `samples_TASK_DATE.jsonl`, one line per question and filter.

The predicted choice of a multiple-choice question has the largest log-likelihood, as in the harness's `acc`; the
softmax over the choices gives the probabilities. Generated text is graded by a metric of the harness.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fewlabels.data.documents.parsing import parse, parse_any, read_lines
from fewlabels.data.logs.harness_schema import HarnessSample
from fewlabels.data.logs.rows import Item, Log, are_classes, as_unit_float, make_ids_unique, to_log_columns
from fewlabels.errors import InputError, count, join_names

REQUIRED_FIELDS = {"doc_id", "doc", "target", "filtered_resps"}
NAME = re.compile(r"samples_(.+?)(?:_\d{4}-\d\d-\d\dT[\d.-]+)?\.jsonl(?:\.gz)?")
# The metric that grades outputs: the first of these in the log, else the first metric from 0 to 1.
GRADING_METRICS = ("exact_match", "acc", "pass@1", "pass_at_1", "acc_norm", "f1", "em")
CUT_SHORT = "was the log cut short?"


def is_log(path: Path) -> bool:
    """Return whether the first line of a file is a sample of lm-evaluation-harness."""
    try:
        _, line = next(read_lines(path), (1, b"null"))
        first = parse_any(line, str(path))
    except InputError:
        return False
    return isinstance(first, dict) and set(first) >= REQUIRED_FIELDS


def read_logs(paths: Sequence[Path]) -> Log:
    """Read the samples that lm-evaluation-harness logged of one or several tasks."""
    kept, notes = _keep_one_filter([(path, sample) for path in paths for sample in _read_harness_samples(path)])
    samples = [sample for _, sample in kept]
    grading_metrics = {
        path: _choose_grading_metric([sample for place, sample in kept if place == path]) for path in paths
    }
    items = _name_choices(
        [_read_item(_name_task(path), sample, grading_metrics[path]) for path, sample in kept], samples
    )
    items = make_ids_unique(items, [path for path, _ in kept])
    classes = all(item.probabilities for item in items) and are_classes(items)
    if not classes:
        _require_grading_metrics(grading_metrics, samples)
    graded = f"graded by the harness's own {join_names(sorted({name for name in grading_metrics.values() if name}))}"
    return Log(to_log_columns(items, classes=classes), notes if classes else (*notes, graded))


def _require_grading_metrics(grading_metrics: Mapping[Path, str | None], samples: Sequence[HarnessSample]) -> None:
    """Refuse a harness log that has neither choices with a known answer nor a metric from 0 to 1."""
    ungraded = next((path for path, name in grading_metrics.items() if name is None), None)
    if ungraded is not None:
        names = sorted({name for sample in samples for name in sample.metric_values})
        raise InputError(
            f"{ungraded}: a log of lm-evaluation-harness with nothing to assess: no choices with a known answer, and no "
            f"metric from 0 to 1 (metrics: {join_names(names) or 'none'})"
        )


def _read_harness_samples(path: Path) -> Iterator[HarnessSample]:
    """Read the samples of a harness log, one per line."""
    for number, line in read_lines(path):
        yield parse(HarnessSample, line, f"{path}, line {number}", CUT_SHORT)


def _name_task(path: Path) -> str:
    """Return the task that the name of a harness log states."""
    found = NAME.fullmatch(path.name)
    return found[1] if found else path.name.split(".")[0]


def _keep_one_filter(
    samples: Sequence[tuple[Path, HarnessSample]],
) -> tuple[list[tuple[Path, HarnessSample]], tuple[str, ...]]:
    """Keep one line per question: the harness logs an answer once for each filter that extracts from it."""
    first: dict[Path, str | None] = {}
    for path, sample in samples:
        first.setdefault(path, sample.filter)
    kept = [(path, sample) for path, sample in samples if sample.filter == first[path]]
    if len(kept) == len(samples):
        return kept, ()
    names = join_names(sorted({str(name) for name in first.values()}))
    return kept, (f"answers as filter {names} read them; {count(len(samples) - len(kept), 'line')} of others left out",)


def _choose_grading_metric(samples: Sequence[HarnessSample]) -> str | None:
    """Choose the metric by which the harness grades every answer from 0 to 1; None if there is none."""
    metrics = [sample.metric_values for sample in samples]
    names = [name for name in metrics[0] if _are_unit_floats([found.get(name) for found in metrics])]
    return next((name for name in GRADING_METRICS if name in names), names[0] if names else None)


def _are_unit_floats(values: Sequence[Any]) -> bool:
    """Are all values of a harness metric that are present numbers from 0 to 1?"""
    values_in_unit = [as_unit_float(value) for value in values if value is not None]
    return bool(values_in_unit) and None not in values_in_unit


def _read_item(task: str, sample: HarnessSample, grade: str | None) -> Item:
    """Read a question of a harness log; its choices are named by number."""
    likelihoods = _read_likelihoods(sample)
    document = sample.doc if isinstance(sample.doc, Mapping) else {"doc": sample.doc}
    others = {**document, "target": sample.target, **sample.metric_values}
    name, graded = f"{task}/{sample.doc_id}", as_unit_float(sample.find(grade))
    if len(likelihoods) < 2:
        answer = None if len(likelihoods) else _first_text(sample.filtered_resps)
        return Item(name, task, answer, graded, others=others)
    probabilities = np.exp(likelihoods - np.logaddexp.reduce(likelihoods))
    acc = sample.find("acc")
    return Item(
        name, task, str(int(np.argmax(likelihoods))), graded if acc is None else as_unit_float(acc), _find_target(sample),
        {str(i): float(p) for i, p in enumerate(probabilities)}, others,
    )  # fmt: skip


def _read_likelihoods(sample: HarnessSample) -> np.ndarray:
    """Return the log-likelihood of every choice in a harness log; empty for generated text, or if no choice is possible."""
    pairs = [_read_pair(value) for value in _as_list(sample.filtered_resps)]
    twice = sample.find("acc_mutual_info") is not None  # then each choice is logged a second time without the question
    known = [pair for pair in pairs if pair is not None]
    found = np.array(known[: len(pairs) // 2 if twice else len(pairs)], dtype=np.float64)
    return found if len(known) == len(pairs) and np.isfinite(found).any() else np.empty(0)


def _read_pair(value: Any) -> float | None:
    """Read a log-likelihood from its pair with the greedy-decoding flag; the harness stores them as numbers or text."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, list) or len(value) != 2 or str(value[1]) not in ("True", "False"):
        return None
    try:
        likelihood = float(value[0])
    except (TypeError, ValueError, OverflowError):
        return None
    return likelihood if likelihood < np.inf else None


def _find_target(sample: HarnessSample) -> str | None:
    """Return the number of the right choice, which the harness logs as number or text."""
    choices, target = list_choices(sample), str(sample.target).strip()
    n = len(_read_likelihoods(sample))
    if target.isdecimal() and len(target) < 10 and int(target) < n:
        return str(int(target))
    return str(choices.index(target)) if target in choices[:n] else None


def list_choices(sample: HarnessSample) -> list[str]:
    """Return the texts of the choices in a sample of lm-evaluation-harness, as far as they are logged."""
    given = sample.arguments
    requests = list(given.values()) if isinstance(given, Mapping) else _as_list(given)
    return [_read_continuation(request) for request in requests]


def _read_continuation(request: Any) -> str:
    """Return the text of a choice from the request that the harness logged."""
    parts = list(request.values()) if isinstance(request, Mapping) else _as_list(request)
    return str(parts[1]).strip() if len(parts) > 1 else ""


def _name_choices(items: list[Item], samples: Sequence[HarnessSample]) -> list[Item]:
    """Name a harness log's choices by text if all questions have the same ones (A to D, yes and no), else by number."""
    names = list_choices(samples[0])[: len(items[0].probabilities)]
    alike = all(
        list_choices(sample)[: len(item.probabilities)] == names for item, sample in zip(items, samples, strict=True)
    )
    is_complete = all(len(item.probabilities) == len(names) for item in items)
    if not names or not alike or not is_complete or len(set(names)) < len(names) or not all(names):
        return items
    called = {str(i): name for i, name in enumerate(names)}
    return [
        Item(
            item.id, item.task, called.get(item.predicted or ""), item.grade, called.get(item.label or ""),
            {called[key]: p for key, p in item.probabilities.items()}, item.others,
        )
        for item in items
    ]  # fmt: skip


def _first_text(value: Any) -> str | None:
    """Return the first text in the nested lists in which the harness logs responses."""
    while isinstance(value, list):
        if not value:
            return None
        value = value[0]
    return None if value is None else str(value)


def _as_list(value: Any) -> list[Any]:
    """Return a field of a harness log as a list."""
    return list(value) if isinstance(value, list) else [value]
