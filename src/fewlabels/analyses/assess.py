"""One call from predictions to an Assessment, or to a Comparison of two groups."""

from typing import Any

from fewlabels.analyses.assessment import Assessment, AssessmentSpec, assess_counts
from fewlabels.analyses.comparison import Comparison, compare_groups, require_choices
from fewlabels.analyses.provenance import record
from fewlabels.data.aggregate import aggregate_pool
from fewlabels.data.checks import require_valid
from fewlabels.data.conflicts import count_values, find_label_columns
from fewlabels.data.counts import STRATA, to_count_table
from fewlabels.data.groups import Bins, Groups, predicted
from fewlabels.data.predictions import Predictions
from fewlabels.distributions.budgets import N_DRAWS
from fewlabels.errors import InputError
from fewlabels.metrics.metric import Metric, accuracy
from fewlabels.models.calibrated.prior import calibrated
from fewlabels.models.priors import Prior, list_uses


def assess(
    pool: Any,
    *,
    by: Groups = predicted,
    metric: Metric = accuracy,
    prior: Prior | None = None,
    level: float = 0.95,
    finite_pool: bool = False,
    bins: Bins | None = None,
    m: int = 1,
    seed: int = 0,
    n_draws: int = N_DRAWS,
) -> Assessment:
    """Estimate how good the model is, per group and overall, with credible intervals.

    `finite_pool` asks about exactly these items instead of the population they came from; `bins` are the score bins
    inside calibration error; `m` is how many groups count as the worst.

    The default prior estimates the calibration of the scores from the labels, with partial pooling of groups.

    >>> a = assess({"predicted": ["a"] * 9 + ["b"] * 9, "label": ["a"] * 8 + ["b"] + ["b"] * 4 + ["a"] * 4 + [None]})
    >>> [(row.group, row.n_labels, round(row.mean, 1)) for row in a.groups]
    [('a', 9, 0.7), ('b', 8, 0.6)]
    """
    pool = pool if isinstance(pool, Predictions) else Predictions.read(pool)
    prior = prior or calibrated()
    require_objects(by=by, metric=metric, prior=prior)
    require_roles(pool, metric, prior)
    aggregated = aggregate_pool(pool, by, bins=bins, **count_for(pool, prior))
    warnings = require_valid(pool, aggregated)
    counts = to_count_table(aggregated)
    if not counts.n_labels.any():
        warnings += tuple(finding.message for finding in find_label_columns(pool, count_values(pool)))
    spec = AssessmentSpec(metric, prior, level, finite_pool, m, seed, n_draws)
    made = record(pool.source, inputs=pool.inputs, counts=counts)
    return assess_counts(counts, spec, warnings=warnings, frame=pool.frame, provenance=made)


def compare(
    pool: Any, groups: tuple[str, str], *, rope: float = 0.05, confidence: float = 0.95, **choices: Any
) -> Comparison:
    """Estimate the difference between two groups, and whether it exceeds `rope`; `choices` are those of `assess`.

    A verdict is stated from a probability of `confidence` on; below, it is "not settled".

    >>> pool = {"predicted": ["a"] * 40 + ["b"] * 40, "label": ["a"] * 39 + ["b"] + ["b"] * 20 + ["a"] * 20}
    >>> compare(pool, ("a", "b")).verdict
    'above'
    """
    require_choices(rope, confidence)
    return compare_groups(assess(pool, **choices), groups, rope, confidence)


def require_objects(**choices: object) -> None:
    """Raise if a choice is a string of the command line, or a class instead of an instance."""
    for name, choice in choices.items():
        if isinstance(choice, type):
            raise InputError(f"{name}: {choice.__name__} is a class; give an instance, like {choice.__name__}()")
        if isinstance(choice, str):
            raise InputError(
                f"{name}: {choice!r} is a word for the command line; in Python give the object, like fl.recall, fl.predicted or fl.flat()"
            )


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
