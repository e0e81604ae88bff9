"""What is in a table, what is wrong with it, what can be assessed, and what to type next."""

import shlex
from dataclasses import asdict, dataclass, field
from typing import Any

from fewlabels.checks import Finding, examine
from fewlabels.errors import InputError
from fewlabels.groups import Column
from fewlabels.provenance import Provenance, record
from fewlabels.table import Predictions, read_columns

MANY = 50  # values beyond which a column is no natural group


@dataclass(frozen=True)
class Diagnosis:
    """A table, looked at by somebody who has seen many."""

    source: str
    columns: dict[str, str]
    roles: dict[str, str]
    n_items: int
    n_labels: int
    classes: tuple[str, ...]
    attributes: dict[str, int]  # column -> how many values
    findings: tuple[Finding, ...]
    can: tuple[str, ...]
    next: tuple[str, ...]
    provenance: Provenance = field(default_factory=record, repr=False)

    @property
    def is_sound(self) -> bool:
        """Can anything be assessed?"""
        return all(finding.severity != "error" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "provenance": self.provenance.to_dict()}


def diagnose(source: Any, **roles: Any) -> Diagnosis:
    """Look a table over; `roles` are those of `Predictions.read`.

    >>> diagnose({"predicted": ["a", "b"], "label": ["a", None]}).next[0]
    'fewlabels assess FILE --by predicted --html report.html'
    """
    try:
        pool = source if isinstance(source, Predictions) else Predictions.read(source, **roles)
    except InputError as error:
        return _unreadable(source, error)
    findings = examine(pool)
    sound = all(f.severity != "error" for f in findings)
    most = max(MANY, pool.n_items // 2)  # a column that says something else of every item is no group
    attributes = {name: n for name, n in _count_values(pool).items() if 1 < n <= most} if sound else {}
    return Diagnosis(
        source=pool.source,
        columns=read_columns(pool.items),
        roles=pool.roles.used(),
        n_items=pool.n_items,
        n_labels=pool.n_labels if sound else 0,
        classes=pool.classes if sound and pool.has("predicted") else (),
        attributes=attributes,
        findings=findings,
        can=_list_possible(pool) if sound else (),
        next=_suggest(pool, attributes) if sound else (),
        provenance=record(pool.source, inputs=pool.inputs),
    )


def _unreadable(source: Any, error: InputError) -> Diagnosis:
    """Still say what the columns are, if the file can be opened at all."""
    try:
        columns = read_columns(source)
    except InputError:
        raise error from None
    likely = [name for name, kind in columns.items() if kind.startswith("float")]
    name = shlex.quote(str(source)) if isinstance(source, str) else "FILE"
    tries = tuple(f"fewlabels doctor {name} --positive-score {shlex.quote(column)}" for column in likely[:3])
    return Diagnosis(str(source), columns, {}, 0, 0, (), {}, (Finding("error", str(error)),), (), tries)


def _count_values(pool: Predictions) -> dict[str, int]:
    if not pool.attributes:
        return {}
    names = {str(i): pool.attribute(name) for i, name in enumerate(pool.attributes)}
    values = {f"n{i}": name.nunique() for i, name in names.items()}
    blanks = {f"blank{i}": name.isnull().any() for i, name in names.items()}
    found = pool.measure(values | blanks)
    return {name: int(found[f"n{i}"]) + bool(found[f"blank{i}"]) for i, name in enumerate(pool.attributes)}


def _list_possible(pool: Predictions) -> tuple[str, ...]:
    can = ["accuracy"]
    if pool.has("score"):
        can.append("calibration (ece, reliability diagram)")
    if pool.has("predicted") and not pool.has("agreement"):
        can.append("confusion, precision, recall, f1, mcc, cost")
        if len(pool.classes) == 2:
            can.append("tpr, fpr and their like, selection-rate")
    priors = ["calibrated", "scores", "flat"] if pool.has("score") else ["calibrated", "flat"]
    return (*can, f"priors: {', '.join(priors)}")


def _suggest(pool: Predictions, attributes: dict[str, int]) -> tuple[str, ...]:
    file = "FILE" if pool.source == "the table" else shlex.quote(pool.source)
    head = f"fewlabels assess {file}{_role_options(pool)}"
    by = "--by predicted" if pool.has("predicted") and not pool.has("agreement") else "--by all"
    lines = [f"{head} {by} --html report.html"]
    if pool.n_labels == 0:
        answer = "agreement" if pool.has("agreement") else "label"
        lines.append(f"{head} {by} --labels LABELS.csv   (columns id and {answer}, for the items you have labelled)")
    if pool.has("score"):
        lines.append(f"{head} --by all --metric ece")
    column = _find_column(attributes)
    if pool.n_labels < pool.n_items:
        options = f"{file}{_role_options(pool)} --session audit.db {_suggest_goal(pool, column)}"
        lines.append(f"fewlabels label {options} --terminal")
    if column:
        lines.append(f"{head} --by {column}")
    return tuple(lines)


def _suggest_goal(pool: Predictions, column: str | None) -> str:
    """The worst can be found only among several groups."""
    if pool.has("predicted") and not pool.has("agreement") and len(set(pool.pairs["predicted"])) > 1:
        return "--goal find-worst --by predicted"
    return f"--goal find-worst --by {column}" if column else "--goal estimate --by all"


def _find_column(attributes: dict[str, int]) -> str | None:
    """Return the first column with several groups, as one types it."""
    return next((shlex.quote(Column(name).name) for name, n in attributes.items() if 2 <= n <= MANY), None)


def _role_options(pool: Predictions) -> str:
    options = [("positive-score", pool.roles.positive_score), ("agreement", pool.roles.agreement)]
    if pool.roles.positive_score and pool.roles.positive != "1":
        options.append(("positive", pool.roles.positive))
    return "".join(f" --{name} {shlex.quote(value)}" for name, value in options if value and value != name)
