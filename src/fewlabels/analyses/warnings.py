"""Warnings about the estimates of an assessment."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from fewlabels.analyses.earlier_check import warn_earlier
from fewlabels.data.counts import CountTable
from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.distributions.budgets import MIN_DRAWS
from fewlabels.errors import choose_words, count, format_option, join_names
from fewlabels.metrics.metric import ClassRate, Metric, ece, selection_rate
from fewlabels.models.posterior import Posterior
from fewlabels.text import format_share

LARGE_SHARE = 0.1  # of the items in groups without labels, from which the overall figure is said to rest on them
if TYPE_CHECKING:
    from fewlabels.models.earlier import FromEarlier

LONG_NAME = 50  # characters; of longer names only two are listed
WIDE = 0.5  # interval width from which no conclusion is possible
SCORES_TRUSTED = (
    "the scores prior trusts the scores in groups whose labels show no mistake: if the model is overconfident, "
    "their intervals are too narrow; {flat} does not use the scores"
)


@runtime_checkable
class HasInterval(Protocol):
    """A row with a name, a number of labels and an interval."""

    @property
    def group(self) -> str:
        """Name of the group that a warning may name."""
        ...

    @property
    def share(self) -> float:
        """Share of the items, by which warnings weigh groups."""
        ...

    @property
    def n_labels(self) -> int:
        """Labels of the group, which a warning may count."""
        ...

    @property
    def low(self) -> float:
        """Lower end of the interval that may be too wide."""
        ...

    @property
    def high(self) -> float:
        """Upper end of the interval that may be too wide."""
        ...


def collect_warnings(
    tally: CountTable,
    metric: Metric,
    posterior: Posterior,
    rows: Sequence[HasInterval],
    *,
    earlier: "FromEarlier | None" = None,
    m: int = 1,
) -> tuple[str, ...]:
    """Return all warnings about the estimates of an assessment."""
    if metric is selection_rate:
        return ()
    if not tally.n_labels.any():
        about = () if earlier is None else warn_earlier(earlier, tally, metric)
        return ("no item is labelled: every number here comes from the prior alone", *about)
    return (
        *_warn_unlabelled(rows, learned=posterior.trust is not None, scored=bool(tally.bins)),
        *_warn_undefined(metric, posterior, rows, m),
        *(_warn_macro(metric, tally) if isinstance(metric, ClassRate) else ()),
        *(_warn_wide(rows) if metric.is_share else ()),
        *(() if earlier is None else warn_earlier(earlier, tally, metric)),
        *(
            (SCORES_TRUSTED.format(flat=format_option("prior", "flat")),)
            if posterior.trust is None and _is_overconfident_prior(posterior)
            else ()
        ),
        *_warn_prior(posterior),
        *(_warn_never_predicted(posterior) if isinstance(metric, ClassRate) else ()),
        *(_warn_bins(posterior) if metric is ece and posterior.trust is None else ()),
        *_warn_few_draws(posterior),
        *_warn_fit(posterior),
    )


def _warn_unlabelled(rows: Sequence[HasInterval], *, learned: bool, scored: bool) -> list[str]:
    """Warn of an assessment's groups without labels."""
    blank = [row.group for row in rows if row.n_labels == 0]
    few = f"{len(blank):,} of {len(rows):,} groups have no label"
    hints = "other groups' labels and their own scores" if scored else "other groups' labels"
    whose = hints if learned else "the prior alone"
    share = sum(row.share for row in rows if row.n_labels == 0)
    large = f"; the overall figure rests on them for {format_share(share)} of the items" if share >= LARGE_SHARE else ""
    return [f"{few}, and their estimates come from {whose}: {_name_few_groups(blank)}{large}"] if blank else []


def _warn_macro(metric: ClassRate, tally: CountTable) -> list[str]:
    """Warn of an assessment's macro averages of two classes, which many tools do not mean by these words."""
    if tally.by == "predicted" or not metric.is_macro_average or metric.only_true_classes or len(tally.classes) != 2:
        return []
    alone = choose_words("--by predicted", 'by="predicted"')
    return [
        f"{metric.name} is the mean over both classes (macro average), whatever the positive class is; {alone} shows each class"
    ]


def _warn_undefined(metric: Metric, posterior: Posterior, rows: Sequence[HasInterval], m: int) -> list[str]:
    """Warn of an assessment's groups whose metric is undefined."""
    empty = [row.group for row, missing in zip(rows, posterior.undefined, strict=True) if missing]
    if not empty:
        return []
    few = f"; P(worst) is left out, as m is {m} and the metric is defined in {len(rows) - len(empty):,} of the groups"
    apart = ", and is left out of P(worst) and ranks"
    return [f"{describe_undefined(metric.name, empty)}{few if m > len(rows) - len(empty) else apart}"]


def describe_undefined(metric: str, groups: Sequence[str]) -> str:
    """Return a warning of an estimate about groups where a rate is undefined (0/0)."""
    return f"{metric} is not defined in {join_names(groups)}: its denominator is 0 there, so it could have any value"


def _warn_wide(rows: Sequence[HasInterval]) -> list[str]:
    """Warn of an assessment's intervals that are too wide for a conclusion."""
    wide = list_wide_groups(rows)
    more = "more " if any(row.n_labels == 0 for row in rows) else ""
    which = count(len(wide), f"{more}group".strip())
    said = f"too few labels for a conclusion about {which}: {_name_few_groups(wide)} (intervals wider than {WIDE:g})"
    return [said] if wide else []


def _name_few_groups(groups: Sequence[str]) -> str:
    """List a few groups in a warning; fewer if their names are long."""
    return join_names(groups, most=6 if max(map(len, groups), default=0) <= LONG_NAME else 2)


def _warn_prior(posterior: Posterior) -> list[str]:
    """Warn of an assessment whose overall estimate depends on the prior."""
    if not is_prior_dominated(posterior):
        return []
    pseudo, real = posterior.prior.strength().sum(), posterior.cells.n_labels.sum()
    return [
        f"the overall estimate depends on the prior, which counts as {pseudo:,.0f} labels in all against {real:,} real "
        f"ones, and its interval may be too narrow; use more labels or a smaller strength ({choose_words('--strength', 'fl.flat(strength)')})"
    ]


def _warn_never_predicted(posterior: Posterior) -> list[str]:
    """Warn of an assessment's classes that are never predicted."""
    unsaid = _never_predicted(posterior)
    said = "classes that are never predicted have no row, but count in means over classes"
    return [f"{said}: {join_names(unsaid)}; their recall is 0"] if unsaid else []


def _warn_few_draws(posterior: Posterior) -> list[str]:
    """Warn of an assessment whose estimates rest on few draws."""
    n = len(posterior.draws)
    if n >= min(MIN_DRAWS, posterior.n_draws):
        return []
    return [
        f"computed from {n:,} draws instead of {MIN_DRAWS:,} because there are so many classes: expect errors of a few percent of "
        "an interval's width, and of 0.02 in P(worst)"
    ]


def _warn_fit(posterior: Posterior) -> list[str]:
    """Return the misfit warning of a model fitted to all labels."""
    warning = getattr(posterior.trust, "warning", None)
    return [] if warning is None else [warning]


def _never_predicted(posterior: Posterior) -> list[str]:
    """Return the classes to warn of, which labels have and no prediction does."""
    cells = posterior.cells
    if cells.by != "predicted":
        return []
    said = set(cells.predicted.tolist())
    return [name for j, name in enumerate(cells.classes) if cells.labels[:, j].any() and j not in said]


def _is_overconfident_prior(posterior: Posterior) -> bool:
    """Is a warning due: does the prior count less than half a mistake in a group whose labels show none?"""
    if not isinstance(posterior.prior, Beta) or posterior.cells.n != len(posterior.groups):
        return False
    cells, prior = posterior.cells, posterior.prior
    confident = (prior.beta < 0.5) & (prior.alpha > 2 * prior.beta)
    return bool(np.any((cells.n_labels > 0) & (cells.right == cells.n_labels) & confident))


def is_prior_dominated(posterior: Posterior) -> bool:
    """Whether to warn that the prior dominates: weak priors of many cells add up to a strong overall one.

    The prior shifts the mean by about its strength over the square root of the number of labels, in standard errors.
    A prior estimated from the labels of all cells, or whose level is, is exempt.
    """
    if posterior.trust is not None:
        return False
    cells = posterior.cells
    many = cells.n > 1 and bool(cells.n_labels.sum() < cells.n_items.sum())
    pull = float(posterior.prior.strength().sum()) / max(float(cells.n_labels.sum()), 1.0) ** 0.5
    return many and posterior.pooled_cells is None and not posterior.learns_level and pull > 0.5


def list_wide_groups(rows: Sequence[HasInterval]) -> list[str]:
    """Return labelled groups to warn about, whose intervals are too wide for a conclusion."""
    return [row.group for row in rows if row.n_labels and row.high - row.low > WIDE]


def _warn_bins(posterior: Posterior) -> list[str]:
    """Warn of an assessment's items in score bins without labels."""
    cells = posterior.cells
    unlabelled = cells.n_items[cells.n_labels == 0].sum() / cells.n_items.sum()
    if unlabelled <= 0.1:
        return []
    return [f"{unlabelled:.0%} of the items are in score bins without labels, where calibration error comes from the prior alone; use fewer bins ({format_option('bins')}) or more labels"]  # fmt: skip
