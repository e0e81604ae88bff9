"""The fingerprint of predictions and their groups, and how two fingerprints differ."""

from collections.abc import Mapping
from typing import Any

from fewlabels.data.aggregate import Aggregate
from fewlabels.data.fingerprint import PREDICTIONS, SCORES, fingerprint, fingerprint_sample
from fewlabels.data.groups import Groups
from fewlabels.data.predictions import Predictions
from fewlabels.errors import join_names


def fingerprint_aggregate(aggregated: Aggregate) -> dict[str, Any]:
    """Return the pool's fingerprint, of predictions and groups, from the sample of an aggregate if it has one."""
    if aggregated.sample is None:
        return compute_fingerprint(aggregated.pool, aggregated.by)
    groups = [aggregated.cut.name(key) for key in aggregated.groups]
    return fingerprint_sample(aggregated.pool, aggregated.found, groups, aggregated.sample)


def compute_fingerprint(pool: Predictions, by: Groups) -> dict[str, Any]:
    """Return the pool's fingerprint, of predictions and their groups."""
    keys = list(by.cut(pool).keys.values())
    return fingerprint(pool, keys[0] if len(keys) == 1 else None)


def describe_difference(made_from: Mapping[str, Any], given: Mapping[str, Any]) -> str | None:
    """Describe how the pool's fingerprint differs from that at creation; None if it does not."""
    words = {
        "n_items": "items",
        "first": "first id",
        "last": "last id",
        "length": "length of ids",
        "score": "sum of scores",
    }
    large = ("part" in made_from) != ("part" in given)  # earlier versions had another fingerprint of large tables
    for name, word in words.items():
        if large and name != "n_items":
            continue
        old, new = made_from.get(name), given.get(name)
        if isinstance(old, float) and isinstance(new, float):
            if abs(old - new) > 1e-6 * max(abs(old), 1.0):
                return f"{word}: {old:.6g} then, {new:.6g} now"
        elif old != new:
            return f"{word}: {old} then, {new} now"
    counted = "predicted" in made_from and "predicted" in given
    moved = counted and [
        name
        for name in {**made_from.get("predicted", {}), **given.get("predicted", {})}
        if made_from.get("predicted", {}).get(name) != given.get("predicted", {}).get(name)
    ]
    if moved:
        return f"how often {join_names(sorted(moved), most=3)} is predicted"
    words = {"said": "which items get which prediction", "placed": "which items are in which group",
             "part": "which items get which prediction, score or group"}  # fmt: skip
    found = next((word for key, word in words.items() if _differ(made_from, given, key)), None)
    return found or _describe_moved_rows(made_from.get("rows", {}), given.get("rows", {}))


def _describe_moved_rows(made_from: Mapping[str, int], given: Mapping[str, int]) -> str | None:
    """Describe what differs in some rows, where row numbers serve as ids; only of columns that both have."""
    moved = [name for name, mark in made_from.items() if name in given and given[name] != mark]
    if not moved:
        return None
    what = join_names((name[1:] if name in (PREDICTIONS, SCORES) else f"column {name!r}" for name in moved), most=3)
    return f"what some rows hold ({what}), and without an id column items are known by their row number alone"


def _differ(made_from: Mapping[str, Any], given: Mapping[str, Any], key: str) -> bool:
    """Do two fingerprints of pools differ in a part that both have?"""
    return key in made_from and key in given and made_from[key] != given[key]
