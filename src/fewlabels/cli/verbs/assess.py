"""`fewlabels assess`: estimate a metric, per group and overall."""

from fewlabels.analyses.assess import assess as assess_pool
from fewlabels.cli.console import spinner
from fewlabels.cli.options import AssessOptions, Columns, File, Output
from fewlabels.cli.output import write_result
from fewlabels.cli.tables import print_assessment
from fewlabels.data.groups import everything


def assess(
    file: File,
    /,
    *,
    options: AssessOptions = AssessOptions(),
    output: Output = Output(),
    columns: Columns = Columns(),
) -> int:
    """Estimate how good the model is, per group and overall, with credible intervals.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow; or a quoted glob. Or a language model's log: samples of lm-evaluation-harness or Inspect.
    """
    conditions = output.conditions(file, columns.labels, options.cost, options.prior)
    choices = options.choices()
    with spinner("assessing"):
        pool = columns.read(file)
        if options.by is None and pool.has("agreement"):  # graded outputs may all be different
            choices["by"] = everything
        result = assess_pool(pool, **choices)
    return write_result(result, output, conditions, lambda out: print_assessment(out, result))
