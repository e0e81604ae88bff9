"""What a rating cannot say, and why."""

from collections.abc import Iterator, Sequence

import numpy as np

from fewlabels.analyses.rating.estimates import GradeRow
from fewlabels.analyses.rating.judges import JudgeRating
from fewlabels.data.grades.columns import GradedItems
from fewlabels.data.grades.counts import GradeCounts, JudgeCounts
from fewlabels.errors import count, format_option, join_names
from fewlabels.models.grades.posterior import GradePosterior

WIDE = 0.5  # width of an interval, as a share of the possible range, from which no conclusion is possible
MIN_EFFECTIVE_DRAWS = 100


def collect_warnings(
    items: GradedItems,
    counts: GradeCounts,
    posterior: GradePosterior,
    rows: Sequence[GradeRow],
    judges: Sequence[JudgeRating],
) -> tuple[str, ...]:
    """Return the warnings of a rating: its limitations, one sentence each."""
    return (
        *counts.notes,
        *_warn_grades(items, counts, rows),
        *_warn_wide(counts, rows, judges),
        *(sentence for one in counts.judges for sentence in _warn_judge(counts, one)),
        *_warn_useless(judges),
        *_warn_draws(posterior),
    )


def _warn_grades(items: GradedItems, counts: GradeCounts, rows: Sequence[GradeRow]) -> Iterator[str]:
    """Warn of a rating's groups, or pool, without a grade of people; and of grades that are all the same."""
    if not counts.n_grades.any():
        what = "only judges graded" if items.human is None else f"column {items.human.name!r} has no grades"
        yield f"no item is graded by people ({what}): every interval comes from the prior; have people grade some items, and name their column with {format_option('grade')}"  # fmt: skip
        return
    blank = [row.group for row in rows if not row.n_grades]
    if blank:
        yield f"people graded nothing in {len(blank):,} of {len(rows):,} groups, whose estimates come from other groups and the judges: {join_names(blank)}"  # fmt: skip
    seen = np.nonzero(counts.grades.sum(axis=0))[0]
    if len(seen) == 1:
        yield f"people gave every item they graded the same grade, {counts.outcomes.names[seen[0]]}: how rare other grades are is known only from their number"  # fmt: skip
    if not counts.scale.is_continuous and len(counts.scale.levels) > 2 and len(seen) < len(counts.scale.levels) / 2 < 3:
        yield f"grades are read as {counts.scale.words}; if the scale is another, state it with {format_option('scale')}"


def _warn_wide(counts: GradeCounts, rows: Sequence[GradeRow], judges: Sequence[JudgeRating]) -> Iterator[str]:
    """Warn of a rating's intervals that allow no conclusion."""
    if not counts.n_grades.any():
        return
    room = 1.0 if all(row.high <= 1 for row in rows) and counts.scale.high > 1 else counts.scale.high - counts.scale.low
    wide = [row.group for row in rows if row.high - row.low > WIDE * room]
    if wide:
        yield f"too few grades for a conclusion about {join_names(wide)} (intervals wider than half the range)"
    loose = [one.name for one in judges if max(one.overall.tpr.high - one.overall.tpr.low, one.overall.tnr.high - one.overall.tnr.low) > WIDE]  # fmt: skip
    if loose:
        yield f"too few grades to tell how good {join_names(loose)} is as a judge: its rates are known to no better than half the range"  # fmt: skip


def _warn_judge(counts: GradeCounts, judge: JudgeCounts) -> Iterator[str]:
    """Warn of a rating's judge that says nothing, or has gaps."""
    missing = int(counts.n_items.sum() - judge.n.sum())
    if missing:
        yield f"{judge.name} graded all but {count(missing, 'item')}; there, estimates come from people's grades alone"
    means = judge.mean[judge.has_graded]
    if len(means) and np.ptp(means) == 0:
        yield f"{judge.name} gives every item the same grade, {means[0]:g}: it says nothing about which are good"
        return
    both = judge.has_graded & (counts.n_grades > 0)
    human = counts.grades[:, counts.outcomes.passes].sum(axis=1)
    n = counts.n_grades[both].sum()
    agrees = n > 0 and bool((human[both] == np.where(judge.passes, counts.n_grades, 0)[both]).all())
    if agrees:
        yield f"{judge.name} agrees with people on all {count(int(n), 'item')} that both graded: how often it errs is known only from their number"  # fmt: skip


def _warn_useless(judges: Sequence[JudgeRating]) -> Iterator[str]:
    """Warn of a rating's judge whose verdicts are no better than chance."""
    for one in judges:
        if one.overall.kappa.high < 0.2 and one.overall.n_grades:
            yield f"{one.name} hardly agrees with people (kappa at most {one.overall.kappa.high:.2f}): it adds little to people's grades"  # fmt: skip


def _warn_draws(posterior: GradePosterior) -> Iterator[str]:
    """Warn of a rating whose posterior is known from few effective draws."""
    if posterior.ess < MIN_EFFECTIVE_DRAWS:
        yield f"the posterior is known from the equivalent of {posterior.ess:,.0f} draws: expect errors of a tenth of an interval's width"  # fmt: skip
