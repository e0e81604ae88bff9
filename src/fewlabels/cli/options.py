"""Options shared by the verbs: column roles, what to estimate, and where to write the result."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path as AnyPath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from fewlabels.cli.conditions import Condition, parse_condition
from fewlabels.cli.parsing import drop_missing, split_tokens
from fewlabels.data.addresses import name_in_messages, spool_input
from fewlabels.data.parsing import parse_bins, parse_groups
from fewlabels.data.predictions import Predictions
from fewlabels.distributions.budgets import N_DRAWS
from fewlabels.errors import InputError
from fewlabels.files import check_outputs
from fewlabels.metrics.parsing import parse_metric
from fewlabels.models.parsing import DEFAULT_PRIOR, parse_prior

QUESTION_GROUP, OUTPUT_GROUP, COLUMN_GROUP = (
    Group(name, sort_key=i) for i, name in enumerate(("Estimate", "Output", "Columns"))
)
if TYPE_CHECKING:
    File = str
else:
    File = str | AnyPath  # parsed as a string; the Path makes shells complete file names
STDIN = "/dev/stdin"  # `main` writes - this way, so that it is not taken for an option
Path = Annotated[File | None, Parameter(allow_leading_hyphen=True)]
Format = Literal["csv", "tsv", "parquet", "jsonl", "json", "arrow"]
Flag = Annotated[bool, Parameter(show_default=False)]


Names = Annotated[tuple[str, ...], Parameter(converter=split_tokens, n_tokens=1, show_default=False)]


@Parameter(name="*", group=COLUMN_GROUP)
@dataclass(frozen=True)
class Columns:
    """The column of each role. Columns with usual names (id, predicted, score, p_*, label) are recognised."""

    id: str | None = None
    "Column with unique item ids."
    predicted: str | None = None
    "Column with the predicted class."
    score: str | None = None
    "Column with the confidence in the predicted class, 0 to 1."
    scores: str | None = None
    "Prefix of the per-class probability columns (p_ for p_cat, p_dog), or one list column."
    positive_score: str | None = None
    "Binary models: column with the probability of the positive class."
    positive: str | None = None
    "The positive class [default: 1]."
    threshold: float | None = None
    "Predict the positive class at or above this probability, overriding any column of predictions [default: 0.5 without such a column]."
    label: str | None = None
    "Column with the true class; empty where unknown."
    grade: str | None = None
    "Outputs that people grade: column with their grades, on any scale; empty for items without a grade."
    judge: str | None = None
    "Column with a judge's grades of the same outputs."
    scale: str | None = None
    "Scale of people's grades, if it is not recognised: a range such as 1-5, or the grades from lowest to highest."
    agreement: str | None = None
    "Structured outputs: column with the agreement of prediction and truth, 0 to 1."
    propensity: str | None = None
    "Column with the known probability with which each labelled item was chosen; without it labels count as drawn at random within their group."
    show: Names = ()
    "Columns to show when labelling, separated by commas [default: those without a role]."
    labels: File | None = None
    "Second file with the columns id and label, joined by id."

    format: Format | None = None
    "Format of standard input, if FILE is -."

    def read(self, file: str) -> Predictions:
        """Read the predictions with the columns that options name; `-` is standard input."""
        words = self.roles() | drop_missing(labels=self.labels)
        if file != STDIN:
            return Predictions.read(file, **words)
        path = save_stdin(self.format)
        with name_in_messages(path, "standard input"):
            return replace(Predictions.read(path, **words), source="standard input", inputs=())

    def fill(self, given: Mapping[str, Any]) -> "Columns":
        """Return these options, and those that a session was created with where none is typed."""
        typed = self.roles()
        return replace(self, **{role: given[role] for role in given if role in _ROLES and role not in typed})

    def roles(self) -> dict[str, Any]:
        """Return the columns that options name, by role."""
        return drop_missing(**{name: getattr(self, name) for name in _ROLES})


_ROLES = tuple(name for name in Columns.__dataclass_fields__ if name not in ("labels", "format"))


def save_stdin(format: Format | None) -> AnyPath:
    """Save standard input, where the options name it, to a temporary file whose name says its format."""
    if format is None:
        raise InputError("standard input has no file name, so say its format, for instance --format csv")
    return spool_input(sys.stdin.buffer, f"standard-input.{format}")


@Parameter(name="*", group=QUESTION_GROUP)
@dataclass(frozen=True)
class AssessOptions:
    """What to estimate, and with which prior."""

    by: str | None = None
    "Groups: all, predicted, bins, bins:20, bins:equal-mass:10, a column, ranges:COLUMN for a numeric column (column:NAME for a column with one of these names), or several separated by commas (every combination) [default: predicted, or all for graded outputs]."
    metric: str = "accuracy"
    "accuracy, ece, brier, log-loss, confusion, cost, precision, recall, f1, balanced-accuracy, mcc, tpr, fpr, tnr, fnr, ppv, npv, fdr, for, selection-rate."
    prior: str = DEFAULT_PRIOR
    "calibrated (learns the calibration of the scores from the labels), smooth (partial pooling of groups that share attributes), scores, flat, or the JSON file of an earlier assessment."
    strength: float | None = None
    "Strength of a flat or scores prior: how many labels it counts for in each group [default: 2 for Beta, 1 for Dirichlet]."
    discount: float | None = None
    "What a label of an earlier assessment (--prior FILE) counts for, from 0 (nothing) to 1 (as much as a new one) [default: 1]."
    bins: str = "10"
    "Score bins of ece: a number (equal width) or equal-mass:NUMBER."
    cost: File | None = None
    "CSV file of costs: one row per true class, one column per predicted class."
    m: int = 1
    "P(worst) is the probability of being among the m worst groups."
    level: float = 0.95
    "Probability that a credible interval contains the true value."
    finite_pool: Flag = False
    "Estimate the metric on exactly these items instead of the population they came from."
    seed: int = 0
    "Seed of the random draws."
    draws: int = N_DRAWS
    "Number of random draws where there is no closed form."

    def choices(self) -> dict[str, Any]:
        """Return the options as keyword arguments of `assess`; `by` is left out if not given."""
        by = {} if self.by is None else {"by": parse_groups(self.by)}
        return by | {
            "metric": parse_metric(self.metric, self.cost),
            "prior": parse_prior(self.prior, self.strength, self.discount), "bins": parse_bins(self.bins), "m": self.m,
            "level": self.level, "finite_pool": self.finite_pool, "seed": self.seed, "n_draws": self.draws,
        }  # fmt: skip


@Parameter(name="*", group=OUTPUT_GROUP)
@dataclass(frozen=True)
class Output:
    """Where to write the result, and when to fail."""

    json: Path = None
    "Write JSON to this file; - for standard output."
    markdown: Path = None
    "Write GitHub-flavoured Markdown to this file, for a pull request or a job summary; - for standard output."
    html: File | None = None
    "Write a self-contained HTML report to this file."
    fail_if: Annotated[tuple[str, ...], Parameter(show_default=False)] = ()
    'Exit with code 2 if this condition holds for any estimate, for instance "low < 0.8" or "overall.low < 0.8"; may be repeated.'
    quiet: Flag = False
    "Print no table."

    def conditions(self, *inputs: str | None, **more: str | None) -> tuple[Condition, ...]:
        """Return the conditions to fail on in the options, after checking that outputs are writable and none is an input.

        `more` are further outputs of the verb, by option name.
        """
        outputs = {"--json": self.json, "--markdown": self.markdown, "--html": self.html}
        check_outputs(outputs | {f"--{name}": path for name, path in more.items()}, inputs)
        return tuple(parse_condition(text) for text in self.fail_if)
