"""Which answers people should grade next, and how many more grades bring the intervals to a width."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from fewlabels.analyses.assessment_rows import Estimate
from fewlabels.analyses.rating.estimates import PASS_RATE, GradeRow
from fewlabels.data.grades.columns import GradedItems
from fewlabels.data.grades.drawing import UngradedItem, draw_ungraded
from fewlabels.data.groups import Groups
from fewlabels.errors import InputError, count, format_option
from fewlabels.models.grades.allocation import (
    MIN_SEEN,
    AllocationPrecision,
    allocate_at_random,
    allocate_by_gain,
    count_allocated_grades,
    measure_precision,
)
from fewlabels.models.grades.posterior import GradePosterior
from fewlabels.text import round_up_count

MAX_CELLS = 1500  # whose joint covariance is kept
RANDOM_ORDERS = 3  # of which the median is the number of grades drawn at random


@dataclass(frozen=True)
class GradePlan:
    """How many more grades of people bring every interval, overall and per group, to a width."""

    target_width: float
    settled: bool  # is it reached?
    n_more: int | None  # grades of the answers that are proposed; None: not even all of them
    n_more_at_random: int | None  # the same of answers drawn at random
    n_more_overall: int | None  # for the overall figure alone
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        return asdict(self)


def plan_grades(posterior: GradePosterior, found: "PlannedRating", *, width: float, seed: int) -> GradePlan:
    """Plan how many more grades bring all intervals of a rating to at most `width`."""
    now = found.measure(posterior)
    aim, settled = found.scale_width(now, width), found.is_settled(width)
    if settled:
        return GradePlan(width, True, 0, 0, 0, _describe(width, 0, 0, 0, settled=True))
    whole = now.keep_overall()
    chosen = count_allocated_grades(allocate_by_gain(now, width=aim, z=found.z), now, aim, found.z)
    alone = count_allocated_grades(allocate_by_gain(whole, width=aim[:1], z=found.z), whole, aim[:1], found.z)
    drawn = _count_at_random(now, aim, found.z, seed)
    chosen, drawn, alone = (n if n is None else round_up_count(n) for n in (chosen, drawn, alone))
    return GradePlan(width, False, chosen, drawn, alone, _describe(width, chosen, drawn, alone, settled=False))


def plan_items(
    pool: GradedItems,
    by: Groups,
    posterior: GradePosterior,
    found: "PlannedRating",
    n: int,
    *,
    width: float | None,
    seed: int,
) -> tuple[UngradedItem, ...]:
    """Plan which n answers people should grade next for a rating, most useful first."""
    now, cells = found.measure(posterior), []
    for cell, more, _ in allocate_by_gain(
        now, width=None if width is None else found.scale_width(now, width), z=found.z
    ):
        cells += [cell] * more
        if len(cells) >= n:
            break
    wanted = np.bincount(np.array(cells[:n], dtype=np.int64), minlength=len(posterior.counts.group))
    drawn = {cell: iter(items) for cell, items in draw_ungraded(pool, by, posterior.counts, wanted, seed=seed).items()}
    return tuple(next(drawn[cell]) for cell in cells[:n])


@dataclass(frozen=True)
class PlannedRating:
    """What a rating found before more grades are planned: the estimates, overall and in every group, of a figure."""

    figure: str
    overall: Estimate
    rows: tuple[GradeRow, ...]
    level: float

    @property
    def z(self) -> float:
        """Half the width of an interval, in standard deviations, for the plan."""
        return float(ndtri((1 + self.level) / 2))

    @property
    def widths(self) -> Float[np.ndarray, " target"]:
        """The widths of the intervals before the planned grades: overall, then of every group."""
        rows: tuple[Estimate | GradeRow, ...] = (self.overall, *self.rows)
        return np.array([one.high - one.low for one in rows])

    def is_settled(self, width: float) -> bool:
        """Is no plan needed: is every interval narrow enough, in groups of which people graded some answers?"""
        seen = all(row.n_grades >= min(MIN_SEEN, row.n_items) for row in self.rows)
        return seen and bool((self.widths <= width).all())

    def measure(self, posterior: GradePosterior) -> AllocationPrecision:
        """Return how well the figure is known before the planned grades."""
        n = len(posterior.counts.group)
        if n > MAX_CELLS:
            raise InputError(f"{format_option('next')}: the groups and judges' grades make {n:,} kinds of answers, and a choice among at most {MAX_CELLS:,} is supported; group by something coarser, or name fewer judges")  # fmt: skip
        return measure_precision(posterior, passes=self.figure == PASS_RATE)

    def scale_width(self, now: AllocationPrecision, width: float) -> Float[np.ndarray, " target"]:
        """Return the width to plan for as the normal approximation sees it: its widths now are those of the intervals."""
        normal = 2 * self.z * np.sqrt(np.maximum(now.variance, 0.0))
        return width * np.where(self.widths > 0, normal / np.maximum(self.widths, 1e-12), 1.0)


def _count_at_random(now: AllocationPrecision, width: Float[np.ndarray, " target"], z: float, seed: int) -> int | None:
    """Return the median number of grades that a plan takes at random, over a few orders."""
    orders = [allocate_at_random(np.random.default_rng([seed, 5, i]), now) for i in range(RANDOM_ORDERS)]
    found = [count_allocated_grades(steps, now, width, z) for steps in orders]
    return sorted(found, key=lambda n: np.inf if n is None else n)[RANDOM_ORDERS // 2]


def require_valid_plan(width: float | None, n_next: int) -> None:
    """Refuse to plan for a width or a number of answers that makes no sense."""
    if width is not None and not width > 0:
        raise InputError(f"{format_option('target_width')}: a width of {width:g} cannot be reached; intervals have some width")  # fmt: skip
    if n_next < 0:
        raise InputError(f"{format_option('next')}: {n_next} answers cannot be chosen; give a positive number")


def _describe(width: float, chosen: int | None, drawn: int | None, alone: int | None, *, settled: bool) -> str:
    """Describe in a sentence how many more grades are planned."""
    aim = f"bring every interval to at most {width:g}"
    if settled:
        return f"every interval is at most {width:g} wide: no more grades are needed"
    if chosen is None:
        reach = f"; {count(alone, 'more grade')} would do so overall" if alone else ""
        return f"not even grades of all answers would {aim}{reach}"
    others = [f"{drawn:,} if drawn at random"] if drawn is not None and drawn > chosen else []
    if alone is not None and alone < chosen:
        others.append(f"{alone:,} for the overall figure alone" if alone else "the overall interval is narrow enough already")  # fmt: skip
    beside = f" ({'; '.join(others)})" if others else ""
    return f"about {count(chosen, 'more human grade')} of the answers proposed here would {aim}{beside}"
