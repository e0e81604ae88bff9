"""The method with labels and calibrated scores: draws of the positives of every stratum, from calibration curves by HMC."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.fairness.calibration_curves import CalibrationCurves, CurveShape
from fewlabels.analyses.fairness.group_metrics import RATES, GroupMetric, GroupRate, Masses, Values, group_or_rest
from fewlabels.analyses.fairness.partial_pooling import pool_partially
from fewlabels.analyses.fairness.sample_size import SampleSizeForecaster, WidthForecast
from fewlabels.analyses.fairness.strata import Strata, add_empty_strata, expected_unseen
from fewlabels.distributions.budgets import MIN_DRAWS, limit_draws
from fewlabels.distributions.randomness import Rng
from fewlabels.models.diagnostics import diagnose
from fewlabels.models.hmc import ChainSettings, run_chains

N_CHAINS = 16
DIAGNOSED_RATES = ("accuracy", "tpr", "fpr", "ppv", "npv")  # rates whose chains must converge
MAX_DIAGNOSED = 200  # rates diagnosed between batches; all of them are diagnosed at the end
Draws = Float[np.ndarray, "draw chain parameter"]


@dataclass(frozen=True)
class CalibratedDraws:
    """Draws by the calibrated method of the number of items and of positives in every stratum."""

    masses: Masses
    n_chains: int
    divergences: int
    probability: Values  # probability of the positive class in every stratum
    finite_pool: bool
    n_transitions: int
    pooled: bool  # whether the curves of groups are partially pooled

    def value(self, quantity: GroupMetric, *, rest: bool = False) -> Values:
        """Evaluate the metric in every draw of the calibrated method."""
        return quantity.evaluate(group_or_rest(quantity.gather(self.masses), rest=rest))

    def value_pooled(self, rng: Rng, quantity: GroupMetric) -> Values:
        """Evaluate the metric by the calibrated method; curves that are partially pooled need no more of it, selection rates have none."""
        values = self.value(quantity)
        is_drawn = quantity == RATES["selection-rate"] and not self.finite_pool
        return values if self.pooled and not is_drawn else pool_partially(rng, values)

    def expect(self, quantity: GroupMetric) -> Values:
        """Evaluate the metric of the calibrated method's expected positives, which depend on the chains alone."""
        return quantity.evaluate(quantity.gather(self._expected))

    def count_whole(self, rate: GroupRate) -> Float[np.ndarray, " group"]:
        """Expected number of items that a rate is a share of, by the calibrated method."""
        return rate.gather(self._expected)[:, :, 1].mean(axis=0)

    def count_missing_labels(self, quantity: GroupMetric, groups: Sequence[int]) -> int:  # noqa: ARG002
        """Return 0: calibrated curves have a prior, and their intervals are wide where labels are missing."""
        return 0

    def forecast(self, draws: Float[np.ndarray, " draw"], groups: Sequence[int]) -> WidthForecast:
        """Forecast an interval's width from the calibrated method's draws of the strata."""
        return self._forecaster.forecast(draws, groups)

    @cached_property
    def _forecaster(self) -> SampleSizeForecaster:
        """The forecasts of interval widths by the calibrated method's draws."""
        return SampleSizeForecaster(self.masses.strata, self.probability, self.finite_pool)

    @cached_property
    def _expected(self) -> Masses:
        """Expected positives of every stratum under the calibrated curves."""
        return expect_masses(self.masses.strata, self.probability, observed=self.finite_pool)


@dataclass(frozen=True)
class CalibratedMethod:
    """Labels and scores: hierarchical calibration curves by HMC, which predict the unlabelled items.

    Without a finite pool, `of_pool` keeps the shares of the pool, counts labelled items as they are and adds the
    probabilities of the others (000, Eq. 4.3); otherwise the shares of the population are drawn, too.
    """

    name: str
    shape: CurveShape
    effort: ChainSettings = field(default_factory=ChainSettings)
    curves: type[CalibrationCurves] = CalibrationCurves
    of_pool: bool = False

    def learn(self, strata: Strata, rng: Rng, *, finite_pool: bool) -> CalibratedDraws:
        """Run the calibrated method's chains, and draw the positives of every stratum from the curves."""
        strata = strata if finite_pool or self.of_pool else add_empty_strata(strata)
        curves = self.curves(self.shape, strata)
        kept = _Thinned(curves)
        found = run_chains(
            curves, curves.start(rng, N_CHAINS), rng, self.effort, kept.have_converged, reflections=curves.reflections
        )
        probability = kept.probability(found.draws)
        if self.of_pool and not finite_pool:
            masses = expect_masses(strata, probability, observed=True)
        else:
            masses = _draw_masses(strata, probability, rng, finite_pool=finite_pool)
        return CalibratedDraws(
            masses, N_CHAINS, found.divergences, probability, finite_pool or self.of_pool, found.n_transitions,
            self.shape.pooled,
        )  # fmt: skip


@dataclass
class _Thinned:
    """Thinned draws of the calibrated method, and the probabilities of all strata under the latest of them."""

    curves: CalibrationCurves
    n_draws: int = 0
    latest: Values | None = None

    def have_converged(self, draws: Draws) -> bool:
        """Have the calibrated method's chains converged, by the groups' rates?"""
        strata = self.curves.strata
        masses = expect_masses(strata, self.probability(draws), observed=False)
        rates = np.concatenate([RATES[name].evaluate(RATES[name].gather(masses)) for name in DIAGNOSED_RATES], axis=1)
        some = np.linspace(0, rates.shape[1] - 1, min(rates.shape[1], MAX_DIAGNOSED)).astype(int)
        return diagnose(np.nan_to_num(rates[:, some]).reshape(-1, draws.shape[1], len(some))).is_good

    def probability(self, draws: Draws) -> Float[np.ndarray, "kept stratum"]:
        """Probabilities of all strata under the thinned draws of the calibrated curves."""
        if self.latest is None or self.n_draws != len(draws):
            kept = _thin(self.curves, draws)
            self.latest, self.n_draws = self.curves.probability(kept.reshape(-1, self.curves.n_parameters)), len(draws)
        return self.latest


def expect_masses(strata: Strata, probability: Values, *, observed: bool) -> Masses:
    """Return the expected positives given calibrated curves; with `observed`, labelled items count as they are."""
    items = strata.n_items[None].astype(np.float64)
    positive = strata.n_positive + strata.n_rest * probability if observed else strata.n_items * probability
    return Masses(strata, items, positive)


def _thin(curves: CalibrationCurves, draws: Draws) -> Float[np.ndarray, "kept chain parameter"]:
    """Thin the calibrated method's draws to the budget."""
    n_chains = draws.shape[1]
    n = limit_draws(min(len(draws) * n_chains, MIN_DRAWS), len(curves.strata.group)) // n_chains
    return draws[np.linspace(0, len(draws) - 1, n).astype(int)]


def _draw_masses(strata: Strata, probability: Values, rng: Rng, *, finite_pool: bool) -> Masses:
    """Draw positives per stratum from calibrated curves: of a finite pool's unlabelled items, or of a population."""
    if finite_pool:
        items = strata.n_items[None].astype(np.float64)
        return Masses(strata, items, strata.n_positive + rng.binomial(strata.n_rest, probability).astype(np.float64))
    items = rng.standard_gamma(strata.n_items + expected_unseen(strata), size=probability.shape)
    return Masses(strata, items, items * probability)
