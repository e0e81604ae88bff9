"""Estimates of a comparison: every model's figure, the difference of two models in one scope, and both in words."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.models.pair_counts import PairCount, PairCounts
from fewlabels.analyses.models.sample_size import LabelForecast, forecast_best, forecast_difference
from fewlabels.distributions.difference import NOT_SETTLED
from fewlabels.errors import count, join_names
from fewlabels.models.joint_outcomes.model_standing import ModelStanding
from fewlabels.text import format_probability

Scope = tuple[str, str | None]  # the name of a group in results, and the group; None is the whole pool
WHOLE: Scope = ("all", None)
COUNTS = {True: ("disagree", "labels there"), False: ("items", "labels")}  # headings of counts: paired or not


@dataclass(frozen=True)
class ModelFigure:
    """The metric of one model in one group."""

    model: str
    group: str
    mean: float
    low: float
    high: float
    p_best: float
    regret: float  # expected loss of choosing this model instead of the best one


@dataclass(frozen=True)
class ModelDifference:
    """The difference a − b of two models in one group."""

    a: str
    b: str
    group: str
    mean: float
    low: float
    high: float
    p_below: float
    p_equivalent: float
    p_above: float
    p_no_worse: float  # that a is no worse than b by more than the rope
    verdict: str
    confidence: float
    n_items: int
    n_disagree: int | None  # items on which the two models predict different classes; None of different items
    n_labels: int  # labels
    n_labels_disagree: int | None  # labels where the two models predict different classes
    n_more: int | None = None  # labels where they disagree that would about settle it; None if settled or out of reach
    n_more_low: int | None = None  # central 80 % of simulated futures
    n_more_high: int | None = None  # None: more than there are

    def to_dict(self) -> dict[str, Any]:
        """Return the estimated difference as plain data."""
        return asdict(self)

    def list_counts(self) -> tuple[int, int]:
        """Return the counts beside an estimate that tables show, under `COUNTS`."""
        if self.n_disagree is None or self.n_labels_disagree is None:
            return self.n_items, self.n_labels
        return self.n_disagree, self.n_labels_disagree


def estimate_figures(posterior: ModelStanding, scope: Scope, level: float) -> list[ModelFigure]:
    """Estimate the figure of every model in one scope."""
    name, group = scope
    drawn, p_best, regret = posterior.scope(group), posterior.weigh_best(group), posterior.regret(group)
    mean, (low, high) = drawn.mean(axis=0), np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    low, high = np.minimum(low, mean), np.maximum(high, mean)
    return [
        ModelFigure(model, name, *(float(values[i]) for values in (mean, low, high, p_best, regret)))
        for i, model in enumerate(posterior.models)
    ]


def list_figures(posterior: ModelStanding, level: float) -> list[dict[str, Any]]:
    """Return the estimate of every model over all items as plain data."""
    rows = [asdict(row) for row in estimate_figures(posterior, WHOLE, level)]
    return [{name: value for name, value in row.items() if name != "group"} for row in rows]


def compare_scope(
    posterior: ModelStanding,
    pair: tuple[int, int],
    scope: Scope = WHOLE,
    *,
    rope: float,
    confidence: float,
    level: float,
) -> ModelDifference:
    """Estimate the difference of two models in one scope; a verdict needs labels, or models that never disagree."""
    a, b = pair
    name, group = scope
    difference = posterior.difference(a, b, group)
    below, above = difference.below(-rope), difference.above(rope)
    chances = {"below": below, "equivalent": max(0.0, 1 - below - above), "above": above}
    likeliest = max(chances, key=lambda word: chances[word])
    counts, has_labels = _count_pair(posterior, pair, group)
    is_settled = chances[likeliest] >= confidence and has_labels
    found = None if is_settled else _forecast_difference(posterior, difference.samples, counts, rope, confidence)
    more = (None, None, None) if found is None else (found.n_more, found.low, found.high)
    low, high = difference.interval(level)
    no_worse = 1 - above if posterior.is_lowest_best else 1 - below
    return ModelDifference(
        posterior.models[a], posterior.models[b], name, difference.mean(), low, high, below, chances["equivalent"], above,
        no_worse, likeliest if is_settled else NOT_SETTLED, chances[likeliest], *counts, *more,
    )  # fmt: skip


def _forecast_difference(
    posterior: ModelStanding, drawn: Float[np.ndarray, " draw"], counts: PairCount, rope: float, confidence: float
) -> LabelForecast:
    """Forecast how many more labels settle an estimated difference of two models."""
    n_told, n_telling = counts.telling
    return forecast_difference(
        drawn, rope=rope, confidence=confidence, n_labels=n_told, n_open=n_telling - n_told,
        finite_pool=posterior.is_about_pool,
    )  # fmt: skip


def forecast_pair(posterior: ModelStanding, pair: tuple[int, int], *, rope: float, confidence: float) -> LabelForecast:
    """Forecast how many more labels settle the difference of two models: what `compare`, `status` and `plan` say."""
    counts, _ = _count_pair(posterior, pair, None)
    return _forecast_difference(posterior, posterior.difference(*pair).samples, counts, rope, confidence)


def forecast_best_model(posterior: ModelStanding, *, rope: float, confidence: float) -> LabelForecast:
    """Forecast how many more labels, of items on which not all models agree, find one that is about the best."""
    tally, sign = posterior.tally, -1 if posterior.is_lowest_best else 1
    differs = np.ones(len(tally.group), dtype=bool)
    if tally.models is not None:
        differs = (tally.models.predicted != tally.models.predicted[:, :1]).any(axis=1)
    n_items, n_labels = (int(values[differs].sum()) for values in (tally.n_items, tally.n_labels))
    return forecast_best(
        sign * posterior.overall, rope=rope, confidence=confidence, n_labels=n_labels, n_open=n_items - n_labels,
        finite_pool=posterior.is_about_pool,
    )  # fmt: skip


def _count_pair(posterior: ModelStanding, pair: tuple[int, int], group: str | None) -> tuple[PairCount, bool]:
    """Count, for an estimate, the items and labels of two models, and return whether these can carry a verdict."""
    if not posterior.is_paired:
        (n_first, labels_first), (n_second, labels_second) = (posterior.count(model, group) for model in pair)
        both = PairCount(n_first + n_second, None, labels_first + labels_second, None)
        return both, min(labels_first, labels_second) > 0
    counts = PairCounts(posterior.tally).count(*pair, None if group is None else posterior.find_places(group))
    return counts, counts.n_labels > 0 or counts.n_disagree == 0


def describe_best(figures: Sequence[Mapping[str, Any]], chosen: str, rope: float, p: float, *, is_settled: bool) -> str:
    """Describe from the estimates which of several models is the best, or that it is not settled."""
    if is_settled:
        return f"{chosen} is the best, or within {rope:g} of it, with probability {format_probability(p)}"
    likely = sorted(figures, key=lambda row: -row["p_best"])[:3]
    names = join_names(f"{row['model']} with probability {format_probability(row['p_best'])}" for row in likely)
    return f"{NOT_SETTLED}: the best is {names}; {chosen} is within {rope:g} of the best with {format_probability(p)}"


def describe_estimated_difference(row: ModelDifference, rope: float, required: float) -> str:
    """Describe the estimated difference of two models in words: the verdict, or that it is not settled."""
    words = {
        "above": f"{row.a} is higher than {row.b} by more than {rope:g}",
        "below": f"{row.a} is lower than {row.b} by more than {rope:g}",
        "equivalent": f"{row.a} and {row.b} differ by at most {rope:g}",
    }
    if row.verdict != NOT_SETTLED:
        return f"{words[row.verdict]}, with probability {format_probability(row.confidence)}"
    more = describe_more(row)
    if row.p_no_worse >= required and row.n_labels:
        return f"{row.a} is no worse than {row.b} by more than {rope:g}, with probability {format_probability(row.p_no_worse)}; whether it is better by more than {rope:g} is {NOT_SETTLED}{more}"  # fmt: skip
    chances = f"higher by more than {rope:g} with probability {format_probability(row.p_above)}, lower with {format_probability(row.p_below)}, and within it with {format_probability(row.p_equivalent)}"  # fmt: skip
    return f"{NOT_SETTLED}: {row.a} is, compared with {row.b}, {chances}{more}"


def describe_more(row: ModelDifference) -> str:
    """Describe, beside the estimates, about how many more labels a verdict on two models needs."""
    where = "items" if row.n_disagree is None else "items on which they disagree"
    n_told, n_telling = PairCount(row.n_items, row.n_disagree, row.n_labels, row.n_labels_disagree).telling
    if n_told == n_telling:
        which = "every item" if row.n_disagree is None else "every item on which they disagree"
        return f"; {which} is labelled: only more items, or a wider rope, can settle it"
    if row.n_more is None:
        return f"; labels of all {where} may not settle it: widen the rope"
    found = LabelForecast(row.n_more, row.n_more_low, row.n_more_high, ())
    there = " on items where they disagree" if row.n_disagree is not None else ""
    return f"; about {count(row.n_more, 'more label')}{there} would settle it ({found.range})"


def list_pairs(models: Sequence[str]) -> list[tuple[int, int]]:
    """List all pairs of models to estimate differences of, the later one first: new minus old.

    >>> list_pairs(("old", "new"))
    [(1, 0)]
    """
    return [(b, a) for a in range(len(models)) for b in range(a + 1, len(models))]
