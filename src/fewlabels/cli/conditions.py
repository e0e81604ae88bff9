"""`--fail-if`: a condition on the numbers of a result, for scripts and pipelines."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fewlabels.errors import InputError, did_you_mean, join_names
from fewlabels.metrics.metric import METRICS

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
PATTERN = re.compile(
    r"\s*(?:(?P<scope>.+)\.)?(?P<name>\w+)\s*(?P<sign><=|>=|==|!=|<|>)\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*"
)
DIFFERENCE = re.compile(
    r"\s*(?:(?P<scope>[^:]+):\s*)?(?P<pair>.+ - .+?)(?:\.(?P<name>mean|low|high|p_\w+))?\s*(?P<sign><=|>=|==|!=|<|>)\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*"
)
FIGURE = re.compile(
    r"\s*(?P<scope>[^:]+):\s*(?P<model>.+)\.(?P<name>mean|low|high|p_best|regret)\s*(?P<sign><=|>=|==|!=|<|>)\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*"
)
ESTIMATES = ("mean", "median", "low", "high")
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Condition:
    """`[SCOPE.]FIELD OPERATOR NUMBER`; without a scope it is tested on the overall estimate and on every group.

    Scopes are `overall`, `groups` and the name of a group; a surface has `arms` for groups, and `answers` for its queries; of
    fairness, a metric, a group, or both (`tpr of Female`). Of models, `new - old < -0.01` is about the mean of their difference, `new - old.low` about its low end, and
    `GROUP: new - old` and `GROUP: new.low` about one group.

    >>> parse_condition("overall.low < 0.8").find_matches({"overall": {"low": 0.7}, "groups": []})
    ['overall: low is 0.7 (< 0.8)']
    """

    scope: str | None
    name: str
    sign: str
    number: float
    pair: str | None = None  # of models: `a - b`
    model: str | None = None  # of a figure in a group: `GROUP: model.low`

    def find_matches(self, result: Mapping[str, Any]) -> list[str]:
        """Return a message for each row of a result's JSON for which the condition holds."""
        about = self._rows(result)
        self._require_reachable(result)
        rows = [(where, row) for where, row in about if not self._is_undefined(row)]
        if not rows:
            where = join_names(self.list_undefined(result)) or "this result"
            raise InputError(f"fail-if: {self.name} is undefined in {where}, so the condition cannot be checked")
        return [
            f"{where}: {self.name} is {self._read_number(row):.4g} ({self.sign} {self.number:g})"
            for where, row in rows
            if OPERATORS[self.sign](self._read_number(row), self.number)
        ]

    def list_undefined(self, result: Mapping[str, Any]) -> list[str]:
        """Return the rows that the condition is about and cannot be checked on: their number is undefined."""
        return [where for where, row in self._rows(result) if self._is_undefined(row)]

    def _is_undefined(self, row: Row) -> bool:
        """Is the number that the condition compares undefined in this row?"""
        return self.name in row and row[self.name] is None

    def _require_reachable(self, result: Mapping[str, Any]) -> None:
        """Refuse a bound that no share can reach, such as 80 for 0.8: the condition could never hold."""
        if not (self.name.startswith("p_") or (self.name in ESTIMATES and _holds_shares(result))):
            return
        least = -1 if self._is_about_difference(result) else 0
        is_end = (self.sign == ">" and self.number == 1) or (self.sign == "<" and self.number == least)
        is_never = (
            is_end
            or (self.sign in (">", ">=", "==") and self.number > 1)
            or (self.sign in ("<", "<=", "==") and self.number < least)
        )
        if is_never:
            instead = f"; for {self.number:g}% write {self.number / 100:g}" if 1 < abs(self.number) <= 100 else ""
            raise InputError(f"fail-if: {self.name} is a fraction, so {self.name} {self.sign} {self.number:g} can never hold{instead}")  # fmt: skip

    def _is_about_difference(self, result: Mapping[str, Any]) -> bool:
        """Does the condition compare a difference, which may be negative: of models, of groups, or from a reference?"""
        is_one_row = "overall" not in result and "figures" not in result  # two groups, compared
        return not self.name.startswith("p_") and (bool(self.pair) or "gaps" in result or is_one_row)

    def _rows(self, result: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the rows of a result that the condition is about, with their names."""
        if "differences" in result:
            return self._list_models(result)
        if self.model or self.pair:
            return self._rows_of_group(result)
        if "gaps" in result:  # conditions on a fairness result are about its gaps
            return self._list_gaps(result["gaps"])
        if result.get("sets") or "arms" in result:
            return self._list_set_figures(result["sets"]) if result.get("sets") else self._list_arms(result)
        if "overall" not in result:  # a comparison is one row
            self._require_scope(("overall", "difference"), "this comparison has one row, the difference of two groups")
            return [("difference", result)]
        is_whole = self.scope in (None, "overall")
        overall = [("overall", result["overall"])] if is_whole else []
        chosen = self._choose_groups(result["groups"])
        groups = [(row["group"], row) for row in chosen] if self.scope != "overall" else []
        if not self.scope and self.name not in result["overall"]:
            overall = []  # only groups have p_worst and ranks
        return overall + groups

    def _require_scope(self, known: Sequence[str], what: str) -> None:
        """Refuse a condition whose scope is no part of the result."""
        if self.scope is not None and self.scope not in known:
            raise InputError(f"fail-if: {self.scope!r} is no part of this result: {what}; write {self.name} {self.sign} {self.number:g}")  # fmt: skip

    def _list_gaps(self, gaps: Sequence[Row]) -> list[tuple[str, Row]]:
        """Return the gaps of a metric, of a group, or of both; all of them without a scope."""
        rows = [(f"{row['metric']} of {row['group']}", row) for row in gaps]
        chosen = [(where, row) for where, row in rows if self.scope in (None, where, row["metric"], row["group"])]
        if chosen or self.scope in ("overall", "groups"):
            return chosen or rows
        known = dict.fromkeys(name for where, row in rows for name in (row["metric"], row["group"], where))
        raise InputError(f"fail-if: there is no gap of {self.scope!r}; {did_you_mean(str(self.scope), known)}")

    def _list_set_figures(self, sets: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the figure of sets of labels that the scope names; of a label or an average alone, its F1."""
        figures = {"subset": sets["subset_accuracy"], "hamming": sets["hamming_loss"]}
        for row in (*sets["labels"], sets["micro"], sets["macro"]):
            figures |= {f"{row['label']}.{name}": row[name] for name in ("precision", "recall", "f1")}
            figures[row["label"]] = row["f1"]
        if self.scope not in figures:
            raise InputError(f"fail-if: {self.scope or self.name!r} is no figure of sets of labels; write micro.{self.name}, micro.precision.{self.name} (recall, f1), the same of macro or of a label, subset.{self.name} or hamming.{self.name}")  # fmt: skip
        return [(str(self.scope), figures[str(self.scope)])]

    def _rows_of_group(self, result: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        """Take the colon or the minus for a part of a group's name: the result is not of several models."""
        if self.model:
            return replace(self, scope=f"{self.scope}: {self.model}", model=None)._rows(result)
        whole = self.pair if self.scope is None else f"{self.scope}: {self.pair}"
        if whole not in [row["group"] for row in result.get("groups", ()) if isinstance(row, Mapping)]:
            raise InputError(f"fail-if: {self.pair!r} is a difference of models; this result has none")
        return replace(self, scope=whole, pair=None)._rows(result)

    def _choose_groups(self, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the rows of the group that the scope names, or of all groups."""
        if self.scope in (None, "groups", "overall") and not any(row["group"] == self.scope for row in rows):
            return list(rows)
        if self.scope == "overall":
            return [row for row in rows if row["group"] == self.scope]
        found = [row for row in rows if row["group"] == self.scope]
        if not found:
            raise InputError(
                f"fail-if: there is no group {self.scope!r}; {did_you_mean(str(self.scope), dict.fromkeys(row['group'] for row in rows))}"
            )
        return found

    def _list_models(self, result: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the differences of models, or the models' figures, that the condition is about."""
        if self.pair:
            return self._list_differences(result)
        if self.model and self.model not in result["models"]:
            return replace(self, scope=f"{self.scope}: {self.model}", model=None)._list_models(result)
        rows = result["figures"] if any(self.name in row for row in result["figures"]) else result["differences"]
        whole = _find_whole(result)
        rows = [row for row in rows if self.model in (None, row.get("model"))]
        if self.scope in result["models"] and not self.model:
            chosen = [row for row in rows if self.scope in (row.get("model"), row.get("a")) and row["group"] == whole]
        elif self.scope == "groups":
            chosen = [row for row in rows if row["group"] != whole]
        else:
            chosen = (
                self._choose_groups(rows)
                if self.scope not in (None, "overall")
                else [row for row in rows if row["group"] == whole]
            )
        return [(f"{row.get('model') or row['a'] + ' - ' + row['b']} in {row['group']}", row) for row in chosen]

    def _list_differences(self, result: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the rows of one difference of two models, in the direction that was asked for."""
        names, whole = result["models"], _find_whole(result)
        rows = [row if f"{row['a']} - {row['b']}" == self.pair else _reverse(row) for row in result["differences"]]
        rows = [row for row in rows if f"{row['a']} - {row['b']}" == self.pair]
        if not rows:
            raise InputError(
                f"fail-if: {self.pair!r} is no difference of two models; the models are {', '.join(map(repr, names))}"
            )
        if self.scope == "groups":
            chosen = [row for row in rows if row["group"] != whole]
        else:
            chosen = (
                [row for row in rows if row["group"] == whole]
                if self.scope in (None, "overall")
                else self._choose_groups(rows)
            )
        return [(f"{self.pair} in {row['group']}", row) for row in chosen]

    def _list_arms(self, result: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the overall estimate, the arms and the answers of a surface that have this field."""
        rows = {
            "overall": [("overall", result["overall"])],
            "arms": [
                (", ".join(f"{name}={value}" for name, value in row["arm"].items()), row) for row in result["arms"]
            ],
            "answers": [(row["question"], row) for row in result.get("answers", ())],
        }
        if self.scope in (*rows, "groups"):
            return rows["arms" if self.scope == "groups" else str(self.scope)]
        if self.scope:
            return _find_arm(rows["arms"], self.scope)
        known = self.name in result["arms"][0]
        return [(where, row) for part in rows.values() for where, row in part if self.name in row or not known]

    def _read_number(self, row: Mapping[str, Any]) -> float:
        """Return the number in a row that the condition compares."""
        value = row.get(self.name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            known = [
                key for key, value in row.items() if isinstance(value, int | float) and not isinstance(value, bool)
            ]
            raise InputError(f"fail-if: there is no field {self.name!r}; {did_you_mean(self.name, known)}")
        return float(row[self.name])


def parse_condition(text: str) -> Condition:
    """Parse a condition to fail on."""
    difference = DIFFERENCE.fullmatch(text)
    if difference:
        scope = difference["scope"].strip() if difference["scope"] else None
        return Condition(
            scope,
            difference["name"] or "mean",
            difference["sign"],
            float(difference["number"]),
            difference["pair"].strip(),
        )
    figure = FIGURE.fullmatch(text)
    if figure:
        number = float(figure["number"])
        return Condition(figure["scope"].strip(), figure["name"], figure["sign"], number, model=figure["model"].strip())
    found = PATTERN.fullmatch(text)
    if not found:
        raise InputError(f'fail-if: cannot parse {text!r}; write for instance "low < 0.8" or "overall.mean < 0.9"')
    return Condition(found["scope"], found["name"], found["sign"], float(found["number"]))


def _find_arm(arms: Sequence[tuple[str, Row]], name: str) -> list[tuple[str, Row]]:
    """Return the arm of a surface that a condition names as in results: `sex=F, age=old`."""
    found = [(where, row) for where, row in arms if where == name]
    if not found:
        raise InputError(f"fail-if: there is no arm {name!r}; {did_you_mean(name, [where for where, _ in arms])}")
    return found


def _holds_shares(result: Mapping[str, Any]) -> bool:
    """Return whether a condition is about shares, or differences of shares."""
    if "figure" in result:
        return result["figure"] in ("pass-rate", "win-rate")
    names = [row["metric"] for row in result["gaps"]] if "gaps" in result else [result.get("metric", "accuracy")]
    return all(name in METRICS and METRICS[name].is_share for name in names)


def _find_whole(result: Mapping[str, Any]) -> str:
    """Return the group of the figures of all items, for a condition that names none: the first one."""
    return str(result["figures"][0]["group"])


def _reverse(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a difference b − a of a difference a − b, for a condition that names it so."""
    return {
        **row, "a": row["b"], "b": row["a"], "mean": -row["mean"], "low": -row["high"], "high": -row["low"],
        "p_below": row["p_above"], "p_above": row["p_below"],
    }  # fmt: skip
