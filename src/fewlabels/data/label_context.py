"""Compare the columns that labels repeat from the predictions, such as the text of an item: do ids name the same items?"""

from collections.abc import Set as AbstractSet

import ibis.expr.types as ir
from ibis.backends import BaseBackend

from fewlabels.data.names import as_name
from fewlabels.data.roles import Roles
from fewlabels.errors import count


def note_other_values(
    table: ir.Table, roles: Roles, labels: ir.Table, answer_id: str, engine: BaseBackend, *, apart: AbstractSet[str]
) -> tuple[str, ...]:
    """Note the columns that labels repeat as context, and whose values differ from the predictions' at the same ids."""
    taken = {str(roles.id), answer_id, *apart, *(roles.label, roles.agreement, roles.score, roles.propensity)}
    shared = [name for name in labels.columns if name in table.columns and name not in taken]
    shared = [name for name in shared if _is_plain(labels[name]) and _is_plain(table[name])]
    if not shared:
        return ()
    sides = [
        one.select(
            __fl_key=as_name(one[key]), **{f"{side}{i}": _tidy_context(one[name]) for i, name in enumerate(shared)}
        )
        for side, one, key in (("ours", table, str(roles.id)), ("theirs", labels, answer_id))
    ]
    joined = sides[0].inner_join(sides[1], "__fl_key")
    unlike = {f"n{i}": (joined[f"ours{i}"] != joined[f"theirs{i}"]).ifelse(1, 0).sum() for i in range(len(shared))}
    found = engine.to_pyarrow(joined.aggregate(n=joined.count(), **unlike)).to_pylist()[0]
    return tuple(
        f"column {name!r} of the labels differs from that of the predictions in {found[f'n{i}']:,} of {count(found['n'], 'item')}; if both should be the same, ids may name other items"
        for i, name in enumerate(shared)
        if found[f"n{i}"]
    )  # fmt: skip


def _is_plain(value: ir.Value) -> bool:
    """Return whether the values of a context column are written alike in every file: text, integers and booleans."""
    kind = value.type()
    return bool(kind.is_string() or kind.is_integer() or kind.is_boolean())


def _tidy_context(value: ir.Value) -> ir.Value:
    """Return the text of context values as sheets of labels keep it: without line ends, an apostrophe, and cases of True."""
    text = as_name(value).fill_null("").strip()
    text = text.replace("\r\n", "\n").re_replace("^'", "")
    return text.lower().isin(["true", "false"]).ifelse(text.lower(), text)
