"""`fairness`: one call from predictions to gaps between groups."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fewlabels.analyses.assessment_spec import require_seed
from fewlabels.analyses.fairness.calibrated_method import CalibratedDraws, CalibratedMethod
from fewlabels.analyses.fairness.gaps import LARGEST, ODDS, ODDS_PARTS, REST, Gap, GapEstimator
from fewlabels.analyses.fairness.group_metrics import GROUP_METRICS, GroupMetric, GroupRate
from fewlabels.analyses.fairness.methods import METHODS, Method, MethodDraws
from fewlabels.analyses.fairness.parsing import Asked, resolve_metrics
from fewlabels.analyses.fairness.result import CurvePoint, Fairness, GroupRow
from fewlabels.analyses.fairness.strata import Strata
from fewlabels.analyses.fairness.stratification import aggregate_strata, build_strata, count_strata, to_binary
from fewlabels.analyses.fairness.warnings import RateCount, list_rare_warnings, list_undefined_warnings, list_warnings
from fewlabels.analyses.provenance import record
from fewlabels.data.checks import require_valid
from fewlabels.data.groups import CROSS, Groups
from fewlabels.data.parsing import resolve_groups, split_names
from fewlabels.data.predictions import Predictions
from fewlabels.data.tabulation import to_count_table
from fewlabels.distributions.budgets import MIN_DRAWS
from fewlabels.errors import InputError, did_you_mean
from fewlabels.models.blas import use_one_thread
from fewlabels.models.diagnostics import ChainDiagnostics, diagnose, exact_diagnostics

DEFAULT = ("accuracy", "tpr", "fpr")


@use_one_thread()
def fairness(
    pool: Any,
    *,
    by: Groups | str | Sequence[Groups | str],
    reference: str | None = None,
    metrics: Any = DEFAULT,
    method: str | Method = "calibrated",
    rope: float = 0.02,
    level: float = 0.95,
    finite_pool: bool = False,
    seed: int = 0,
) -> Fairness:
    """Return the Fairness of a model: gaps between groups of people in accuracy, true positive rate and other metrics.

    With more than two classes, the positive class is compared with all others; without a positive class, only accuracy
    and calibration are available.

    Parameters
    ----------
    pool: Predictions, path, frame, dict of arrays or Ibis table
        The predictions; anything but `Predictions` is read by `Predictions.read`.
    by: Groups, str or sequence of them
        The groups: an object like `fl.predicted` or a word of the command line: `"all"`, `"predicted"`, `"bins:20"`,
        `"ranges:age"`, a column, or several separated by commas (every combination).
    reference: str
        Group that others are compared with [default: the largest], or `"rest"` to compare each group with all others.
    metrics: Metric, str or sequence of them
        Objects like `fl.tpr` or words, one or several; one string may name several, separated by commas.
    method: str or Method
        `"calibrated"` (labels and recalibrated scores), `"bc"`, `"bc-llo"`, `"bc-temperature"` (calibration curves
        only), `"beta-binomial"` or `"frequency"` (labels only).
    rope: float
        Half-width within which a gap counts as practically zero.
    level: float
        Probability that a credible interval contains the true value.
    finite_pool: bool
        Estimate the metric on exactly these items instead of the population they came from.
    seed: int
        Seed of the random draws.
    """
    pool = pool if isinstance(pool, Predictions) else Predictions.read(pool)
    by = resolve_groups(by)
    several = split_names(metrics) if isinstance(metrics, str) else metrics
    asked = resolve_metrics(several if isinstance(several, Sequence) else (several,), pool)
    names = tuple(asked)
    estimator = METHODS[_find_name(method, METHODS, "method")] if isinstance(method, str) else method
    _check_choices(rope, level, seed)
    aggregated = aggregate_strata(pool, by)
    warnings = require_valid(pool, aggregated)
    binary, assumed = to_binary(pool, names)
    counts = to_count_table(aggregated)
    strata = build_strata(counts) if binary is pool else count_strata(binary, by)
    whom = _find_reference(strata, reference)
    rng = np.random.default_rng(seed)
    sample = estimator.learn(strata, rng, finite_pool=finite_pool)
    gap_estimator = GapEstimator(strata, sample, whom, rope, level, {**GROUP_METRICS, **_list_own(asked)}, seed)
    gaps = tuple(gap for name in names for gap in gap_estimator.compare(name))
    groups, health = _measure_groups(gap_estimator, [name for name in names if name != ODDS])
    pooled = isinstance(estimator, CalibratedMethod) and estimator.shape.pooled
    found_warnings = list_warnings(
        strata, health, warnings, names, by_scores=isinstance(sample, CalibratedDraws), pooled=pooled,
        finite_pool=finite_pool,
    )  # fmt: skip
    rare = list_rare_warnings(strata, _count_wholes(sample, strata, names, asked))
    blanks = list_undefined_warnings(strata, _list_undefined(gaps, groups))
    return Fairness(
        strata.by, whom, gaps, groups, estimator.name, health, rope, level, int(strata.n_items.sum()),
        int(strata.n_labels.sum()), finite_pool, strata.positive, pool.source, (*warnings, *assumed, *found_warnings, *rare, *blanks),
        _curve_points(sample, gap_estimator), pool.frame, record(pool.source, inputs=pool.inputs, counts=counts, seed=seed),
    )  # fmt: skip


def _measure_groups(gap_estimator: GapEstimator, names: Sequence[str]) -> tuple[tuple[GroupRow, ...], ChainDiagnostics]:
    """Estimate every fairness metric in every group, and the convergence diagnostics of these draws."""
    strata, rows = gap_estimator.strata, []
    for name in names:
        values = gap_estimator.measure(name)
        for i, group in enumerate(strata.groups):
            draws = values[:, i][~np.isnan(values[:, i])]
            low, high = gap_estimator.interval(draws) if len(draws) else (float("nan"), float("nan"))
            mean = float(draws.mean()) if len(draws) else float("nan")
            rows.append(GroupRow(group, name, mean, low, high, int(strata.size[i]), int(strata.group_labels[i])))
    return tuple(rows), _diagnose_convergence(gap_estimator, names)


def _diagnose_convergence(gap_estimator: GapEstimator, names: Sequence[str]) -> ChainDiagnostics:
    """Diagnose what the chains contribute to every fairness metric; independent draws have no chains."""
    sample, quantities = gap_estimator.sample, gap_estimator.quantities
    if not sample.n_chains:
        return exact_diagnostics(MIN_DRAWS)
    values = [sample.expect(quantities[name]) for name in names or ODDS_PARTS]
    draws = np.nan_to_num(np.concatenate(values, axis=1))
    return diagnose(draws.reshape(-1, sample.n_chains, draws.shape[1]), sample.divergences, sample.n_transitions)


def _list_own(asked: Asked) -> dict[str, GroupMetric]:
    """Return the fairness metrics that have one value per group: all but equalised odds."""
    return {name: quantity for name, quantity in asked.items() if quantity is not None}


def _count_wholes(sample: MethodDraws, strata: Strata, names: Sequence[str], asked: Asked) -> Iterator[RateCount]:
    """Yield the expected number of items that a rate is a share of, in every group where it is not known exactly."""
    rates = {
        part: asked.get(part) or GROUP_METRICS[part]
        for name in names
        for part in (ODDS_PARTS if name == ODDS else (name,))
    }
    for name, rate in rates.items():
        if isinstance(rate, GroupRate):
            spread = np.ptp(sample.value(rate), axis=0)
            counts = zip(strata.groups, sample.count_whole(rate), spread, strict=True)
            yield from (RateCount(name, group, float(n)) for group, n, width in counts if width > 0)


def _list_undefined(gaps: Sequence[Gap], groups: Sequence[GroupRow]) -> list[tuple[str, str]]:
    """Return (metric, group) pairs where fairness is undefined; gaps only for metrics defined in every group."""
    found = [(row.metric, row.group) for row in groups if np.isnan(row.mean)]
    explained = {metric for metric, _ in found}
    return found + [(gap.metric, gap.group) for gap in gaps if np.isnan(gap.mean) and gap.metric not in explained]


def _curve_points(sample: MethodDraws, gap_estimator: GapEstimator) -> tuple[CurvePoint, ...]:
    """Return the calibration curve of every stratum for the result of `fairness`, where the method fits one."""
    if not isinstance(sample, CalibratedDraws):
        return ()
    strata = sample.masses.strata
    counts = zip(strata.group, strata.score, strata.n_items, strata.n_labels, strata.n_positive, strict=True)
    return tuple(
        CurvePoint(
            strata.groups[g],
            float(s),
            int(n),
            int(k),
            int(r),
            float(probability.mean()),
            *gap_estimator.interval(probability),
        )
        for (g, s, n, k, r), probability in zip(counts, sample.probability.T, strict=True)
        if n
    )


def _check_choices(rope: float, level: float, seed: int) -> None:
    """Refuse a rope, level or seed that `fairness` cannot use."""
    require_seed(seed)
    if not rope >= 0:
        raise InputError(f"rope is {rope}; it is a half-width and cannot be negative")
    if rope > 1:
        raise InputError(
            f"rope is {rope:g}, and gaps lie between -1 and 1; if {rope:g} points are meant, give {rope / 100:g}"
        )
    if not 0 < level < 1:
        raise InputError(f"level is {level}; it must lie between 0 and 1, for instance 0.95")


def _find_name(name: str, known: Any, kind: str) -> str:
    """Return the name if `fairness` knows it; else refuse it, with the nearest one."""
    if name not in known:
        raise InputError(f"fairness: there is no {kind} {name!r}; {did_you_mean(name, list(known))}")
    return name


def _find_reference(strata: Strata, reference: str | None) -> str:
    """Find the reference group of `fairness`; by default the largest."""
    if len(strata.groups) == 1:
        raise InputError(
            f"by: all {strata.size[0]:,} items are in one group, {strata.groups[0]!r}: there is no group to compare with"
        )
    taken = [name for name in (REST, LARGEST) if name in strata.groups]
    if taken:
        raise InputError(f"by: a group of {strata.by} is called {taken[0]!r}, which is a reserved name here; rename it")
    if reference is None:
        return strata.groups[int(strata.size.argmax())]
    crossed = CROSS.join(part.strip() for part in reference.split(","))  # as typed on the command line
    found = next((name for name in (reference, crossed) if name in (REST, *strata.groups)), None)
    if found is None:
        raise InputError(
            f"reference: there is no group {reference!r} in {strata.by}; {did_you_mean(reference, list(strata.groups))}"
        )
    return found
