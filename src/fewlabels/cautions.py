"""What the numbers do not support, in plain words: every assessment carries these with it."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from fewlabels.beliefs import Beta
from fewlabels.errors import listing
from fewlabels.inference import FEWEST, Answer
from fewlabels.labels import Tally
from fewlabels.metrics import ClassRate, Metric, ece, selection_rate

WIDE = 0.5  # an interval this wide leaves every conclusion open


@runtime_checkable
class Ranged(Protocol):
    """A row with a name, a number of labels and an interval."""

    @property
    def group(self) -> str: ...  # noqa: D102
    @property
    def n_labels(self) -> int: ...  # noqa: D102
    @property
    def low(self) -> float: ...  # noqa: D102
    @property
    def high(self) -> float: ...  # noqa: D102


def caution(
    tally: Tally, metric: Metric, answer: Answer, rows: Sequence[Ranged], *, earlier: bool = False
) -> tuple[str, ...]:
    """Return what a careful statistician would add to these numbers."""
    if metric is selection_rate:
        return ()
    n_labels = int(tally.n_labels.sum())
    if n_labels == 0:
        return ("no item is labelled: every number here is what the prior says, not what the model did",)
    return tuple(_warn(metric, answer, rows, n_labels, earlier))


def _warn(metric: Metric, answer: Answer, rows: Sequence[Ranged], n_labels: int, earlier: bool) -> list[str]:
    found = []
    blank = [row.group for row in rows if row.n_labels == 0]
    if blank:
        found.append(
            f"{len(blank):,} of {len(rows):,} groups have no label, and their numbers are the prior's: {listing(blank)}"
        )
    empty = [row.group for row, missing in zip(rows, answer.undefined, strict=True) if missing]
    if empty:
        found.append(
            f"{metric.name} is not defined in {listing(empty)}: no item there is predicted so, or truly so; it could be anything"
        )
    thin = thin_groups(rows) if metric.is_share else []
    if thin:
        found.append(
            f"too few labels to say anything about {len(thin):,}{' more' if blank else ''}: {listing(thin)} (intervals wider than {WIDE:g})"
        )
    if earlier:
        found.append(
            "the prior is an earlier assessment: right only if none of its labels is among these, or they count twice"
        )
    if _takes_its_word(answer):
        found.append(
            "the scores prior takes the model's word for groups whose labels show no mistake: if the model is overconfident, "
            "their intervals are too narrow; --prior flat does not trust it"
        )
    if leans_on_prior(answer):
        pseudo = answer.prior.strength().sum()
        found.append(
            f"the overall figure leans on the prior, which weighs as much as {pseudo:,.0f} labels in all beside {n_labels:,} real ones, "
            "and its interval may be too sure of itself; more labels or a smaller --strength lean on it less"
        )
    unsaid = _never_predicted(answer) if isinstance(metric, ClassRate) else []
    if unsaid:
        found.append(
            f"never predicted, so without a row of their own, though they count in means over classes: {listing(unsaid)}; the model finds none of them"
        )
    if metric is ece:
        found += _warn_bins(answer)
    if len(answer.draws) <= FEWEST and answer.prior.strength().size > FEWEST:
        found.append(
            f"computed from {len(answer.draws):,} draws because there are so many classes: expect errors of a few percent of an interval's width"
        )
    return found


def _never_predicted(answer: Answer) -> list[str]:
    cells = answer.cells
    if cells.by != "predicted":
        return []
    said = set(cells.predicted.tolist())
    return [name for j, name in enumerate(cells.classes) if cells.labels[:, j].any() and j not in said]


def _takes_its_word(answer: Answer) -> bool:
    """Does the prior leave less than half a mistake to groups where the labels show none?"""
    if not isinstance(answer.prior, Beta) or answer.whole is None:
        return False
    cells = answer.cells
    return bool(np.any((cells.n_labels > 0) & (cells.right == cells.n_labels) & (answer.prior.beta < 0.5)))


def leans_on_prior(answer: Answer) -> bool:
    """Is the overall figure as much the prior's as the labels'? Many cells with a weak prior each make a strong one.

    The prior's pull on a mean, in its standard errors, is about its weight over the root of the number of labels.
    """
    cells = answer.cells
    many = cells.n > 1 and bool(cells.n_labels.sum() < cells.n_items.sum())
    pull = float(answer.prior.strength().sum()) / max(float(cells.n_labels.sum()), 1.0) ** 0.5
    return many and answer.whole is None and pull > 0.5


def thin_groups(rows: Sequence[Ranged]) -> list[str]:
    """Return labelled groups about which nothing can be said yet."""
    return [row.group for row in rows if row.n_labels and row.high - row.low > WIDE]


def _warn_bins(answer: Answer) -> list[str]:
    cells = answer.cells
    unlabelled = cells.n_items[cells.n_labels == 0].sum() / cells.n_items.sum()
    if unlabelled <= 0.1:
        return []
    return [f"{unlabelled:.0%} of the items lie in score bins without a label, where calibration error is the prior's guess; fewer --bins or more labels would help"]  # fmt: skip
