"""Estimation methods for groups: from labels alone, or from labels and calibrated scores.

Each returns posterior draws of any metric; the calibrated ones also have chains to diagnose.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.fairness.calibration_curves import SHAPES, Curves, Shape
from fewlabels.analyses.fairness.rates import RATES, Masses, Parts, Quantity, Rate, Values
from fewlabels.analyses.fairness.sample_size import Forecaster, RootNForecast, WidthForecast
from fewlabels.analyses.fairness.strata import Strata, add_empty_strata, expected_unseen
from fewlabels.distributions.belief import Rng
from fewlabels.distributions.budgets import MIN_DRAWS, limit_draws
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
        """Number of chains; draws are ordered by iteration, then chain."""
        ...

    @property
    def divergences(self) -> int:
        """Number of divergent transitions."""
        ...

    def value(self, quantity: Quantity, *, rest: bool = False) -> Values:
        """Draws of a metric in every group, or in the rest of the pool outside each group."""
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

    def value(self, quantity: Quantity, *, rest: bool = False) -> Values:
        """Evaluate the metric in every draw."""
        return quantity.evaluate(_group_or_rest(quantity.gather(self.masses), rest=rest))

    def forecast(self, draws: Float[np.ndarray, " draw"], groups: Sequence[int]) -> WidthForecast:
        """Forecast from the draws of the strata."""
        return self._forecaster.forecast(draws, groups)

    @cached_property
    def _forecaster(self) -> Forecaster:
        return Forecaster(self.masses.strata, self.probability, self.finite_pool)


@dataclass(frozen=True)
class BetaDraws:
    """Labelled items only: a Beta posterior for every rate."""

    strata: Strata
    pseudo: float  # prior pseudo-count of either outcome
    seed: int
    n_chains: int = 1
    divergences: int = 0

    def value(self, quantity: Quantity, *, rest: bool = False) -> Values:
        """Draw from the Beta posterior; NaN without labels if the prior has no pseudo-counts."""
        if not isinstance(quantity, Rate):
            raise InputError(f"{quantity.name} needs scores; choose a method that uses them, for instance calibrated")
        strata = self.strata
        labelled = Masses(strata, strata.n_labels[None].astype(np.float64), strata.n_positive[None].astype(np.float64))
        hits, tries = _group_or_rest(quantity.gather(labelled), rest=rest)[0].T
        alpha, beta = hits + self.pseudo, tries - hits + self.pseudo
        known = alpha + beta > 0
        rng = np.random.default_rng([self.seed, rest, *quantity.name.encode()])  # the same draws on every call
        gammas = rng.standard_gamma(np.stack([alpha, beta]), size=(MIN_DRAWS, 2, len(hits)))
        both = gammas.sum(axis=1)
        return np.where(known, np.divide(gammas[:, 0], both, out=np.zeros_like(both), where=both > 0), np.nan)

    def forecast(self, draws: Float[np.ndarray, " draw"], groups: Sequence[int]) -> WidthForecast:  # noqa: ARG002
        """The width falls with the root of labels plus pseudo-counts."""
        return RootNForecast(int(self.strata.n_labels.sum()) + 2 * self.pseudo * len(self.strata.groups))


@dataclass(frozen=True)
class LabelsOnly:
    """Labels alone: the beta-binomial of the papers, or the plain frequency without pseudo-counts."""

    name: str
    pseudo: float

    def learn(self, strata: Strata, rng: Rng, *, finite_pool: bool) -> BetaDraws:  # noqa: ARG002
        """Count the labels."""
        return BetaDraws(strata, self.pseudo, int(rng.integers(2**32)))


@dataclass(frozen=True)
class CalibratedMethod:
    """Labels and scores: hierarchical calibration curves by HMC, which predict the unlabelled items."""

    name: str
    shape: Shape
    effort: ChainSettings = field(default_factory=ChainSettings)
    curves: type[Curves] = Curves

    def learn(self, strata: Strata, rng: Rng, *, finite_pool: bool) -> StrataDraws:
        """Run the chains, and draw the positives of every stratum from the curves."""
        strata = strata if finite_pool else add_empty_strata(strata)
        curves = self.curves(self.shape, strata)
        found = run_chains(curves, curves.start(rng, N_CHAINS), rng, self.effort, partial(_have_converged, curves))
        probability = curves.probability(_thin(curves, found.draws).reshape(-1, curves.n_parameters))
        return StrataDraws(
            _draw_masses(strata, probability, rng, finite_pool=finite_pool),
            N_CHAINS,
            found.divergences,
            probability,
            finite_pool,
        )


def _group_or_rest(parts: Parts, *, rest: bool) -> Parts:
    """Parts of each group, or of the rest of the pool outside it."""
    return parts.sum(axis=1, keepdims=True) - parts if rest else parts


def _have_converged(curves: Curves, draws: Draws) -> bool:
    """Have the chains of the groups' rates converged?"""
    kept, strata = _thin(curves, draws), curves.strata
    items = strata.n_items[None].astype(np.float64)
    masses = Masses(strata, items, items * curves.probability(kept.reshape(-1, curves.n_parameters)))
    rates = np.concatenate([RATES[name].evaluate(RATES[name].gather(masses)) for name in DIAGNOSED_RATES], axis=1)
    some = np.linspace(0, rates.shape[1] - 1, min(rates.shape[1], MAX_DIAGNOSED)).astype(int)
    return diagnose(np.nan_to_num(rates[:, some]).reshape(*kept.shape[:2], -1)).is_good


def _thin(curves: Curves, draws: Draws) -> Draws:
    """Thin the draws to the budget."""
    n_chains = draws.shape[1]
    n = limit_draws(len(draws) * n_chains, len(curves.strata.group)) // n_chains
    return draws[np.linspace(0, len(draws) - 1, n).astype(int)]


def _draw_masses(strata: Strata, probability: Values, rng: Rng, *, finite_pool: bool) -> Masses:
    """Draw positives per stratum: binomial for the unlabelled of a finite pool; for a population, sizes are drawn too."""
    if finite_pool:
        items = strata.n_items[None].astype(np.float64)
        return Masses(strata, items, strata.n_positive + rng.binomial(strata.n_rest, probability).astype(np.float64))
    items = rng.standard_gamma(strata.n_items + expected_unseen(strata), size=probability.shape)
    return Masses(strata, items, items * probability)


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        CalibratedMethod("calibrated", Shape()),
        LabelsOnly("frequency", 0.0),
        LabelsOnly("beta-binomial", 1.0),
        CalibratedMethod("bc", Shape(SHAPES["beta"])),
        CalibratedMethod("bc-llo", Shape(SHAPES["llo"])),
        CalibratedMethod("bc-temperature", Shape(SHAPES["temperature"])),
        CalibratedMethod("bc-apart", Shape(SHAPES["beta"], pooled=False)),
        CalibratedMethod("bc-llo-apart", Shape(SHAPES["llo"], pooled=False)),
        CalibratedMethod("bc-temperature-apart", Shape(SHAPES["temperature"], pooled=False)),
    )
}
