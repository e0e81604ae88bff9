"""One call from graded outputs to a Rating."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np

from fewlabels.analyses.assessment_spec import require_seed
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.analyses.rating.estimates import (
    MEAN_GRADE,
    PASS_RATE,
    WIN_RATE,
    draw_figure,
    estimate_figures,
    estimate_groups,
    estimate_shares,
    summarize,
)
from fewlabels.analyses.rating.judges import rate_judge
from fewlabels.analyses.rating.planning import PlannedRating, plan_grades, plan_items, require_valid_plan
from fewlabels.analyses.rating.result import Rating
from fewlabels.analyses.rating.sets import rate_sets, warn_of_rated_sets
from fewlabels.analyses.rating.systems import find_pairs, rank_systems, warn_of_ranked_systems
from fewlabels.analyses.rating.warnings import collect_warnings
from fewlabels.data.engine_errors import explain_engine_errors, name_source
from fewlabels.data.grades.columns import GradedItems, find_grades, require_columns
from fewlabels.data.grades.counting import count_grades
from fewlabels.data.grades.counts import GradeCounts
from fewlabels.data.grades.reading import open_graded
from fewlabels.data.grades.sets import ITEM, LABEL_OF_SET, expand_sets_by_label
from fewlabels.data.grades.systems import read_verdicts
from fewlabels.data.groups import Column, Everything, Groups
from fewlabels.data.parsing import resolve_groups
from fewlabels.data.role_table import RoleTable
from fewlabels.distributions.budgets import MIN_DRAWS
from fewlabels.errors import InputError, format_option
from fewlabels.models.grades.posterior import infer_grades


def rate(
    pool: Any,
    *,
    grade: str | None = None,
    judge: str | Sequence[str] = (),
    by: Groups | str | Sequence[Groups | str] = "all",
    bar: float | int | None = None,
    judge_bar: float | int | None = None,
    scale: str | Sequence[object] | None = None,
    systems: Sequence[str] = (),
    sets: bool = False,
    cluster: str | None = None,
    labels: Any = None,
    id: str | None = None,
    level: float = 0.95,
    finite_pool: bool = False,
    target_width: float | None = None,
    next: int = 0,
    seed: int = 0,
    n_draws: int = MIN_DRAWS,
) -> Rating:
    """Return a Rating of how good outputs are by people's standard, from few grades of people and many of judges.

    The calibration of every judge is learned from the items that people graded, with partial pooling of groups.

    Parameters
    ----------
    pool: Predictions, path, frame, dict of arrays or Ibis table
        One row per output.
    grade: str
        Column with people's grades: 0 and 1, pass and fail, numbers from 0 to 1, 1 to 5, or any ordered scale; empty for
        items without a grade. Without `grade` and `judge`, columns are recognised by name.
    judge: str or sequence of str
        Columns with the grades of one judge or several, on any scale.
    by: Groups, str or sequence of them
        The groups: `"all"`, a column, `"ranges:COLUMN"`, or several separated by commas (every combination).
    bar: float
        An output passes from this grade on. With a bar, or with two grades, the figure is the pass rate, else the mean grade;
        of preferences (A, B or tie), the win rate of the first, ties counting half.
    judge_bar: float
        The judges' bar; by default at the same place of their scale.
    scale: str or sequence
        The scale of people's grades, if it is not recognised: a range such as `"1-5"`, or the grades from lowest to highest,
        such as `"poor,fair,good"`.
    systems: sequence of str
        Two columns with the names of the first and of the second system, where every row compares two outputs and grades are
        preferences: systems are ranked by how often people prefer them (Bradley-Terry with ties). Verdicts are A, B or tie, or
        the name of the better system.
    sets: bool
        People's grades and one judge's (or a model's predictions) are sets of labels: lists, or text such as `a|b` (`[]` is a set
        without labels; empty means that the set is not known). Every label is a yes-or-no question, items are clusters
        of them: precision, recall and F1 per label, micro and macro, subset accuracy and Hamming loss. The figure is the
        share of items with a label.
    cluster: str
        Column that says which items belong together (several samples of one prompt): intervals widen as they must.
    labels: path, frame or dict of arrays
        A second source with the columns id and grade, joined by id.
    id: str
        Column with unique item ids, by which `labels` are joined.
    level: float
        Probability that a credible interval contains the true value.
    finite_pool: bool
        Estimate the figure on exactly these items instead of the population they came from.
    target_width: float
        Foresee how many more human grades bring every interval, overall and per group, to at most this width.
    next: int
        Choose so many answers that people should grade next: those that narrow the intervals most, drawn at random within
        their group and judges' grades.
    seed: int
        Seed of the random draws.
    n_draws: int
        Number of random draws.

    >>> judged = [1, 2, 4, 5, 5, 4, 2, 5, 1, 4] * 20
    >>> graded = [value if i % 5 == 0 else None for i, value in enumerate(judged)]
    >>> rating = rate({"human": graded, "judge": judged}, grade="human", judge="judge", bar=4)
    >>> rating.figure, rating.n_grades, rating.overall.low < 0.6 < rating.overall.high
    ('pass-rate', 40, True)
    """
    _require_choices(level, seed, n_draws)
    require_valid_plan(target_width, next)
    if sets:
        chosen = {"by": by, "systems": systems, "cluster": cluster, "bar": bar, "judge_bar": judge_bar, "scale": scale, "target_width": target_width, "next": next}  # fmt: skip
        _refuse_with_sets(
            {name: value for name, value in chosen.items() if value not in (None, (), 0, "all", Everything())}
        )
        table = pool if isinstance(pool, RoleTable) else open_graded(pool, labels=labels, grade=grade, id=id)
        judge = judge if isinstance(judge, str) else ",".join(judge)
        return _rate_sets(table, grade, judge, level=level, finite_pool=finite_pool, seed=seed, n_draws=n_draws)
    groups = resolve_groups(_choose_groups(by, systems))
    bars = {name: None if value is None else float(value) for name, value in (("bar", bar), ("judge_bar", judge_bar))}
    named = (judge,) if isinstance(judge, str) else tuple(judge)
    with explain_engine_errors(name_source(pool)):
        items = _open_graded_pool(pool, grade, named, cluster, scale, labels, id, systems)
        counts = count_grades(items, groups, **bars)
    figure = _choose_figure(counts, bar)
    posterior = infer_grades(
        np.random.default_rng(seed),
        counts,
        finite_pool=finite_pool,
        n_draws=n_draws,
        systems=find_pairs(counts)[1] if systems else None,
    )
    rows = estimate_groups(posterior, figure, level=level, seed=seed)
    judges = tuple(rate_judge(posterior, j, figure, level) for j in range(len(counts.judges)))
    overall = summarize(draw_figure(posterior, figure)[1], level)[0]
    found = PlannedRating(figure, overall, rows, level)
    return Rating(
        figure=figure, by=counts.by, level=level, finite_pool=finite_pool, scale=counts.scale, bar=counts.bar,
        n_items=int(counts.n_items.sum()), n_grades=int(counts.n_grades.sum()),
        overall=overall, groups=rows, figures=estimate_figures(posterior, level),
        distribution=estimate_shares(posterior, level), judges=judges, warnings=(*collect_warnings(items, counts, posterior, rows, judges), *(warn_of_ranked_systems(counts) if systems else ())),
        posterior=posterior, grade=items.human.name if items.human else None, cluster=cluster, source=items.source, frame=items.frame,
        ranking=rank_systems(posterior, level, seed) if systems else None, plan=None if target_width is None else plan_grades(posterior, found, width=target_width, seed=seed),
        next=plan_items(items, groups, posterior, found, next, width=target_width, seed=seed) if next else (),
        provenance=_record_provenance(items, counts, seed, posterior.n_draws),
    )  # fmt: skip


def _rate_sets(table: RoleTable, grade: str | None, judge: str, *, level: float, seed: int, **choices: Any) -> Rating:
    """Rate the questions of all labels, and add the figures of sets."""
    if grade is None or not judge or "," in judge:
        raise InputError(f"sets: name the column of people's sets of labels with {format_option('grade')}, and one of predicted sets with {format_option('judge')}")  # fmt: skip
    questions = expand_sets_by_label(table, grade, judge)
    found = rate(questions, grade=grade, judge=judge, by=LABEL_OF_SET, cluster=ITEM, scale="0-1", level=level, seed=seed, **choices)  # fmt: skip
    figures = rate_sets(found.posterior, table, grade, judge, level=level, seed=seed)
    n = len(found.groups)  # every item asks a question per label
    return replace(
        found,
        sets=figures,
        n_items=found.n_items // n,
        n_grades=found.n_grades // n,
        warnings=(*found.warnings, *warn_of_rated_sets(figures)),
    )


def _refuse_with_sets(given: dict[str, Any]) -> None:
    """Refuse choices of `rate` that sets of labels do not have."""
    if given:
        raise InputError(
            f"{', '.join(map(format_option, given))}: not for sets of labels; leave it out, or {format_option('sets')}"
        )


def _open_graded_pool(
    pool: Any,
    grade: str | None,
    judges: tuple[str, ...],
    cluster: str | None,
    scale: Any,
    labels: Any,
    id: str | None,
    systems: Sequence[str],
) -> GradedItems:
    """Open the pool that `rate` is given, and find its grades."""
    if isinstance(pool, RoleTable) and labels is not None:
        raise InputError("labels: give them together with a path or a frame, not with Predictions")
    table = pool if isinstance(pool, RoleTable) else open_graded(pool, labels=labels, grade=grade, id=id)
    grade, judges = require_columns(table.columns(), grade, judges)
    table = read_verdicts(table, systems, [name for name in (grade, *judges) if name]) if systems else table
    found = find_grades(table, grade, judges, cluster, scale)
    if systems and not (found.human.scale if found.human else found.judges[0].scale).is_preference:
        raise InputError(f"systems: {found.human.name if found.human else found.judges[0].name!r} holds grades, not preferences between two systems; verdicts are A, B or tie, or the name of a system")  # fmt: skip
    return found


def _choose_groups(by: Any, systems: Sequence[str]) -> Any:
    """Return the groups to rate: the pairs of systems, in the order in which they stand."""
    if not systems:
        return by
    if by != "all" and not isinstance(by, Everything):
        raise InputError(f"by: {format_option('systems')} ranks systems over all comparisons; leave by out, and give the comparisons of one slice at a time")  # fmt: skip
    return tuple(Column(name) for name in systems)


def _choose_figure(counts: GradeCounts, bar: float | int | None) -> str:
    """Choose what the rating is about: wins where grades are preferences, passes where there is a bar or only two grades."""
    if counts.scale.is_preference and bar is None:
        return WIN_RATE
    return PASS_RATE if bar is not None or counts.scale.is_binary else MEAN_GRADE


def _require_choices(level: float, seed: int, n_draws: int) -> None:
    """Refuse choices that `rate` cannot use."""
    if not 0 < level < 1:
        raise InputError(f"level is {level}; it must lie between 0 and 1, for instance 0.95")
    require_seed(seed)
    if n_draws < 100:
        raise InputError(f"{format_option('draws')}: {n_draws} are too few to estimate a quantile; use 1,000 or more")


def _record_provenance(items: GradedItems, counts: GradeCounts, seed: int, n_draws: int) -> Provenance:
    """Return the provenance of a rating, with a digest of the items by group and judges' grades."""
    said = [(name, int(n)) for name, n in zip(counts.groups, counts.sum_by_group(counts.n_items), strict=True)]
    judged = [(judge.name, f"{judge.total.sum():.6g}") for judge in counts.judges]
    digest = sha256(repr((said, judged)).encode()).hexdigest()
    made = record(items.source, inputs=items.inputs, seed=seed, n_draws=n_draws)
    return replace(made, fingerprint=digest)
