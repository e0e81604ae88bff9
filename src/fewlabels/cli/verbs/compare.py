"""`fewlabels compare`: estimate the difference of a metric between two groups."""

from fewlabels.analyses.assess import compare as compare_groups
from fewlabels.cli.options import Asked, Columns, File, Output
from fewlabels.cli.output import deliver
from fewlabels.cli.parsing import read_pair
from fewlabels.cli.tables import print_comparison, working


def compare(
    file: File,
    /,
    *,
    groups: str,
    rope: float = 0.05,
    confidence: float = 0.95,
    asked: Asked = Asked(),
    output: Output = Output(),
    columns: Columns = Columns(),
) -> int:
    """Estimate how much two groups differ, and whether the difference matters.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow; or a quoted glob. Or a language model's log: samples of lm-evaluation-harness or Inspect.
    groups: str
        The two groups, separated by a comma: human,trees.
    rope: float
        Differences up to this size do not matter (region of practical equivalence).
    confidence: float
        Probability a verdict needs; below it, the answer is "not settled".
    """
    conditions = output.conditions(file, columns.labels, asked.cost, asked.prior)
    pair, choices = read_pair(groups), asked.choices()
    with working("comparing"):
        result = compare_groups(columns.read(file), pair, rope=rope, confidence=confidence, **choices)
    return deliver(result, output, conditions, lambda out: print_comparison(out, result))
