"""Estimation methods that use labels alone: the beta-binomial of the papers, and the plain frequency."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.fairness.group_metrics import (
    BalanceOfScores,
    GroupCalibrationError,
    GroupMetric,
    GroupRate,
    Masses,
    Values,
    group_or_rest,
)
from fewlabels.analyses.fairness.partial_pooling import pool_partially
from fewlabels.analyses.fairness.sample_size import RootNForecast, WidthForecast
from fewlabels.analyses.fairness.strata import Strata
from fewlabels.distributions.budgets import MIN_DRAWS
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import InputError

MIN_LABELS = 5  # labels a rate is a share of, before an interval without any prior can be a verdict


@dataclass(frozen=True)
class LabelsOnlyDraws:
    """Labelled items only: a Beta posterior for every rate, a Dirichlet for other metrics of the outcomes."""

    strata: Strata
    pseudo: float  # prior pseudo-count of either outcome
    seed: int
    n_chains: int = 0
    divergences: int = 0
    n_transitions: int = 0
    knows_labelled: ClassVar[bool] = False

    def value(self, quantity: GroupMetric, *, rest: bool = False) -> Values:
        """Draw a metric from labels alone; NaN without labels if the prior has no pseudo-counts."""
        _require_no_scores(quantity)
        parts = group_or_rest(quantity.gather(_labelled_masses(self.strata)), rest=rest)
        rng = np.random.default_rng([self.seed, rest, *quantity.name.encode()])  # the same draws on every call
        if isinstance(quantity, GroupRate):
            hits, tries = parts[0].T
            return _draw_beta(rng, hits + self.pseudo, tries - hits + self.pseudo)
        return quantity.evaluate(rng.standard_gamma(parts + self.pseudo, size=(MIN_DRAWS, *parts.shape[1:])))

    def value_pooled(self, rng: Rng, quantity: GroupMetric) -> Values:
        """Pool draws of groups from labels alone, with pseudo-counts: a few labels that agree are no certainty."""
        return pool_partially(rng, replace(self, pseudo=max(self.pseudo, 1.0)).value(quantity))

    def expect(self, quantity: GroupMetric) -> Values:
        """Draw a metric; draws from labels alone are independent, and none depends on a chain."""
        return self.value(quantity)

    def count_whole(self, rate: GroupRate) -> Float[np.ndarray, " group"]:
        """Expected number of items that a rate is a share of, with labels like those seen."""
        whole = rate.gather(_labelled_masses(self.strata))[0, :, 1]
        return whole * self.strata.size / np.maximum(self.strata.group_labels, 1)

    def count_missing_labels(self, quantity: GroupMetric, groups: Sequence[int]) -> int:
        """Without pseudo-counts, labels that all agree seem to be certain: a verdict takes a few, or the whole group."""
        if self.pseudo:
            return 0
        whole = quantity.gather(_labelled_masses(self.strata))[0]
        n = whole[:, 1] if isinstance(quantity, GroupRate) else whole.sum(axis=1)
        is_known = self.strata.group_labels == self.strata.size if self.knows_labelled else np.zeros(len(n), dtype=bool)
        missing = np.where(is_known, 0, np.maximum(MIN_LABELS - n, 0))
        return int(missing[list(groups)].sum())

    def forecast(self, draws: Float[np.ndarray, " draw"], groups: Sequence[int]) -> WidthForecast:  # noqa: ARG002
        """Forecast an interval's width, which falls with the root of labels plus pseudo-counts."""
        return RootNForecast(self.n_prior)

    @property
    def n_prior(self) -> float:
        """Labels of every group plus pseudo-counts."""
        return int(self.strata.n_labels.sum()) + 2 * self.pseudo * len(self.strata.groups)


@dataclass(frozen=True)
class FiniteLabelsOnlyDraws(LabelsOnlyDraws):
    """Draws from labels alone on exactly these items: known labels, and a Beta per group and decision."""

    knows_labelled: ClassVar[bool] = True

    def value(self, quantity: GroupMetric, *, rest: bool = False) -> Values:
        """Evaluate the metric in every draw from labels alone; NaN where a cell without labels has no prior either."""
        _require_no_scores(quantity)
        return quantity.evaluate(group_or_rest(quantity.gather(self._masses), rest=rest))

    def forecast(self, draws: Float[np.ndarray, " draw"], groups: Sequence[int]) -> WidthForecast:  # noqa: ARG002
        """Forecast an interval's width, which falls with labels and is zero when all items are labelled."""
        return RootNForecast(self.n_prior, int(self.strata.n_rest.sum()))

    @cached_property
    def _masses(self) -> Masses:
        """Draws, from labels alone, of the positives of every group and decision."""
        strata, rng = self.strata, np.random.default_rng(self.seed)
        n = 2 * len(strata.groups)
        items, rest, labels, positive = (
            np.bincount(strata.cell, weights=counts, minlength=n).astype(np.int64)
            for counts in (strata.n_items, strata.n_rest, strata.n_labels, strata.n_positive)
        )
        theta = _draw_beta(rng, positive + self.pseudo, labels - positive + self.pseudo)
        drawn = np.where(np.isnan(theta) & (rest > 0), np.nan, positive + rng.binomial(rest, np.nan_to_num(theta)))
        group, predicted = np.divmod(np.arange(n), 2)
        cells = replace(strata, group=group, predicted=predicted, score=np.full(n, np.nan), n_items=items, n_labels=labels, n_positive=positive)  # fmt: skip
        return Masses(cells, items[None].astype(np.float64), drawn)


@dataclass(frozen=True)
class LabelsOnly:
    """Labels alone: the beta-binomial of the papers, or the plain frequency without pseudo-counts."""

    name: str
    pseudo: float

    def learn(self, strata: Strata, rng: Rng, *, finite_pool: bool) -> LabelsOnlyDraws:
        """Count the labels, all that the method uses."""
        draws = FiniteLabelsOnlyDraws if finite_pool else LabelsOnlyDraws
        return draws(strata, self.pseudo, int(rng.integers(2**32)))


def _require_no_scores(quantity: GroupMetric) -> None:
    """Refuse metrics of scores for methods that use labels alone."""
    if isinstance(quantity, BalanceOfScores | GroupCalibrationError):
        raise InputError(f"{quantity.name} needs scores; choose a method that uses them, for instance calibrated")


def _labelled_masses(strata: Strata) -> Masses:
    """The labelled items of every stratum, which are all that counts for labels alone."""
    return Masses(strata, strata.n_labels[None].astype(np.float64), strata.n_positive[None].astype(np.float64))


def _draw_beta(rng: Rng, alpha: Float[np.ndarray, " group"], beta: Float[np.ndarray, " group"]) -> Values:
    """Draw from the Beta distributions that labels alone give; NaN where both parameters are zero."""
    gammas = rng.standard_gamma(np.stack([alpha, beta]), size=(MIN_DRAWS, 2, len(alpha)))
    both = gammas.sum(axis=1)
    return np.where(alpha + beta > 0, np.divide(gammas[:, 0], both, out=np.zeros_like(both), where=both > 0), np.nan)
