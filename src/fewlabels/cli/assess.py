"""`fewlabels assess`: how good is the model, per group and overall?"""

from fewlabels.assessment import assess as assess_pool
from fewlabels.cli.delivery import deliver
from fewlabels.cli.options import Asked, Columns, File, Output
from fewlabels.cli.printing import print_assessment, working


def assess(
    file: File,
    /,
    *,
    asked: Asked = Asked(),
    output: Output = Output(),
    columns: Columns = Columns(),
) -> int:
    """Say how good the model is, per group and overall, and how sure that is.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow; a glob of them in quotes.
    """
    conditions = output.conditions()
    choices = asked.choices()
    with working("assessing"):
        result = assess_pool(columns.read(file), **choices)
    return deliver(result, output, conditions, lambda out: print_assessment(out, result))
