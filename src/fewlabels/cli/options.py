"""Options the verbs share, in groups: what the columns are, what is asked, where the answer goes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as AnyPath
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter, Token

from fewlabels.cli.conditions import Condition, read_condition
from fewlabels.cli.parsing import DEFAULT, given, read_bins, read_groups, read_metric, read_prior, split_names
from fewlabels.data.predictions import Predictions
from fewlabels.files import check_outputs

QUESTION, ANSWER, COLUMNS = (
    Group(name, sort_key=i) for i, name in enumerate(("The question", "The answer", "The columns"))
)
if TYPE_CHECKING:
    File = str
else:
    File = str | AnyPath  # it is read as text; that it may be a path makes shells complete names of files
Path = Annotated[File | None, Parameter(allow_leading_hyphen=True)]
Flag = Annotated[bool, Parameter(show_default=False)]


def split_tokens(_: Any, tokens: Sequence[Token]) -> tuple[str, ...]:
    """Read names joined by commas, given once or several times."""
    return tuple(name for token in tokens for name in split_names(token.value))


Names = Annotated[tuple[str, ...], Parameter(converter=split_tokens, n_tokens=1, show_default=False)]


@Parameter(name="*", group=COLUMNS)
@dataclass(frozen=True)
class Columns:
    """Which column plays which role. Well-named columns (id, predicted, score, p_*, label) are recognised."""

    id: str | None = None
    "Column with unique item ids."
    predicted: str | None = None
    "Column with the predicted class."
    score: str | None = None
    "Column with the confidence in the predicted class, 0 to 1."
    scores: str | None = None
    "Prefix of the per-class probability columns (p_ for p_cat, p_dog), or one list column."
    positive_score: str | None = None
    "Models of two classes: column with the probability of the positive class."
    positive: str | None = None
    "The positive class [default: 1]."
    threshold: float | None = None
    "Predict the positive class from this probability on, whatever a column of predictions says [default: 0.5, where there is none]."
    label: str | None = None
    "Column with the true class; empty where unknown."
    agreement: str | None = None
    "Structured outputs: column with how well prediction and truth agree, 0 to 1."
    show: Names = ()
    "Columns that a person who labels should see, joined by commas [default: those without a role]."
    labels: File | None = None
    "Second file with the columns id and label, joined by id."

    def read(self, file: str) -> Predictions:
        """Open the predictions."""
        words = given(**{name: getattr(self, name) for name in self.__dataclass_fields__})
        return Predictions.read(file, **words)


@Parameter(name="*", group=QUESTION)
@dataclass(frozen=True)
class Asked:
    """What is asked of the model."""

    by: str | None = None
    "Groups: all, predicted, bins, bins:20, bins:equal-mass:10, a column, ranges:COLUMN of numbers (column:NAME if it is called like one of these), or several joined by commas (their cross) [default: predicted, or all where outputs are graded]."
    metric: str = "accuracy"
    "accuracy, ece, confusion, cost, precision, recall, f1, balanced-accuracy, mcc, tpr, fpr, tnr, fnr, ppv, npv, fdr, for, selection-rate."
    prior: str = DEFAULT
    "calibrated (learns from the labels how far to trust the scores), smooth (groups that share attributes learn from each other), scores, flat, or the JSON file of an earlier assessment."
    strength: float | None = None
    "flat, scores: how many labels they are worth in each group [default: 2, or 1 for metrics of classes]."
    bins: str = "10"
    "Score bins inside ece: a number (equal width) or equal-mass:NUMBER."
    cost: File | None = None
    "CSV file of costs: a row per true class, a column per predicted class."
    m: int = 1
    "How many groups count as the worst in P(worst)."
    level: float = 0.95
    "Probability that an interval contains the truth."
    finite_pool: Flag = False
    "Ask about exactly these items instead of the population they came from."
    seed: int = 0
    "Seed of the random draws."
    draws: int = 10_000
    "How many random draws, where there is no closed form."

    def choices(self) -> dict[str, Any]:
        """Return the words as keyword arguments of `assess`; groups are left out where none were named."""
        by = {} if self.by is None else {"by": read_groups(self.by)}
        return by | {
            "metric": read_metric(self.metric, self.cost),
            "prior": read_prior(self.prior, self.strength), "bins": read_bins(self.bins), "m": self.m,
            "level": self.level, "finite_pool": self.finite_pool, "seed": self.seed, "n_draws": self.draws,
        }  # fmt: skip


@Parameter(name="*", group=ANSWER)
@dataclass(frozen=True)
class Output:
    """Where the answer goes."""

    json: Path = None
    "Write JSON to this file; - for standard output."
    markdown: Path = None
    "Write GitHub-flavoured Markdown to this file, for a pull request or a job's summary; - for standard output."
    html: File | None = None
    "Write a self-contained HTML report to this file."
    fail_if: Annotated[tuple[str, ...], Parameter(show_default=False)] = ()
    'Exit with code 2 if this holds anywhere, for instance "low < 0.8" or "overall.low < 0.8"; may be given several times.'
    quiet: Flag = False
    "Print no table."

    def conditions(self, *inputs: str | None, **more: str | None) -> tuple[Condition, ...]:
        """Return what to fail on. Outputs that cannot be written or are an input are refused before any work is done.

        `more` are outputs of the verb itself, by option.
        """
        outputs = {"--json": self.json, "--markdown": self.markdown, "--html": self.html}
        check_outputs(outputs | {f"--{name}": path for name, path in more.items()}, inputs)
        return tuple(read_condition(text) for text in self.fail_if)
