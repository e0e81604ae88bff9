"""`--fail-if`: a condition on the numbers of a result, for scripts and pipelines."""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fewlabels.analyses.assessment import PLACES
from fewlabels.errors import InputError, did_you_mean

SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
SHAPE = re.compile(
    r"\s*(?:(overall|groups|arms|answers)\.)?(\w+)\s*(<=|>=|==|!=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*"
)


@dataclass(frozen=True)
class Condition:
    """`[overall.|groups.]FIELD SIGN NUMBER`; without a scope it is about the overall figure and every group.

    Of a surface, groups are `arms`, and what was asked of it are `answers`.

    >>> read_condition("overall.low < 0.8").hits({"overall": {"low": 0.7}, "groups": []})
    ['overall: low is 0.7, and that is < 0.8']
    """

    scope: str | None
    name: str
    sign: str
    number: float

    def hits(self, result: Mapping[str, Any]) -> list[str]:
        """Say where it holds in a result's JSON."""
        return [
            f"{where}: {self.name} is {row[self.name]:.4g}, and that is {self.sign} {self.number:g}"
            for where, row in self._rows(result)
            if SIGNS[self.sign](self._look_up(row), self.number)
        ]

    def _rows(self, result: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        if "gaps" in result:  # of fairness, gaps are what one fails on
            defined = [row for row in result["gaps"] if row["mean"] is not None]
            return [(f"{row['metric']} of {row['group']}", row) for row in defined]
        if "arms" in result:
            return self._list_arms(result)
        if "overall" not in result:  # a comparison is one row
            return [("difference", result)]
        overall = [("overall", result["overall"])] if self.scope != "groups" else []
        ranked = [row for row in result["groups"] if not (self.name in PLACES and row[self.name] is None)]
        groups = [(row["group"], row) for row in ranked] if self.scope != "overall" else []
        if not self.scope and self.name not in result["overall"]:
            overall = []  # p_worst and its like exist for groups only
        return overall + groups

    def _list_arms(self, result: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        """The whole, every arm and every answer of a surface, as far as they have such a number."""
        rows = {
            "overall": [("overall", result["overall"])],
            "arms": [
                (", ".join(f"{name}={value}" for name, value in row["arm"].items()), row) for row in result["arms"]
            ],
            "answers": [(row["question"], row) for row in result.get("answers", ())],
        }
        if self.scope:
            return rows["arms" if self.scope == "groups" else self.scope]
        known = self.name in result["arms"][0]
        return [(where, row) for part in rows.values() for where, row in part if self.name in row or not known]

    def _look_up(self, row: Mapping[str, Any]) -> float:
        if not isinstance(row.get(self.name), int | float):
            known = [
                key for key, value in row.items() if isinstance(value, int | float) and not isinstance(value, bool)
            ]
            raise InputError(f"fail-if: there is no number called {self.name!r}; {did_you_mean(self.name, known)}")
        return float(row[self.name])


def read_condition(text: str) -> Condition:
    """Parse a condition."""
    found = SHAPE.fullmatch(text)
    if not found:
        raise InputError(f'fail-if: {text!r} is not understood; write for instance "low < 0.8" or "overall.mean < 0.9"')
    return Condition(found[1], found[2], found[3], float(found[4]))
