"""Data and priors of the hierarchical logistic regression.

The parameters are the curve's terms and two hyper-parameters of the random effects: log σ, and the logit of the share of
groups that are never right.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from fewlabels.models.logit.random_effects import RandomEffects, Spread, expit

Params = Float[np.ndarray, " parameter"]
SCALE, SCALE_DEVIATION = 0.4, 0.7  # prior median of σ, and prior standard deviation of log σ
N_HYPER = 2  # hyper-parameters behind the terms: log σ, and the logit of the share of groups that are never right
NEVER_PRIOR = (-3.5, 1.5)  # prior mean and standard deviation of the logit of the share of groups that are never right
MISCALIBRATION = (0.5, 1.5, 4.0)  # scales of miscalibration: factors of the prior standard deviations of the curve,
MISCALIBRATION_WEIGHTS = (0.3, 0.45, 0.25)  # and their prior weights


@dataclass(frozen=True)
class Outcomes:
    """Labelled outcomes of strata (items of one group with nearly the same score), sorted by group."""

    design: Float[np.ndarray, "stratum term"]
    group: Int[np.ndarray, " stratum"]
    right: Float[np.ndarray, " stratum"]
    total: Float[np.ndarray, " stratum"]

    def __post_init__(self) -> None:
        assert np.all(np.diff(self.group) >= 0), "strata must be sorted by group"


@dataclass(frozen=True)
class Observations(Outcomes):
    """Outcomes, and how unsure the scores of each stratum's group are, from 0 to 1."""

    doubt: Float[np.ndarray, " stratum"]


@dataclass(frozen=True)
class Model:
    """Priors: normal for the curve's terms, log-normal for σ, normal for the logit of the share that is never right.

    The prior standard deviations of the curve's own terms are multiplied by a scale of miscalibration, which is unknown:
    one of a few values, averaged over.
    """

    centre: Float[np.ndarray, " term"]
    spread: Float[np.ndarray, " term"]
    is_curve: Bool[np.ndarray, " term"]  # terms whose prior the scale of miscalibration widens
    scale: float = SCALE  # prior median of σ
    scale_deviation: float = SCALE_DEVIATION
    miscalibration: tuple[float, ...] = MISCALIBRATION
    miscalibration_weights: tuple[float, ...] = MISCALIBRATION_WEIGHTS
    random_effects: RandomEffects = field(default_factory=RandomEffects)

    @property
    def start(self) -> Params:
        """Starting point: the prior means of the terms, log σ at its mode, and the prior mean of the share's logit."""
        return np.concatenate([self.centre, [np.log(self.scale), NEVER_PRIOR[0]]])

    @property
    def hyper_priors(self) -> tuple[object, ...]:
        """Everything but the terms' priors."""
        return self.scale, self.scale_deviation, self.miscalibration, self.miscalibration_weights, self.random_effects

    @cached_property
    def conditionals(self) -> "tuple[Model, ...]":
        """The model given each scale of miscalibration."""
        pairs = zip(self.miscalibration, self.miscalibration_weights, strict=True)
        return tuple(
            replace(self, miscalibration=(factor,), miscalibration_weights=(weight,)) for factor, weight in pairs
        )

    def log_prior(self, at: Params) -> float:
        """Log density of the parameters, up to a constant, averaged over the scale of miscalibration."""
        ratio = (at[-2] - np.log(self.scale)) / self.scale_deviation
        hyper = -0.5 * ratio**2 - 0.5 * ((at[-1] - NEVER_PRIOR[0]) / NEVER_PRIOR[1]) ** 2
        square = ((at[:-N_HYPER] - self.centre) / self._spreads) ** 2
        densities = -0.5 * square.sum(axis=1) - np.log(self._spreads).sum(axis=1)
        densities += np.log(self.miscalibration_weights)
        highest = densities.max()
        return float(hyper + highest + np.log(np.exp(densities - highest).sum()))

    def gradient(self, at: Params) -> Params:
        """Gradient of the log prior, given the scale of miscalibration."""
        scale = (np.log(self.scale) - at[-2]) / self.scale_deviation**2
        never = (NEVER_PRIOR[0] - at[-1]) / NEVER_PRIOR[1] ** 2
        return np.concatenate([(self.centre - at[:-N_HYPER]) / self._only**2, [scale, never]])

    @property
    def hessian(self) -> Float[np.ndarray, "parameter parameter"]:
        """Hessian of the log prior, given the scale of miscalibration: the same everywhere."""
        hyper = [-(self.scale_deviation**-2), -(NEVER_PRIOR[1] ** -2)]
        return np.diag(np.concatenate([-1 / self._only**2, hyper]))

    @cached_property
    def _spreads(self) -> Float[np.ndarray, "scale term"]:
        """Prior standard deviations of the terms for each scale of miscalibration."""
        factors = np.array(self.miscalibration)[:, None]
        return self.spread * np.where(self.is_curve, factors, 1.0)

    @property
    def _only(self) -> Float[np.ndarray, " term"]:
        assert len(self._spreads) == 1, "derivatives are given one scale of miscalibration"
        return self._spreads[0]


def read_spread(at: Float[np.ndarray, "*point parameter"]) -> Spread:
    """Return the spread of the random effects at parameters."""
    if at.ndim == 1:
        return Spread(float(np.exp(at[-2])), float(expit(at[-1:])[0]))
    return Spread(np.exp(at[:, -2:-1]), expit(at[:, -1:]))
