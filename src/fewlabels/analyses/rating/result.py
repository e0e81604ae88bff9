"""The result of `rate`: how good outputs are by people's standard, and how far judges can be relied on."""

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.assessment_rows import Estimate
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.analyses.rating.estimates import GradeFigure, GradeRow, GradeShare, draw_figure
from fewlabels.analyses.rating.judges import JudgeRating
from fewlabels.analyses.rating.planning import GradePlan
from fewlabels.analyses.rating.sets import SetFigures
from fewlabels.analyses.rating.systems import SystemRanking
from fewlabels.analyses.result import Result
from fewlabels.data.grades.drawing import UngradedItem
from fewlabels.data.grades.scale import Scale
from fewlabels.data.sources import Frame
from fewlabels.errors import InputError, did_you_mean, quote_name
from fewlabels.models.grades.posterior import GradePosterior


@dataclass(frozen=True, eq=False, repr=False)
class Rating(Result):
    """How good outputs are by people's standard, per group and overall, with credible intervals."""

    figure: str  # pass-rate, mean or win-rate
    by: str
    level: float
    finite_pool: bool
    scale: Scale
    bar: float
    n_items: int
    n_grades: int
    overall: Estimate
    groups: tuple[GradeRow, ...]
    figures: tuple[GradeFigure, ...]
    distribution: tuple[GradeShare, ...]
    judges: tuple[JudgeRating, ...]
    warnings: tuple[str, ...]
    posterior: GradePosterior = field(repr=False)
    grade: str | None = None  # column of people's grades
    cluster: str | None = None
    ranking: SystemRanking | None = None  # where items compare two systems
    sets: SetFigures | None = None  # where grades are sets of labels
    plan: GradePlan | None = None
    next: tuple[UngradedItem, ...] = ()  # answers that people should grade next, most useful first
    source: str = "the table"
    frame: Frame = "pandas"
    provenance: Provenance = field(default_factory=record, repr=False)

    @cached_property
    def draws(self) -> Float[np.ndarray, "draw group"]:
        """Posterior draws of the rating's figure, groups in the order of `groups`."""
        return draw_figure(self.posterior, self.figure)[0]

    @property
    def worst_first(self) -> tuple[GradeRow, ...]:
        """The rows of the rating, worst first."""
        return tuple(sorted(self.groups, key=lambda row: row.mean))

    @property
    def is_share(self) -> bool:
        """Is the rating's figure a share of the items, or a mean between 0 and 1?"""
        return self.figure in ("pass-rate", "win-rate") or (self.scale.low, self.scale.high) == (0.0, 1.0)

    def row(self, group: str) -> GradeRow:
        """Return one group's row of the rating."""
        for row in self.groups:
            if row.group == group:
                return row
        raise InputError(
            f"there is no group {quote_name(group)}; {did_you_mean(group, [r.group for r in self.groups])}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the rating's JSON as a dict."""
        judges = [judge.to_dict() for judge in self.judges]
        said = self.judges[0].said if self.judges else (None,) * len(self.groups)
        return {
            "figure": self.figure, "by": self.by, "level": self.level, "finite_pool": self.finite_pool,
            "scale": {"low": self.scale.low, "high": self.scale.high, "levels": list(self.scale.names), "words": self.scale.words},
            "bar": self.bar, "n_items": self.n_items, "n_grades": self.n_grades, "overall": asdict(self.overall),
            "groups": [asdict(row) | {"judge": one} for row, one in zip(self.groups, said, strict=True)],
            "figures": [asdict(one) for one in self.figures], "distribution": [asdict(one) for one in self.distribution],
            "judge": judges[0] if judges else None, "judges": judges, "cluster": self.cluster,
            "ranking": None if self.ranking is None else self.ranking.to_dict(),
            "sets": None if self.sets is None else self.sets.to_dict(),
            "plan": None if self.plan is None else self.plan.to_dict(), "next": [one.to_dict() for one in self.next],
            "warnings": list(self.warnings), "provenance": self.provenance.to_dict(),
        }  # fmt: skip

    def list_rows(self) -> list[dict[str, Any]]:
        """Return one row of the rating per group."""
        return [asdict(row) for row in self.groups]
