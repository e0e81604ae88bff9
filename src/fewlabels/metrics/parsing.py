"""Parse words for metrics, as written on the command line and in Python; objects are returned unchanged."""

from typing import Any

from fewlabels.errors import InputError, did_you_mean, require_instance
from fewlabels.metrics.metric import METRICS, Metric, cost


def resolve_metric(metric: Metric | str) -> Metric:
    """Parse a metric given as a word; an object is returned unchanged.

    >>> resolve_metric("recall") is METRICS["recall"], resolve_metric(METRICS["ece"]).name
    (True, 'ece')
    """
    return parse_metric(metric) if isinstance(metric, str) else require_instance("metric", metric, "value", "fl.recall")


def parse_metric(text: str, costs: Any = None) -> Metric:
    """Parse the name of a metric; `costs` is the table of the metric `cost`."""
    if text == "cost":
        if costs is None:
            raise InputError(
                "metric cost needs --cost COSTS.csv (Python: metric=fl.cost('COSTS.csv')): one row per true class, "
                "one column per predicted class"
            )
        return cost(costs)
    if costs is not None:
        raise InputError(f"--cost needs --metric cost, not --metric {text}")
    if "," in text:
        raise InputError(f"metric: expected one, got {text!r}; run once per metric (only fairness takes several)")
    if text not in METRICS:
        raise InputError(f"metric: unknown metric {text!r}; {did_you_mean(text, [*METRICS, 'cost'])}")
    return METRICS[text]
