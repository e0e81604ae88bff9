"""Compare two groups: the difference, and whether it is practically relevant.

The region of practical equivalence (ROPE) holds negligible differences. The verdict names the region with the largest
posterior probability, if that reaches the required confidence; otherwise it is "not settled".
"""

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.assessment_rows import Row
from fewlabels.analyses.overall_check import UNEVEN, UNEVEN_COMPARED
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.analyses.result import Result
from fewlabels.analyses.warnings import describe_undefined
from fewlabels.distributions.difference import NOT_SETTLED, Difference, describe_verdict, require_rope
from fewlabels.errors import InputError, quote_name

DEFAULT_CONFIDENCE = 0.95


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """The difference a − b between two groups, and the region of practical equivalence it falls in."""

    groups: tuple[str, str]
    metric: str
    rope: float
    mean: float
    low: float
    high: float
    p_below: float
    p_equivalent: float
    p_above: float
    verdict: str
    confidence: float
    level: float
    required: float = 0.95  # probability from which on a verdict is stated
    warnings: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()  # of the two groups
    difference: Difference | None = field(default=None, repr=False)
    provenance: Provenance = field(default_factory=record, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison's JSON as a dict."""
        plain = {
            f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("difference", "rows", "provenance")
        }
        return plain | {
            "groups": list(self.groups),
            "warnings": list(self.warnings),
            "rows": [asdict(row) for row in self.rows],
            "provenance": self.provenance.to_dict(),
        }

    def list_rows(self) -> list[dict[str, Any]]:
        """Return one row per compared group."""
        return [asdict(row) for row in self.rows]

    @property
    def sentence(self) -> str:
        """The verdict of the comparison in words."""
        a, b = self.groups
        empty = [row.group for row in self.rows if row.rank_low is None]
        if empty:
            return f"{NOT_SETTLED}: {self.metric} is not defined in {' and '.join(empty)}"
        chances = {"below": self.p_below, "equivalent": self.p_equivalent, "above": self.p_above}
        return describe_verdict(a, b, self.rope, self.verdict, chances)


def compare_groups(
    a: Assessment, groups: tuple[str, str], rope: float, confidence: float = DEFAULT_CONFIDENCE
) -> Comparison:
    """Compare two groups of an assessment; a verdict is stated from a probability of `confidence` on."""
    require_comparison_choices(rope, confidence)
    require_rope(rope, is_share=a.posterior.metric.is_share)
    groups = (str(groups[0]), str(groups[1]))
    if groups[0] == groups[1]:
        raise InputError(f"groups: {quote_name(groups[0])} cannot be compared with itself; name two groups")
    first, second = (_find_group(a, group) for group in groups)
    difference = a.posterior.difference(first, second)
    mean, (low, high) = difference.mean(), difference.interval(a.level)
    below, above = difference.below(-rope), difference.above(rope)
    chances = {"below": below, "equivalent": max(0.0, 1 - below - above), "above": above}
    likeliest = max(chances, key=lambda name: chances[name])
    is_defined = not a.posterior.undefined[[first, second]].any()
    verdict = likeliest if chances[likeliest] >= confidence and is_defined else NOT_SETTLED
    return Comparison(
        groups=groups, metric=a.metric, rope=rope, mean=mean, low=low, high=high, p_below=below,
        p_equivalent=chances["equivalent"], p_above=above, verdict=verdict, confidence=chances[likeliest],
        level=a.level, required=confidence, warnings=(*a.notes, *_warn_compared_groups(a, groups)), difference=difference, rows=tuple(a.row(group) for group in groups),
        provenance=a.provenance,
    )  # fmt: skip


def require_comparison_choices(rope: float, confidence: float) -> None:
    """Raise if the rope or confidence of a comparison is out of range."""
    if not rope >= 0:
        raise InputError(f"rope is {rope}; it is a half-width and cannot be negative")
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; it must lie between 0 and 1, for instance 0.95")


def _warn_compared_groups(a: Assessment, groups: tuple[str, str]) -> tuple[str, ...]:
    """Warn of compared groups without labels, undefined ones, and uneven samples."""
    blank = [group for group in groups if a.row(group).n_labels == 0]
    said = [f"no labels in {' and '.join(blank)}: the estimate there comes from the prior alone"] if blank else []
    empty = [group for group in groups if a.posterior.undefined[_find_group(a, group)]]
    uneven = [UNEVEN_COMPARED] if any(warning.startswith(UNEVEN) for warning in a.estimate_warnings) else []
    return (*said, *([describe_undefined(a.metric, empty)] if empty else []), *uneven)


def _find_group(a: Assessment, group: str) -> int:
    """Return the place of a compared group in the assessment."""
    return a.groups.index(a.row(group))
