"""Predictions: a relation in some engine, and the role each of its columns plays.

Neighbours ask it for counts and sums; it answers with a handful of numbers, whatever the size of the table.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from threading import RLock
from typing import Any, TypeAlias

import ibis
import ibis.expr.types as ir
import pyarrow as pa
from ibis.backends import BaseBackend

from fewlabels.data import sampling as samples
from fewlabels.data.candidates import Key, as_whole, drop_surplus, find_chance, keep_likely
from fewlabels.data.column_names import OURS
from fewlabels.data.columns import AGREEMENT, ID, LABEL, PREDICTED, PROBABILITY, SCORE, derive
from fewlabels.data.engine_errors import explain_engine_errors, name_source
from fewlabels.data.joins import join_labels
from fewlabels.data.logs import read_log
from fewlabels.data.names import MISSING, as_name, natural_order
from fewlabels.data.roles import TELLING, Roles
from fewlabels.data.sampling import Picking, Sample, choose_picking, unpack
from fewlabels.data.sources import Frame, open_source
from fewlabels.errors import InputError, did_you_mean, listing

Value: TypeAlias = Any  # an Ibis expression; its methods depend on a type only the engine knows
Columns = dict[str, list[Any]]
_ONE_AT_A_TIME = RLock()  # a connection that is busy refuses other threads
WHOLE = r"-?[0-9]{1,18}"
TOLERANCE, OFF = 1e-6, 0.01  # of two probabilities: rounding, and a difference that matters


@dataclass(frozen=True, eq=False)
class Predictions:
    """A model's predictions on a pool of items, some of them labelled.

    >>> pool = Predictions.read({"predicted": ["cat", "dog"], "score": [0.9, 0.6], "label": ["cat", None]})
    >>> pool.n_items, pool.n_labels, pool.classes
    (2, 1, ('cat', 'dog'))
    """

    items: ir.Table
    roles: Roles
    engine: BaseBackend
    frame: Frame
    scored_classes: tuple[str, ...]  # the classes that have a probability, in the order of their columns
    notes: tuple[str, ...] = ()  # what happened on the way in that its owner should know
    source: str = "the table"
    inputs: tuple[str, ...] = ()  # files it was read from, or patterns of them

    @classmethod
    def read(cls, source: Any, *, labels: Any = None, **roles: Any) -> "Predictions":
        """Open predictions: a path or glob, a frame, a dict of arrays, or an Ibis table of any engine.

        A path may also be an evaluation log: samples of lm-evaluation-harness, or a log of Inspect.

        `roles` are the words of the contract: id, predicted, score, scores, positive_score, positive, threshold,
        label, agreement, show. What is given beats what is recognised by name; but a recognised `predicted` column beats
        what scores predict, unless a threshold is given. Where they differ, a warning says in how many rows. `labels` is a second source with the columns id and label, joined by id.
        """
        name, log = name_source(source), read_log(source)
        table, engine, frame, notes = open_source(log.columns if log else source)
        notes += log.notes if log else ()
        with explain_engine_errors(name):
            if labels is not None:
                table, roles, more = join_labels(table, labels, engine, roles)
                notes += more
            items, found, scored = derive(table, engine, roles)
        inputs = tuple(str(one) for one in (source, labels) if isinstance(one, str | Path))
        return cls(items, found, engine, frame, scored, (*notes, *found.notes), name, inputs)

    # -- what it has ---------------------------------------------------------------------------------------

    def has(self, role: str) -> bool:
        """Tell whether a role is played: predicted, score, label, agreement or probabilities."""
        wanted = {"predicted": PREDICTED, "score": SCORE, "label": LABEL, "agreement": AGREEMENT}
        return bool(self.scored_classes) if role == "probabilities" else wanted[role] in self.items.columns

    @property
    def attributes(self) -> tuple[str, ...]:
        """Columns that play no role: what one can group by."""
        taken = {*self.roles.used().values(), *self.roles.scores.values(), *self.roles.show}
        return tuple(c for c in self.items.columns if c not in taken and not c.startswith(OURS))

    @property
    def withheld(self) -> tuple[str, ...]:
        """Columns without a role that seem to tell what a model said, or the truth; shown only if named."""
        return tuple(c for c in self.attributes if TELLING.match(c)) if not self.roles.show else ()

    @property
    def shown(self) -> tuple[str, ...]:
        """Columns that a person who labels should see: those named for it, or all that neither play a role nor sway."""
        if self.roles.show:
            return self.roles.show
        graded = self.has("agreement") and self.roles.predicted is not None  # an output is graded by looking at it
        others = tuple(c for c in self.attributes if c not in self.withheld)
        return (str(self.roles.predicted), *others) if graded else others

    @cached_property
    def n_items(self) -> int:
        """How many items there are."""
        return int(self.measure({"n": self.items.count()})["n"])

    @cached_property
    def n_labels(self) -> int:
        """How many of them are labelled."""
        return int(self.measure({"n": self.known().ifelse(1, 0).sum().fill_null(0)})["n"])

    @cached_property
    def pairs(self) -> Columns:
        """Count items by predicted class and label: every class that occurs, in one scan."""
        keys = {
            "predicted": self.items[PREDICTED] if self.has("predicted") else ibis.null("string"),
            "label": self.label,
        }
        return self.count_by(keys, {"score": self.score.sum()} if self.has("score") else {})

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Every class that is predicted, scored or seen as a label, in natural order."""
        if self.has("agreement"):
            return ()  # structured outputs have no classes, and may all differ
        seen = {*self.scored_classes, *self.pairs["predicted"], *self.pairs["label"]} - {None}
        return tuple(sorted(seen, key=natural_order))

    @cached_property
    def positive(self) -> str | None:
        """The class that tpr, fpr and their like are about: the one named, else 1 or True; None where nobody can tell."""
        if self.roles.positive is None:
            return next((name for name in ("1", "True", "true") if name in self.classes), None)
        if self.classes and self.roles.positive not in self.classes:
            raise InputError(f"positive class {self.roles.positive!r} is not among the classes {listing(self.classes)}")
        return self.roles.positive

    # -- expressions for the neighbours --------------------------------------------------------------------

    @property
    def id(self) -> Value:
        """The item's id; without an id column, the row's number."""
        return self.items[ID] if ID in self.items.columns else self.row()

    @property
    def predicted(self) -> Value:
        """The predicted class, as text."""
        return self._role("predicted", PREDICTED, "name the column with --predicted, or give scores or positive_score")

    @property
    def score(self) -> Value:
        """The confidence in the predicted class."""
        return self._role("score", SCORE, "name the column with --score, or use what needs no scores (--prior flat)")

    @property
    def label(self) -> Value:
        """The true class, as text; null where unknown."""
        return self.items[LABEL]

    @property
    def agreement(self) -> Value:
        """How well prediction and truth agree."""
        return self._role("agreement", AGREEMENT, "name the column with --agreement")

    @property
    def probabilities(self) -> tuple[Value, ...]:
        """The probability of each scored class."""
        return tuple(self.items[f"{PROBABILITY}{i}"] for i in range(len(self.scored_classes)))

    def total_probability(self) -> Value:
        """The sum over the scored classes: 1, if all is well."""
        return reduce(add, self.probabilities)

    def least_probability(self) -> Value:
        """The smallest over the scored classes."""
        return ibis.least(*self.probabilities)

    def greatest_probability(self) -> Value:
        """The largest over the scored classes."""
        return ibis.greatest(*self.probabilities)

    def conflicts(self) -> dict[str, Value]:
        """Where columns contradict each other: the predicted class and the scores', the score and its class's probability."""
        found: dict[str, Value] = {}
        if not self.scored_classes or self.has("agreement"):
            return found
        if self.roles.predicted and self.roles.positive_score:
            by_score = self.probabilities[1] >= self.roles.threshold
            found["n_disagree"] = by_score != (self.predicted == self.roles.positive)
        elif self.roles.predicted:
            found["n_disagree"] = self._own_probability() < self.greatest_probability() - TOLERANCE
        if self.roles.score:
            found["n_off_score"] = (self.score - self._own_probability()).abs() > OFF
        return found

    def count_set_aside(self) -> dict[str, int]:
        """Count the rows in which a recognised column that is not used says something else, by its role."""
        aside = self.roles.set_aside
        values = {role: self._differs(role, column).ifelse(1, 0).sum() for role, column in aside.items()}
        return {role: int(n or 0) for role, n in self.measure(values).items()} if values else {}

    def _differs(self, role: str, column: str) -> Value:
        if role == "score":
            return (self.number(column) - self.score).abs() > OFF
        flags = self.items[column].type().is_boolean()
        said = as_name(self.items[column], booleans=self.scored_classes) if flags else self.attribute(column)  # type: ignore[arg-type]
        return said != self.predicted

    def _own_probability(self) -> Value:
        cases = list(zip(self.scored_classes, self.probabilities, strict=True))
        return self.predicted.cases(*cases, else_=ibis.null("float64"))

    @property
    def stated(self) -> Value | None:
        """The score as its owner wrote it, before it is turned into confidence in the predicted class; None if derived."""
        if self.roles.score:
            return self.score
        return self.probabilities[1] if self.roles.positive_score else None

    def known(self) -> Value:
        """Is this item labelled (or judged)?"""
        return self.items[AGREEMENT].notnull() if self.has("agreement") else self.label.notnull()

    def right(self) -> Value:
        """The outcome: 1 right, 0 wrong, or the agreement between; null where unknown."""
        if self.has("agreement"):
            return self.items[AGREEMENT]
        return self.known().ifelse((self.predicted == self.label).ifelse(1.0, 0.0), ibis.null("float64"))

    def attribute(self, name: str) -> Value:
        """A column as the name of a group, null where there is none."""
        return as_name(self.items[name])

    def is_number(self, name: str) -> bool:
        """Does a column hold numbers? Flags are none."""
        return bool(self.items[name].type().is_numeric())

    def number(self, name: str) -> Value:
        """A column as a number; what is none is missing."""
        value = self.items[name].cast("float64")
        return value.isnan().ifelse(ibis.null("float64"), value)

    def row(self) -> Value:
        """The row's number, from 1, in the order the engine reads them."""
        return ibis.row_number() + 1

    def _role(self, role: str, column: str, remedy: str) -> Value:
        if column not in self.items.columns:
            raise InputError(
                f"{self.source} has no {role} column; {remedy}. Its columns: {listing(self.columns(), most=20)}"
            )
        return self.items[column]

    @property
    def name(self) -> Value:
        """The item's id as text: what it goes by outside the table."""
        return as_name(self.id)

    @property
    def has_whole_ids(self) -> bool:
        """Are ids whole numbers in the table?"""
        return not self.roles.id or bool(self.items[ID].type().is_integer())

    def hide_labels(self) -> "Predictions":
        """Return the same predictions as if nothing were labelled."""
        hidden = {LABEL: ibis.null("string")}
        if self.has("agreement"):
            hidden[AGREEMENT] = ibis.null("float64")
        return replace(self, items=self.items.mutate(**hidden))

    def drop_unlabelled(self) -> "Predictions":
        """Return the labelled items alone."""
        return replace(self, items=self.items.filter(self.known()))

    def columns(self) -> tuple[str, ...]:
        """The owner's columns."""
        return tuple(c for c in self.items.columns if not c.startswith(OURS))

    # -- questions to the engine ---------------------------------------------------------------------------

    def measure(self, values: Mapping[str, Value]) -> dict[str, Any]:
        """Answer several whole-table questions in one scan."""
        table = self._ask(self.items.aggregate(**values))
        return {name: column[0] for name, column in table.items()}

    def count_by(self, keys: Mapping[str, Value], sums: Mapping[str, Value], *, most: int | None = None) -> Columns:
        """Group by the keys, count the rows of each (`n`) and add up the rest, in the engine; fetch at most so many."""
        return self._ask(self._count(keys, sums, most))

    def count_and_pick(
        self, keys: Mapping[str, Value], sums: Mapping[str, Value], picking: Picking, *, most: int | None = None
    ) -> tuple[Columns, Sample]:
        """Do the same, and bring the ids that are picked along: a pass for them alone would cost as much again."""
        also = {"__fl_ids": self.id.collect(where=picking.picks(self.id)), "__fl_filled": self.id.count()}
        found = self._fetch(self._count(keys, {**sums, **also}, most))
        lists, filled = found["__fl_ids"].combine_chunks(), sum(found["__fl_filled"].to_pylist())
        counted = found.drop_columns(list(also)).to_pydict()
        return counted, unpack(picking, lists, sum(counted["n"]) - filled)

    def _count(self, keys: Mapping[str, Value], sums: Mapping[str, Value], most: int | None) -> ir.Table:
        rows = self.items.group_by(**keys) if keys else self.items
        return rows.aggregate(n=self.items.count(), **sums).limit(most)

    def remember(self, found: Columns) -> None:
        """Keep what somebody happened to count by predicted class and label, so that nobody has to ask again."""
        pairs: dict[tuple[Any, Any], list[Any]] = {}
        scores = found.get("score", [0.0] * len(found["n"]))
        for said, label, n, score in zip(found["predicted"], found["label"], found["n"], scores, strict=True):
            kept = pairs.setdefault((said, label), [0, 0.0])
            kept[0] += n
            kept[1] = None if score is None or kept[1] is None else kept[1] + score
        counted = {
            "predicted": [p for p, _ in pairs],
            "label": [y for _, y in pairs],
            "n": [n for n, _ in pairs.values()],
        }
        counted |= {"score": [s for _, s in pairs.values()]} if "score" in found else {}
        self.__dict__["pairs"] = counted  # as a cached property does
        self.__dict__["n_items"] = sum(counted["n"])
        self.__dict__["n_labels"] = sum(n for n, y in zip(counted["n"], counted["label"], strict=True) if y is not None)

    def pull(self, values: Mapping[str, Value]) -> Columns:
        """Fetch something of every row. For what cannot be counted in the engine, and for small tables."""
        return self._ask(self.items.select(**values))

    def find(self, where: Value, *, most: int = 1, **show: Value) -> Columns:
        """Fetch the first rows where something holds, with their row number."""
        numbered = self.items.mutate(
            __fl_row=self.row(), __fl_hit=where, **{f"__fl_show_{k}": v for k, v in show.items()}
        )
        hits = numbered.filter(numbered["__fl_hit"]).order_by("__fl_row").limit(most)
        return self._ask(hits.select(row="__fl_row", **{k: f"__fl_show_{k}" for k in show}))

    def count_distinct(self, keys: Mapping[str, Value], *, first: int | None = None) -> int:
        """Count the combinations of keys that occur; in the first rows alone, if told."""
        rows = self.items.select(**keys).limit(first).distinct()
        return int(self._ask(rows.aggregate(n=rows.count()))["n"][0])

    def most_frequent(self, value: Value) -> Any:
        """Return the value that occurs most often."""
        counts = self.items.group_by(value=value).aggregate(n=self.items.count())
        return self._ask(counts.order_by(ibis.desc("n"), "value").limit(1))["value"][0]

    def choose_picking(self, seed: int) -> Picking | None:
        """Say which items to bring along while all are counted; None where nobody needs that, or ids are no numbers."""
        if not self.roles.id or not self.has_whole_ids or self.has("agreement") or self.n_items <= samples.LARGE:
            return None
        return choose_picking(self.n_items, seed)

    def list_open(self, keys: Mapping[str, Value]) -> Columns:
        """List all unlabelled items: `name` and the keys."""
        return self._ask(self._list_open(self.items).select(name="__fl_name", **keys))

    def draw_open(
        self,
        keys: Mapping[str, Value],
        sizes: Mapping[Key, int],
        wanted: Mapping[Key, int],
        *,
        within: Sequence[str],
        seed: int,
    ) -> Columns:
        """List so many unlabelled items of some groups, at random.

        `within` are the keys that tell groups apart, `sizes` says how many unlabelled items each of them has.
        """
        items = self._list_open(self.items.mutate(__fl_chance=find_chance(self.id, self.engine, seed)))
        items = keep_likely(items, keys, sizes, wanted, within)
        return drop_surplus(
            self._ask(items.select("__fl_chance", name="__fl_name", **{k: k for k in keys})), within, wanted
        )

    def _list_open(self, items: ir.Table) -> ir.Table:
        """List the items that have no label; rows are numbered before any is left out."""
        return items.mutate(__fl_name=self.name, __fl_known=self.known()).filter(lambda t: ~t["__fl_known"])

    def take_part(self, parts: int) -> "Predictions":
        """Return about one in so many items, the same ones every time, and those without an id; ids that are alike stay together."""
        whole = self.id if self.has_whole_ids else as_whole(self.id, self.engine)
        chosen = whole % parts == 0
        return replace(self, items=self.items.filter(chosen | self.id.isnull()))

    def fetch(self, names: Sequence[str], columns: Mapping[str, Value]) -> dict[str, dict[str, Any]]:
        """Fetch a few rows by the names of their items."""
        items = self.items.mutate(__fl_name=self.name, **{f"__fl_show_{i}": v for i, v in enumerate(columns.values())})
        rows = items.filter(self._is_among(items, names))
        found = self._ask(rows.select(name="__fl_name", **{f"c{i}": f"__fl_show_{i}" for i in range(len(columns))}))
        return {
            name: {column: found[f"c{i}"][row] for i, column in enumerate(columns)}
            for row, name in enumerate(found["name"])
        }

    def _is_among(self, items: ir.Table, names: Sequence[str]) -> Value:
        """Is an item one of these? Whole numbers are compared as such, so that an engine may use its index."""
        if not self.roles.id or not self.has_whole_ids:
            return items["__fl_name"].isin(list(names))
        return items[ID].isin([int(name) for name in names if re.fullmatch(WHOLE, name) and str(int(name)) == name])

    def show(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Fetch what a person who labels these items should see."""
        return self.fetch(names, {column: self.items[column] for column in self.shown})

    def _ask(self, expression: ir.Table) -> Columns:
        return self._fetch(expression).to_pydict()

    def _fetch(self, expression: ir.Table) -> pa.Table:
        with _ONE_AT_A_TIME, explain_engine_errors(self.source):
            return self.engine.to_pyarrow(expression)


def read_columns(source: Any) -> dict[str, str]:
    """Return the owner's columns and their types, of anything that can be opened."""
    table = source if isinstance(source, ir.Table) else open_source(source).table
    return {name: str(kind) for name, kind in table.schema().items() if not name.startswith(OURS)}


def count_rows(source: Any, columns: Sequence[str], weight: str | None = None) -> Columns:
    """Count the rows of any table by the names of some columns' values (`n`), or add up a column of weights."""
    table, engine, *_ = open_source(source)
    for column in (*columns, *([weight] if weight else [])):
        if column not in table.columns:
            raise InputError(f"there is no column {column!r}; {did_you_mean(column, table.columns)}")
    if weight and not table[weight].type().is_numeric():
        raise InputError(
            f"weight: column {weight!r} of {source} holds more than numbers; a weight says how often a row occurs"
        )
    n = table.count() if weight is None else table[weight].cast("float64").sum()
    keys = {column: as_name(table[column]).fill_null(MISSING) for column in columns}
    with explain_engine_errors(name_source(source)):
        return engine.to_pyarrow(table.group_by(**keys).aggregate(n=n)).to_pydict()
