"""`fewlabels fairness`: estimate gaps of metrics between groups of people."""

from fewlabels.analyses.fairness.api import fairness as estimate_fairness
from fewlabels.cli.console import spinner
from fewlabels.cli.fairness_tables import print_fairness
from fewlabels.cli.options import Columns, File, Flag, Output
from fewlabels.cli.output import write_result


def fairness(
    file: File,
    /,
    *,
    by: str,
    reference: str | None = None,
    metric: str = "accuracy,tpr,fpr",
    rope: float = 0.02,
    method: str = "calibrated",
    level: float = 0.95,
    finite_pool: Flag = False,
    seed: int = 0,
    output: Output = Output(),
    columns: Columns = Columns(),
) -> int:
    """Estimate how differently the model treats groups of people, with credible intervals.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow; or a quoted glob.
    by: str
        Column with the groups; several separated by commas are crossed.
    reference: str
        Group to compare the others with, or rest to compare each group with all others [default: the largest group].
    metric: str
        One or more, separated by commas: accuracy, tpr, fpr, tnr, fnr, ppv, npv, fdr, for, selection-rate, equalised-odds, balance-positive, balance-negative, calibration.
    rope: float
        Gaps up to this size do not matter (region of practical equivalence).
    method: str
        calibrated (labels and recalibrated scores), bc, bc-llo, bc-temperature (calibration curves only; with -apart, one per group without pooling), beta-binomial or frequency (labels only).
    level: float
        Probability that a credible interval contains the true value.
    finite_pool: bool
        Estimate the gaps on exactly these people instead of the population they came from.
    seed: int
        Seed of the random draws.
    """
    conditions = output.conditions(file, columns.labels)
    with spinner("calibrating the scores"):
        result = estimate_fairness(
            columns.read(file), by=by, reference=reference, metrics=metric, method=method, rope=rope, level=level,
            finite_pool=finite_pool, seed=seed,
        )  # fmt: skip
    return write_result(result, output, conditions, lambda out: print_fairness(out, result))
