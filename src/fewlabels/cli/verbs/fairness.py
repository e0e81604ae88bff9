"""`fewlabels fairness`: how differently are groups of people treated?"""

from fewlabels.analyses.fairness.api import fairness as judge_fairness
from fewlabels.cli.options import Columns, File, Flag, Output
from fewlabels.cli.output import deliver
from fewlabels.cli.parsing import read_groups, split_names
from fewlabels.cli.tables import print_fairness, working


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
    """Say how differently groups of people are treated, and how sure that is.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow; a glob of them in quotes.
    by: str
        Column with the groups; several joined by commas are crossed.
    reference: str
        Group that the others are compared with, or rest for everybody else [default: the largest group].
    metric: str
        Joined by commas: accuracy, tpr, fpr, tnr, fnr, ppv, npv, fdr, for, selection-rate, equalised-odds, balance-positive, balance-negative, calibration.
    rope: float
        Gaps up to this size are as good as none (region of practical equivalence).
    method: str
        calibrated (labels, and scores as far as labels show they can be trusted), bc, bc-llo, bc-temperature (calibration curves alone; with -apart, each group by itself), beta-binomial or frequency (labels alone).
    level: float
        Probability that an interval contains the truth.
    finite_pool: bool
        Ask about exactly these people instead of the population they came from.
    seed: int
        Seed of the random draws.
    """
    conditions = output.conditions(file, columns.labels)
    groups, metrics = read_groups(by), split_names(metric)
    with working("learning how far to trust the scores"):
        result = judge_fairness(
            columns.read(file), by=groups, reference=reference, metrics=metrics, method=method, rope=rope, level=level,
            finite_pool=finite_pool, seed=seed,
        )  # fmt: skip
    return deliver(result, output, conditions, lambda out: print_fairness(out, result))
