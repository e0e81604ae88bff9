"""The result of comparing several models: figures of every model, and differences with their verdicts."""

from dataclasses import asdict, dataclass, field
from typing import Any

from fewlabels.analyses.models.estimates import (
    ModelDifference,
    ModelFigure,
    describe_best,
    describe_estimated_difference,
)
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.analyses.result import Result
from fewlabels.data.sources import Frame
from fewlabels.distributions.difference import NOT_SETTLED
from fewlabels.models.joint_outcomes.model_standing import ModelStanding

OVERALL = "overall"  # group of the figures of the whole pool, where there are several groups


@dataclass(frozen=True)
class DisagreedItem:
    """A labelled item on which the models do not agree."""

    id: str
    group: str
    label: str
    predicted: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class ModelComparison(Result):
    """How good several models are on the same items, how much they differ, and which is best."""

    models: tuple[str, ...]
    metric: str
    by: str
    rope: float
    n_items: int
    n_labels: int
    n_disagree: int  # items on which not all models predict the same class
    figures: tuple[ModelFigure, ...]
    differences: tuple[ModelDifference, ...]
    level: float
    required: float  # probability from which on a verdict is stated
    prior: str = "calibrated"
    paired: bool = True  # are the models compared on the same items?
    finite_pool: bool = False
    lowest_is_best: bool = False
    warnings: tuple[str, ...] = ()
    disagreements: tuple[DisagreedItem, ...] = ()  # some of the labelled ones
    frame: Frame = "pandas"
    posterior: ModelStanding | None = field(default=None, repr=False)
    provenance: Provenance = field(default_factory=record, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the result of a comparison of models as the contract's JSON, as a dict."""
        names = ("metric", "by", "rope", "n_items", "n_labels", "n_disagree", "level", "required", "prior", "paired", "finite_pool")  # fmt: skip
        return {
            "models": list(self.models), **{name: getattr(self, name) for name in names}, "sentence": self.sentence,
            "figures": [asdict(row) for row in self.figures], "differences": [asdict(row) for row in self.differences],
            "disagreements": [asdict(row) | {"predicted": list(row.predicted)} for row in self.disagreements],
            "warnings": list(self.warnings), "provenance": self.provenance.to_dict(),
        }  # fmt: skip

    def list_rows(self) -> list[dict[str, Any]]:
        """Return the result as one row per model and group."""
        return [asdict(row) for row in self.figures]

    @property
    def whole(self) -> str:
        """The group of the result's figures that are about all items."""
        return OVERALL if any(row.group == OVERALL for row in self.figures) else self.figures[0].group

    def list_figures(self, group: str | None = None) -> list[ModelFigure]:
        """List the result's figures of every model in a group, by default of all items."""
        return [row for row in self.figures if row.group == (group or self.whole)]

    def list_differences(self, group: str | None = None) -> list[ModelDifference]:
        """List the result's differences of every two models in a group, by default of all items."""
        return [row for row in self.differences if row.group == (group or self.whole)]

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of the result, without the whole."""
        found = tuple(dict.fromkeys(row.group for row in self.figures))
        return tuple(group for group in found if group != OVERALL) if len(found) > 1 else found

    @property
    def best(self) -> ModelFigure:
        """The model that is most probably the best by this result."""
        return max(self.list_figures(), key=lambda row: row.p_best)

    @property
    def is_settled(self) -> bool:
        """Does the result answer the question: which of two models is better, or which of several is the best?"""
        if len(self.models) == 2:
            return self.list_differences()[0].verdict != NOT_SETTLED
        return self.p_good_enough >= self.required

    @property
    def p_good_enough(self) -> float:
        """The probability that the best-looking model is within the rope of the best one."""
        if self.posterior is None:
            return float("nan")
        return float(self.posterior.weigh_near_best(self.rope)[self.models.index(self.choice.model)])

    @property
    def choice(self) -> ModelFigure:
        """The model of least expected regret by this result."""
        return min(self.list_figures(), key=lambda row: row.regret)

    @property
    def sentence(self) -> str:
        """The result of comparing models in words."""
        if len(self.models) == 2:
            return describe_estimated_difference(self.list_differences()[0], self.rope, self.required)
        return self._describe_best()

    def _describe_best(self) -> str:
        """Describe the result for several models: which one is the best."""
        rows = [asdict(row) for row in self.list_figures()]
        return describe_best(rows, self.choice.model, self.rope, self.p_good_enough, is_settled=self.is_settled)
