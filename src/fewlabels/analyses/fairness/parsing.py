"""Resolve the metrics that are asked for: words, metrics of the registry, and the user's own."""

from collections.abc import Mapping, Sequence
from typing import Any

from fewlabels.analyses.fairness.gaps import ODDS
from fewlabels.analyses.fairness.group_metrics import GROUP_METRICS, REFUSED, GroupMetric, to_group_metric
from fewlabels.data.predictions import Predictions
from fewlabels.errors import InputError, did_you_mean, format_option, join_names, require_instance
from fewlabels.metrics.metric import METRICS, Cost, Metric

NAMES = (*GROUP_METRICS, ODDS)
Asked = Mapping[str, GroupMetric | None]  # None for equalised odds, which are two rates


def resolve_metrics(metrics: Sequence[Any], pool: Predictions) -> Asked:
    """Parse fairness metrics given by name, in order; objects are used as they are, never replaced by a namesake."""
    asked: dict[str, GroupMetric | None] = {}
    for metric in metrics:
        name, quantity = _resolve_word(metric) if isinstance(metric, str) else _resolve_object(metric, pool)
        if name in asked and asked[name] != quantity:
            raise InputError(f"fairness: two different metrics are called {name!r}; rename one of them")
        asked[name] = quantity
    if not asked:
        raise InputError(f"metric: none given; choose from {', '.join(NAMES)}")
    return asked


def _resolve_word(word: str) -> tuple[str, GroupMetric | None]:
    """Parse a word for a fairness metric."""
    _require_usable(word)
    if word not in NAMES:
        raise InputError(f"fairness: there is no metric {word!r}; {did_you_mean(word, list(NAMES))}")
    return word, GROUP_METRICS.get(word)


def _resolve_object(metric: Any, pool: Predictions) -> tuple[str, GroupMetric]:
    """Resolve a fairness metric given as an object; refuse those that the four outcomes do not determine."""
    if any(metric is known for known in GROUP_METRICS.values()):
        return metric.name, metric
    metric = require_instance("metric", metric, "value", "fl.tpr")
    name = str(metric.name)
    if metric is METRICS.get(name):
        _require_usable(name)
        return name, GROUP_METRICS[name]
    if name in (*NAMES, *METRICS):
        raise InputError(
            f"fairness: your metric is called {name!r}, and so is one of fewlabels, whose definition reports would show; "
            "rename yours"
        )
    _require_outcomes(metric, pool)
    return name, to_group_metric(_bind_classes(metric, pool))


def _require_usable(name: str) -> None:
    """Refuse words for metrics that fairness does not have, and say why."""
    if name in REFUSED:
        raise InputError(f"fairness: {name!r} is not available here: {REFUSED[name]}")


def _require_outcomes(metric: Metric, pool: Predictions) -> None:
    """Refuse fairness metrics, as words or objects, of score bins, and of columns that are missing."""
    bins = [split for split in metric.splits if split != "predicted"]
    if bins:
        raise InputError(
            f"fairness: the metric {metric.name!r} needs groups split by {join_names(bins)}; fairness evaluates metrics on "
            "right and wrong decisions of positives and negatives only"
        )
    missing = [role for role in metric.needs if not pool.has(role)]
    if missing:
        raise InputError(f"fairness: the metric {metric.name!r} needs {join_names(missing)}; name the columns")


def _bind_classes(metric: Metric, pool: Predictions) -> Metric:
    """Bind a cost, parsed as a fairness metric, to the matrix for the two classes of a pool, negative class first."""
    if not isinstance(metric, Cost):
        return metric
    if len(pool.classes) != 2 or pool.positive is None:
        raise InputError(
            f"fairness: a cost needs a pool of two classes with a positive one; name it with {format_option('positive')}"
        )
    return metric.for_classes(sorted(pool.classes, key=lambda name: name == pool.positive))
