"""`fewlabels assess`: how good is the model, per group and overall?"""

from fewlabels.analyses.assess import assess as assess_pool
from fewlabels.cli.options import Asked, Columns, File, Output
from fewlabels.cli.output import deliver
from fewlabels.cli.tables import print_assessment, working
from fewlabels.data.groups import everything


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
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow; a glob of them in quotes. Or the log of a language model: samples of lm-evaluation-harness, or of Inspect.
    """
    conditions = output.conditions(file, columns.labels, asked.cost, asked.prior)
    choices = asked.choices()
    with working("assessing"):
        pool = columns.read(file)
        if asked.by is None and pool.has("agreement"):  # outputs that are graded may all differ
            choices["by"] = everything
        result = assess_pool(pool, **choices)
    return deliver(result, output, conditions, lambda out: print_assessment(out, result))
