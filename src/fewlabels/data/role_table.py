"""A table in some engine (`relation`) in which columns have roles, and the expressions of these columns."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add

import ibis
import ibis.expr.datatypes as dt

from fewlabels.data.column_names import (
    AGREEMENT,
    ID,
    LABEL,
    PREDICTED,
    PROBABILITY,
    PROPENSITY,
    RESERVED_PREFIX,
    SCORE,
)
from fewlabels.data.frames import Frame
from fewlabels.data.names import as_name
from fewlabels.data.relation import Relation, Value
from fewlabels.data.roles import LEAKING, Roles
from fewlabels.errors import InputError, format_option, join_names

TOLERANCE, SCORE_TOLERANCE = 1e-6, 0.01  # between two probabilities: rounding, and a relevant difference


@dataclass(frozen=True, eq=False)
class RoleTable(Relation):
    """A table, the roles of its columns, and what was found when they were derived."""

    roles: Roles
    frame: Frame
    scored_classes: tuple[str, ...]  # classes with a probability, in the order of their columns
    notes: tuple[str, ...] = ()  # what the user should know about how the data were read
    inputs: tuple[str, ...] = ()  # paths or glob patterns of the files it was read from

    def has(self, role: str) -> bool:
        """Return whether a role has a column: predicted, score, label, agreement, propensity or probabilities."""
        wanted = {
            "predicted": PREDICTED, "score": SCORE, "label": LABEL, "agreement": AGREEMENT, "propensity": PROPENSITY,
        }  # fmt: skip
        return bool(self.scored_classes) if role == "probabilities" else wanted[role] in self.items.columns

    @property
    def attributes(self) -> tuple[str, ...]:
        """Columns without a role, available for grouping."""
        taken = {*self.roles.used().values(), *self.roles.scores.values(), *self.roles.show}
        return tuple(c for c in self.items.columns if c not in taken and not c.startswith(RESERVED_PREFIX))

    @property
    def withheld(self) -> tuple[str, ...]:
        """Columns without a role that may leak predictions or labels; shown to annotators only if named."""
        return tuple(c for c in self.attributes if LEAKING.match(c)) if not self.roles.show else ()

    @property
    def shown(self) -> tuple[str, ...]:
        """Columns shown to annotators: those named by `show`, else all without a role that are not `withheld`."""
        if self.roles.show:
            return self.roles.show
        graded = self.has("agreement") and self.roles.predicted is not None  # grading an output requires seeing it
        others = tuple(c for c in self.attributes if c not in self.withheld)
        return (str(self.roles.predicted), *others) if graded else others

    @property
    def id(self) -> Value:
        """The item id; without an id column, the row number."""
        return self.items[ID] if ID in self.items.columns else self.row()

    @property
    def predicted(self) -> Value:
        """The predicted class, as text."""
        return self._role("predicted", PREDICTED, ", or give scores or positive_score")

    @property
    def score(self) -> Value:
        """The score: the confidence in the predicted class."""
        return self._role("score", SCORE, f", or use what needs no scores ({format_option('prior', 'flat')})")

    @property
    def label(self) -> Value:
        """The label (true class) as text; null if unlabelled."""
        return self.items[LABEL]

    @property
    def agreement(self) -> Value:
        """The agreement of prediction and truth, in [0, 1]; null if not graded."""
        return self._role("agreement", AGREEMENT)

    @property
    def propensity(self) -> Value:
        """The known probability with which a labelled item was chosen; null where unknown, and where unlabelled."""
        return self.is_labelled().ifelse(self._role("propensity", PROPENSITY), ibis.null("float64"))

    @property
    def probabilities(self) -> tuple[Value, ...]:
        """The probability of each scored class."""
        return tuple(self.items[f"{PROBABILITY}{i}"] for i in range(len(self.scored_classes)))

    def total_probability(self) -> Value:
        """The sum of the probabilities of the scored classes; 1 for valid data."""
        return reduce(add, self.probabilities)

    def min_probability(self) -> Value:
        """The smallest probability among the scored classes."""
        return ibis.least(*self.probabilities)

    def max_probability(self) -> Value:
        """The largest probability among the scored classes."""
        return ibis.greatest(*self.probabilities)

    @property
    def has_further_scores(self) -> bool:
        """Whether another model has scores: not where there is one model."""
        return False

    def list_further_keys(self, place_score: Callable[[Value], Value] | None) -> dict[str, Value]:  # noqa: ARG002
        """Return the GROUP BY keys of other models: none where there is one model."""
        return {}

    def sum_further_scores(self) -> dict[str, Value]:
        """Return the summed scores of other models: none where there is one model."""
        return {}

    def conflicts(self) -> dict[str, Value]:
        """Conditions under which the predicted class or the score contradicts the probabilities."""
        found: dict[str, Value] = {}
        if not self.scored_classes or self.has("agreement"):
            return found
        if self.roles.predicted and self.roles.positive_score:
            by_score = self.probabilities[1] >= self.roles.threshold
            found["n_disagree"] = by_score != (self.predicted == self.roles.positive)
        elif self.roles.predicted:
            found["n_disagree"] = self._own_probability() < self.max_probability() - TOLERANCE
        if self.roles.score:
            found["n_off_score"] = (self.score - self._own_probability()).abs() > SCORE_TOLERANCE
        return found

    def count_set_aside(self) -> dict[str, int]:
        """Count, by role, the rows in which a recognised but unused column differs from the derived one."""
        aside = self.roles.set_aside
        values = {role: self._differs(role, column).ifelse(1, 0).sum() for role, column in aside.items()}
        return {role: int(n or 0) for role, n in self.measure(values).items()} if values else {}

    def _differs(self, role: str, column: str) -> Value:
        """Return where a recognised but unused column of a role differs from the derived one."""
        if role == "score":
            return (self.number(column) - self.score).abs() > SCORE_TOLERANCE
        flags = self.items[column].type().is_boolean()
        said = as_name(self.items[column], booleans=self.scored_classes) if flags else self.attribute(column)  # type: ignore[arg-type]
        return said != self.predicted

    def _own_probability(self) -> Value:
        """Return the probability of the predicted class."""
        cases = list(zip(self.scored_classes, self.probabilities, strict=True))
        return self.predicted.cases(*cases, else_=ibis.null("float64"))

    @property
    def stated_score(self) -> Value | None:
        """The user's score column before conversion to confidence in the predicted class; None if derived."""
        if self.roles.score:
            return self.score
        return self.probabilities[1] if self.roles.positive_score else None

    def is_labelled(self) -> Value:
        """Whether an item is labelled (or graded)."""
        return self.items[AGREEMENT].notnull() if self.has("agreement") else self.label.notnull()

    def outcome(self) -> Value:
        """The outcome: 1 right, 0 wrong, or the agreement; null if unlabelled."""
        if self.has("agreement"):
            return self.items[AGREEMENT]
        return self.is_labelled().ifelse((self.predicted == self.label).ifelse(1.0, 0.0), ibis.null("float64"))

    def _role(self, role: str, column: str, instead: str = "") -> Value:
        """Return the column of a role; raise if there is none."""
        if column not in self.items.columns:
            remedy = f"name the column with {format_option(role)}{instead}"
            known = join_names(self.columns(), most=20)
            raise InputError(f"{self.source} has no {role} column; {remedy}. Its columns: {known}")
        return self.items[column]

    @property
    def name(self) -> Value:
        """The item id as text, as used outside the table."""
        return as_name(self.id)

    @property
    def has_integer_ids(self) -> bool:
        """Whether ids are stored as integers."""
        kind = self.items[ID].type() if self.roles.id else dt.int64
        return bool(kind.is_integer()) and kind != dt.uint64  # which may exceed signed integers
