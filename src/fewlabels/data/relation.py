"""A table in some engine: aggregate queries, and queries for a few rows, independent of the size of the table.

`Predictions` is such a table in which columns have roles.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import RLock
from typing import Any, TypeAlias

import ibis
import ibis.expr.types as ir
import pyarrow as pa
from ibis.backends import BaseBackend

from fewlabels.data.column_names import RESERVED_PREFIX
from fewlabels.data.engine_errors import explain_engine_errors
from fewlabels.data.names import as_name
from fewlabels.data.numbers import as_float
from fewlabels.data.query_results import fetch_arrow

Value: TypeAlias = Any  # an Ibis expression; its methods depend on its type in the engine
Columns = dict[str, list[Any]]
_ENGINE_LOCK = RLock()  # a busy connection refuses other threads


@dataclass(frozen=True, eq=False)
class Relation:
    """A table, the engine that holds it, and its name in messages."""

    items: ir.Table
    engine: BaseBackend
    source: str

    # -- expressions ---------------------------------------------------------------------------------------

    def columns(self) -> tuple[str, ...]:
        """The columns of the user's table."""
        return tuple(c for c in self.items.columns if not c.startswith(RESERVED_PREFIX))

    def attribute(self, name: str) -> Value:
        """A column as group names; null if missing."""
        return as_name(self.items[name])

    def is_number(self, name: str) -> bool:
        """Return whether a column is numeric; booleans are not."""
        return bool(self.items[name].type().is_numeric())

    def number(self, name: str) -> Value:
        """A column as float; NaN becomes null."""
        value = as_float(self.items[name])
        return value.isnan().ifelse(ibis.null("float64"), value)

    def row(self) -> Value:
        """The row number, from 1, in the order in which the engine reads rows."""
        return ibis.row_number() + 1

    # -- queries -------------------------------------------------------------------------------------------

    def measure(self, values: Mapping[str, Value]) -> dict[str, Any]:
        """Evaluate several whole-table aggregates in one scan."""
        table = self._query(self.items.aggregate(**values))
        return {name: column[0] for name, column in table.items()}

    def count_by(self, keys: Mapping[str, Value], sums: Mapping[str, Value], *, most: int | None = None) -> Columns:
        """GROUP BY the keys in the engine; return the count (`n`) and the sums of at most `most` groups."""
        return self._query(self._count(keys, sums, most))

    def _count(self, keys: Mapping[str, Value], sums: Mapping[str, Value], most: int | None) -> ir.Table:
        """Return the query that counts the relation's rows by keys."""
        rows = self.items.group_by(**keys) if keys else self.items
        return rows.aggregate(n=self.items.count(), **sums).limit(most)

    def fetch_columns(self, values: Mapping[str, Value]) -> Columns:
        """Fetch expressions for every row: for small tables, and for what the engine cannot aggregate."""
        return self._query(self.items.select(**values))

    def fetch_rows(self, rows: ir.Table) -> Columns:
        """Fetch a query of few rows that was made from this table."""
        return self._query(rows)

    def find(self, where: Value, *, most: int = 1, **show: Value) -> Columns:
        """Fetch the first rows that satisfy a condition, with their row numbers."""
        numbered = self.items.mutate(
            __fl_row=self.row(), __fl_hit=where, **{f"__fl_show_{k}": v for k, v in show.items()}
        )
        hits = numbered.filter(numbered["__fl_hit"]).order_by("__fl_row").limit(most)
        return self._query(hits.select(row="__fl_row", **{k: f"__fl_show_{k}" for k in show}))

    def find_items(self, where: Value, *, most: int, **show: Value) -> Columns:
        """Fetch up to `most` rows that satisfy a condition, the first by id."""
        found = self.items.select(__fl_hit=where, **show)
        return self._query(found.filter(found["__fl_hit"]).drop("__fl_hit").order_by("id").limit(most))

    def count_distinct(self, keys: Mapping[str, Value], *, first: int | None = None) -> int:
        """Count the distinct combinations of keys; only within the first rows if `first` is given."""
        rows = self.items.select(**keys).limit(first).distinct()
        return int(self._query(rows.aggregate(n=rows.count()))["n"][0])

    def most_frequent(self, value: Value) -> Any:
        """Return the value that occurs most often."""
        counts = self.items.group_by(value=value).aggregate(n=self.items.count())
        return self._query(counts.order_by(ibis.desc("n"), "value").limit(1))["value"][0]

    def _query(self, expression: ir.Table) -> Columns:
        """Run a query on the relation, and return its columns."""
        return self._fetch(expression).to_pydict()

    def _fetch(self, expression: ir.Table) -> pa.Table:
        """Run a query on the relation in its engine, one at a time."""
        with _ENGINE_LOCK, explain_engine_errors(self.source):
            return fetch_arrow(self.engine, expression)
