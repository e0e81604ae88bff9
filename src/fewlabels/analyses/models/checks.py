"""Checks of a comparison of models: of their predictions, each table by itself and together, and of what is asked."""

import numpy as np

from fewlabels.data.aggregate import Aggregate
from fewlabels.data.checks import require_valid
from fewlabels.data.conflicts import check_twins
from fewlabels.data.counts import STRATA, CountTable
from fewlabels.data.groups import Groups
from fewlabels.data.joint_predictions import LABELS_DIFFER, JointPredictions
from fewlabels.data.model_join import describe_unmatched, refuse_contradicting_labels
from fewlabels.data.predictions import Predictions
from fewlabels.errors import InputError, format_option, join_names
from fewlabels.metrics.metric import ClassRate, Metric, ScopeRate, confusion, selection_rate
from fewlabels.models.priors import Prior

MAX_NUMBERS = 20_000_000  # cells times classes that metrics of classes may take
FINE_MODELS, MIDDLE_MODELS = 2, 4  # up to so many models, scores are counted in fine or in middling ranges


def check_predictions(pool: Predictions, aggregated: Aggregate) -> tuple[str, ...]:
    """Raise the first error in the predictions of one model or of several; return notes on the data."""
    return check_models(pool, aggregated) if isinstance(pool, JointPredictions) else require_valid(pool, aggregated)


def check_models(pool: JointPredictions, aggregated: Aggregate) -> tuple[str, ...]:
    """Check the predictions of several models: raise the first error; return notes on the data."""
    pool.__dict__["n_items"] = aggregated.n_items  # as cached_property does
    checked = tuple(note for part in pool.parts for note in require_valid(part))
    notes = describe_unmatched(pool)
    _require_same_task(pool)
    refuse_contradicting_labels(pool, sum(aggregated.found.get(LABELS_DIFFER, [0])))
    first, *others = (set(part.pairs["predicted"]) - {None} for part in pool.parts)
    alike = tuple(found.message for found in check_twins(first.union(*others), first))
    return tuple(dict.fromkeys((*notes, *checked, *alike)))


def _require_same_task(pool: JointPredictions) -> None:
    """Check that models have a class in common; refuse them otherwise."""
    seen = [set(part.pairs["predicted"]) - {None} for part in pool.parts]
    for name, classes in zip(pool.models[1:], seen[1:], strict=True):
        if classes and seen[0] and not classes & seen[0]:
            raise InputError(f"models: {pool.models[0]} predicts {join_names(sorted(seen[0]), most=3)}, and {name} predicts {join_names(sorted(classes), most=3)}: no class in common; give the same classes the same names")  # fmt: skip


def choose_strata(n_models: int) -> tuple[float, ...]:
    """Return the score ranges in which checked models' items are counted: coarser for more models."""
    step = 1 if n_models <= FINE_MODELS else 2 if n_models <= MIDDLE_MODELS else 4
    return (*STRATA[:-1:step], 1.0)


def require_choices(metric: Metric, prior: Prior, by: Groups, *, unpaired: bool) -> None:
    """Check what is asked: refuse metrics, priors and groups that a comparison of models does not have."""
    if metric is selection_rate:
        raise InputError("metric selection-rate needs no labels: it is the share of items that a model predicts as positive; compare models on accuracy or tpr")  # fmt: skip
    if metric is confusion:
        raise InputError("metric confusion is a matrix per model, and models are compared on one number: use accuracy, recall or cost, or assess each model by itself")  # fmt: skip
    if unpaired:
        return  # every model is assessed by itself
    if prior.name == "earlier":
        raise InputError(f"prior: an earlier assessment is about one model, and knows nothing of where models disagree; use it with {format_option('unpaired')}, or give the earlier labels with {format_option('labels')}")  # fmt: skip
    if prior.name not in ("calibrated", "flat"):
        raise InputError(f"prior {prior.name}: a comparison of models learns from its labels; use calibrated, or flat to ignore scores")  # fmt: skip
    if isinstance(metric, ClassRate | ScopeRate) and by.name == "predicted":
        raise InputError(f"metric {metric.name} of models needs groups that do not depend on one model's predictions; use {format_option('by', 'all')} or a column")  # fmt: skip


def require_feasible(metric: Metric, tally: CountTable, n_models: int) -> None:
    """Check that metrics of classes can be computed: refuse those that take too much memory, or lack a positive class."""
    if metric.reads != "label":
        return
    if isinstance(metric, ClassRate) and not metric.is_macro_average and tally.positive is None:
        raise InputError(f"metric {metric.name} needs a positive class; name it with {format_option('positive')}, or use recall or precision, the means over classes")  # fmt: skip
    kinds = len(np.unique(np.column_stack([tally.group, tally.models.predicted]), axis=0)) if tally.models else 0
    if kinds * len(tally.classes) > MAX_NUMBERS:
        raise InputError(f"metric {metric.name}: {kinds:,} combinations of what {n_models} models predict, and {len(tally.classes):,} classes, are too many; use accuracy, or fewer models")  # fmt: skip
