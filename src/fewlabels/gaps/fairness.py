"""One call from predictions about people to what can be said of fairness."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import ceil
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from scipy.special import ndtr

from fewlabels.checks import require_sound
from fewlabels.errors import InputError, did_you_mean
from fewlabels.frames import to_frame
from fewlabels.gaps.contrasts import LARGEST, ODDS, REST, Contrast, Gap
from fewlabels.gaps.methods import METHODS, Drawn, Method, Sample
from fewlabels.gaps.people import People, arrange_people, count_people, pose, visit
from fewlabels.gaps.rates import QUANTITIES
from fewlabels.groups import Groups
from fewlabels.labels import arrange
from fewlabels.latent.health import Health, diagnose
from fewlabels.summary import write_json
from fewlabels.table import Frame, Predictions

PLOT, REPORT = "fewlabels.plots:plot_gaps", "fewlabels.report:write_fairness"
MARKDOWN = "fewlabels.markdown:render_fairness"
DEFAULT = ("accuracy", "tpr", "fpr")
NAMES = (*QUANTITIES, ODDS)
SELECTION = "selection-rate"
DOUBT = 0.001  # chance of scores that point the wrong way as they do, were they of no use


@dataclass(frozen=True)
class GroupRow:
    """A quantity in one group."""

    group: str
    metric: str
    mean: float
    low: float
    high: float
    n_items: int
    n_labels: int


@dataclass(frozen=True)
class CurvePoint:
    """People of one group with nearly the same score: what the model says, what labels say, what is believed."""

    group: str
    score: float
    n_items: int
    n_labels: int
    n_positive: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Fairness:
    """What can be said of how a model treats groups of people."""

    by: str
    reference: str
    gaps: tuple[Gap, ...]
    groups: tuple[GroupRow, ...]
    method: str
    health: Health
    rope: float
    level: float
    n_items: int
    n_labels: int
    finite_pool: bool
    positive: str
    source: str
    warnings: tuple[str, ...] = ()
    curve: tuple[CurvePoint, ...] = field(default=(), repr=False)  # where scores were calibrated
    frame: Frame = "pandas"

    def gap(self, metric: str, group: str) -> Gap:
        """Return one gap."""
        return next(gap for gap in self.gaps if (gap.metric, gap.group) == (metric, group))

    def count_more(self, gap: Gap) -> int | None:
        """Say about how many more labels would settle whether a gap is within the margin; None where none would."""
        if gap.is_settled(self.rope):
            return 0
        if gap.group == LARGEST:
            return None
        wanted, width = 2 * abs(abs(gap.mean) - self.rope), gap.high - gap.low
        if not self.n_labels or not wanted > 0:
            return None
        needed = ceil(self.n_labels * (width / wanted) ** 2)
        return max(1, needed - self.n_labels) if needed <= self.n_items else None

    def to_dict(self) -> dict[str, Any]:
        """Return the contract's JSON as a dict."""
        return {
            "by": self.by, "reference": self.reference, "rope": self.rope, "level": self.level, "method": self.method,
            "n_items": self.n_items, "n_labels": self.n_labels, "health": self.health.to_dict(),
            "gaps": [_plain(gap.to_dict() | {"more_labels": self.count_more(gap)}) for gap in self.gaps],
            "groups": [_plain(asdict(row)) for row in self.groups], "warnings": list(self.warnings),
        }  # fmt: skip

    def to_json(self, path: str | Path | None = None) -> str:
        """Write (or just return) the contract's JSON."""
        return write_json(self.to_dict(), path)

    def to_markdown(self) -> str:
        """Return GitHub-flavoured Markdown, for pull requests and job summaries."""
        text: str = resolve_name(MARKDOWN)(self)
        return text

    def to_frame(self) -> Any:
        """Return the gaps as the kind of frame the predictions came in."""
        rows = [gap.to_dict() for gap in self.gaps]
        return to_frame([{name: value for name, value in row.items() if name != "ratio"} for row in rows], self.frame)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw every gap with its interval and the margin."""
        return resolve_name(PLOT)(self, ax=ax)

    def report(self, path: str | Path) -> Path:
        """Write one self-contained HTML file."""
        written: Path = resolve_name(REPORT)(self, path)
        return written

    @property
    def whom(self) -> str:
        """Whom groups are compared with, in words."""
        return "everybody else" if self.reference == REST else self.reference

    def say(self, gap: Gap) -> str:
        """Put a gap in a sentence that can be quoted."""
        if np.isnan(gap.mean):
            return f"{gap.metric} of {gap.group}: undefined, there is nobody it could be a rate of"
        shown = f"{100 * self.level:g}% interval {gap.low:+.3f} to {gap.high:+.3f}"
        fair = f"within ±{self.rope:g} with probability {_say(gap.p_practically_fair)}"
        if gap.metric == ODDS or gap.group == LARGEST:
            what = "the larger of the tpr and fpr gaps" if gap.metric == ODDS else f"the gap in {gap.metric}"
            pair = "the two groups furthest apart" if gap.group == LARGEST else f"{gap.group} and {self.whom}"
            return f"{what} between {pair} is {gap.mean:.3f} ({shown}); {fair}"
        more, sure = ("higher", gap.p_greater) if gap.mean > 0 else ("lower", 1 - gap.p_greater)
        return (
            f"{gap.metric} of {gap.group} is {abs(gap.mean):.3f} {more} than of {self.whom} ({shown}); {more} with "
            f"probability {_say(sure)}, {fair}"
        )

    def say_four_fifths(self, gap: Gap) -> str | None:
        """Read a ratio of selection rates by the four-fifths rule; None for anything else."""
        if gap.metric != SELECTION or gap.ratio is None:
            return None
        ratio, below = gap.ratio, gap.ratio.p_below_four_fifths
        side, sure = ("below", below) if below > 0.5 else ("at least", 1 - below)
        return (
            f"the selection rate of {gap.group} is {ratio.median:.2f} times that of {self.whom} ({100 * self.level:g}% "
            f"interval {ratio.low:.2f} to {ratio.high:.2f}): {side} four fifths with probability {_say(sure)}"
        )


def fairness(
    pool: Any,
    *,
    by: Groups,
    reference: str | None = None,
    metrics: Sequence[Any] = DEFAULT,
    method: str | Method = "calibrated",
    rope: float = 0.02,
    level: float = 0.95,
    finite_pool: bool = False,
    seed: int = 0,
) -> Fairness:
    """Say how differently groups of people are treated, and how sure that is.

    `reference` is the group that others are compared with (unless told otherwise, the largest), or "rest", for everybody
    else; `rope` is the margin within which a gap is as good as none. `metrics` are names, or objects like `fl.tpr`.
    Of more than two classes, the positive one is set against the rest; where none is named, accuracy can be asked for.
    """
    pool = pool if isinstance(pool, Predictions) else Predictions.read(pool)
    names = tuple(_name(metric) for metric in metrics)
    learner = METHODS[_find(method, METHODS, "method")] if isinstance(method, str) else method
    if not rope >= 0:
        raise InputError(f"rope is {rope}; it is a half-width and cannot be negative")
    census = visit(pool, by)
    notes = require_sound(pool, census)
    posed, assumed = pose(pool, names)
    people = arrange_people(arrange(census)) if posed is pool else count_people(posed, by)
    whom = _refer(people, reference)
    rng = np.random.default_rng(seed)
    sample = learner.learn(people, rng, finite=finite_pool)
    contrast = Contrast(people, sample, whom, rope, level)
    gaps = tuple(gap for name in names for gap in contrast.compare(name))
    groups, health = _measure(contrast, [name for name in names if name != ODDS], sample)
    return Fairness(
        people.by, whom, gaps, groups, learner.name, health, rope, level, int(people.n_items.sum()),
        int(people.n_labels.sum()), finite_pool, people.positive, pool.source, (*notes, *assumed, *_warn(people, health)),
        _trace(people, sample, contrast), pool.frame,
    )  # fmt: skip


def _measure(contrast: Contrast, names: Sequence[str], sample: Sample) -> tuple[tuple[GroupRow, ...], Health]:
    """Say every quantity in every group, and how well chains agree about them."""
    people, rows, shown = contrast.people, [], []
    for name in names:
        values = contrast.measure(name)
        for i, group in enumerate(people.groups):
            draws = values[:, i][~np.isnan(values[:, i])]
            low, high = contrast.interval(draws) if len(draws) else (float("nan"), float("nan"))
            mean = float(draws.mean()) if len(draws) else float("nan")
            rows.append(GroupRow(group, name, mean, low, high, int(people.size[i]), int(people.heard[i])))
        shown.append(values)
    draws = np.nan_to_num(np.concatenate(shown, axis=1)) if shown else np.zeros((2 * sample.n_chains, 1))
    chains = draws.reshape(-1, sample.n_chains, draws.shape[1])
    return tuple(rows), diagnose(chains, sample.divergences)


def _trace(people: People, sample: Sample, contrast: Contrast) -> tuple[CurvePoint, ...]:
    """Say what is believed of every stratum, where that was learned from the scores."""
    if not isinstance(sample, Drawn):
        return ()
    counts = zip(people.group, people.score, people.n_items, people.n_labels, people.n_positive, strict=True)
    return tuple(
        CurvePoint(people.groups[g], float(s), int(n), int(k), int(r), float(chance.mean()), *contrast.interval(chance))
        for (g, s, n, k, r), chance in zip(counts, sample.chance.T, strict=True)
    )


def _name(metric: Any) -> str:
    return _find(metric if isinstance(metric, str) else str(getattr(metric, "name", metric)), NAMES, "metric")


def _find(name: str, known: Any, kind: str) -> str:
    if name not in known:
        raise InputError(f"fairness: there is no {kind} {name!r}; {did_you_mean(name, list(known))}")
    return name


def _refer(people: People, reference: str | None) -> str:
    """Find the reference; unless told, the largest group."""
    if len(people.groups) == 1:
        raise InputError(
            f"by: all {people.size[0]:,} items are in one group, {people.groups[0]!r}: there is nobody to compare with"
        )
    if reference is None:
        return people.groups[int(people.size.argmax())]
    if reference != REST and reference not in people.groups:
        raise InputError(
            f"reference: there is no group {reference!r} in {people.by}; {did_you_mean(reference, list(people.groups))}"
        )
    return reference


def _warn(people: People, health: Health) -> list[str]:
    out = []
    blank = [group for group, n in zip(people.groups, people.heard, strict=True) if n == 0]
    if blank:
        out.append(f"no label in {', '.join(blank)}: there the other groups' labels speak")
    n, n_positive = int(people.n_labels.sum()), int(people.n_positive.sum())
    if n and n_positive in (0, n):
        out.append(
            f"all {n:,} labels are of one class: what tells the classes apart is a guess until others are labelled"
        )
    elif n and _point_the_wrong_way(people):
        out.append(
            f"those labelled {people.positive!r} have the lower scores: are these the scores of the other class? Then "
            "give that class with --positive, or turn the scores round (1 minus score)"
        )
    if not health.is_good:
        out.append(
            f"the chains do not agree well enough (R-hat {health.rhat:.3f}, {health.ess:,.0f} effective draws, "
            f"{health.divergences} lost paths): run it again with another seed before relying on it"
        )
    return out


def _point_the_wrong_way(people: People) -> bool:
    """Do the labelled positive have lower scores than the negative, beyond chance? By the correlation of ranks."""
    rank = np.argsort(np.argsort(people.score)).astype(np.float64)
    n, up = people.n_labels.astype(np.float64), people.n_positive.astype(np.float64)
    total = n.sum()
    share, centre = up.sum() / total, (n @ rank) / total
    spread = (n @ (rank - centre) ** 2) / total
    if spread == 0:
        return False
    correlation = ((up - share * n) @ (rank - centre)) / total / np.sqrt(spread * share * (1 - share))
    return bool(ndtr(correlation * np.sqrt(total)) < DOUBT)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no word for undefined but null."""
    return {name: None if isinstance(value, float) and np.isnan(value) else value for name, value in row.items()}


def _say(p: float) -> str:
    return "more than 0.99" if p > 0.99 else "less than 0.01" if p < 0.01 else f"{p:.2f}"
