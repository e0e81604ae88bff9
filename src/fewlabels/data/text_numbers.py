"""Parse numbers stored as text, such as "93%", "0,938" and " 0.5 ", as spreadsheets and some locales write them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
from ibis.backends import BaseBackend

from fewlabels.data.query_results import fetch_arrow


@dataclass(frozen=True)
class Numerals:
    """Text columns parsed as numbers, and the first text that is no number in the others."""

    numbers: Mapping[str, ir.Value] = field(default_factory=dict)  # column -> parsed expression
    fitting: tuple[str, ...] = ()  # columns whose numbers all lie in [0, 1]
    words: tuple[tuple[str, int, str], ...] = ()  # column, row and text of the first value that is no number


def read_numerals(table: ir.Table, engine: BaseBackend, columns: Sequence[str]) -> Numerals:
    """Parse numbers stored as text, if all in a column are; report the first other value. Empty columns stay text."""
    if not columns or not engine.has_operation(ops.TryCast):
        return Numerals()
    numbers = {name: _as_number(table[name]) for name in columns}
    texts = {name: table[name].strip().nullif("") for name in columns}
    counts = {f"n{i}": texts[name].count() for i, name in enumerate(columns)}
    bad = {f"bad{i}": _is_word(texts[name], numbers[name]).ifelse(1, 0).sum() for i, name in enumerate(columns)}
    out = {f"out{i}": ~numbers[name].between(0, 1) for i, name in enumerate(columns)}
    outside = {name: value.fill_null(False).ifelse(1, 0).sum() for name, value in out.items()}
    found = fetch_arrow(engine, table.aggregate(**counts, **bad, **outside)).to_pylist()[0]
    words = [name for i, name in enumerate(columns) if found[f"bad{i}"]]
    read = [name for i, name in enumerate(columns) if found[f"n{i}"] and name not in words]
    fitting = tuple(name for i, name in enumerate(columns) if name in read and not found[f"out{i}"])
    first = tuple((name, *_find_word(table, engine, name)) for name in words)
    return Numerals({name: numbers[name] for name in read}, fitting, first)


def _as_number(column: ir.Value) -> ir.Value:
    """Parse a number stored as text; a comma is the decimal separator, and a percent sign divides by 100."""
    text = column.strip()
    is_percent = text.endswith("%")
    plain = is_percent.ifelse(text.left(text.length() - 1), text).strip().replace(",", ".").nullif("")
    number = plain.try_cast("float64")
    return is_percent.ifelse(number / 100, number)


def _is_word(text: ir.Value, number: ir.Value) -> ir.Value:
    """Is a text present that is no number?"""
    return text.notnull() & number.isnull()


def _find_word(table: ir.Table, engine: BaseBackend, name: str) -> tuple[int, str]:
    """Return the row and the text of the first value that is no number."""
    text = table[name].strip().nullif("")
    rows = table.select(row=ibis.row_number() + 1, text=text, number=_as_number(table[name]))
    hit = rows.filter(_is_word(rows["text"], rows["number"])).order_by("row").limit(1)
    found = fetch_arrow(engine, hit.select("row", "text")).to_pylist()[0]
    return int(found["row"]), str(found["text"])
