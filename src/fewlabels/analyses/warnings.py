"""What the numbers do not support, in plain words: every assessment carries these with it."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from fewlabels.data.counts import Tally
from fewlabels.distributions.belief import Beta
from fewlabels.errors import listing, name_option
from fewlabels.metrics.metric import ClassRate, Metric, ece, selection_rate
from fewlabels.models.draws import FEWEST
from fewlabels.models.posterior import Posterior

LONG = 50  # letters of a name, of which one reads no more than two
WIDE = 0.5  # an interval this wide leaves every conclusion open
TWICE = "the prior is an earlier assessment: right only if none of its labels is among these, or they count twice"
TRUSTED = (
    "the scores prior takes the model's word for groups whose labels show no mistake: if the model is overconfident, "
    "their intervals are too narrow; --prior flat (Python: prior=fl.flat()) does not trust it"
)


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
    tally: Tally, metric: Metric, posterior: Posterior, rows: Sequence[Ranged], *, earlier: bool = False, m: int = 1
) -> tuple[str, ...]:
    """Return what a careful statistician would add to these numbers."""
    if metric is selection_rate:
        return ()
    if not tally.n_labels.any():
        return ("no item is labelled: every number here is what the prior says, not what the model did",)
    return (
        *_name_unlabelled(rows, learned=posterior.trust is not None, scored=bool(tally.bins)),
        *_name_undefined(metric, posterior, rows, m),
        *(_name_thin(rows) if metric.is_share else ()),
        *((TWICE,) if earlier else ()),
        *((TRUSTED,) if posterior.trust is None and _takes_its_word(posterior) else ()),
        *_weigh_prior(posterior),
        *(_name_never_predicted(posterior) if isinstance(metric, ClassRate) else ()),
        *(_warn_bins(posterior) if metric is ece and posterior.trust is None else ()),
        *_count_draws(posterior),
        *_doubt_fit(posterior),
    )


def _name_unlabelled(rows: Sequence[Ranged], *, learned: bool, scored: bool) -> list[str]:
    blank = [row.group for row in rows if row.n_labels == 0]
    few = f"{len(blank):,} of {len(rows):,} groups have no label"
    hints = "other groups' labels and their own scores suggest" if scored else "other groups' labels suggest"
    whose = f"what {hints}" if learned else "the prior's"
    return [f"{few}, and their numbers are {whose}: {_name(blank)}"] if blank else []


def _name_undefined(metric: Metric, posterior: Posterior, rows: Sequence[Ranged], m: int) -> list[str]:
    empty = [row.group for row, missing in zip(rows, posterior.undefined, strict=True) if missing]
    if not empty:
        return []
    few = f"; P(worst) is left out, as m is {m} and the metric is defined in {len(rows) - len(empty):,} of the groups"
    apart = ", and takes no part in P(worst) and ranks"
    return [f"{say_undefined(metric.name, empty)}{few if m > len(rows) - len(empty) else apart}"]


def say_undefined(metric: str, groups: Sequence[str]) -> str:
    """Say in which groups a rate is undefined (0/0), and why."""
    return f"{metric} is not defined in {listing(groups)}: no item there is predicted so, or truly so; it could be anything"


def _name_thin(rows: Sequence[Ranged]) -> list[str]:
    thin = thin_groups(rows)
    more = " more" if any(row.n_labels == 0 for row in rows) else ""
    said = f"too few labels to say anything about {len(thin):,}{more}: {_name(thin)} (intervals wider than {WIDE:g})"
    return [said] if thin else []


def _name(groups: Sequence[str]) -> str:
    """Name a few groups; fewer where their names are long."""
    return listing(groups, most=6 if max(map(len, groups), default=0) <= LONG else 2)


def _weigh_prior(posterior: Posterior) -> list[str]:
    if not leans_on_prior(posterior):
        return []
    pseudo, real = posterior.prior.strength().sum(), posterior.cells.n_labels.sum()
    return [
        f"the overall figure leans on the prior, which weighs as much as {pseudo:,.0f} labels in all beside {real:,} real "
        "ones, and its interval may be too sure of itself; more labels or a smaller --strength (Python: fl.flat(strength)) lean on it less"
    ]


def _name_never_predicted(posterior: Posterior) -> list[str]:
    unsaid = _never_predicted(posterior)
    said = "never predicted, so without a row of their own, though they count in means over classes"
    return [f"{said}: {listing(unsaid)}; the model finds none of them"] if unsaid else []


def _count_draws(posterior: Posterior) -> list[str]:
    n = len(posterior.draws)
    if n > FEWEST or posterior.prior.strength().size <= FEWEST:
        return []
    return [
        f"computed from {n:,} draws because there are so many classes: expect errors of a few percent of an interval's width"
    ]


def _doubt_fit(posterior: Posterior) -> list[str]:
    """Say what the model that learned from all labels says against itself."""
    doubt = getattr(posterior.trust, "doubt", None)
    return [] if doubt is None else [doubt]


def _never_predicted(posterior: Posterior) -> list[str]:
    cells = posterior.cells
    if cells.by != "predicted":
        return []
    said = set(cells.predicted.tolist())
    return [name for j, name in enumerate(cells.classes) if cells.labels[:, j].any() and j not in said]


def _takes_its_word(posterior: Posterior) -> bool:
    """Does the prior leave less than half a mistake to groups where the labels show none?"""
    if not isinstance(posterior.prior, Beta) or posterior.cells.n != len(posterior.groups):
        return False
    cells, prior = posterior.cells, posterior.prior
    confident = (prior.beta < 0.5) & (prior.alpha > 2 * prior.beta)
    return bool(np.any((cells.n_labels > 0) & (cells.right == cells.n_labels) & confident))


def leans_on_prior(posterior: Posterior) -> bool:
    """Is the overall figure as much the prior's as the labels'? Many cells with a weak prior each make a strong one.

    The prior's pull on a mean, in its standard errors, is about its weight over the root of the number of labels. One that
    was learned from the labels of all cells has no pull of its own.
    """
    if posterior.trust is not None:
        return False
    cells = posterior.cells
    many = cells.n > 1 and bool(cells.n_labels.sum() < cells.n_items.sum())
    pull = float(posterior.prior.strength().sum()) / max(float(cells.n_labels.sum()), 1.0) ** 0.5
    return many and posterior.whole is None and pull > 0.5


def thin_groups(rows: Sequence[Ranged]) -> list[str]:
    """Return labelled groups about which nothing can be said yet."""
    return [row.group for row in rows if row.n_labels and row.high - row.low > WIDE]


def _warn_bins(posterior: Posterior) -> list[str]:
    cells = posterior.cells
    unlabelled = cells.n_items[cells.n_labels == 0].sum() / cells.n_items.sum()
    if unlabelled <= 0.1:
        return []
    return [f"{unlabelled:.0%} of the items lie in score bins without a label, where calibration error is the prior's guess; fewer {name_option('bins')} or more labels would help"]  # fmt: skip
