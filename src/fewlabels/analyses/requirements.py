"""What a metric and a prior need of predictions and counts: columns, extra sums, a positive class."""

from typing import Any

from fewlabels.data.counts import STRATA, CountTable
from fewlabels.data.predictions import Predictions
from fewlabels.errors import InputError, format_option, join_names
from fewlabels.metrics.metric import ClassRate, Metric, mcc
from fewlabels.models.priors import Prior, list_uses


def count_for(pool: Predictions, metric: Metric, *priors: Prior) -> dict[str, Any]:
    """Return which counts a metric and any of the priors require: the options of the aggregate query."""
    uses = {use for prior in priors for use in list_uses(prior)}
    probabilities = "probabilities" in uses and pool.has("probabilities")
    strata = STRATA if "strata" in uses or "stratum" in metric.splits else ()
    return {"probabilities": probabilities, "strata": strata, "grades": pool.has("agreement")}


def require_roles(pool: Predictions, metric: Metric, prior: Prior) -> None:
    """Raise unless the pool has the columns that metric or prior require."""
    for asker, needs in ((f"metric {metric.name}", metric.needs), (f"prior {prior.name}", prior.needs)):
        for role in needs:
            if not pool.has(role):
                raise InputError(
                    f"{asker} needs a {role} column, and {pool.source} has none; name it with --{role} COLUMN"
                )
    if metric.reads == "label" and pool.has("agreement"):
        raise InputError(
            f"metric {metric.name} needs true classes, but {pool.source} has agreement; only accuracy, ece, brier and log-loss can be assessed from it"
        )


def require_answerable(tally: CountTable, metric: Metric) -> None:
    """Raise unless groups and counts meet what the metric requires: it is defined, and they are fine enough."""
    if "stratum" in metric.splits and tally.stratum is None:
        raise InputError(
            f"metric {metric.name} needs counts by narrow ranges of the score, and these were made for another metric; assess it by itself"
        )
    if metric is mcc and "predicted" in tally.by.split(","):
        raise InputError(
            f"mcc is not defined for a single predicted class; use {format_option('by', 'all')}, or group by an attribute"
        )
    if requires_single_class(metric, tally) and tally.positive is None:
        known = join_names(tally.classes)
        raise InputError(
            f"metric {metric.name}: which class is the positive one? the classes are {known}; say it with {format_option('positive')}"
        )


def requires_single_class(metric: Metric, tally: CountTable) -> bool:
    """Does the metric require a single class: is it about the positive class only, in these groups?"""
    return isinstance(metric, ClassRate) and not metric.is_macro_average and tally.by != "predicted"
