"""Fingerprint predictions, so that a session detects when it is continued with a different table.

It uses only quantities that every engine computes alike, so it does not depend on the engine or its version. Labels do
not enter.
"""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from math import fsum
from typing import Any

from fewlabels.data import sampling as samples
from fewlabels.data.names import MISSING, as_name
from fewlabels.data.predictions import Predictions
from fewlabels.data.relation import Columns, Value
from fewlabels.data.sampling import Sample

PREDICTIONS, SCORES = "=predictions", "=scores"  # keys of the checksums that are of no column that annotators see
ROW_MARKS = 9973  # places of rows in checksums repeat after so many
SUBSET_SIZE = 4096  # approximate number of items of a large table that are hashed, instead of all


def fingerprint_sample(pool: Predictions, found: Columns, groups: Sequence[str], sample: Sample) -> dict[str, Any]:
    """Fingerprint the predictions of a large table by its counts, the group of each count, and a sample of ids."""
    said = _predicted_names(pool, found)
    facts: dict[str, Any] = {"n_items": sum(found["n"]), "every": sample.rule.every, "seed": sample.rule.seed}
    if pool.has("score"):
        facts["score"] = fsum(value for value in found["score"] if value is not None)
    if any(said):
        facts["predicted"] = dict(sorted(_sum_by_name(said, found["n"]).items()))
    kinds = list(zip(said, groups, found.get("bin", said), strict=True))
    shown = sample.subsample(SUBSET_SIZE)
    rows = [(id, *kinds[entry]) for id, entry in zip(shown.ids.tolist(), shown.entry.tolist(), strict=True)]
    return facts | {"part": _digest_items(rows)}


def _predicted_names(pool: Predictions, found: Columns) -> list[str]:
    """Return the predicted class of every count that the fingerprint includes, spelled as in the user's column."""
    if _predicted_expression(pool) is None:
        return [""] * len(found["n"])
    flags = pool.roles.predicted and pool.items[pool.roles.predicted].type().is_boolean()
    names = {"0": "False", "1": "True"} if flags else {}
    return [names.get(str(name), str(name)) for name in found["predicted"]]


def _sum_by_name(names: Sequence[str], n: Sequence[int]) -> Counter[str]:
    """Sum counts by name, for the fingerprint."""
    total: Counter[str] = Counter()
    for name, count in zip(names, n, strict=True):
        total[name] += count
    return total


def fingerprint(pool: Predictions, key: Value | None = None) -> dict[str, Any]:
    """Fingerprint predictions; `key` is the group of an item, if that must stay the same too."""
    if pool.has_integer_ids and pool.roles.id and pool.n_items > samples.MIN_SAMPLED_POOL:
        return _fingerprint_subset(pool, key)
    name = pool.name
    facts = {"n_items": pool.items.count(), "first": name.min(), "last": name.max(), "length": name.length().sum()}
    if not pool.roles.id:
        facts = {"n_items": pool.items.count()}
    if pool.has("score"):
        facts["score"] = pool.score.sum()
    found = pool.measure(facts)
    said = _predicted_expression(pool)
    if said is not None:
        counts = pool.count_by({"key": said}, _checksum_expressions(pool))
        found["predicted"] = dict(sorted(zip(counts["key"], counts["n"], strict=True)))
        found |= _list_checksums("said", counts)
    if key is not None and pool.roles.id:
        found |= _list_checksums("placed", pool.count_by({"key": key}, _checksum_expressions(pool)))
    return found if pool.roles.id else found | {"rows": _checksum_rows(pool)}


def _checksum_rows(pool: Predictions) -> dict[str, int]:
    """Return the fingerprint's checksum over rows of predictions, scores and shown columns; row numbers serve as ids.

    Of the columns only text, integers and booleans: engines write other values differently.
    """
    kinds = {name: pool.items[name].type() for name in pool.shown}
    plain = [name for name, kind in kinds.items() if kind.is_string() or kind.is_integer() or kind.is_boolean()]
    values = {name: pool.attribute(name) for name in plain}
    said = _predicted_expression(pool)
    marks = {name: _mark_text(value) for name, value in values.items()}
    marks |= {} if said is None else {PREDICTIONS: _mark_text(said)}
    marks |= {SCORES: (pool.score.fill_null(0.0) * 1000).round().cast("int64")} if pool.has("score") else {}
    columns = {f"__fl_row_{i}": mark for i, mark in enumerate(marks.values())}
    rows = pool.items.select(__fl_place=pool.row() % ROW_MARKS + 1, **columns)
    sums = {name: (rows["__fl_place"] * rows[name]).sum() for name in columns}
    if not sums:
        return {}
    found = pool.fetch_rows(rows.aggregate(**sums))
    return {name: int(found[column][0] or 0) for name, column in zip(marks, columns, strict=True)}


def _mark_text(value: Value) -> Value:
    """Return a number for the fingerprint that differs for most texts: by length, and first and last characters."""
    text = value.fill_null("")
    codes = [(part + " ").left(1).ascii_str().cast("int64") for part in (text, text.substr(1), *(text.right(i) for i in (1, 2, 3)))]  # fmt: skip
    weights = (1, 3, 7, 31, 127)
    return sum((w * code for w, code in zip(weights, codes, strict=True)), text.length().cast("int64") * 1009)


def _fingerprint_subset(pool: Predictions, key: Value | None) -> dict[str, Any]:
    """Hash a fixed subset of the items of a large table.

    Used if no sample was drawn: in sessions with graded outputs, and in sessions older than samples.
    """
    said = _predicted_expression(pool)
    part = pool.take_subset(pool.n_items // SUBSET_SIZE)
    values = {"id": pool.id, "said": said, "placed": key, "score": pool.score if pool.has("score") else None}
    found = part.fetch_columns({name: value for name, value in values.items() if value is not None})
    return {"n_items": pool.n_items, "part": _digest_items(sorted(zip(*found.values(), strict=True)))}


def _digest_items(rows: Sequence[tuple[Any, ...]]) -> str:
    """Hash items for the fingerprint."""
    return sha256(repr(rows).encode()).hexdigest()


def _predicted_expression(pool: Predictions) -> Value | None:
    """Return the predicted class of the fingerprint as the user wrote it: our names of booleans may depend on the labels."""
    if not pool.has("predicted") or pool.has("agreement"):
        return None
    if pool.roles.predicted:
        return as_name(pool.items[pool.roles.predicted])
    return None if pool.roles.positive_score else pool.predicted


def _checksum_expressions(pool: Predictions) -> dict[str, Value]:
    """Return a checksum over ids for the fingerprint: it changes if different items have the same value."""
    if not pool.roles.id:
        return {}
    codes = [pool.name.right(i).left(1).ascii_str().cast("int64") for i in (1, 2, 3)]
    return {"mark": ((codes[0] + 3 * codes[1] + 11 * codes[2]) % 101).sum()}


def _list_checksums(word: str, counts: Columns) -> dict[str, dict[str, int]]:
    """Return the checksum of every group, for the fingerprint."""
    if "mark" not in counts:
        return {}
    names = (MISSING if value is None else str(value) for value in counts["key"])
    return {word: dict(sorted(zip(names, map(int, counts["mark"]), strict=True)))}
