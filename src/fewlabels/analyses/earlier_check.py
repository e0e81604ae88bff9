"""Check an earlier assessment that is the prior: is it about predictions like these, and do the new labels agree with it?

The prior predictive check (Box 1980): labels are simulated from the earlier assessment alone, for as many items of each
group as are labelled now. The statistics are the number of right labels in all, and the sum over groups of the squared
deviations in units of their standard deviations; the smaller p-value is doubled. Of earlier assessments of the same model
on the same population, with labels drawn at random within groups, at most `FALSE_ALARM` are warned of.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.provenance import digest_counts
from fewlabels.data.counts import NONE, Cells, CountTable
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import count, format_option, join_names, quote_name
from fewlabels.metrics.metric import Metric
from fewlabels.models.earlier_predictions import FALSE_ALARM, EarlierPredictions

if TYPE_CHECKING:
    from fewlabels.models.earlier import FromEarlier

N_DRAWS = 2000
EDGE = 1e-9
SHARED_LABELS = "the prior is an earlier assessment: none of its labels may be among these, or they count twice"
SAME_PREDICTIONS = (
    "the prior is an earlier assessment of these same predictions (their fingerprint is the same): labels that it had and that are "
    "here too count twice; give only the new labels, or assess all of them with {calibrated}"
)
LACKS_LABELS = (
    "the earlier assessment does not say which scores its labels had (an earlier version wrote it, or its labels were votes, or its "
    "prior is smooth): its groups count as independent, and the interval of the overall estimate may be too narrow; assess its "
    "labels again and save the JSON anew"
)
LACKS_PREDICTIONS = (
    "the earlier assessment does not say what its predictions looked like (an earlier version wrote it), so whether the same model made "
    "them cannot be checked; assess its labels again and save the JSON anew"
)
DIFFERS = (
    "the prior is an earlier assessment of predictions that look different: {differences}; if another model made them, its labels "
    "say little about this one: use {calibrated}, or count them for less ({discount})"
)
CONTRADICTED = (
    "the new labels contradict the earlier assessment that is the prior: {figure}; chance alone does that less than once in {rarely:,} times; "
    "model or data have changed, so use {calibrated}, or count the earlier labels for less ({discount})"
)
OTHER_RANGES = (
    "the scores of the earlier assessment were counted in other ranges than these: whether the same model made both is compared by "
    "classes and groups alone"
)
GROUPS_LEFT_OUT = "the earlier assessment has groups that are not here, and what it says of them is left out: {groups}"
LEFT_OUT = "the earlier assessment has {labels} in groups that are not here, and they are left out: {groups}"


@dataclass(frozen=True)
class Contradiction:
    """New labels that the earlier assessment does not expect."""

    p_value: float
    figure: str  # what came and what was expected, in words


def warn_earlier(earlier: "FromEarlier", tally: CountTable, metric: Metric) -> list[str]:
    """Warn of labels that may count twice, of what the earlier assessment lacks, and of where it does not fit."""
    same = earlier.fingerprint == digest_counts(tally) and not (
        earlier.predictions and earlier.predictions.differ(EarlierPredictions.count(tally))
    )
    words = {"calibrated": format_option("prior", "calibrated"), "discount": format_option("discount", 0.2)}
    said = [SAME_PREDICTIONS.format(**words) if same else SHARED_LABELS] if tally.n_labels.any() else []
    if earlier.lacks_labels:
        said.append(LACKS_LABELS)
    if not same:
        said += _compare_predictions(earlier, tally, words)
    said += _describe_left_out(earlier, tally)
    found = find_contradiction(np.random.default_rng(0), earlier, tally.cells(metric.splits), metric)
    if found:
        said.append(CONTRADICTED.format(figure=found.figure, rarely=int(1 / found.p_value), **words))
    return said


def _compare_predictions(earlier: "FromEarlier", tally: CountTable, words: dict[str, str]) -> list[str]:
    """Say how these predictions differ from those of the earlier assessment."""
    if earlier.predictions is None:
        return [LACKS_PREDICTIONS]
    now = EarlierPredictions.count(tally)
    differences = earlier.predictions.list_differences(now)
    said = [DIFFERS.format(differences=", ".join(differences), **words)] if differences else []
    return said if earlier.predictions.has_comparable_scores(now) else [*said, OTHER_RANGES]


def _describe_left_out(earlier: "FromEarlier", tally: CountTable) -> list[str]:
    """Say which earlier labels are of groups that these predictions lack."""
    if earlier.labels is None:
        gone = (
            [name for name, _ in earlier.predictions.groups if name not in tally.groups] if earlier.predictions else []
        )
        return [GROUPS_LEFT_OUT.format(groups=join_names([quote_name(name) for name in gone], most=6))] if gone else []
    lost: dict[str, float] = {}
    for name, n in zip(earlier.labels.group, earlier.labels.n_labels, strict=True):
        if name not in tally.groups:
            lost[name] = lost.get(name, 0.0) + n
    if not lost:
        return []
    names = join_names([quote_name(name) for name in lost], most=6)
    return [LEFT_OUT.format(labels=count(round(sum(lost.values())), "label"), groups=names)]


def find_contradiction(rng: Rng, earlier: "FromEarlier", cells: Cells, metric: Metric) -> Contradiction | None:
    """Return how the labels of these cells contradict the earlier assessment; None where they do not, or are none."""
    expected = _draw_accuracies(rng, earlier, _drop_labels(cells), metric) if cells.n_labels.any() else None
    if expected is None:
        return None
    n = np.bincount(cells.group, cells.n_labels)
    right = np.bincount(cells.group, cells.right)[n > 0]
    simulated = rng.binomial(cells.n_labels.astype(np.int64), np.clip(expected, 0.0, 1.0)).astype(np.float64)
    by_group = np.zeros((len(simulated), len(n)))
    np.add.at(by_group.T, cells.group, simulated.T)
    by_group = by_group[:, n > 0]
    mean, deviation = by_group.mean(axis=0), np.maximum(by_group.std(axis=0), EDGE)
    of_all = _find_p_value(np.abs(by_group.sum(axis=1) - mean.sum()), abs(right.sum() - mean.sum()))
    apart = _find_p_value((((by_group - mean) / deviation) ** 2).sum(axis=1), float((((right - mean) / deviation) ** 2).sum()))  # fmt: skip
    p_value = 2 * min(of_all, apart)
    if p_value >= FALSE_ALARM:
        return None
    total = n.sum()
    figure = f"{right.sum() / total:.1%} of {count(int(total), 'label')} are right, where {mean.sum() / total:.1%} were expected"  # fmt: skip
    return Contradiction(p_value, figure)


def _find_p_value(simulated: Float[np.ndarray, " draw"], observed: float) -> float:
    """Return the p-value by which labels contradict the earlier assessment: the share of simulated statistics as large."""
    return float((1 + (simulated >= observed - EDGE).sum()) / (1 + len(simulated)))


def _draw_accuracies(
    rng: Rng, earlier: "FromEarlier", blank: Cells, metric: Metric
) -> Float[np.ndarray, "draw cell"] | None:
    """Draw the accuracies of cells by the earlier assessment alone; None where it is about classes of mixed cells."""
    reads = metric.reads if earlier.labels is None else "right"
    found = earlier.learn(blank, reads, finite_pool=False)
    drawn = (found.joint or found.before).draw(rng, N_DRAWS)
    if drawn.ndim == 2:
        return np.asarray(drawn)
    if np.any(blank.predicted == NONE):
        return None
    return np.asarray(drawn[:, np.arange(blank.n), blank.predicted])


def _drop_labels(cells: Cells) -> Cells:
    """Return the same cells without labels, to check these against the earlier assessment."""
    none = np.zeros(cells.n, dtype=np.int64)
    strata = cells.strata
    if strata is not None:
        blank = np.zeros(len(strata.cell))
        strata = replace(strata, n_labels=blank.astype(np.int64), right=blank)
    return replace(
        cells, n_labels=none, right=none.astype(np.float64), labels=np.zeros_like(cells.labels), strata=strata
    )
