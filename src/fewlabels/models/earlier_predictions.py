"""What the predictions of an assessment look like: shares of classes and groups, and scores by group.

A later assessment that uses it as prior compares its own predictions with these. Fingerprints cannot tell: they differ for
any new items, of the same model or of another.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fewlabels.data.counts import NONE, STRATA, CountTable
from fewlabels.data.names import bin_names

FALSE_ALARM = 0.01  # at most this chance of a warning where both pools come from the same population
MATTERS = 0.1  # share of predictions that must differ, beyond chance, to be worth a warning
N_VIEWS = 4


@dataclass(frozen=True)
class EarlierPredictions:
    """Counts of predictions; `scores` has a row per group and a column per range of scores."""

    predicted: tuple[tuple[str, int], ...]
    groups: tuple[tuple[str, int], ...]
    ranges: tuple[str, ...] = ()  # of scores; none without scores
    scores: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def count(cls, tally: CountTable) -> "EarlierPredictions":
        """Count the predictions of a table."""
        said = np.bincount(tally.predicted - NONE, weights=tally.n_items, minlength=len(tally.classes) + 1)[1:]
        classes = tuple((name, int(n)) for name, n in zip(tally.classes, said, strict=True) if n)
        groups = tuple((name, int(n)) for name, n in zip(tally.groups, tally.count("n_items"), strict=True))
        return cls(classes, groups, *_count_scores(tally))

    def to_dict(self) -> dict[str, Any]:
        """Return what the predictions look like as plain data."""
        return {
            "predicted": dict(self.predicted), "groups": dict(self.groups), "ranges": list(self.ranges),
            "scores": [list(row) for row in self.scores],
        }  # fmt: skip

    def differ(self, now: "EarlierPredictions") -> bool:
        """Are these surely other predictions than the earlier ones: by class, group or scores in the same ranges?"""
        is_other = (self.predicted, self.groups) != (now.predicted, now.groups)
        return is_other or (self.ranges == now.ranges and self.scores != now.scores)

    def has_comparable_scores(self, now: "EarlierPredictions") -> bool:
        """Were the scores of the earlier predictions counted in the same ranges? Of none there is nothing to compare."""
        return self.ranges == now.ranges or not (self.ranges and now.ranges)

    def list_differences(self, now: "EarlierPredictions") -> list[str]:
        """Describe what clearly differs between earlier and new predictions: by more than chance, in at least a tenth."""
        if bool(self.ranges) != bool(now.ranges):
            return ["there were scores then, and none now" if self.ranges else "there were no scores then"]
        views = {
            "of the predictions are of other classes": (dict(self.predicted), dict(now.predicted)),
            "of the items are in other groups": (dict(self.groups), dict(now.groups)),
        }
        if views["of the items are in other groups"] == views["of the predictions are of other classes"]:
            del views["of the items are in other groups"]
        if self.ranges and self.ranges == now.ranges:
            views["of the scores are in other ranges"] = _sum_scores(self), _sum_scores(now)
            views["of the scores are in other ranges of their group"] = _name_scores(self), _name_scores(now)
        found = {what: _measure_distance(*pair) for what, pair in views.items()}
        clear = {what: share for what, share in found.items() if share is not None}
        if len(clear) > 1 and "of the scores are in other ranges" in clear:
            clear.pop("of the scores are in other ranges of their group", None)
        return [f"{share:.0%} {what}" for what, share in clear.items()]


def _count_scores(tally: CountTable) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """Count the scores of an assessment's predictions by group, in the finest ranges that they have."""
    if not tally.bins or np.isnan(tally.score).any():
        return (), ()
    ranges, at = (tally.bins, tally.bin) if tally.stratum is None else (bin_names(STRATA), tally.stratum)
    n, inside = np.zeros((len(tally.groups), len(ranges)), dtype=np.int64), at != NONE
    np.add.at(n, (tally.group[inside], at[inside]), tally.n_items[inside])
    return ranges, tuple(tuple(row) for row in n.tolist())


def _sum_scores(pool: EarlierPredictions) -> dict[Any, int]:
    """Count predictions by range of scores, to compare them with the earlier ones."""
    return dict(enumerate(np.sum(pool.scores, axis=0).tolist()))


def _name_scores(pool: EarlierPredictions) -> dict[Any, int]:
    """Count predictions by group and range of scores, to compare them with the earlier ones."""
    rows = zip(pool.groups, pool.scores, strict=True)
    return {(name, i): n for (name, _), row in rows for i, n in enumerate(row) if n}


def _measure_distance(then: dict[Any, int], now: dict[Any, int]) -> float | None:
    """Return the total variation distance of earlier and new predictions; None where it is small or due to chance.

    By chance it is at most its expectation, bounded by the standard deviations of the shares, plus what McDiarmid's
    inequality allows at the level of `FALSE_ALARM`, divided by the number of views.
    """
    names = sorted({*then, *now}, key=str)
    a, b = (np.array([pool.get(name, 0) for name in names], dtype=np.float64) for pool in (then, now))
    n = np.array([a.sum(), b.sum()])
    if not n.all():
        return None
    found = float(np.abs(a / n[0] - b / n[1]).sum() / 2)
    noise = float((1 / n).sum())
    by_chance = _bound_expected_distance((a + b) / n.sum(), noise)
    beyond = max(math.sqrt(math.log(N_VIEWS / FALSE_ALARM) / 2 * noise), MATTERS)
    return found if found > by_chance + beyond else None


def _bound_expected_distance(share: Float[np.ndarray, " cell"], noise: float) -> float:
    """Bound the expected distance of earlier and new predictions with these shares; inverse sizes sum to `noise`."""
    return float(np.sqrt(share * (1 - share) * noise).sum() / 2)
