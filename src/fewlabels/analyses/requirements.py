"""What a metric and a prior need of predictions and counts: columns, extra sums, a positive class."""

from typing import Any

from fewlabels.data.counts import STRATA, CountTable
from fewlabels.data.predictions import Predictions
from fewlabels.errors import InputError, format_option, join_names
from fewlabels.metrics.metric import ClassRate, Metric, mcc
from fewlabels.models.priors import Prior, list_uses


def count_for(pool: Predictions, prior: Prior) -> dict[str, Any]:
    """Return the options of the aggregate query that a prior needs."""
    uses = list_uses(prior)
    probabilities = "probabilities" in uses and pool.has("probabilities")
    return {"probabilities": probabilities, "strata": STRATA if "strata" in uses else ()}


def require_roles(pool: Predictions, metric: Metric, prior: Prior) -> None:
    """Raise if the pool lacks columns that metric or prior need."""
    for asker, needs in ((f"metric {metric.name}", metric.needs), (f"prior {prior.name}", prior.needs)):
        for role in needs:
            if not pool.has(role):
                raise InputError(
                    f"{asker} needs a {role} column, and {pool.source} has none; name it with --{role} COLUMN"
                )
    if metric.reads == "label" and pool.has("agreement"):
        raise InputError(
            f"metric {metric.name} needs true classes, but {pool.source} has agreement; only accuracy and ece can be assessed from it"
        )


def require_answerable(tally: CountTable, metric: Metric) -> None:
    """Raise if the metric is not defined for these groups."""
    if metric is mcc and "predicted" in tally.by.split(","):
        raise InputError(
            f"mcc is not defined for a single predicted class; use {format_option('by', 'all')}, or group by an attribute"
        )
    if is_of_one_class(metric, tally) and tally.positive is None:
        known = join_names(tally.classes)
        raise InputError(
            f"metric {metric.name}: which class is the positive one? the classes are {known}; say it with {format_option('positive')}"
        )


def is_of_one_class(metric: Metric, tally: CountTable) -> bool:
    """Is the metric about the positive class only, in these groups?"""
    return isinstance(metric, ClassRate) and not metric.is_macro_average and tally.by != "predicted"
