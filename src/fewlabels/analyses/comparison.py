"""Two groups side by side: how far apart they are, and whether that matters.

The region of practical equivalence (ROPE) holds differences that are as good as none. The verdict names the region that
holds most of the posterior of the difference, if it holds enough of it; otherwise it is not settled.
"""

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from fewlabels.analyses.assessment import Assessment, Row, write_json
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.analyses.warnings import say_undefined
from fewlabels.distributions.belief import Beta, Dirichlet
from fewlabels.distributions.difference import (
    NOT_SETTLED,
    BetaDifference,
    Difference,
    DrawnDifference,
    say_not_settled,
)
from fewlabels.errors import InputError
from fewlabels.models.posterior import Answer

PLOT, REPORT = "fewlabels.reporting.plots.difference:plot_comparison", "fewlabels.reporting.html.pages:write_comparison"
MARKDOWN = "fewlabels.reporting.markdown.comparison:render_comparison"
DEFAULT_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Comparison:
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
        """Return the contract's JSON as a dict."""
        plain = {
            f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("difference", "rows", "provenance")
        }
        return plain | {
            "groups": list(self.groups),
            "warnings": list(self.warnings),
            "rows": [asdict(row) for row in self.rows],
            "provenance": self.provenance.to_dict(),
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Write (or just return) the contract's JSON."""
        return write_json(self.to_dict(), path, self.provenance.inputs)

    def to_markdown(self) -> str:
        """Return GitHub-flavoured Markdown, for pull requests and job summaries."""
        text: str = resolve_name(MARKDOWN)(self)
        return text

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the posterior of the difference with its ROPE."""
        return resolve_name(PLOT)(self, ax=ax)

    def report(self, path: str | Path) -> Path:
        """Write one self-contained HTML file."""
        written: Path = resolve_name(REPORT)(self, path)
        return written

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        a, b = self.groups
        empty = [row.group for row in self.rows if row.rank_low is None]
        if empty:
            return f"{NOT_SETTLED}: {self.metric} is not defined in {' and '.join(empty)}"
        if self.verdict == NOT_SETTLED:
            return say_not_settled(a, b, self.rope, (self.p_below, self.p_equivalent, self.p_above))
        words = {
            "below": f"{a} is lower than {b} by more than {self.rope:g}",
            "above": f"{a} is higher than {b} by more than {self.rope:g}",
            "equivalent": f"{a} and {b} differ by at most {self.rope:g}",
        }
        return f"{words[self.verdict]}, with probability {self.confidence:.2f}"


def set_side_by_side(
    a: Assessment, groups: tuple[str, str], rope: float, confidence: float = DEFAULT_CONFIDENCE
) -> Comparison:
    """Set two groups of an assessment side by side; a verdict is stated from a probability of `confidence` on."""
    require_choices(rope, confidence)
    groups = (str(groups[0]), str(groups[1]))
    if groups[0] == groups[1]:
        raise InputError(f"groups: {groups[0]!r} cannot be compared with itself; name two groups")
    first, second = (_position(a, group) for group in groups)
    difference = _difference(a.answer, first, second)
    mean, (low, high) = difference.mean(), difference.interval(a.level)
    below, above = difference.below(-rope), difference.above(rope)
    chances = {"below": below, "equivalent": max(0.0, 1 - below - above), "above": above}
    likeliest = max(chances, key=lambda name: chances[name])
    is_defined = not a.answer.undefined[[first, second]].any()
    verdict = likeliest if chances[likeliest] >= confidence and is_defined else NOT_SETTLED
    return Comparison(
        groups=groups, metric=a.metric, rope=rope, mean=mean, low=low, high=high, p_below=below,
        p_equivalent=chances["equivalent"], p_above=above, verdict=verdict, confidence=chances[likeliest],
        level=a.level, required=confidence, warnings=(*a.notes, *_warn(a, groups)), difference=difference, rows=tuple(a.row(group) for group in groups),
        provenance=a.provenance,
    )  # fmt: skip


def require_choices(rope: float, confidence: float) -> None:
    """Refuse a region or a probability that cannot be meant."""
    if not rope >= 0:
        raise InputError(f"rope is {rope}; it is a half-width and cannot be negative")
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; it must lie between 0 and 1, for instance 0.95")


def _warn(a: Assessment, groups: tuple[str, str]) -> tuple[str, ...]:
    blank = [group for group in groups if a.row(group).n_labels == 0]
    said = [f"no label in {' and '.join(blank)}: there the prior speaks, not the model"] if blank else []
    empty = [group for group in groups if a.answer.undefined[_position(a, group)]]
    return (*said, *([say_undefined(a.metric, empty)] if empty else []))


def _position(a: Assessment, group: str) -> int:
    return a.groups.index(a.row(group))


def _difference(answer: Answer, first: int, second: int) -> Difference:
    """Exactly where the two are independent; what is believed of both together, from joint draws."""
    belief, independent = answer.groups, isinstance(answer.shown, Beta | Dirichlet)
    if isinstance(belief, Beta) and independent and first != second:
        one, other = (Beta((belief.groups[i],), belief.alpha[[i]], belief.beta[[i]]) for i in (first, second))
        return BetaDifference(one, other)
    return DrawnDifference(answer.draws[:, first] - answer.draws[:, second])
