"""Predictions: a table whose columns have roles (`role_table`); how it is read, counted and sampled.

Other modules query it for counts, sums and a few rows. `aggregate` and `checks` are its main callers.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pkgutil import resolve_name
from typing import Any

import ibis
import ibis.expr.types as ir

from fewlabels.data import sampling as samples
from fewlabels.data.addresses import (
    download,
    is_address,
    is_database,
    list_inputs,
    name_in_messages,
    open_table_at,
)
from fewlabels.data.arrays import to_columns
from fewlabels.data.candidates import Key, filter_by_priority, hash_to_integer, keep_candidates, priority_expression
from fewlabels.data.column_names import AGREEMENT, ID, LABEL, PREDICTED
from fewlabels.data.columns import derive_columns
from fewlabels.data.engine_errors import explain_engine_errors, name_source
from fewlabels.data.given_roles import GivenRoles, record_roles
from fewlabels.data.label_join import join_labels
from fewlabels.data.logs.reading import read_log
from fewlabels.data.names import natural_order
from fewlabels.data.relation import Columns, Value
from fewlabels.data.role_table import RoleTable
from fewlabels.data.sampling import Sample, SamplingRule, choose_sampling_rule, sample_from_lists
from fewlabels.data.sources import open_source, open_table
from fewlabels.errors import InputError, join_names
from fewlabels.text import redact_passwords

MAKE_GRADED_POOL = "fewlabels.data.grades.pool:make_graded_pool"  # imported on use: few tables have grades
INTEGER = r"-?[0-9]{1,18}"


@dataclass(frozen=True, eq=False)
class Predictions(RoleTable):
    """The predictions of a model on a pool of items, some of them labelled.

    >>> pool = Predictions.read({"predicted": ["cat", "dog"], "score": [0.9, 0.6], "label": ["cat", None]})
    >>> pool.n_items, pool.n_labels, pool.classes
    (2, 1, ('cat', 'dog'))
    """

    grades: tuple[tuple[str, float], ...] = field(
        default=(), kw_only=True
    )  # that people can give, lowest first, and their place from 0 to 1; empty if they give classes
    given_roles: GivenRoles | None = field(
        default=None, kw_only=True
    )  # as given when the table was read; None if reading it again takes more than them

    @classmethod
    def read(cls, source: Any, *, labels: Any = None, **roles: Any) -> "Predictions":
        """Open predictions, and assign a column to each role.

        Parameters
        ----------
        source: path, frame, dict of arrays or Ibis table
            A path or glob of Parquet, CSV(.gz), JSON lines or Arrow files; a pandas, Polars or Arrow table; a table of any
            engine. A path may also be an evaluation log: samples of lm-evaluation-harness, or a log of Inspect; or an
            address: `https://` of a file, or `postgresql://user@host/database?table=name`. Several files that match a glob
            have a column `filename`.
        labels: path, frame or dict of arrays
            A second source with the columns id and label, joined by id.
        **roles: object
            Column roles: id, predicted, score, scores, positive_score, positive, threshold, label, agreement, propensity, show; of
            outputs that people grade: grade, judge, scale (see `rate`), id and show. A given
            role overrides one recognised by column name; but a recognised `predicted` column overrides the classes derived
            from scores, unless a threshold is given. If they differ, a warning reports the number of rows.
        """
        if is_address(source):
            return cls._read_address(source, labels=labels, **roles)
        if {"grade", "judge"} & roles.keys():
            graded = resolve_name(MAKE_GRADED_POOL)(source, labels=labels, **roles)
            given = record_roles(roles, (), has_labels=labels is not None)
            table_fields = {f.name: getattr(graded.table, f.name) for f in fields(graded.table)}
            return cls(**table_fields, grades=graded.grades, given_roles=given)
        name, log = name_source(source), read_log(source)
        table, engine, frame, notes = open_source(log.columns if log else source)
        given = record_roles(roles, table.columns, has_labels=labels is not None)
        notes += log.notes if log else ()
        with explain_engine_errors(name):
            if labels is not None:
                table, roles, more = join_labels(table, open_table(labels, engine), engine, roles)
                notes += more
            items, found, scored = derive_columns(table, engine, roles)
        inputs = list_inputs(source, labels)
        return cls(items, engine, name, found, frame, scored, (*notes, *found.notes), inputs, given_roles=given)

    @classmethod
    def _read_address(cls, address: str, **choices: Any) -> "Predictions":
        """Open a table of a database, or a file at an address: it is downloaded first."""
        name = redact_passwords(address)
        if is_database(address):
            return replace(cls.read(open_table_at(address), **choices), source=name)
        path = download(address)
        with name_in_messages(path, name):
            return replace(cls.read(path, **choices), source=name, inputs=())

    @classmethod
    def from_arrays(
        cls, *, y_pred: Any = None, y_score: Any = None, y_true: Any = None, classes: Any = None
    ) -> "Predictions":
        """Make a pool from arrays with one value per item, named as in scikit-learn.

        Parameters
        ----------
        y_pred: array of shape (n_items,)
            Predicted classes. Without it they are derived from `y_score`.
        y_score: array of shape (n_items,) or (n_items, n_classes)
            Probabilities of all classes, in the order of `classes`; or one number per item: the probability of the
            positive class if there are two `classes`, else the confidence in `y_pred`.
        y_true: array of shape (n_items,)
            True classes; None or NaN where unknown. pandas Series are matched by their index.
        classes: sequence
            Names of the classes in the order of the columns of `y_score`, as in `model.classes_`; for a binary model,
            the negative and the positive class.

        >>> pool = Predictions.from_arrays(y_score=[0.2, 0.9], y_true=["no", None], classes=["no", "yes"])
        >>> pool.n_labels, pool.classes, pool.positive
        (1, ('no', 'yes'), 'yes')
        """
        columns, roles = to_columns(y_pred, y_score, y_true, classes)
        return replace(cls.read(columns, **roles), given_roles=None)  # the roles are of columns made here

    # -- contents ------------------------------------------------------------------------------------------

    @cached_property
    def n_items(self) -> int:
        """The number of items."""
        return int(self.measure({"n": self.items.count()})["n"])

    @cached_property
    def n_labels(self) -> int:
        """The number of labelled items."""
        return int(self.measure({"n": self.is_labelled().ifelse(1, 0).sum().fill_null(0)})["n"])

    @cached_property
    def pairs(self) -> Columns:
        """Item counts by predicted class and label, from one scan."""
        keys = {
            "predicted": self.items[PREDICTED] if self.has("predicted") else ibis.null("string"),
            "label": self.label,
        }
        return self.count_by(keys, {"score": self.score.sum()} if self.has("score") else {})

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """All classes that are predicted, scored or used as a label, in natural order."""
        if self.has("agreement"):
            return ()  # graded outputs have no classes, and may all differ
        seen = {*self.scored_classes, *self.pairs["predicted"], *self.pairs["label"]} - {None}
        return tuple(sorted(seen, key=natural_order))

    @cached_property
    def positive(self) -> str | None:
        """The positive class of binary metrics such as tpr: the given one, else 1 or True; None if undefined."""
        if self.roles.positive is None:
            return next((name for name in ("1", "True", "true") if name in self.classes), None)
        if self.classes and self.roles.positive not in self.classes:
            raise InputError(
                f"positive class {self.roles.positive!r} is not among the classes {join_names(self.classes)}"
            )
        return self.roles.positive

    def hide_labels(self) -> "Predictions":
        """Return the same predictions without labels."""
        hidden = {LABEL: ibis.null("string")}
        if self.has("agreement"):
            hidden[AGREEMENT] = ibis.null("float64")
        return replace(self, items=self.items.mutate(**hidden))

    def drop_unlabelled(self) -> "Predictions":
        """Return only the labelled items."""
        return replace(self, items=self.items.filter(self.is_labelled()))

    # -- queries -------------------------------------------------------------------------------------------

    def count_and_sample(
        self, keys: Mapping[str, Value], sums: Mapping[str, Value], rule: SamplingRule, *, most: int | None = None
    ) -> tuple[Columns, Sample]:
        """Do the same and sample ids in the same query: a second scan would double the cost."""
        also = {"__fl_ids": self.id.collect(where=rule.includes(self.id)), "__fl_filled": self.id.count()}
        found = self._fetch(self._count(keys, {**sums, **also}, most))
        lists, filled = found["__fl_ids"].combine_chunks(), sum(found["__fl_filled"].to_pylist())
        counted = found.drop_columns(list(also)).to_pydict()
        return counted, sample_from_lists(rule, lists, sum(counted["n"]) - filled)

    def cache_pairs(self, found: Columns) -> None:
        """Cache counts by predicted class and label that an aggregate query returned."""
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
        self.__dict__["pairs"] = counted  # as cached_property does
        self.__dict__["n_items"] = sum(counted["n"])
        self.__dict__["n_labels"] = sum(n for n, y in zip(counted["n"], counted["label"], strict=True) if y is not None)

    def choose_sampling_rule(self, seed: int) -> SamplingRule | None:
        """Choose the ids to sample in the aggregate query; None for small pools, graded outputs or text ids."""
        if (
            not self.roles.id
            or not self.has_integer_ids
            or self.has("agreement")
            or self.n_items <= samples.MIN_SAMPLED_POOL
        ):
            return None
        return choose_sampling_rule(self.n_items, seed)

    def list_unlabelled(self, keys: Mapping[str, Value]) -> Columns:
        """List all unlabelled items with their `name` and keys."""
        return self._query(self._list_unlabelled(self.items).select(name="__fl_name", **keys))

    def draw_unlabelled(
        self,
        keys: Mapping[str, Value],
        sizes: Mapping[Key, int],
        wanted: Mapping[Key, int],
        *,
        within: Sequence[str],
        seed: int,
    ) -> Columns:
        """Draw `wanted` unlabelled items of each group at random.

        `within` are the keys that define groups, `sizes` the number of unlabelled items of each group.
        """
        items = self._list_unlabelled(self.items.mutate(__fl_priority=priority_expression(self.id, self.engine, seed)))
        items = filter_by_priority(items, keys, sizes, wanted, within)
        return keep_candidates(
            self._query(items.select("__fl_priority", name="__fl_name", **{k: k for k in keys})), within, wanted
        )

    def _list_unlabelled(self, items: ir.Table) -> ir.Table:
        """Filter the unlabelled items; row numbers are assigned before the filter."""
        return items.mutate(__fl_name=self.name, __fl_known=self.is_labelled()).filter(lambda t: ~t["__fl_known"])

    def take_subset(self, parts: int) -> "Predictions":
        """Return about 1/`parts` of the items, always the same, and all without an id; duplicate ids stay together."""
        whole = self.id if self.has_integer_ids else hash_to_integer(self.id, self.engine)
        chosen = whole % parts == 0
        return replace(self, items=self.items.filter(chosen | self.id.isnull()))

    def fetch(self, names: Sequence[str], columns: Mapping[str, Value]) -> dict[str, dict[str, Any]]:
        """Fetch a few rows by item name."""
        items = self.items.mutate(__fl_name=self.name, **{f"__fl_show_{i}": v for i, v in enumerate(columns.values())})
        rows = items.filter(self._is_among(items, names))
        found = self._query(rows.select(name="__fl_name", **{f"c{i}": f"__fl_show_{i}" for i in range(len(columns))}))
        return {
            name: {column: found[f"c{i}"][row] for i, column in enumerate(columns)}
            for row, name in enumerate(found["name"])
        }

    def _is_among(self, items: ir.Table, names: Sequence[str]) -> Value:
        """Whether an item is one of `names`; integer ids are compared as integers, so that engines can use an index."""
        if not self.roles.id or not self.has_integer_ids:
            return items["__fl_name"].isin(list(names))
        return items[ID].isin([int(name) for name in names if re.fullmatch(INTEGER, name) and str(int(name)) == name])

    def show(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Fetch the columns of these items that annotators see."""
        return self.fetch(names, {column: self.items[column] for column in self.shown})
