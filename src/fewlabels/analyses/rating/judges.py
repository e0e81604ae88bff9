"""How well a judge agrees with people: true positive and true negative rate, kappa and bias, with intervals."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.assessment_rows import Estimate
from fewlabels.analyses.rating.estimates import PASS_RATE, summarize
from fewlabels.models.grades.posterior import GradePosterior

MIN_GRADES = 10  # grades of people in a group from which a judge is measured there
MEASURES = ("tpr", "tnr", "kappa", "bias")


@dataclass(frozen=True)
class JudgeAgreement:
    """A judge's agreement with people, in one group or overall."""

    group: str | None  # None: overall
    n_items: int  # graded by the judge
    n_grades: int  # of people
    tpr: Estimate  # share of what people pass that the judge passes
    tnr: Estimate  # share of what people fail that the judge fails
    kappa: Estimate  # agreement beyond chance, of passing
    bias: Estimate  # the judge's figure minus people's


@dataclass(frozen=True)
class JudgeRating:
    """A judge: its scale and bar, what it says, and how well it agrees with people."""

    name: str
    scale: str
    bar: float
    bias_of: str  # mean, win-rate or pass-rate
    overall: JudgeAgreement
    groups: tuple[JudgeAgreement, ...]  # with enough grades of people
    said: tuple[float | None, ...]  # its own figure in every group

    def to_dict(self) -> dict[str, Any]:
        """Return the judge as plain data; the overall measures are keys of their own."""
        overall = {name: asdict(getattr(self.overall, name)) for name in MEASURES}
        groups = [asdict(one) for one in self.groups]
        return {
            "judge": self.name, "scale": self.scale, "bar": self.bar, "n_items": self.overall.n_items,
            "n_grades": self.overall.n_grades, **overall, "bias_of": self.bias_of, "groups": groups,
        }  # fmt: skip


def rate_judge(posterior: GradePosterior, judge: int, figure: str, level: float) -> JudgeRating:
    """Measure one judge's agreement with people, overall and where people graded enough."""
    counts = posterior.counts
    one = counts.judges[judge]
    same = (one.scale.low, one.scale.high) == (counts.scale.low, counts.scale.high)
    bias_of = figure if same else PASS_RATE
    tables = posterior.cross_tabulate(judge)
    ours, theirs = posterior.average_graded(judge) if bias_of != PASS_RATE else (tables[:, :, 1].sum(axis=2), tables[:, :, :, 1].sum(axis=2))  # fmt: skip
    n_items, n_grades = counts.sum_by_group(one.n), counts.sum_by_group(counts.n_grades * one.has_graded)
    whole = _measure_agreement(
        None, int(n_items.sum()), int(n_grades.sum()), tables.sum(axis=1), (ours - theirs).sum(axis=1), level
    )
    groups = tuple(
        _measure_agreement(group, int(n_items[g]), int(n_grades[g]), tables[:, g], ours[:, g] - theirs[:, g], level)
        for g, group in enumerate(counts.groups)
        if n_grades[g] >= MIN_GRADES and len(counts.groups) > 1
    )
    said = _average_said(posterior, judge, figure)
    return JudgeRating(one.name, one.scale.words, one.bar, bias_of, whole, groups, said)


def _average_said(posterior: GradePosterior, judge: int, figure: str) -> tuple[float | None, ...]:
    """Return a judge's own pass rate, or mean grade, in every group: known without error."""
    counts, one = posterior.counts, posterior.counts.judges[judge]
    n = np.bincount(counts.group, weights=one.n, minlength=len(counts.groups))
    total = np.bincount(
        counts.group, weights=one.n * one.passes if figure == PASS_RATE else one.total, minlength=len(n)
    )
    return tuple(float(total[g] / n[g]) if n[g] else None for g in range(len(n)))


def _measure_agreement(
    group: str | None,
    n_items: int,
    n_grades: int,
    table: Float[np.ndarray, "draw 2 2"],
    gap: Float[np.ndarray, " draw"],
    level: float,
) -> JudgeAgreement:
    """Measure a judge's agreement from draws of shares of items by its verdict (first axis) and people's (second)."""
    total = np.maximum(table.sum(axis=(1, 2)), 1e-300)
    measures = (*_rates(table), _kappa(table / total[:, None, None]), gap / total)
    return JudgeAgreement(group, n_items, n_grades, *summarize(np.stack(measures, axis=1), level))


def _rates(table: Float[np.ndarray, "draw 2 2"]) -> tuple[Float[np.ndarray, " draw"], Float[np.ndarray, " draw"]]:
    """True positive rate and true negative rate of the judge."""
    fails, passes = (np.maximum(table[:, :, human].sum(axis=1), 1e-300) for human in (0, 1))
    return table[:, 1, 1] / passes, table[:, 0, 0] / fails


def _kappa(table: Float[np.ndarray, "draw 2 2"]) -> Float[np.ndarray, " draw"]:
    """Cohen's kappa of judge and people; 0 where agreement by chance is certain."""
    observed = table[:, 0, 0] + table[:, 1, 1]
    chance = (table.sum(axis=2) * table.sum(axis=1)).sum(axis=1)
    room = 1 - chance
    return np.where(room > 1e-12, (observed - chance) / np.maximum(room, 1e-12), 0.0)
