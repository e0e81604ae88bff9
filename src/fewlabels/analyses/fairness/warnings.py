"""Warnings of a fairness result: missing or few labels, undefined metrics, constant or reversed scores, convergence."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from fewlabels.analyses.fairness.strata import Strata
from fewlabels.errors import count, format_option, join_names
from fewlabels.metrics.metric import METRICS, ClassRate
from fewlabels.models.diagnostics import ChainDiagnostics

SIGNIFICANCE = 0.001  # p-value below which scores count as reversed
OF_RIGHT = frozenset({"accuracy", "calibration"})  # metrics that do not depend on which class is positive
OTHER_CLASS = "of the other class"
OF_POSITIVE_ALONE = {"precision": "ppv", "recall": "tpr"}
HANDFUL = 5  # labels
UNDEFINED_REASONS = {
    **dict.fromkeys(("tpr", "fnr", "balance-positive"), "no item there is {yes}"),
    **dict.fromkeys(("fpr", "tnr", "balance-negative"), "all items there are {yes}"),
    **dict.fromkeys(("ppv", "fdr"), "no item there is predicted {yes}"),
    **dict.fromkeys(("npv", "for"), "all items there are predicted {yes}"),
}  # why a metric is 0/0
WHOLES = {
    **dict.fromkeys(("tpr", "fnr"), "items that are {yes}"),
    **dict.fromkeys(("fpr", "tnr"), "items that are not {yes}"),
    **dict.fromkeys(("ppv", "fdr"), "items predicted {yes}"),
    **dict.fromkeys(("npv", "for"), "items not predicted {yes}"),
}  # what a rate is a share of
OF_POSITIVE = frozenset({"tpr", "fnr", "equalised-odds", "balance-positive"})
OF_NEGATIVE = frozenset({"fpr", "tnr", "equalised-odds", "balance-negative"})


def list_warnings(
    strata: Strata,
    health: ChainDiagnostics,
    warnings: Sequence[str],
    asked: Sequence[str],
    *,
    by_scores: bool,
    pooled: bool,
    finite_pool: bool = False,
) -> Iterator[str]:
    """Yield fairness warnings for a method that uses scores (`by_scores`) or pools groups, after those given."""
    yield from _warn_missing_labels(strata, by_scores=by_scores, pooled=pooled)
    yield from _warn_few_labels(strata, asked, by_scores=by_scores)
    if by_scores and not any(OTHER_CLASS in warning for warning in warnings) and _are_scores_reversed(strata):
        yield (
            f"items labelled {strata.positive!r} have the lower scores: are these the scores {OTHER_CLASS}? Then use "
            f"1 minus the score, or give that class with {format_option('positive')}: rates are then about that class"
        )
    yield from _warn_macro(strata, asked)
    yield from _warn_no_variation(strata, asked, finite_pool=finite_pool)
    if not health.is_good:
        yield f"the Markov chains did not converge: {', '.join(health.list_problems())}; run again with another seed"


class RateCount(NamedTuple):
    """How many items of a group a rate is expected to be a share of."""

    metric: str
    group: str
    n: float


def list_rare_warnings(strata: Strata, counts: Iterable[RateCount]) -> Iterator[str]:
    """Yield fairness warnings for every rate on the groups where it is a share of a handful of items."""
    rare = [found for found in counts if found.n < HANDFUL]
    for metric in dict.fromkeys(found.metric for found in rare):
        groups = [f"{found.group} ({found.n:.1f})" for found in rare if found.metric == metric]
        whole = WHOLES.get(metric, "items").format(yes=repr(strata.positive))
        yield f"{metric}: a share of fewer than {HANDFUL} expected {whole} in {join_names(groups)}; one of them moves it far"


def list_undefined_warnings(strata: Strata, undefined: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield fairness warnings on undefined metrics and why; pairs are (metric, group)."""
    for metric in dict.fromkeys(metric for metric, _ in undefined):
        groups = [group for of, group in undefined if of == metric]
        why = UNDEFINED_REASONS.get(metric, "a rate it compares has no items").format(yes=repr(strata.positive))
        yield f"{metric} is undefined (0/0) in {join_names(groups)}: {why}"


def _warn_macro(strata: Strata, asked: Sequence[str]) -> Iterator[str]:
    """Warn, of a fairness result, that averages over both classes are taken by many for rates of the positive class."""
    for metric in map(METRICS.get, asked):
        if isinstance(metric, ClassRate) and metric.is_macro_average and not metric.only_true_classes:
            alone = OF_POSITIVE_ALONE.get(metric.name)
            instead = f"; of class {strata.positive!r} alone it is called {alone}" if alone else ""
            yield f"{metric.name} is the mean over both classes (macro average), whatever the positive class is{instead}"


def _warn_missing_labels(strata: Strata, *, by_scores: bool, pooled: bool) -> Iterator[str]:
    """Warn of groups of people, or a pool, without labels, and of labels that are all of one class."""
    n, n_positive = int(strata.n_labels.sum()), int(strata.n_positive.sum())
    blank = [group for group, group_labels in zip(strata.groups, strata.group_labels, strict=True) if group_labels == 0]
    if not n:
        yield "there are no labels: estimates come from the scores and the prior of their calibration" if by_scores else "there are no labels, and this method uses nothing else"  # fmt: skip
        return
    if blank:
        instead = "estimates there come from scores and the other groups' labels" if pooled else "estimates there come from the scores alone" if by_scores else "this method has no information about them"  # fmt: skip
        yield f"no labels in {join_names(blank)}: {instead}"
    if n_positive in (0, n):
        yield f"{'the only label is' if n == 1 else f'all {n:,} labels are'} of one class: estimates depend on the prior until items of the other class are labelled"


def _warn_few_labels(strata: Strata, asked: Sequence[str], *, by_scores: bool) -> Iterator[str]:
    """Warn of groups of people with few labels in all, few positive labels, or few negative labels."""
    n_positive = np.bincount(strata.group, weights=strata.n_positive, minlength=len(strata.groups))
    of = (
        ("labels", strata.group_labels, asked),
        (f"labels {strata.positive!r}", n_positive, OF_POSITIVE.intersection(asked)),
        (f"labels other than {strata.positive!r}", strata.group_labels - n_positive, OF_NEGATIVE.intersection(asked)),
    )
    few = np.zeros(len(strata.groups), dtype=bool)
    so = "estimates there depend mostly on scores and priors" if by_scores else "one more label can move them far"
    for what, n, metrics in of:
        thin = (strata.group_labels > 0) & (n < HANDFUL) & ~few
        if metrics and thin.any():
            named = [f"{group} ({k:.0f})" for group, k, is_thin in zip(strata.groups, n, thin, strict=True) if is_thin]
            yield f"{', '.join(sorted(metrics))}: fewer than {HANDFUL} {what} in {join_names(named)}; {so}"
        few |= thin if what == "labels" else False


def _warn_no_variation(strata: Strata, asked: Sequence[str], *, finite_pool: bool) -> Iterator[str]:
    """Warn that fairness says little where all decisions that are asked about, or all scores, are the same."""
    predicted = np.unique(strata.predicted[strata.n_items > 0])
    if len(predicted) == 1 and not OF_RIGHT.issuperset(asked):
        rate, not_ = ("1", "") if predicted[0] else ("0", "not ")
        here = (
            ""
            if finite_pool
            else " of these items; for the population, estimates come from the sizes of groups and the prior"
        )
        yield f"all {count(int(strata.n_items.sum()), 'item')} are predicted {not_}to be {strata.positive!r}: tpr, fpr and selection rate are {rate} in every group{here}"
    elif len(predicted) > 1 and len(np.unique(strata.score)) == 1:
        yield "all scores are equal: they carry no information"


def _are_scores_reversed(strata: Strata) -> bool:
    """Is a warning due as labelled positives have significantly lower scores than negatives (rank correlation)?"""
    rank = np.argsort(np.argsort(strata.score)).astype(np.float64)
    n, up = strata.n_labels.astype(np.float64), strata.n_positive.astype(np.float64)
    total = n.sum()
    if up.sum() in (0, total):
        return False
    share, centre = up.sum() / total, (n @ rank) / total
    spread = (n @ (rank - centre) ** 2) / total
    if spread == 0:
        return False
    correlation = ((up - share * n) @ (rank - centre)) / total / np.sqrt(spread * share * (1 - share))
    return bool(ndtr(correlation * np.sqrt(total)) < SIGNIFICANCE)
