"""Text that stands for numbers: "93%", "0,938", " 0.5 ". Spreadsheets and some countries write scores so."""

from collections.abc import Sequence
from dataclasses import dataclass

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
from ibis.backends import BaseBackend

from fewlabels.errors import listing


@dataclass(frozen=True)
class Numerals:
    """A table whose columns of numerals hold numbers now."""

    table: ir.Table
    notes: tuple[str, ...] = ()
    words: tuple[tuple[str, int, str], ...] = ()  # column, row and text of what is no number


def read_numerals(table: ir.Table, engine: BaseBackend, columns: Sequence[str]) -> Numerals:
    """Turn columns of text into numbers where every text is one; where one is not, say which. Empty ones stay text."""
    if not columns or not engine.has_operation(ops.TryCast):
        return Numerals(table)
    numbers = {name: _as_number(table[name]) for name in columns}
    texts = {name: table[name].strip().nullif("") for name in columns}
    counts = {f"n{i}": texts[name].count() for i, name in enumerate(columns)}
    bad = {f"bad{i}": _is_word(texts[name], numbers[name]).ifelse(1, 0).sum() for i, name in enumerate(columns)}
    found = engine.to_pyarrow(table.aggregate(**counts, **bad)).to_pylist()[0]
    words = [name for i, name in enumerate(columns) if found[f"bad{i}"]]
    read = [name for i, name in enumerate(columns) if found[f"n{i}"] and name not in words]
    notes = (f"text read as numbers (such as 93% or 0,93) in column {listing(read)}",) if read else ()
    first = tuple((name, *_find_word(table, engine, name)) for name in words)
    return Numerals(table.mutate(**{name: numbers[name] for name in read}) if read else table, notes, first)


def _as_number(column: ir.Value) -> ir.Value:
    """Read a number; a comma is a decimal comma, and a percent sign divides by 100."""
    text = column.strip()
    is_percent = text.endswith("%")
    plain = is_percent.ifelse(text.left(text.length() - 1), text).strip().replace(",", ".").nullif("")
    number = plain.try_cast("float64")
    return is_percent.ifelse(number / 100, number)


def _is_word(text: ir.Value, number: ir.Value) -> ir.Value:
    return text.notnull() & number.isnull()


def _find_word(table: ir.Table, engine: BaseBackend, name: str) -> tuple[int, str]:
    text = table[name].strip().nullif("")
    rows = table.select(row=ibis.row_number() + 1, text=text, number=_as_number(table[name]))
    hit = rows.filter(_is_word(rows["text"], rows["number"])).order_by("row").limit(1)
    found = engine.to_pyarrow(hit.select("row", "text")).to_pylist()[0]
    return int(found["row"]), str(found["text"])
