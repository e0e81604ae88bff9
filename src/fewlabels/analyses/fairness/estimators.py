"""Estimation methods for groups: from labels alone, or from labels and calibrated scores.

Each returns posterior draws of any metric; the calibrated ones also have chains to diagnose.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.fairness.calibration_curves import SHAPES, Curves, Shape
from fewlabels.analyses.fairness.quantities import (
    RATES,
    Balance,
    Calibration,
    Masses,
    Parts,
    Quantity,
    Rate,
    Values,
)
from fewlabels.analyses.fairness.sample_size import Forecaster, RootNForecast, WidthForecast
from fewlabels.analyses.fairness.strata import Strata, add_empty_strata, expected_unseen
from fewlabels.distributions.budgets import MIN_DRAWS, limit_draws
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import InputError
from fewlabels.models.diagnostics import diagnose
from fewlabels.models.hmc import ChainSettings, run_chains

N_CHAINS = 16
DIAGNOSED_RATES = ("accuracy", "tpr", "fpr", "ppv", "npv")  # rates whose chains must converge
MAX_DIAGNOSED = 200  # rates diagnosed between batches; all of them are diagnosed at the end
Draws = Float[np.ndarray, "draw chain parameter"]


@runtime_checkable
class Sample(Protocol):
    """Posterior draws of the strata of a pool."""

    @property
    def n_chains(self) -> int:
        """Number of chains, 0 for independent draws; draws are ordered by iteration, then chain."""
        ...

    @property
    def divergences(self) -> int:
        """Number of divergent transitions."""
        ...

    @property
    def n_transitions(self) -> int:
        """Number of transitions of all chains."""
        ...

    def value(self, quantity: Quantity, *, rest: bool = False) -> Values:
        """Draws of a metric in every group, or in the rest of the pool outside each group."""
        ...

    def expect(self, quantity: Quantity) -> Values:
        """Draws of a metric in every group as far as they depend on the chains."""
        ...

    def count_whole(self, rate: Rate) -> Float[np.ndarray, " group"]:
        """Expected number of items in each group that a rate is a share of."""
        ...

    def forecast(self, draws: Float[np.ndarray, " draw"], groups: Sequence[int]) -> WidthForecast:
        """Forecast the width of the interval of a gap between these groups after more labels."""
        ...


@runtime_checkable
class Method(Protocol):
    """An estimation method."""

    @property
    def name(self) -> str:
        """Its name on the command line and in results."""
        ...

    def learn(self, strata: Strata, rng: Rng, *, finite_pool: bool) -> Sample:
        """Fit to the labels, and to the scores if the method uses them."""
        ...


@dataclass(frozen=True)
class StrataDraws:
    """Draws of the number of items and of positives in every stratum."""

    masses: Masses
    n_chains: int
    divergences: int
    probability: Values  # probability of the positive class in every stratum
    finite_pool: bool
    n_transitions: int

    def value(self, quantity: Quantity, *, rest: bool = False) -> Values:
        """Evaluate the metric in every draw."""
        return quantity.evaluate(_group_or_rest(quantity.gather(self.masses), rest=rest))

    def expect(self, quantity: Quantity) -> Values:
        """Evaluate the metric of expected numbers of positives: what depends on the chains, and nothing else."""
        return quantity.evaluate(quantity.gather(self._expected))

    def count_whole(self, rate: Rate) -> Float[np.ndarray, " group"]:
        """Expected number of items that a rate is a share of."""
        return rate.gather(self._expected)[:, :, 1].mean(axis=0)

    def forecast(self, draws: Float[np.ndarray, " draw"], groups: Sequence[int]) -> WidthForecast:
        """Forecast from the draws of the strata."""
        return self._forecaster.forecast(draws, groups)

    @cached_property
    def _forecaster(self) -> Forecaster:
        return Forecaster(self.masses.strata, self.probability, self.finite_pool)

    @cached_property
    def _expected(self) -> Masses:
        return expect_masses(self.masses.strata, self.probability, observed=self.finite_pool)


@dataclass(frozen=True)
class BetaDraws:
    """Labelled items only: a Beta posterior for every rate, a Dirichlet for other metrics of the outcomes."""

    strata: Strata
    pseudo: float  # prior pseudo-count of either outcome
    seed: int
    n_chains: int = 0
    divergences: int = 0
    n_transitions: int = 0

    def value(self, quantity: Quantity, *, rest: bool = False) -> Values:
        """Draw from the posterior; NaN without labels if the prior has no pseudo-counts."""
        _require_no_scores(quantity)
        parts = _group_or_rest(quantity.gather(_labelled_masses(self.strata)), rest=rest)
        rng = np.random.default_rng([self.seed, rest, *quantity.name.encode()])  # the same draws on every call
        if isinstance(quantity, Rate):
            hits, tries = parts[0].T
            return _draw_beta(rng, hits + self.pseudo, tries - hits + self.pseudo)
        return quantity.evaluate(rng.standard_gamma(parts + self.pseudo, size=(MIN_DRAWS, *parts.shape[1:])))

    def expect(self, quantity: Quantity) -> Values:
        """Draws are independent: none depends on a chain."""
        return self.value(quantity)

    def count_whole(self, rate: Rate) -> Float[np.ndarray, " group"]:
        """Expected number of items that a rate is a share of, with labels like those seen."""
        whole = rate.gather(_labelled_masses(self.strata))[0, :, 1]
        return whole * self.strata.size / np.maximum(self.strata.group_labels, 1)

    def forecast(self, draws: Float[np.ndarray, " draw"], groups: Sequence[int]) -> WidthForecast:  # noqa: ARG002
        """The width falls with the root of labels plus pseudo-counts."""
        return RootNForecast(self.n_prior)

    @property
    def n_prior(self) -> float:
        """Labels plus pseudo-counts."""
        return int(self.strata.n_labels.sum()) + 2 * self.pseudo * len(self.strata.groups)


@dataclass(frozen=True)
class FiniteBetaDraws(BetaDraws):
    """The same on exactly these items: labelled ones are known, the others follow a Beta for each group and decision."""

    def value(self, quantity: Quantity, *, rest: bool = False) -> Values:
        """Evaluate the metric in every draw; NaN where a cell without labels has no prior either."""
        _require_no_scores(quantity)
        return quantity.evaluate(_group_or_rest(quantity.gather(self._masses), rest=rest))

    def forecast(self, draws: Float[np.ndarray, " draw"], groups: Sequence[int]) -> WidthForecast:  # noqa: ARG002
        """The width falls with the root of labels plus pseudo-counts, and is zero when all are labelled."""
        return RootNForecast(self.n_prior, int(self.strata.n_rest.sum()))

    @cached_property
    def _masses(self) -> Masses:
        """Draws of the positives of every group and decision."""
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

    def learn(self, strata: Strata, rng: Rng, *, finite_pool: bool) -> BetaDraws:
        """Count the labels."""
        draws = FiniteBetaDraws if finite_pool else BetaDraws
        return draws(strata, self.pseudo, int(rng.integers(2**32)))


@dataclass(frozen=True)
class CalibratedMethod:
    """Labels and scores: hierarchical calibration curves by HMC, which predict the unlabelled items.

    Without a finite pool, `of_pool` keeps the shares of the pool, counts labelled items as they are and adds the
    probabilities of the others (000, Eq. 4.3); otherwise the shares of the population are drawn, too.
    """

    name: str
    shape: Shape
    effort: ChainSettings = field(default_factory=ChainSettings)
    curves: type[Curves] = Curves
    of_pool: bool = False

    def learn(self, strata: Strata, rng: Rng, *, finite_pool: bool) -> StrataDraws:
        """Run the chains, and draw the positives of every stratum from the curves."""
        strata = strata if finite_pool or self.of_pool else add_empty_strata(strata)
        curves = self.curves(self.shape, strata)
        kept = _Thinned(curves)
        found = run_chains(curves, curves.start(rng, N_CHAINS), rng, self.effort, kept.have_converged)
        probability = kept.probability(found.draws)
        if self.of_pool and not finite_pool:
            masses = expect_masses(strata, probability, observed=True)
        else:
            masses = _draw_masses(strata, probability, rng, finite_pool=finite_pool)
        return StrataDraws(
            masses, N_CHAINS, found.divergences, probability, finite_pool or self.of_pool, found.n_transitions
        )


@dataclass
class _Thinned:
    """Draws thinned to the budget, and the probabilities of all strata under the latest of them."""

    curves: Curves
    n_draws: int = 0
    latest: Values | None = None

    def have_converged(self, draws: Draws) -> bool:
        """Have the chains of the groups' rates converged?"""
        strata = self.curves.strata
        masses = expect_masses(strata, self.probability(draws), observed=False)
        rates = np.concatenate([RATES[name].evaluate(RATES[name].gather(masses)) for name in DIAGNOSED_RATES], axis=1)
        some = np.linspace(0, rates.shape[1] - 1, min(rates.shape[1], MAX_DIAGNOSED)).astype(int)
        return diagnose(np.nan_to_num(rates[:, some]).reshape(-1, draws.shape[1], len(some))).is_good

    def probability(self, draws: Draws) -> Float[np.ndarray, "kept stratum"]:
        """Probabilities of all strata."""
        if self.latest is None or self.n_draws != len(draws):
            kept = _thin(self.curves, draws)
            self.latest, self.n_draws = self.curves.probability(kept.reshape(-1, self.curves.n_parameters)), len(draws)
        return self.latest


def expect_masses(strata: Strata, probability: Values, *, observed: bool) -> Masses:
    """Expected positives given the curves; with `observed`, labelled items count as they are."""
    items = strata.n_items[None].astype(np.float64)
    positive = strata.n_positive + strata.n_rest * probability if observed else strata.n_items * probability
    return Masses(strata, items, positive)


def _require_no_scores(quantity: Quantity) -> None:
    if isinstance(quantity, Balance | Calibration):
        raise InputError(f"{quantity.name} needs scores; choose a method that uses them, for instance calibrated")


def _labelled_masses(strata: Strata) -> Masses:
    """The labelled items of every stratum."""
    return Masses(strata, strata.n_labels[None].astype(np.float64), strata.n_positive[None].astype(np.float64))


def _draw_beta(rng: Rng, alpha: Float[np.ndarray, " group"], beta: Float[np.ndarray, " group"]) -> Values:
    """Draw from Beta distributions; NaN where both parameters are zero."""
    gammas = rng.standard_gamma(np.stack([alpha, beta]), size=(MIN_DRAWS, 2, len(alpha)))
    both = gammas.sum(axis=1)
    return np.where(alpha + beta > 0, np.divide(gammas[:, 0], both, out=np.zeros_like(both), where=both > 0), np.nan)


def _group_or_rest(parts: Parts, *, rest: bool) -> Parts:
    """Parts of each group, or of the rest of the pool outside it."""
    return parts.sum(axis=1, keepdims=True) - parts if rest else parts


def _thin(curves: Curves, draws: Draws) -> Float[np.ndarray, "kept chain parameter"]:
    """Thin the draws to the budget."""
    n_chains = draws.shape[1]
    n = limit_draws(min(len(draws) * n_chains, MIN_DRAWS), len(curves.strata.group)) // n_chains
    return draws[np.linspace(0, len(draws) - 1, n).astype(int)]


def _draw_masses(strata: Strata, probability: Values, rng: Rng, *, finite_pool: bool) -> Masses:
    """Draw positives per stratum: binomial for the unlabelled of a finite pool; for a population, sizes are drawn too."""
    if finite_pool:
        items = strata.n_items[None].astype(np.float64)
        return Masses(strata, items, strata.n_positive + rng.binomial(strata.n_rest, probability).astype(np.float64))
    items = rng.standard_gamma(strata.n_items + expected_unseen(strata), size=probability.shape)
    return Masses(strata, items, items * probability)


def _paper(name: str, shape: str, *, pooled: bool = True) -> CalibratedMethod:
    """A method of the papers: curves without our additions."""
    return CalibratedMethod(name, Shape(SHAPES[shape], pooled, centred=False, factors=()), of_pool=True)


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        CalibratedMethod("calibrated", Shape()),
        LabelsOnly("frequency", 0.0),
        LabelsOnly("beta-binomial", 1.0),
        _paper("bc", "beta"),
        _paper("bc-llo", "llo"),
        _paper("bc-temperature", "temperature"),
        _paper("bc-apart", "beta", pooled=False),
        _paper("bc-llo-apart", "llo", pooled=False),
        _paper("bc-temperature-apart", "temperature", pooled=False),
    )
}
