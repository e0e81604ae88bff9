"""`--fail-if`: a condition on the numbers of a result, for scripts and pipelines."""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fewlabels.analyses.rows import RANK_FIELDS
from fewlabels.errors import InputError, did_you_mean

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
PATTERN = re.compile(
    r"\s*(?:(overall|groups|arms|answers)\.)?(\w+)\s*(<=|>=|==|!=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*"
)


@dataclass(frozen=True)
class Condition:
    """`[SCOPE.]FIELD OPERATOR NUMBER`; without a scope it is tested on the overall estimate and on every group.

    Scopes are `overall` and `groups`; a surface has `arms` for groups, and `answers` for its queries.

    >>> parse_condition("overall.low < 0.8").find_matches({"overall": {"low": 0.7}, "groups": []})
    ['overall: low is 0.7 (< 0.8)']
    """

    scope: str | None
    name: str
    sign: str
    number: float

    def find_matches(self, result: Mapping[str, Any]) -> list[str]:
        """Return a message for each row of a result's JSON for which the condition holds."""
        return [
            f"{where}: {self.name} is {row[self.name]:.4g} ({self.sign} {self.number:g})"
            for where, row in self._rows(result)
            if OPERATORS[self.sign](self._read_number(row), self.number)
        ]

    def _rows(self, result: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        if "gaps" in result:  # conditions on a fairness result are about its gaps
            defined = [row for row in result["gaps"] if row["mean"] is not None]
            return [(f"{row['metric']} of {row['group']}", row) for row in defined]
        if "arms" in result:
            return self._list_arms(result)
        if "overall" not in result:  # a comparison is one row
            return [("difference", result)]
        overall = [("overall", result["overall"])] if self.scope != "groups" else []
        ranked = [row for row in result["groups"] if not (self.name in RANK_FIELDS and row[self.name] is None)]
        groups = [(row["group"], row) for row in ranked] if self.scope != "overall" else []
        if not self.scope and self.name not in result["overall"]:
            overall = []  # only groups have p_worst and ranks
        return overall + groups

    def _list_arms(self, result: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the overall estimate, the arms and the answers of a surface that have this field."""
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

    def _read_number(self, row: Mapping[str, Any]) -> float:
        if not isinstance(row.get(self.name), int | float):
            known = [
                key for key, value in row.items() if isinstance(value, int | float) and not isinstance(value, bool)
            ]
            raise InputError(f"fail-if: there is no field {self.name!r}; {did_you_mean(self.name, known)}")
        return float(row[self.name])


def parse_condition(text: str) -> Condition:
    """Parse a condition."""
    found = PATTERN.fullmatch(text)
    if not found:
        raise InputError(f'fail-if: cannot parse {text!r}; write for instance "low < 0.8" or "overall.mean < 0.9"')
    return Condition(found[1], found[2], found[3], float(found[4]))
