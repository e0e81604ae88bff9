"""Join the predictions of several models on the same items: files by id, one wide table, or one long table.

The join and all counts are made in the engine of the first table. Labels come from any of the tables; two that differ for
the same item are refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from pathlib import Path
from types import MappingProxyType
from typing import Any

import ibis
import ibis.expr.types as ir
from ibis.backends import BaseBackend

from fewlabels.data.addresses import is_address
from fewlabels.data.column_names import LABEL, PREDICTED, RESERVED_PREFIX, SCORE
from fewlabels.data.engine_errors import explain_engine_errors
from fewlabels.data.given_roles import GivenRoles, record_roles
from fewlabels.data.joint_predictions import LABELS_DIFFER, JointPredictions, column_of
from fewlabels.data.logs.reading import read_log
from fewlabels.data.names import as_name, natural_order
from fewlabels.data.predictions import Predictions
from fewlabels.data.relation import Value
from fewlabels.data.sources import open_source, open_table, register_arrow
from fewlabels.errors import InputError, choose_words, count, format_option, join_names, quote_name
from fewlabels.text import redact_passwords

MAX_MODELS = 50  # the query compares every pair of models
KEY = f"{RESERVED_PREFIX}key"
LAYOUTS = frozenset({"models", "model"})  # roles that say where several models are in one table
_ROLE_COLUMNS = {"predicted": PREDICTED, "score": SCORE}


def join_models(sources: Mapping[str, Any], *, labels: Any = None, **roles: Any) -> JointPredictions:
    """Join the predictions of several models by id.

    Parameters
    ----------
    sources: mapping
        Name of a model to its predictions: Predictions, a path, a frame or an Ibis table.
    labels: path, frame or dict of arrays
        A further source with the columns id and label, joined by id; it replaces labels in the predictions.
    **roles: object
        Column roles, as for `Predictions.read`; the same for all tables.
    """
    require_models(list(sources))
    _refuse_same_file(sources)
    parts: list[Predictions] = []
    for source in sources.values():
        parts.append(_read_part(source, parts[0].engine if parts else None, None if parts else labels, roles))
    return _join_parts(tuple(map(str, sources)), parts, has_given_labels=labels is not None)


def read_wide(source: Any, models: Sequence[str], *, labels: Any = None, **roles: Any) -> JointPredictions:
    """Read one wide table of joined models: `predicted_NAME` and `score_NAME`, or `p_NAME_CLASS` for every class."""
    require_models(models)
    table = open_source(source).table
    columns = {name: _list_model_columns(table.columns, name, models) for name in models}
    lost = [name for name, found in columns.items() if not found]
    if lost:
        raise InputError(f"models: {lost[0]!r} has no column: neither 'predicted_{lost[0]}' nor 'p_{lost[0]}_<class>'; columns: {join_names(table.columns, most=20)}")  # fmt: skip
    taken = {column for found in columns.values() for column in found}
    shared = [column for column in table.columns if column not in taken]
    tables = [table.select(*shared, **{new: table[old] for old, new in found.items()}) for found in columns.values()]
    parts = _read_tables(tables, source, labels, roles)
    return _join_parts(tuple(models), parts, has_given_labels=labels is not None, layout={"models": models})


def read_long(source: Any, model: str, *, labels: Any = None, **roles: Any) -> JointPredictions:
    """Read one long table to join, with a row per item and model; `model` is the column with the model's name."""
    table, engine, _, _ = open_source(source)
    if model not in table.columns:
        raise InputError(f"model: there is no column {model!r}; columns: {join_names(table.columns, most=20)}")
    named = as_name(table[model])
    names = engine.to_pyarrow(table.select(name=named).distinct().limit(MAX_MODELS + 1))["name"].to_pylist()
    if None in names:
        raise InputError(f"model: column {model!r} is empty in some rows; every row needs the name of its model")
    names = sorted(names, key=natural_order)
    require_models(names)
    tables = [table.filter(named == name).drop(model) for name in names]
    parts = _read_tables(tables, source, labels, roles)
    return _join_parts(tuple(names), parts, has_given_labels=labels is not None, layout={"model": model})


def open_models(
    pools: Any, *, models: Sequence[str] | None = None, model: str | None = None, labels: Any = None, **roles: Any
) -> JointPredictions:
    """Open and join the predictions of several models, given as a mapping, as a wide table or as a long one."""
    if isinstance(pools, JointPredictions):
        return pools
    if models is not None and model is not None:
        raise InputError("both models and model are given: one names the columns of a wide table, the other the column of a long one; give one of them")  # fmt: skip
    if model is not None:
        return read_long(pools, model, labels=labels, **roles)
    if models is not None:
        return read_wide(pools, tuple(models), labels=labels, **roles)
    if not names_models(pools):
        raise InputError(f"expected several models; give {choose_words('two or more files, or one file with --models old,new or --model COLUMN', 'a dict of name to predictions, or one table with models=(...) or model=...')}")  # fmt: skip
    return join_models(pools, labels=labels, **roles)


def read_predictions(source: Any, given: GivenRoles | None = None) -> Predictions:
    """Read the predictions of one model, or join those of several that a mapping or the given roles name."""
    if isinstance(source, Predictions):
        return source
    if names_models(source):
        are_read = any(isinstance(one, Predictions) for one in source.values())
        return join_models(source, **_drop_layout({} if are_read else given or {}))
    words: dict[str, Any] = dict(given or {})
    return open_models(source, **words) if LAYOUTS & words.keys() else Predictions.read(source, **words)


def _drop_layout(given: GivenRoles) -> dict[str, Any]:
    """Return the given roles without what says where the models to join are in one table."""
    return {role: value for role, value in given.items() if role not in LAYOUTS}


def names_models(pools: Any) -> bool:
    """Whether this maps names of models to predictions to join, and not names of columns to arrays."""
    if not isinstance(pools, Mapping):
        return False
    return all(isinstance(one, str | Mapping | Predictions) or hasattr(one, "columns") or hasattr(one, "__fspath__") for one in pools.values())  # fmt: skip


def require_models(names: Sequence[str]) -> None:
    """Refuse to join fewer than two models, too many, and a name given twice."""
    if len(names) > MAX_MODELS:
        raise InputError(f"models: more than {MAX_MODELS} are given, and at most {MAX_MODELS} can be compared at once; compare the most promising ones")  # fmt: skip
    if len(names) < 2:
        raise InputError(f"models: {count(len(names), 'model')} given; a comparison needs at least two")
    twice = [name for name in dict.fromkeys(names) if list(names).count(name) > 1]
    if twice:
        raise InputError(f"models: {quote_name(twice[0])} is named twice; give every model a name of its own")
    blank = [name for name in names if not str(name).strip()]
    if blank:
        raise InputError("models: a name is empty; give every model a name")


def _refuse_same_file(sources: Mapping[str, Any]) -> None:
    """Refuse to join the same file under two models' names."""
    seen: dict[str, str] = {}
    for name, source in sources.items():
        path = str(Path(source).resolve()) if isinstance(source, str | Path) else f"object {id(source)}"
        if path in seen:
            raise InputError(f"models: {seen[path]} and {name} are the same predictions; give two different ones")
        seen[path] = name


def _list_model_columns(columns: Sequence[str], model: str, models: Sequence[str]) -> dict[str, str]:
    """List the columns of one model to join, with their usual names; of `a` and `a_b`, `p_a_b_x` is the second one's."""
    longer = [other for other in models if other.startswith(f"{model}_")]
    found = {f"{role}_{model}": role for role in ("predicted", "score") if f"{role}_{model}" in columns}
    for column in columns:
        if column.startswith(f"p_{model}_") and not column.startswith(tuple(f"p_{other}_" for other in longer)):
            found[column] = "p_" + column.removeprefix(f"p_{model}_")
    return {} if list(found.values()) == ["score"] else found


def _read_tables(tables: Sequence[ir.Table], source: Any, labels: Any, roles: Mapping[str, Any]) -> list[Predictions]:
    """Read the predictions of every model from one table; labels that were given are joined to the first."""
    given = [labels, *[None] * (len(tables) - 1)]
    parts = [Predictions.read(table, labels=one, **roles) for table, one in zip(tables, given, strict=True)]
    return [_name_part(part, source) for part in parts]


def _read_part(source: Any, engine: BaseBackend | None, labels: Any, roles: Mapping[str, Any]) -> Predictions:
    """Read the predictions of one model to join, in the engine of the others."""
    if isinstance(source, Predictions):
        if roles or labels is not None:
            raise InputError("these predictions are read already; give roles and labels to Predictions.read instead")
        return source if engine is None or source.engine is engine else _move_to_engine(source, engine)
    if engine is None or read_log(source) is not None:
        part = Predictions.read(source, labels=labels, **roles)
        return part if engine is None else _move_to_engine(part, engine)
    return _name_part(Predictions.read(open_table(source, engine), labels=labels, **roles), source)


def _name_part(part: Predictions, source: Any) -> Predictions:
    """Name the predictions of a model to join by their source: they were read from a table that was open already."""
    if not isinstance(source, str | Path):
        return part
    inputs = () if is_address(source) else (str(source),)
    return replace(part, source=redact_passwords(str(source)), inputs=tuple(dict.fromkeys((*part.inputs, *inputs))))


def _move_to_engine(part: Predictions, engine: BaseBackend) -> Predictions:
    """Copy the predictions of a model to the engine in which they are joined."""
    with explain_engine_errors(part.source):
        copied = part.engine.to_pyarrow(part.items)
    return replace(part, items=register_arrow(copied, engine), engine=engine)


def _require_joinable(name: str, part: Predictions) -> None:
    """Refuse to join graded outputs and predictions without an id column."""
    if part.has("agreement"):
        raise InputError(f"{name}: models are compared on true classes, and {part.source} has grades of agreement; assess each model by itself")  # fmt: skip
    if not part.roles.id:
        raise InputError(f"{name}: {part.source} has no id column, and predictions of several models are joined by id; name it with {format_option('id')}")  # fmt: skip


def _join_parts(
    models: tuple[str, ...],
    parts: Sequence[Predictions],
    *,
    has_given_labels: bool,
    layout: Mapping[str, Any] = MappingProxyType({}),
) -> JointPredictions:
    """Join the tables of all models; `layout` says where they are in one table."""
    for name, part in zip(models, parts, strict=True):
        _require_joinable(name, part)
    as_integers = all(part.has_integer_ids for part in parts)
    first = parts[0]
    joined = first.items.mutate(**{KEY: _make_key(first, as_integers=as_integers)})
    for i, part in enumerate(parts[1:], start=1):
        joined = joined.inner_join(_select_columns(part, i, joined, as_integers=as_integers), KEY)
    labels = [joined[column_of(LABEL, i)] for i, part in enumerate(parts) if i == 0 or part.roles.label]
    if len(labels) > 1:
        merged = ibis.coalesce(*labels)
        differ = reduce(or_, [(one != merged).fill_null(False) for one in labels[1:]])
        joined = joined.mutate(**{LABEL: merged} | ({} if has_given_labels else {LABELS_DIFFER: differ}))
    inputs = tuple(dict.fromkeys(path for part in parts for path in part.inputs))
    sources = join_names(dict.fromkeys(part.source for part in parts), most=3)
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    return JointPredictions(
        joined.drop(KEY), first.engine, sources, first.roles, first.frame, first.scored_classes, notes, inputs, models,
        tuple(parts), given_roles=_merge_given_roles(parts, layout),
    )  # fmt: skip


def _merge_given_roles(parts: Sequence[Predictions], layout: Mapping[str, Any]) -> GivenRoles | None:
    """Return the roles that all tables to join were read with, and their layout; None if the roles differ."""
    given = parts[0].given_roles
    if given is None or any(part.given_roles != given for part in parts):
        return None
    return {**given, **record_roles(layout, ())}


def _make_key(part: Predictions, *, as_integers: bool) -> Value:
    """Return the key by which models are joined: the id as an integer or as text."""
    return part.id.cast("int64") if as_integers else part.name


def _select_columns(part: Predictions, model: int, joined: ir.Table, *, as_integers: bool) -> ir.Table:
    """Select what a model adds to the joined table: its predictions, its labels, and columns that no earlier table has."""
    roles = [role for role in ("predicted", "score") if part.has(role)]
    columns = {column_of(named, model): part.items[named] for named in (_ROLE_COLUMNS[role] for role in roles)}
    if part.roles.label:
        columns[column_of(LABEL, model)] = part.label
    known = {name.casefold() for name in joined.columns}
    more = {name: part.items[name] for name in part.attributes if name.casefold() not in known}
    return part.items.select(**{KEY: _make_key(part, as_integers=as_integers)}, **columns, **more)


def describe_unmatched(pool: JointPredictions) -> tuple[str, ...]:
    """Say how many items the join of models left unmatched; raise if no item is in all tables."""
    sizes = [part.n_items for part in pool.parts]
    if not pool.n_items and min(sizes):
        ids = [part.find(part.id.notnull(), name=part.name)["name"][0] for part in pool.parts]
        shown = join_names(
            (f"{name} has {quote_name(one)}" for name, one in zip(pool.models, ids, strict=True)), most=3
        )
        raise InputError(f"no item has predictions of all models: their ids do not match ({shown}); give the same ids to the same items, or name the column with {format_option('id')}")  # fmt: skip
    if max(sizes) == pool.n_items:
        return ()
    have = join_names((f"{name} has {n:,}" for name, n in zip(pool.models, sizes, strict=True)), most=4)
    return (
        f"only {count(pool.n_items, 'item')} {'has' if pool.n_items == 1 else 'have'} predictions of all models ({have}); the others are left out",
    )


def refuse_contradicting_labels(pool: JointPredictions, n: int) -> None:
    """Raise if labels of the same item differ between joined models' tables; `n` items do."""
    if not n:
        return
    columns = {name: pool.items[column_of(LABEL, i)] for i, name in enumerate(pool.models) if i and column_of(LABEL, i) in pool.items.columns}  # fmt: skip
    found = pool.find(
        pool.items[LABELS_DIFFER], id=pool.name, merged=pool.label, **{f"label_{k}": v for k, v in columns.items()}
    )
    other, label = next(
        (k, found[f"label_{k}"][0]) for k in columns if found[f"label_{k}"][0] not in (None, found["merged"][0])
    )
    raise InputError(f"labels contradict each other on {count(n, 'item')}: id {quote_name(found['id'][0])} is {quote_name(found['merged'][0])} in one table and {quote_name(label)} in that of {other}; correct them, or give the right ones with {format_option('labels')}")  # fmt: skip


def describe_other_values(pool: JointPredictions, columns: Sequence[str]) -> tuple[str, ...]:
    """Say in how many joined items a column that groups are made of has another value in another model's table."""
    notes = []
    for column in columns:
        first, *others = [i for i, part in enumerate(pool.parts) if column in part.attributes] or [0]
        for other in others:
            n = _count_differing(pool.parts[first], pool.parts[other], column)
            if n:
                notes.append(f"column {column!r} differs in {count(n, 'item')} between {pool.models[first]} and {pool.models[other]}: groups are those of {pool.models[first]}; if its values should be the same, ids may name other items")  # fmt: skip
    return tuple(notes)


def _count_differing(one: Predictions, other: Predictions, column: str) -> int:
    """Count the joined items for which a column differs in two models' tables."""
    sides = [part.items.select(**{KEY: part.name, name: as_name(part.items[column]).fill_null("")}) for part, name in ((one, "one"), (other, "other"))]  # fmt: skip
    joined = sides[0].inner_join(sides[1], KEY)
    found = one.engine.to_pyarrow(joined.filter(joined["one"] != joined["other"]).aggregate(n=lambda t: t.count()))
    return int(found["n"][0].as_py())
