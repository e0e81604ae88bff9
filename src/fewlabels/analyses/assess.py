"""One call from predictions to an Assessment, or to a Comparison of two groups."""

from collections.abc import Sequence
from typing import Any

from fewlabels.analyses.assessment import Assessment, assess_counts
from fewlabels.analyses.assessment_spec import AssessmentSpec
from fewlabels.analyses.comparison import Comparison, compare_groups, require_comparison_choices
from fewlabels.analyses.overall_check import Sample, is_checked, warn_too_uneven
from fewlabels.analyses.provenance import record
from fewlabels.analyses.requirements import count_for, require_roles
from fewlabels.data.aggregate import Aggregate, aggregate_pool
from fewlabels.data.checks import require_valid
from fewlabels.data.conflicts import count_values, find_label_columns
from fewlabels.data.groups import Bins, Groups, predicted
from fewlabels.data.parsing import parse_pair, resolve_bins, resolve_groups
from fewlabels.data.predictions import Predictions
from fewlabels.data.propensities import find_signs, read_weights
from fewlabels.data.tabulation import to_count_table
from fewlabels.distributions.budgets import N_DRAWS
from fewlabels.errors import InputError, join_names
from fewlabels.metrics.metric import Metric, accuracy
from fewlabels.metrics.parsing import resolve_metric
from fewlabels.models.parsing import resolve_prior
from fewlabels.models.priors import Prior


def assess(
    pool: Any = None,
    *,
    by: Groups | str | Sequence[Groups | str] = predicted,
    metric: Metric | str = accuracy,
    prior: Prior | str | None = None,
    level: float = 0.95,
    finite_pool: bool = False,
    bins: Bins | str | int | None = None,
    m: int = 1,
    seed: int = 0,
    n_draws: int = N_DRAWS,
    y_pred: Any = None,
    y_score: Any = None,
    y_true: Any = None,
    classes: Any = None,
) -> Assessment:
    """Return an Assessment of how good the model is, per group and overall, with credible intervals.

    The default prior estimates the calibration of the scores from the labels, with partial pooling of groups.

    Parameters
    ----------
    pool: Predictions, path, frame, dict of arrays or Ibis table
        The predictions; anything but `Predictions` is read by `Predictions.read`.
    by: Groups, str or sequence of them
        The groups: an object like `fl.predicted` or a word of the command line: `"all"`, `"predicted"`, `"bins:20"`,
        `"ranges:age"`, a column, or several separated by commas (every combination).
    metric: Metric or str
        An object like `fl.recall` or its word: `"accuracy"`, `"ece"`, `"recall"`, `"tpr"`, ...
    prior: Prior or str
        An object like `fl.flat()` or a word: `"calibrated"` (default), `"smooth"`, `"scores"`, `"flat"`, or the path of
        the JSON of an earlier assessment.
    level: float
        Probability that a credible interval contains the true value.
    finite_pool: bool
        Estimate the metric on exactly these items instead of the population they came from.
    bins: Bins, str or int
        Score bins inside calibration error: a number (equal width), `"equal-mass:10"` or `fl.bins(10)`.
    m: int
        P(worst) is the probability of being among the m worst groups.
    seed: int
        Seed of the random draws.
    n_draws: int
        Number of random draws where there is no closed form.
    y_pred, y_score, y_true, classes: arrays
        The predictions as arrays instead of `pool`; see `Predictions.from_arrays`.

    >>> a = assess({"predicted": ["a"] * 9 + ["b"] * 9, "label": ["a"] * 8 + ["b"] + ["b"] * 4 + ["a"] * 4 + [None]})
    >>> [(row.group, row.n_labels, round(row.mean, 1)) for row in a.groups]
    [('a', 9, 0.7), ('b', 8, 0.6)]
    >>> assess(y_pred=["a"] * 9, y_true=["a"] * 8 + ["b"], metric="recall", by="all", prior="flat").metric
    'recall'
    """
    pool = _open_pool(pool, y_pred=y_pred, y_score=y_score, y_true=y_true, classes=classes)
    by, metric, prior = resolve_groups(by), resolve_metric(metric), resolve_prior(prior)
    require_roles(pool, metric, prior)
    aggregated = aggregate_pool(pool, by, bins=resolve_bins(bins), **count_for(pool, metric, prior))
    sample = _take_weighted_sample(aggregated)
    warnings = require_valid(pool, aggregated, uses_propensities=is_checked(metric, sample))
    warnings += warn_too_uneven(metric, sample)
    counts = to_count_table(aggregated)
    if not counts.n_labels.any():
        warnings += tuple(finding.message for finding in find_label_columns(pool, count_values(pool)))
    spec = AssessmentSpec(metric, prior, level, finite_pool, m, seed, n_draws)
    made = record(pool.source, inputs=pool.inputs, counts=counts)
    warnings += tuple(finding.message for finding in find_signs(pool, aggregated))
    return assess_counts(counts, spec, warnings=warnings, frame=pool.frame, provenance=made, sample=sample)


def _take_weighted_sample(aggregated: Aggregate) -> Sample | None:
    """Return the labels with known propensities, which check what `assess` infers overall; None without any."""
    found = read_weights(aggregated)
    if found is None or not len(found.entry):
        return None
    return Sample(found.entry, found.right, found.weight, found.square, int(found.n.sum()), "with known propensities")


def compare(
    pool: Any, groups: str | Sequence[str], *, rope: float = 0.05, confidence: float = 0.95, **choices: Any
) -> Comparison:
    """Assess two groups, and estimate their difference and whether it is practically relevant.

    Parameters
    ----------
    pool: Predictions, path, frame, dict of arrays or Ibis table
        The predictions; anything but `Predictions` is read by `Predictions.read`.
    groups: pair of str, or str
        The two groups: `("human", "trees")`, or words separated by a comma.
    rope: float
        Differences up to this size do not matter (region of practical equivalence).
    confidence: float
        A verdict is stated from this probability on; below, it is "not settled".
    **choices: object
        Any other parameter of `assess`: by, metric, prior, level, finite_pool, bins, m, seed, n_draws.

    >>> pool = {"predicted": ["a"] * 40 + ["b"] * 40, "label": ["a"] * 39 + ["b"] + ["b"] * 20 + ["a"] * 20}
    >>> compare(pool, ("a", "b")).verdict
    'above'
    """
    require_comparison_choices(rope, confidence)
    return compare_groups(assess(pool, **choices), _resolve_pair(groups), rope, confidence)


def _open_pool(pool: Any, **arrays: Any) -> Predictions:
    """Read the pool to assess, or make it from arrays; not both."""
    if pool is None:
        return Predictions.from_arrays(**arrays)
    both = [name for name, array in arrays.items() if array is not None]
    if both:
        raise InputError(f"assess: both a pool and {join_names(both)} are given; give the pool or the arrays")
    return pool if isinstance(pool, Predictions) else Predictions.read(pool)


def _resolve_pair(groups: str | Sequence[str]) -> tuple[str, str]:
    """Return the two groups to assess and compare, given as a pair or as words separated by a comma."""
    if isinstance(groups, str):
        return parse_pair(groups)
    if len(groups) != 2:
        raise InputError(f"groups: expected two, got {len(groups)}; name the two groups to compare")
    return groups[0], groups[1]
