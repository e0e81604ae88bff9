"""Checks of the predictions of several models: each table by itself, and that they fit together."""

from fewlabels.data.aggregate import Aggregate
from fewlabels.data.checks import check_twins, require_valid
from fewlabels.data.counts import STRATA
from fewlabels.data.joint_predictions import LABELS_DIFFER, JointPredictions
from fewlabels.data.model_join import describe_unmatched, refuse_contradicting_labels
from fewlabels.data.predictions import Predictions
from fewlabels.errors import InputError, join_names

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
    """Refuse models that have no class in common."""
    seen = [set(part.pairs["predicted"]) - {None} for part in pool.parts]
    for name, classes in zip(pool.models[1:], seen[1:], strict=True):
        if classes and seen[0] and not classes & seen[0]:
            raise InputError(f"models: {pool.models[0]} predicts {join_names(sorted(seen[0]), most=3)}, and {name} predicts {join_names(sorted(classes), most=3)}: no class in common; give the same classes the same names")  # fmt: skip


def choose_strata(n_models: int) -> tuple[float, ...]:
    """Return the score ranges in which several models' items are counted: coarser for more models."""
    step = 1 if n_models <= FINE_MODELS else 2 if n_models <= MIDDLE_MODELS else 4
    return (*STRATA[:-1:step], 1.0)
