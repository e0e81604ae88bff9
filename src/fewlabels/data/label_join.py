"""Join labels from a separate source to predictions, by id.

The source may be the export of a session. Then labels of items that were not asked for are left out, as in the session
itself, because only randomly drawn items represent their group; so are items that annotators could not label ("?").
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import ibis
import ibis.expr.types as ir
from ibis.backends import BaseBackend

from fewlabels.data.columns import column_kinds
from fewlabels.data.label_context import note_other_values
from fewlabels.data.names import as_name
from fewlabels.data.numbers import as_float
from fewlabels.data.roles import PREFIXES, SUGGESTED, Kind, Roles, is_recognised, list_prefixed, resolve_roles
from fewlabels.data.suggestions import SuggestedColumns
from fewlabels.errors import InputError, format_option, quote_name
from fewlabels.text import ESCAPED

Joined = tuple[ir.Table, dict[str, Any], tuple[str, ...]]
ASKED = "asked"  # column of an export: was the item asked for?
CANNOT_TELL = "?"  # label of an export: annotators could not label the item
FLAGS = ("true", "false")
EXPORTED = (ASKED, "who", "note", "at")  # columns that identify an export


def join_labels(table: ir.Table, labels: ir.Table, engine: BaseBackend, given: Mapping[str, Any]) -> Joined:
    """Return the predictions joined with the labels of another table, the updated roles, and notes for the user."""
    answers = _read_grades(labels, given, engine)
    role, column, notes = _find_label_column(answers, given)
    elsewhere = {
        name for name in ("label", "agreement", "propensity") if name in given and given[name] not in table.columns
    }
    roles = resolve_roles(column_kinds(table), **{k: v for k, v in given.items() if k not in elsewhere})
    answer_id = roles.id if roles.id in answers.columns else resolve_roles(column_kinds(answers)).id
    if roles.id is None or answer_id is None:
        where = "predictions" if roles.id is None else "labels"
        raise InputError(
            f"labels are matched by id, but the {where} have no id column; name it id, or give {format_option('id')}"
        )
    has_mark = _has_mark(answers, column, engine) and not _predicts_mark(table, roles, engine)
    answers, left_out = _drop_unusable(answers, column, engine, has_mark=has_mark)
    answers = _unescape_formulas(answers, answer_id, engine, column_of=table[roles.id])
    theirs = table[roles.predicted] if roles.predicted else None
    answers = _unescape_formulas(answers, column, engine, column_of=theirs, names=_list_scored_classes(table, roles))
    answers = _read_flags(_one_label_per_id(answers, answer_id, column, engine), table, roles, engine)
    lost = _check_label_ids(table, roles.id, answers, engine)
    notes += (*left_out, *lost, *_count_sources(table, roles, answers, role, engine))
    notes += note_other_values(table, roles, labels, answer_id, engine, apart={column, *EXPORTED})
    if role == "label":
        notes += _note_attributes(SuggestedColumns(table, engine, column_kinds(table), roles))
    joined, name = _join_by_id(table, roles, answers, role)
    joined, unused = _join_propensities(joined, roles, labels, answer_id, given)
    kept = {k: v for k, v in given.items() if k not in elsewhere or k == "propensity"}
    return joined, {**kept, role: name}, (*notes, *unused)


def _join_propensities(
    table: ir.Table, roles: Roles, labels: ir.Table, answer_id: str, given: Mapping[str, Any]
) -> tuple[ir.Table, tuple[str, ...]]:
    """Add the propensities that stand beside the labels, unless the predictions have such a column; note it if so."""
    numbers: dict[str, Kind] = {name: "number" if is_recognised("propensity", name) else kind for name, kind in column_kinds(labels).items()}  # numbers may be text  # fmt: skip
    column = given.get("propensity") or resolve_roles(numbers).propensity
    if column is None or column not in labels.columns:
        return table, ()
    if column in table.columns:
        return table, (f"column {column!r} of the labels is not used: the predictions have one of that name",)
    theirs = labels.select(__fl_key=as_name(labels[answer_id]), __fl_chance=labels[column])
    theirs = (
        theirs.filter(theirs["__fl_chance"].notnull())
        .group_by("__fl_key")
        .aggregate(__fl_chance=theirs["__fl_chance"].min())
    )
    joined = table.mutate(__fl_key=as_name(table[roles.id])).left_join(theirs, "__fl_key")
    extra = [name for name in joined.columns if name in ("__fl_key", "__fl_chance", "__fl_key_right")]
    return joined.mutate(**{column: joined["__fl_chance"]}).drop(*extra), ()


def _note_attributes(columns: SuggestedColumns) -> tuple[str, ...]:
    """Note the columns that may hold labels too, and are not joined with the given ones."""
    likely = [name for name in columns.list_suggested("label") if columns.roles.label is None]
    fit = [name for name in likely if columns.holds_classes(name)]
    return tuple(f"column {name!r} is not used: labels come from the labels that were given (to add it to them, say {format_option('label', name)})" for name in fit)  # fmt: skip


def _count_sources(table: ir.Table, roles: Roles, answers: ir.Table, role: str, engine: BaseBackend) -> tuple[str, ...]:
    """Note how many joined labels come from each source, if both have some."""
    before = getattr(roles, role)
    if not before:
        return ()
    key = as_name(table[roles.id])
    theirs = table.select(__fl_key=key, __fl_old=table[before]).left_join(answers, "__fl_key")
    added, old = theirs["__fl_answer"].notnull(), theirs["__fl_old"].notnull()
    one, other = (as_name(theirs[name], booleans=("0", "1")) for name in ("__fl_answer", "__fl_old"))
    counts = {"new": added, "old": ~added & old, "both": added & old, "unlike": (one != other).fill_null(False)}
    sums = {name: value.ifelse(1, 0).sum() for name, value in counts.items()}
    found = engine.to_pyarrow(theirs.aggregate(**sums)).to_pylist()[0]
    unlike = (f"{found['unlike']:,} of {found['both']:,} items that have a label in column {before!r} of the predictions too have another one there; the labels that were given are used",) if found["unlike"] else ()  # fmt: skip
    if not found["new"] or not found["old"]:
        return unlike
    return (*unlike, f"labels come from two sources: {found['new']:,} from the labels that were given, {found['old']:,} from column {before!r} of the predictions",)  # fmt: skip


def _list_scored_classes(table: ir.Table, roles: Roles) -> set[str]:
    """Return the classes named by probability columns."""
    found = column_kinds(table)
    return {
        *roles.scores,
        *(name[len(prefix) :] for prefix in PREFIXES for name in list_prefixed(found, prefix, set())),
    }


def _read_grades(answers: ir.Table, given: Mapping[str, Any], engine: BaseBackend) -> ir.Table:
    """Convert joined labels that are grades to numbers: a "?" among them makes the whole column text."""
    column = given.get("agreement", "agreement")
    is_theirs = column in answers.columns and ("agreement" in given or "label" not in answers.columns)
    if not is_theirs or not answers[column].type().is_string():
        return answers
    text = answers[column].strip().nullif("").nullif(CANNOT_TELL)
    grade = text.try_cast("float64")
    wrong = answers.filter(text.notnull() & grade.isnull()).select(text=column).limit(1)
    found = engine.to_pyarrow(wrong)["text"].to_pylist()
    if found:
        raise InputError(f"the labels' column {column!r} holds {found[0]!r}, which is no grade between 0 and 1")
    return answers.mutate(**{column: grade})


def _unescape_formulas(
    answers: ir.Table,
    column: str,
    engine: BaseBackend,
    *,
    column_of: ir.Value | None,
    names: AbstractSet[str] = frozenset(),
) -> ir.Table:
    """Remove escaped formulas' apostrophe in labels to join, unless predictions have it too and labels are no export."""
    value = answers[column]
    if not value.type().is_string():
        return answers
    marked = answers.filter(value.re_search(ESCAPED)).select(x=column).distinct()
    found = engine.to_pyarrow(marked)["x"].to_pylist()
    if not found:
        return answers
    known = set(names) & set(found)
    if column_of is not None:
        theirs = as_name(column_of).name("x").as_table()
        known |= set(engine.to_pyarrow(theirs.filter(theirs["x"].isin(found)).distinct())["x"].to_pylist())
    if len(known) == len(found) and not set(EXPORTED) <= set(answers.columns):
        return answers
    return answers.mutate(**{column: ibis.cases((value.isin(found), value.substr(1)), else_=value)})


def _find_label_column(answers: ir.Table, given: Mapping[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    """Find the column of labels (or agreement) in the separate table to join."""
    asked = {role: given[role] for role in ("label", "agreement") if given.get(role) in answers.columns}
    found = resolve_roles(column_kinds(answers), **asked)
    if found.agreement:
        return "agreement", found.agreement, ()
    if found.label:
        return "label", found.label, ()
    names = {name.lower(): name for name in answers.columns}
    likely = [names[name] for name in SUGGESTED["label"] if name in names]
    if likely:
        return "label", likely[0], (f"labels come from column {likely[0]!r} of the labels that were given",)
    known = ", ".join(answers.columns)
    raise InputError(f"the labels have no column called label or agreement; their columns: {known}")


def _drop_unusable(
    answers: ir.Table, column: str, engine: BaseBackend, *, has_mark: bool
) -> tuple[ir.Table, tuple[str, ...]]:
    """Drop the labels that do not count in the join, and note how many and why."""
    value = answers[column]
    told = value.notnull() & (value.strip() != CANNOT_TELL) if has_mark else value.notnull()
    asked = _was_requested(answers, engine)
    counts = {"untold": (value.notnull() & ~told).sum(), "unasked": (told & ~asked).sum()}
    found = engine.to_pyarrow(answers.aggregate(**counts)).to_pylist()[0]
    notes = []
    if found["unasked"]:
        notes.append(
            f"labels that were not asked for: {found['unasked']:,}; they are left out of every estimate, because only randomly drawn items represent their group"
        )
    if found["untold"]:
        notes.append(note_cannot_tell(found["untold"]))
    return answers.filter(told & asked), tuple(notes)


def note_cannot_tell(n: int) -> str:
    """Return the warning about joined labels of items that annotators could not label."""
    return f"items answered with cannot tell: {n:,}; if they are harder than the rest, the estimates are too optimistic"


def _was_requested(answers: ir.Table, engine: BaseBackend) -> ir.BooleanValue:
    """Return whether a joined label was asked for, by default true; in CSV files booleans are text."""
    kind = answers[ASKED].type() if ASKED in answers.columns else None
    if kind is not None and kind.is_boolean():
        return answers[ASKED].fill_null(True)
    if kind is not None and kind.is_string() and _holds_flags(answers, ASKED, engine):
        return answers[ASKED].strip().lower().fill_null("true") != "false"
    return ibis.literal(True)


def _holds_flags(table: ir.Table, column: str, engine: BaseBackend) -> bool:
    """Does a column of labels to join hold only the words true and false?"""
    words = table[column].strip().lower().nullif("")
    others = table.filter(words.notnull() & words.notin(FLAGS))
    return not engine.to_pyarrow(others.aggregate(n=others.count()))["n"][0].as_py()


def _predicts_mark(table: ir.Table, roles: Roles, engine: BaseBackend) -> bool:
    """Return whether "?" is a class of these predictions; then it joins them as an ordinary label."""
    is_predicted = roles.predicted is not None and _has_mark(table, roles.predicted, engine)
    return is_predicted or CANNOT_TELL in _list_scored_classes(table, roles)


def _has_mark(table: ir.Table, column: str, engine: BaseBackend) -> bool:
    """Does a joined label say "?" (cannot tell)?"""
    if not table[column].type().is_string():
        return False
    found = table.filter(table[column].strip() == CANNOT_TELL).limit(1)
    return bool(engine.to_pyarrow(found.select(x=column)).num_rows)


def _one_label_per_id(answers: ir.Table, id: str, column: str, engine: BaseBackend) -> ir.Table:
    """Keep one label per id to join; refuse different labels of the same item."""
    value = answers[column]
    answers = answers.filter(value.notnull()).select(__fl_key=as_name(answers[id]), __fl_answer=value).distinct()
    repeated = answers.group_by("__fl_key").having(answers.count() > 1).aggregate(n=answers.count()).limit(1)
    found = engine.to_pyarrow(repeated).to_pylist()
    if found:
        raise InputError(
            f"the labels give id {quote_name(found[0]['__fl_key'])} {found[0]['n']} different answers; keep one"
        )
    return answers


def _read_flags(answers: ir.Table, table: ir.Table, roles: Roles, engine: BaseBackend) -> ir.Table:
    """Convert joined labels that are the words true and false to booleans, as the predictions are: CSV only has text."""
    is_flag = roles.predicted is not None and table[roles.predicted].type().is_boolean()
    answer = answers["__fl_answer"]
    if is_flag and answer.type().is_string() and _holds_flags(answers, "__fl_answer", engine):
        return answers.mutate(__fl_answer=answer.strip().lower() == "true")
    return answers


def _check_label_ids(table: ir.Table, id: str, answers: ir.Table, engine: BaseBackend) -> tuple[str, ...]:
    """Raise if no label joins an item by its id; note how many labels have none."""
    lost = answers.anti_join(table.select(__fl_key=as_name(table[id])), "__fl_key")
    counts = engine.to_pyarrow(lost.aggregate(lost=lost.count(), example=lost["__fl_key"].min())).to_pylist()[0]
    total = engine.to_pyarrow(answers.aggregate(n=answers.count()))["n"][0].as_py()
    if total and counts["lost"] == total:
        example = engine.to_pyarrow(table.select(x=as_name(table[id])).limit(1))["x"].to_pylist()
        theirs = repr(example[0]) if example else "no rows"
        which = "the only labelled id is not" if total == 1 else f"none of the {total:,} labelled ids is"
        raise InputError(
            f"{which} among the predictions: labels have {quote_name(counts['example'])}, predictions have {theirs}"
        )
    if counts["lost"]:
        have = "has an id that is" if counts["lost"] == 1 else "have ids that are"
        return (
            f"{counts['lost']:,} of {total:,} labels {have} not among the predictions "
            f"(for instance {quote_name(counts['example'])}), and left out",
        )
    return ()


def _join_by_id(table: ir.Table, roles: Roles, answers: ir.Table, role: str) -> tuple[ir.Table, str]:
    """Join by id; if both have a label, the separate source is used, because it is newer."""
    before = getattr(roles, role)
    joined = table.mutate(__fl_key=as_name(table[roles.id])).left_join(answers, "__fl_key")
    answer = joined["__fl_answer"]
    if before:
        answer = _fill_missing(answer, joined[before], role)
    name = before or role
    extra = [column for column in joined.columns if column in ("__fl_key", "__fl_answer", "__fl_key_right")]
    return joined.mutate(**{name: answer}).drop(*extra), name


def _fill_missing(answer: ir.Value, old: ir.Value, role: str) -> ir.Value:
    """Join missing labels with the old ones; if the types differ, both are cast to class names or numbers."""
    if answer.type().is_boolean() and old.type().is_boolean():
        return answer.fill_null(old)
    answer, old = (as_name(v) if role == "label" else as_float(v) for v in (answer, old))
    return answer.fill_null(old)
