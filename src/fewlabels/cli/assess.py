"""`fewlabels assess`: how good is the model, per group and overall?"""

from fewlabels.assessment import assess as assess_pool
from fewlabels.cli.conditions import read_condition
from fewlabels.cli.delivery import deliver
from fewlabels.cli.options import Asked, Columns, Output
from fewlabels.cli.printing import print_assessment, working


def assess(
    file: str,
    /,
    *,
    asked: Asked = Asked(),
    output: Output = Output(),
    columns: Columns = Columns(),  # noqa: B008
) -> int:
    """Say how good the model is, per group and overall, and how sure that is.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow; a glob of them in quotes.
    """
    for text in output.fail_if:
        read_condition(text)
    choices = asked.choices()
    with working("assessing"):
        result = assess_pool(columns.read(file), **choices)
    return deliver(result, output, lambda out: print_assessment(out, result))
