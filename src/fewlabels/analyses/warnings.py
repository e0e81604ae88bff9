"""Warnings about the estimates of an assessment."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from fewlabels.data.counts import Tally
from fewlabels.distributions.belief import Beta
from fewlabels.errors import listing, name_option
from fewlabels.metrics.metric import ClassRate, Metric, ece, selection_rate
from fewlabels.models.draws import FEWEST
from fewlabels.models.posterior import Posterior

LONG = 50  # characters; of longer names only two are listed
WIDE = 0.5  # interval width from which no conclusion is possible
TWICE = "the prior is an earlier assessment: none of its labels may be among these, or they count twice"
TRUSTED = (
    "the scores prior trusts the scores in groups whose labels show no mistake: if the model is overconfident, "
    "their intervals are too narrow; --prior flat (Python: prior=fl.flat()) does not use the scores"
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
    """Return all warnings about these estimates."""
    if metric is selection_rate:
        return ()
    if not tally.n_labels.any():
        return ("no item is labelled: every number here comes from the prior alone",)
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
    hints = "other groups' labels and their own scores" if scored else "other groups' labels"
    whose = hints if learned else "the prior alone"
    return [f"{few}, and their estimates come from {whose}: {_name(blank)}"] if blank else []


def _name_undefined(metric: Metric, posterior: Posterior, rows: Sequence[Ranged], m: int) -> list[str]:
    empty = [row.group for row, missing in zip(rows, posterior.undefined, strict=True) if missing]
    if not empty:
        return []
    few = f"; P(worst) is left out, as m is {m} and the metric is defined in {len(rows) - len(empty):,} of the groups"
    apart = ", and is left out of P(worst) and ranks"
    return [f"{say_undefined(metric.name, empty)}{few if m > len(rows) - len(empty) else apart}"]


def say_undefined(metric: str, groups: Sequence[str]) -> str:
    """Return a sentence about groups where a rate is undefined (0/0)."""
    return f"{metric} is not defined in {listing(groups)}: its denominator is 0 there, so it could have any value"


def _name_thin(rows: Sequence[Ranged]) -> list[str]:
    thin = thin_groups(rows)
    more = " more" if any(row.n_labels == 0 for row in rows) else ""
    said = f"too few labels for a conclusion about {len(thin):,}{more}: {_name(thin)} (intervals wider than {WIDE:g})"
    return [said] if thin else []


def _name(groups: Sequence[str]) -> str:
    """List a few groups; fewer if their names are long."""
    return listing(groups, most=6 if max(map(len, groups), default=0) <= LONG else 2)


def _weigh_prior(posterior: Posterior) -> list[str]:
    if not leans_on_prior(posterior):
        return []
    pseudo, real = posterior.prior.strength().sum(), posterior.cells.n_labels.sum()
    return [
        f"the overall estimate depends on the prior, which counts as {pseudo:,.0f} labels in all against {real:,} real "
        "ones, and its interval may be too narrow; use more labels or a smaller --strength (Python: fl.flat(strength))"
    ]


def _name_never_predicted(posterior: Posterior) -> list[str]:
    unsaid = _never_predicted(posterior)
    said = "classes that are never predicted have no row, but count in means over classes"
    return [f"{said}: {listing(unsaid)}; their recall is 0"] if unsaid else []


def _count_draws(posterior: Posterior) -> list[str]:
    n = len(posterior.draws)
    if n > FEWEST or posterior.prior.strength().size <= FEWEST:
        return []
    return [
        f"computed from {n:,} draws because there are so many classes: expect errors of a few percent of an interval's width"
    ]


def _doubt_fit(posterior: Posterior) -> list[str]:
    """Return the misfit warning of a model fitted to all labels."""
    doubt = getattr(posterior.trust, "doubt", None)
    return [] if doubt is None else [doubt]


def _never_predicted(posterior: Posterior) -> list[str]:
    cells = posterior.cells
    if cells.by != "predicted":
        return []
    said = set(cells.predicted.tolist())
    return [name for j, name in enumerate(cells.classes) if cells.labels[:, j].any() and j not in said]


def _takes_its_word(posterior: Posterior) -> bool:
    """Whether the prior counts less than half a mistake in a group whose labels show none."""
    if not isinstance(posterior.prior, Beta) or posterior.cells.n != len(posterior.groups):
        return False
    cells, prior = posterior.cells, posterior.prior
    confident = (prior.beta < 0.5) & (prior.alpha > 2 * prior.beta)
    return bool(np.any((cells.n_labels > 0) & (cells.right == cells.n_labels) & confident))


def leans_on_prior(posterior: Posterior) -> bool:
    """Whether the prior dominates the overall estimate: weak priors of many cells add up to a strong one.

    The prior shifts the mean by about its strength over the square root of the number of labels, in standard errors.
    A prior estimated from the labels of all cells is exempt.
    """
    if posterior.trust is not None:
        return False
    cells = posterior.cells
    many = cells.n > 1 and bool(cells.n_labels.sum() < cells.n_items.sum())
    pull = float(posterior.prior.strength().sum()) / max(float(cells.n_labels.sum()), 1.0) ** 0.5
    return many and posterior.whole is None and pull > 0.5


def thin_groups(rows: Sequence[Ranged]) -> list[str]:
    """Return labelled groups whose intervals are too wide for a conclusion."""
    return [row.group for row in rows if row.n_labels and row.high - row.low > WIDE]


def _warn_bins(posterior: Posterior) -> list[str]:
    cells = posterior.cells
    unlabelled = cells.n_items[cells.n_labels == 0].sum() / cells.n_items.sum()
    if unlabelled <= 0.1:
        return []
    return [f"{unlabelled:.0%} of the items are in score bins without labels, where calibration error comes from the prior alone; use fewer {name_option('bins')} or more labels"]  # fmt: skip
