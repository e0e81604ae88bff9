"""Choices as plain data and back: how a session's file remembers its goal, policy, prior, metric and groups.

Only classes listed here are ever made from a file. A goal or policy of one's own is remembered by name, and has to be
given again when the file is opened.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

import numpy as np

from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.estimation import Estimate, Explore, LeastCertain
from fewlabels.active.goals.extremes import FindBest, FindWorst
from fewlabels.active.policies import EpsilonGreedy, MultiPlay, Random, Stratified, Thompson, TopTwo, UpperBound
from fewlabels.data.documents.parsing import check_type
from fewlabels.data.groups import Bins, Column, Cross, Everything, Predicted, Ranges
from fewlabels.errors import InputError
from fewlabels.metrics.cost_table import read_costs
from fewlabels.metrics.metric import METRICS, Cost
from fewlabels.models.calibrated.prior import Calibrated
from fewlabels.models.priors import Flat, FromEarlier, FromScores
from fewlabels.models.smooth import Smooth

KNOWN = {
    kind.__name__: kind
    for kind in (
        Compare, Estimate, Explore, FindBest, FindWorst, LeastCertain, Bins, Column, Cross, Everything, Predicted, Ranges, EpsilonGreedy,
        MultiPlay, Random, Stratified, Thompson, TopTwo, UpperBound, Flat, FromEarlier, FromScores, Calibrated, Smooth,
    )
}  # fmt: skip


def write_recipe(value: Any) -> Any:
    """Turn a choice into plain data.

    >>> write_recipe(FindWorst(METRICS["ece"], m=3))["with"]["metric"]
    {'metric': 'ece'}
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):  # marked as one, for its keys may be called anything
        return {"map": {str(key): write_recipe(item) for key, item in value.items()}}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [write_recipe(item) for item in value]
    return _write_object(value)


def read_recipe(plain: Any) -> Any:
    """Turn plain data back into the choice it stands for."""
    if isinstance(plain, list):
        return tuple(read_recipe(item) for item in plain)
    if not isinstance(plain, dict):
        return plain
    if plain.keys() == {"metric"}:
        return METRICS[plain["metric"]]
    if plain.keys() == {"cost"}:
        return Cost(read_costs(read_recipe(plain["cost"])))
    if plain.keys() == {"kind", "with"}:
        return _make(KNOWN[plain["kind"]], {name: read_recipe(value) for name, value in plain["with"].items()})
    return {key: read_recipe(value) for key, value in plain["map"].items()}


def _make(kind: type, values: Mapping[str, Any]) -> Any:
    """Make a choice of values that have the types its class states."""
    types = get_type_hints(kind)
    for name, value in values.items():
        check_type(types[name], value, name)
    return kind(**values)


def recall(plain: Any, given: Any, what: str) -> Any:
    """Return what a file remembers; what it only knows by name must be given, under the same name."""
    own = find_own(plain)
    if own is None and given is not None and write_recipe(given) != plain:
        raise InputError(f"this session has another {what}, fixed when it was made; open it without {what}=")
    if own is None:
        return read_recipe(plain)
    if given is None or write_recipe(given) != plain:
        about = "" if plain.keys() == {"own"} else "about "
        raise InputError(f"this session's {what} is {about}one of your own, called {own!r}: open it with {what}=...")
    return given


def find_own(plain: Any) -> str | None:
    """Return the name of the first thing that only its owner can make again; None where a file knows it all."""
    if isinstance(plain, dict) and plain.keys() == {"own"}:
        return str(plain["own"])
    parts = plain.values() if isinstance(plain, dict) else plain if isinstance(plain, list) else ()
    return next((own for own in map(find_own, parts) if own is not None), None)


def _write_object(value: Any) -> dict[str, Any]:
    if isinstance(value, Cost):
        return {"cost": write_recipe(value.costs.table)}
    if METRICS.get(_call(value)) is value:
        return {"metric": _call(value)}
    if is_dataclass(value) and KNOWN.get(type(value).__name__) is type(value):
        return {
            "kind": type(value).__name__,
            "with": {f.name: write_recipe(getattr(value, f.name)) for f in fields(value)},
        }
    return {"own": _call(value)}


def _call(own: Any) -> str:
    """What a goal or policy of one's own goes by."""
    return str(getattr(own, "name", None) or getattr(own, "__name__", type(own).__name__))
