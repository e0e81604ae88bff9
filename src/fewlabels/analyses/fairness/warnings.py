"""Warnings of a fairness result: missing or few labels, undefined metrics, constant or reversed scores, convergence."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import ndtr

from fewlabels.analyses.fairness.strata import People
from fewlabels.errors import count, listing, name_option
from fewlabels.models.diagnostics import Health

DOUBT = 0.001  # p-value below which scores count as reversed
OTHER_CLASS = "of the other class"
HANDFUL = 5  # labels
EMPTY = {
    **dict.fromkeys(("tpr", "fnr", "balance-positive"), "no item there is {yes}"),
    **dict.fromkeys(("fpr", "tnr", "balance-negative"), "all items there are {yes}"),
    **dict.fromkeys(("ppv", "fdr"), "no item there is predicted {yes}"),
    **dict.fromkeys(("npv", "for"), "all items there are predicted {yes}"),
}  # why a metric is 0/0
OF_POSITIVE = frozenset({"tpr", "fnr", "equalised-odds", "balance-positive"})
OF_NEGATIVE = frozenset({"fpr", "tnr", "equalised-odds", "balance-negative"})


def list_doubts(
    people: People, health: Health, notes: Sequence[str], asked: Sequence[str], *, by_scores: bool, lending: bool
) -> Iterator[str]:
    """Yield warnings for a method that uses scores (`by_scores`) or pools groups; `notes` are warnings already given."""
    yield from _miss_labels(people, by_scores=by_scores, lending=lending)
    yield from _name_thin(people, asked)
    if by_scores and not any(OTHER_CLASS in note for note in notes) and _point_the_wrong_way(people):
        yield (
            f"items labelled {people.positive!r} have the lower scores: are these the scores {OTHER_CLASS}? Then use "
            f"1 minus the score, or give that class with {name_option('positive')}: rates are then about that class"
        )
    yield from _see_no_difference(people)
    if not health.is_good:
        yield f"the Markov chains did not converge: {', '.join(health.list_faults())}; run again with another seed"


def name_undefined(people: People, undefined: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield, for every metric, the groups in which it is undefined and why; pairs are (metric, group)."""
    for metric in dict.fromkeys(metric for metric, _ in undefined):
        groups = [group for of, group in undefined if of == metric]
        why = EMPTY.get(metric, "a rate it compares has no items").format(yes=repr(people.positive))
        yield f"{metric} is undefined (0/0) in {listing(groups)}: {why}"


def _miss_labels(people: People, *, by_scores: bool, lending: bool) -> Iterator[str]:
    n, n_positive = int(people.n_labels.sum()), int(people.n_positive.sum())
    blank = [group for group, heard in zip(people.groups, people.heard, strict=True) if heard == 0]
    if not n:
        yield "there are no labels: estimates come from the scores and the prior of their calibration" if by_scores else "there are no labels, and this method uses nothing else"  # fmt: skip
        return
    if blank:
        instead = "estimates there come from scores and the other groups' labels" if lending else "estimates there come from the scores alone" if by_scores else "this method has no information about them"  # fmt: skip
        yield f"no labels in {listing(blank)}: {instead}"
    if n_positive in (0, n):
        yield f"{'the only label is' if n == 1 else f'all {n:,} labels are'} of one class: estimates depend on the prior until items of the other class are labelled"


def _name_thin(people: People, asked: Sequence[str]) -> Iterator[str]:
    """Name groups with few labels in all, few positive labels, or few negative labels."""
    n_positive = np.bincount(people.group, weights=people.n_positive, minlength=len(people.groups))
    of = (
        ("labels", people.heard, asked),
        (f"labels {people.positive!r}", n_positive, OF_POSITIVE.intersection(asked)),
        (f"labels other than {people.positive!r}", people.heard - n_positive, OF_NEGATIVE.intersection(asked)),
    )
    few = np.zeros(len(people.groups), dtype=bool)
    for what, n, metrics in of:
        thin = (people.heard > 0) & (n < HANDFUL) & ~few
        if metrics and thin.any():
            named = [f"{group} ({k:.0f})" for group, k, is_thin in zip(people.groups, n, thin, strict=True) if is_thin]
            yield f"{', '.join(sorted(metrics))}: fewer than {HANDFUL} {what} in {listing(named)}; estimates there depend mostly on scores and priors"
        few |= thin if what == "labels" else False


def _see_no_difference(people: People) -> Iterator[str]:
    """Warn where all decisions, or all scores, are the same."""
    said = np.unique(people.said[people.n_items > 0])
    if len(said) == 1:
        rate, not_ = ("1", "") if said[0] else ("0", "not ")
        yield f"all {count(int(people.n_items.sum()), 'item')} are predicted {not_}to be {people.positive!r}: tpr, fpr and selection rate are {rate} in every group"
    elif len(np.unique(people.score)) == 1:
        yield "all scores are equal: they carry no information"


def _point_the_wrong_way(people: People) -> bool:
    """Do labelled positives have significantly lower scores than negatives? Tested by rank correlation."""
    rank = np.argsort(np.argsort(people.score)).astype(np.float64)
    n, up = people.n_labels.astype(np.float64), people.n_positive.astype(np.float64)
    total = n.sum()
    if up.sum() in (0, total):
        return False
    share, centre = up.sum() / total, (n @ rank) / total
    spread = (n @ (rank - centre) ** 2) / total
    if spread == 0:
        return False
    correlation = ((up - share * n) @ (rank - centre)) / total / np.sqrt(spread * share * (1 - share))
    return bool(ndtr(correlation * np.sqrt(total)) < DOUBT)
