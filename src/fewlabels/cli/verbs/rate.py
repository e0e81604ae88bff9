"""`fewlabels rate`: estimate how good outputs are by people's standard, from few grades of people and many of judges."""

from dataclasses import dataclass

from cyclopts import Parameter

from fewlabels.analyses.rating.api import rate as rate_pool
from fewlabels.cli.console import spinner
from fewlabels.cli.options import COLUMN_GROUP, QUESTION_GROUP, STDIN, File, Flag, Names, Output
from fewlabels.cli.output import write_result
from fewlabels.cli.rating_tables import print_rating
from fewlabels.data.parsing import parse_groups
from fewlabels.distributions.budgets import MIN_DRAWS
from fewlabels.errors import InputError


@Parameter(name="*", group=COLUMN_GROUP)
@dataclass(frozen=True)
class GradeColumns:
    """The columns of grades. Columns with usual names (human, human_score, judge, judge_score, …) are recognised."""

    grade: str | None = None
    "Column with people's grades: 0 and 1, pass and fail, 0 to 1, 1 to 5, or any ordered scale; empty for items without a grade."
    judge: Names = ()
    "Columns with the grades of one judge or several, on any scale, separated by commas."
    systems: Names = ()
    "Comparisons of two systems a row: the columns with the names of the first and the second. Systems are ranked by Bradley-Terry with ties."
    sets: Flag = False
    "Grades and predictions (--judge) are sets of labels: lists, or text such as a|b. Precision, recall and F1 per label, micro and macro; subset accuracy; Hamming loss."
    cluster: str | None = None
    "Column that says which items belong together, such as several samples of one prompt: intervals widen as they must."
    id: str | None = None
    "Column with unique item ids, by which --labels are joined."
    labels: File | None = None
    "Second file with the columns id and grade, joined by id."


@Parameter(name="*", group=QUESTION_GROUP)
@dataclass(frozen=True)
class RateOptions:
    """What to estimate."""

    by: str = "all"
    "Groups: all, a column, ranges:COLUMN for a numeric column (column:NAME for a column with one of these names), or several separated by commas (every combination)."
    bar: float | None = None
    "An output passes from this grade on. With a bar, or with two grades, the figure is the pass rate, else the mean grade; of preferences (A, B or tie), the win rate of the first."
    judge_bar: float | None = None
    "The judges' bar [default: at the same place of their scale]."
    scale: str | None = None
    "Scale of people's grades, if it is not recognised: a range such as 1-5, or the grades from lowest to highest, such as poor,fair,good."
    level: float = 0.95
    "Probability that a credible interval contains the true value."
    finite_pool: Flag = False
    "Estimate the figure on exactly these items instead of the population they came from."
    target_width: float | None = None
    "Foresee how many more human grades bring every interval, overall and per group, to at most this width."
    next: int = 0
    "Choose so many answers that people should grade next: those that narrow the intervals most."
    seed: int = 0
    "Seed of the random draws."
    draws: int = MIN_DRAWS
    "Number of random draws."


def rate(
    file: File,
    /,
    *,
    options: RateOptions = RateOptions(),
    output: Output = Output(),
    columns: GradeColumns = GradeColumns(),
) -> int:
    """Estimate how good outputs are by people's standard, from few grades of people and many of judges.

    Parameters
    ----------
    file: str
        Graded outputs, one per row: Parquet, CSV(.gz), JSON lines or Arrow; or a quoted glob.
    """
    if file == STDIN:
        raise InputError("rate reads a file: save standard input to one")
    conditions = output.conditions(file, columns.labels)
    by = parse_groups(options.by)
    with spinner("rating"):
        result = rate_pool(
            file, grade=columns.grade, judge=columns.judge, systems=columns.systems, sets=columns.sets, cluster=columns.cluster, id=columns.id, labels=columns.labels,
            by=by, bar=options.bar, judge_bar=options.judge_bar, scale=options.scale, level=options.level,
            finite_pool=options.finite_pool, target_width=options.target_width, next=options.next, seed=options.seed, n_draws=options.draws,
        )  # fmt: skip
    return write_result(result, output, conditions, lambda out: print_rating(out, result))
