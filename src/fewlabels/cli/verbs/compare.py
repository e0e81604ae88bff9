"""`fewlabels compare`: estimate the difference of a metric between two groups."""

from fewlabels.analyses.assess import compare as compare_groups
from fewlabels.cli.console import spinner
from fewlabels.cli.options import AssessOptions, Columns, File, Output
from fewlabels.cli.output import write_result
from fewlabels.cli.tables import print_comparison
from fewlabels.data.parsing import parse_pair


def compare(
    file: File,
    /,
    *,
    groups: str,
    rope: float = 0.05,
    confidence: float = 0.95,
    options: AssessOptions = AssessOptions(),
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
    conditions = output.conditions(file, columns.labels, options.cost, options.prior)
    pair, choices = parse_pair(groups), options.choices()
    with spinner("comparing"):
        result = compare_groups(columns.read(file), pair, rope=rope, confidence=confidence, **choices)
    return write_result(result, output, conditions, lambda out: print_comparison(out, result))
