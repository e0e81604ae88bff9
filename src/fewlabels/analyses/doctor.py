"""Diagnose a table: its columns and roles, problems, what can be assessed, and which commands to run next."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fewlabels.analyses.commands import format_file, format_group, format_options
from fewlabels.analyses.diagnosis import Diagnosis, GroupSize
from fewlabels.analyses.graded_doctor import diagnose_graded, is_graded, suggest_rating
from fewlabels.analyses.provenance import record
from fewlabels.data.aggregate import aggregate_pool
from fewlabels.data.checks import check_pool
from fewlabels.data.conflicts import Finding, count_values, find_label_columns
from fewlabels.data.engine_errors import name_source
from fewlabels.data.groups import everything, predicted
from fewlabels.data.model_join import read_wide
from fewlabels.data.names import natural_order
from fewlabels.data.numbers import as_float
from fewlabels.data.predictions import Predictions
from fewlabels.data.propensities import find_signs
from fewlabels.data.relation import Value
from fewlabels.data.roles import is_recognised
from fewlabels.data.tables import read_columns
from fewlabels.errors import InputError, choose_words

MAX_PEOPLE = 20  # largest number of groups of people that is suggested for fairness
PEOPLE = re.compile(
    r"(.*_)?(sex|gender|race|ethnic(ity|_group)?|age_?(group|band|range|bracket)?|religion|nationality|native_country|disability|"
    r"marital(_status)?|youth|orientation)(_.*)?",
    re.IGNORECASE,
)  # usual names of attributes of people
WIDE = "predicted_"  # prefix of the columns of several models
MAX_GROUP_VALUES = 50  # largest number of values of a column that is suggested for grouping
# Usual names of true answers and of metrics: to group by them would select items by the result.
ANSWERS = re.compile(
    r"(doc_)?(target|gold|answer|exact_match|em|acc|accuracy|acc_norm|pass(@|_at_)1|f1)", re.IGNORECASE
)


def diagnose(source: Any, **roles: Any) -> Diagnosis:
    """Diagnose a table, as `doctor` does: its columns and roles, problems, and what to run next.

    Parameters
    ----------
    source: Predictions, path, frame, dict of arrays or Ibis table
        The table.
    **roles: object
        Column roles and labels, as in `Predictions.read`.

    >>> diagnose({"predicted": ["a", "b"], "label": ["a", None]}).next[0]
    'fewlabels assess FILE --by predicted --html report.html'
    """
    try:
        pool = source if isinstance(source, Predictions) else Predictions.read(source, **roles)
    except InputError as error:
        return (
            diagnose_graded(source) if not roles and is_graded(source) else _diagnose_unreadable(source, roles, error)
        )
    findings = check_pool(pool)
    sound = all(f.severity != "error" for f in findings)
    values = count_values(pool) if sound else {}
    attributes = _keep_groups(pool, values)
    findings += find_label_columns(pool, values)
    findings += _find_signs(pool) if sound else ()
    words = roles or _list_roles(pool)
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
        next=(*_suggest_roles(source, words, findings), *(_suggest_commands(pool, attributes, words) if sound else ())),
        provenance=record(pool.source, inputs=pool.inputs),
        frame=pool.frame,
        role_of=_list_role_of(pool),
        sizes=_count_sizes(pool) if sound else (),
    )


def _keep_groups(pool: Predictions, values: Mapping[str, int]) -> dict[str, int]:
    """Return the attributes that doctor suggests to group by: not nearly one value per item, nor the answer or result."""
    most = max(pool.n_items // 2, 2)
    named = {name: n for name, n in values.items() if 1 < n <= most and not ANSWERS.fullmatch(name)}
    few = [name for name, n in named.items() if n <= MAX_GROUP_VALUES]
    if not pool.n_labels or not (pool.has("predicted") or pool.has("agreement")):
        return named
    unlike = {f"{kind}{i}": value for i, name in enumerate(few) for kind, value in _count_unlike(pool, name).items()}
    found = pool.measure(unlike) if unlike else {}
    repeats = {few[int(key[1:])] for key, n in found.items() if n == 0}
    return {name: n for name, n in named.items() if name not in repeats}


def _count_unlike(pool: Predictions, name: str) -> dict[str, Value]:
    """Count, to diagnose a column, the labelled items where it differs from label or outcome."""
    kind, counted = pool.items[name].type(), {}
    if not pool.has("agreement"):
        counted["l"] = pool.attribute(name) != pool.label
    if kind.is_numeric() or kind.is_boolean():
        counted["o"] = as_float(pool.items[name]) != pool.outcome()
    return {key: (pool.is_labelled() & differs.fill_null(True)).ifelse(1, 0).sum() for key, differs in counted.items()}


def _find_signs(pool: Predictions) -> tuple[Finding, ...]:
    """Diagnose whether labels were not drawn at random within the predicted classes."""
    by_class = pool.has("predicted") and not pool.has("agreement")
    return find_signs(pool, aggregate_pool(pool, predicted if by_class else everything))


def _list_role_of(pool: Predictions) -> dict[str, str]:
    """Return column -> role for a diagnosis, also for each of several columns of probabilities."""
    single = {column: role for role, column in pool.roles.used().items()}
    return single | dict.fromkeys(pool.roles.scores.values(), "scores")


def _count_sizes(pool: Predictions) -> tuple[GroupSize, ...]:
    """Count items and labels by predicted class for a diagnosis; all items together for graded outputs."""
    if pool.has("agreement") or not pool.has("predicted"):
        return (GroupSize("all items", pool.n_items, pool.n_labels),)
    sizes: dict[str, list[int]] = {}
    for name, label, n in zip(pool.pairs["predicted"], pool.pairs["label"], pool.pairs["n"], strict=True):
        size = sizes.setdefault(str(name), [0, 0])
        size[0] += n
        size[1] += 0 if label is None else n
    return tuple(GroupSize(name, *sizes[name]) for name in sorted(sizes, key=natural_order))


def _diagnose_unreadable(source: Any, words: Mapping[str, Any], error: InputError) -> Diagnosis:
    """Diagnose a table without recognised predictions: its columns, and which of them may hold predictions."""
    try:
        columns = read_columns(source)
    except InputError:
        raise error from None
    likely = [name for name, kind in columns.items() if kind.startswith("float")]
    tries = [{**words, "positive_score": column} for column in likely[:3]]
    lines = tuple(_doctor_command(source, one) for one in tries if _is_readable(source, one))
    lines = (*_suggest_models(source), *lines)
    named = name_source(source)
    made = record(named, inputs=(named,) if isinstance(source, str | Path) else ())
    return Diagnosis(named, columns, {}, 0, 0, (), {}, (Finding("error", str(error)),), (), lines, made)


def _is_readable(source: Any, words: Mapping[str, Any]) -> bool:
    """Would doctor find no error in the table with these roles?"""
    try:
        return all(finding.severity != "error" for finding in check_pool(Predictions.read(source, **words)))
    except InputError:
        return False


def _suggest_roles(source: Any, words: Mapping[str, Any], findings: tuple[Finding, ...]) -> tuple[str, ...]:
    """Suggest doctor commands with the roles that findings propose."""
    tries = []
    for options in (finding.options for finding in findings if finding.options):
        kept = {name: value for name, value in words.items() if value not in options.values()}
        tries.append(_doctor_command(source, {**kept, **options}))
    return tuple(tries)


def _doctor_command(source: Any, words: Mapping[str, Any]) -> str:
    """Return the command to run doctor with these roles."""
    file = source.source if isinstance(source, Predictions) else source
    return f"fewlabels doctor {format_file(file)}{format_options(words)}"


def _list_possible(pool: Predictions) -> tuple[str, ...]:
    """Return what can be assessed with the roles that doctor found."""
    can = ["accuracy"]
    if pool.has("score"):
        can.append("calibration (ece, reliability diagram)")
    if pool.has("predicted") and not pool.has("agreement"):
        can.append("confusion, precision, recall, f1, mcc, cost")
        if len(pool.classes) == 2:
            can.append("tpr, fpr and similar rates, selection-rate")
    if not pool.n_labels:
        answer = "agreement" if pool.has("agreement") else "label"
        can.append(
            f"labels in a separate file ({choose_words('--labels FILE', 'labels=')} with the columns id and {answer})"
        )
    priors = ["calibrated", "scores", "flat"] if pool.has("score") else ["calibrated", "flat"]
    return (*can, f"priors: {', '.join(priors)}")


def _suggest_commands(pool: Predictions, attributes: dict[str, int], words: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the commands that doctor suggests to run next."""
    file = f"{format_file(pool.source)}{format_options(words)}"
    head = f"fewlabels assess {file}"
    by = "--by predicted" if pool.has("predicted") and not pool.has("agreement") else "--by all"
    lines = [f"{head} {by} --html report.html"]
    if pool.has("score"):
        lines.append(f"{head} --by all --metric ece")
    column = _find_column(attributes)
    if pool.n_labels < pool.n_items:
        lines.append(f"fewlabels label {file} --session {_free_name()} {_suggest_goal(pool, column)} --terminal")
    if column:
        lines.append(f"{head} --by {column}")
    return (*lines, *_suggest_fairness(pool, attributes, file), *suggest_rating(pool, column))


def _suggest_fairness(pool: Predictions, attributes: dict[str, int], file: str) -> tuple[str, ...]:
    """Suggest gaps between groups of people, where a column is named like an attribute of people and the model is binary."""
    if not pool.has("predicted") or pool.has("agreement") or len(pool.classes) != 2 or pool.positive is None:
        return ()
    named = (name for name, n in attributes.items() if n <= MAX_PEOPLE and PEOPLE.fullmatch(name))
    by = next((text for text in map(format_group, named) if text is not None), None)
    return () if by is None else (f"fewlabels fairness {file} --by {by} --html fairness.html",)


def _suggest_models(source: Any) -> tuple[str, ...]:
    """Suggest the comparison of the models of a wide table: `predicted_old`, `predicted_new`."""
    names = [name.removeprefix(WIDE) for name in read_columns(source) if name.startswith(WIDE) and name != WIDE]
    if len(names) < 2 or any("," in name for name in names):
        return ()
    try:
        read_wide(source, names)
    except InputError:
        return ()
    return (f"fewlabels compare {format_file(source)}{format_options({'models': names})} --html models.html",)


def _free_name() -> str:
    """Return an unused file name for the session that doctor suggests."""
    names = ("audit.db", *(f"audit-{i}.db" for i in range(2, 1000)))
    return next((name for name in names if not Path(name).exists()), "new-audit.db")


def _suggest_goal(pool: Predictions, column: str | None) -> str:
    """Return the goal that doctor suggests: find-worst where there are several groups, else estimate."""
    if pool.has("predicted") and not pool.has("agreement") and len(set(pool.pairs["predicted"])) > 1:
        return "--goal find-worst --by predicted"
    return f"--goal find-worst --by {column}" if column else "--goal estimate --by all"


def _find_column(attributes: dict[str, int]) -> str | None:
    """Return the --by argument that doctor suggests: the first column with several groups."""
    typed = (format_group(name) for name, n in attributes.items() if 2 <= n <= MAX_GROUP_VALUES)
    return next((text for text in typed if text is not None), None)


def _list_roles(pool: Predictions) -> dict[str, Any]:
    """Return the roles that doctor cannot recognise from column names."""
    roles = pool.roles
    names = ("id", "predicted", "score", "positive_score", "label", "agreement", "propensity")
    words: dict[str, Any] = {name: getattr(roles, name) for name in names}
    words = {name: value for name, value in words.items() if value and not is_recognised(name, value)}
    if roles.scores_list or not is_recognised("scores", *roles.scores.values()):
        words["scores"] = roles.scores_list or next(column.removesuffix(name) for name, column in roles.scores.items())
    if roles.positive_score and roles.positive != "1":
        words["positive"] = roles.positive
    if roles.positive_score and "predicted" in roles.set_aside:
        words["threshold"] = roles.threshold
    return {**words, **({"show": roles.show} if roles.show else {})}
