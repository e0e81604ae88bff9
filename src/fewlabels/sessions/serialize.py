"""Goals, policies, priors, metrics and groups as plain data and back, for the session's file.

Only the classes listed here are constructed from a file. A custom goal or policy is stored by name, and must be passed
again when the file is opened.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

import numpy as np

from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.estimation import Estimate, Explore, LeastCertain
from fewlabels.active.goals.fairness_gap import FairnessGap
from fewlabels.active.goals.identification import FindBest, FindWorst
from fewlabels.active.goals.models import BestModel, CompareModels
from fewlabels.active.policies import EpsilonGreedy, MultiPlay, Random, Stratified, Thompson, TopTwo, UpperBound
from fewlabels.data.disagreement import Disagreement
from fewlabels.data.documents.parsing import check_type
from fewlabels.data.groups import Bins, Column, Cross, Everything, Predicted, Ranges
from fewlabels.errors import InputError
from fewlabels.metrics.cost_table import read_costs
from fewlabels.metrics.metric import METRICS, Cost
from fewlabels.models.calibrated.prior import Calibrated
from fewlabels.models.earlier import FromEarlier
from fewlabels.models.earlier_labels import EarlierLabels
from fewlabels.models.earlier_predictions import EarlierPredictions
from fewlabels.models.priors import Flat, FromScores
from fewlabels.models.smooth import Smooth

SERIALIZABLE = {
    kind.__name__: kind
    for kind in (
        BestModel, Compare, CompareModels, Disagreement, Estimate, Explore, FairnessGap, FindBest, FindWorst, LeastCertain, Bins, Column, Cross, Everything, Predicted, Ranges, EpsilonGreedy,
        MultiPlay, Random, Stratified, Thompson, TopTwo, UpperBound, Flat, FromEarlier, EarlierLabels, EarlierPredictions, FromScores, Calibrated, Smooth,
    )
}  # fmt: skip


def to_plain(value: Any) -> Any:
    """Serialize a choice (goal, policy, prior, metric, groups) as plain data.

    >>> to_plain(FindWorst(METRICS["ece"], m=3))["with"]["metric"]
    {'metric': 'ece'}
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):  # wrapped in "map", since its keys may be any text
        return {"map": {str(key): to_plain(item) for key, item in value.items()}}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return _write_object(value)


def from_plain(plain: Any) -> Any:
    """Restore a serialized choice from plain data."""
    if isinstance(plain, list):
        return tuple(from_plain(item) for item in plain)
    if not isinstance(plain, dict):
        return plain
    if plain.keys() == {"metric"}:
        return METRICS[plain["metric"]]
    if plain.keys() == {"cost"}:
        return Cost(read_costs(from_plain(plain["cost"])))
    if plain.keys() == {"kind", "with"}:
        return _construct_choice(
            SERIALIZABLE[plain["kind"]], {name: from_plain(value) for name, value in plain["with"].items()}
        )
    return {key: from_plain(value) for key, value in plain["map"].items()}


def _construct_choice(kind: type, values: Mapping[str, Any]) -> Any:
    """Restore a serialized choice, after checking the types of its fields."""
    types = get_type_hints(kind)
    for name, value in values.items():
        check_type(types[name], value, name)
    return kind(**values)


def restore_choice(plain: Any, given: Any, what: str) -> Any:
    """Restore a serialized choice; a custom one, stored by name, must be given under the same name."""
    own = find_custom(plain)
    if own is None and given is not None and to_plain(given) != plain:
        raise InputError(f"this session has another {what}, fixed when it was made; open it without {what}=")
    if own is None:
        return from_plain(plain)
    if given is None or to_plain(given) != plain:
        about = "" if plain.keys() == {"own"} else "about "
        raise InputError(f"this session's {what} is {about}a custom one, called {own!r}: open it with {what}=...")
    return given


def find_custom(plain: Any) -> str | None:
    """Return the name of the first custom part, which cannot be serialized to a file; None if there is none."""
    if isinstance(plain, dict) and plain.keys() == {"own"}:
        return str(plain["own"])
    parts = plain.values() if isinstance(plain, dict) else plain if isinstance(plain, list) else ()
    return next((own for own in map(find_custom, parts) if own is not None), None)


def _write_object(value: Any) -> dict[str, Any]:
    """Serialize an object (a goal, policy, prior or metric) as plain data."""
    if isinstance(value, Cost):
        return {"cost": to_plain(value.costs.table)}
    if METRICS.get(_name_of(value)) is value:
        return {"metric": _name_of(value)}
    if is_dataclass(value) and SERIALIZABLE.get(type(value).__name__) is type(value):
        return {
            "kind": type(value).__name__,
            "with": {f.name: to_plain(getattr(value, f.name)) for f in fields(value)},
        }
    return {"own": _name_of(value)}


def _name_of(own: Any) -> str:
    """Return the name under which a custom goal or policy is serialized."""
    return str(getattr(own, "name", None) or getattr(own, "__name__", type(own).__name__))
