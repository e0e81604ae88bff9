"""Forecast of interval widths after more labels, from the posterior draws.

A future label is a Bernoulli outcome of a stratum's probability, of which there are draws. The expected reduction of a
gap's variance by m random labels follows from its linear regression on these probabilities, with the noise of m outcomes.
Labels that repeat what the scores already determine reduce it little; uncertainty that no label reduces, such as that of
selection rates, stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.fairness.group_metrics import Values
from fewlabels.analyses.fairness.strata import TWO, Strata, sum_strata
from fewlabels.text import round_up_count

LEAST = 1e-12  # least variance
Draws = Float[np.ndarray, " draw"]


@runtime_checkable
class WidthForecast(Protocol):
    """The expected width of an interval after more labels."""

    def relative_width(self, n_more: int) -> float:
        """The width of an interval at a larger sample size, relative to the present one."""
        ...


@dataclass(frozen=True)
class RootNForecast:
    """Labels alone: the width is proportional to 1 / √n."""

    n: float  # labels plus prior pseudo-counts
    n_rest: int | None = None  # unlabelled items of a finite pool

    def relative_width(self, n_more: int) -> float:
        """Relative width at a larger sample size: √(n / (n + n_more)); less where much of a finite pool is labelled."""
        left = 1 - n_more / self.n_rest if self.n_rest else 1.0
        return (self.n / (self.n + n_more) * max(left, 0.0)) ** 0.5 if self.n else float(left > 0)


@dataclass(frozen=True)
class RegressionForecast:
    """Labels and scores: how much of a gap's variance future labels explain, by principal component."""

    explained: Float[np.ndarray, " component"]  # share of variance explained by infinitely many labels, per component
    worth: Float[np.ndarray, " component"]  # signal-to-noise ratio of one label, per component
    n_rest: int
    finite_pool: bool

    def relative_width(self, n_more: int) -> float:
        """Relative width at a larger sample size: root of the unexplained variance; less for a finite pool."""
        left = 1 - float((self.explained * n_more * self.worth / (1 + n_more * self.worth)).sum())
        return (max(left, 0.0) * (1 - n_more / self.n_rest if self.finite_pool else 1.0)) ** 0.5


@dataclass(frozen=True)
class SampleSizeForecaster:
    """Builds forecasts from draws of the strata's probabilities."""

    strata: Strata
    probability: Values
    finite_pool: bool

    def forecast(self, draws: Draws, groups: Sequence[int]) -> WidthForecast:
        """Forecast the width of a gap between these groups at larger sample sizes."""
        defined = ~np.isnan(draws)
        probability, share = self._gather(groups)
        probability, draws = probability[defined], draws[defined] - draws[defined].mean()
        noise = np.sqrt(np.maximum((probability * (1 - probability)).mean(axis=0), LEAST) / share)
        varying = (probability - probability.mean(axis=0)) / noise
        worth, ways = np.linalg.eigh(varying.T @ varying / len(draws))
        worth = np.maximum(worth, LEAST)
        pull = ways.T @ (varying.T @ draws) / len(draws)
        return RegressionForecast(
            pull**2 / worth / max(float(draws.var()), LEAST), worth, self.n_rest, self.finite_pool
        )

    @property
    def n_rest(self) -> int:
        """Number of unlabelled items, which a larger sample size draws from."""
        return int(self.strata.n_rest.sum())

    def _gather(self, groups: Sequence[int]) -> tuple[Values, Float[np.ndarray, " stratum"]]:
        """Return probabilities of these groups' strata and of the rest, to forecast from, with their unlabelled shares."""
        n_rest, (total, n_total) = self.strata.n_rest.astype(np.float64), self._totals
        own = np.flatnonzero(np.isin(self.strata.group, groups) & (n_rest > 0))
        weight, probability = n_rest[own, None] * np.eye(TWO)[self.strata.predicted[own]], self.probability[:, own]
        n_others = n_total - weight.sum(axis=0)
        some = n_others > 0
        others = (total - probability @ weight)[:, some] / n_others[some]
        both = np.concatenate([probability, np.clip(others, 0.0, 1.0)], axis=1)
        return both, np.append(n_rest[own], n_others[some]) / n_rest.sum()

    @cached_property
    def _totals(self) -> tuple[Values, Float[np.ndarray, " decision"]]:
        """Expected positives and number of unlabelled items by decision, which the forecast needs."""
        n_rest = self.strata.n_rest.astype(np.float64)
        return sum_strata(self.probability * n_rest, self.strata.predicted, TWO), np.bincount(
            self.strata.predicted, n_rest, TWO
        )


def count_labels(forecast: WidthForecast, wanted: float, most: int) -> int | None:
    """Estimate the sample size that shrinks a fairness gap's interval to `wanted` times its width; None if all do not.

    >>> count_labels(RootNForecast(100.0), 0.5, 1000), count_labels(RootNForecast(100.0), 0.1, 1000)
    (300, None)
    """
    if most < 1 or not forecast.relative_width(most) <= wanted:
        return None
    low, high = 0, most  # invariant: low is not enough, high is
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if forecast.relative_width(middle) <= wanted else (middle, high)
    return min(round_up_count(high), most)
