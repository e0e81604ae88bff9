"""Data and priors of the hierarchical logistic regression.

The parameters are the terms (the curve's, and those of traits that make a group likelier to be never right) and three
hyper-parameters of the random effects: log σ, and the logits of the shares of groups that are never right and of outliers.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from fewlabels.models.logit.random_effects import RandomEffects, Spread, expit

Params = Float[np.ndarray, " parameter"]
SCALE, SCALE_DEVIATION = 0.4, 0.7  # prior median of σ, and prior standard deviation of log σ
N_HYPER = 3  # hyper-parameters behind the terms: log σ, and the logits of the shares of groups that are never right
AT_SCALE, AT_NEVER, AT_OUTLIER = -3, -2, -1  # and of outliers
NEVER_PRIOR = (-4.3, 1.5)  # prior mean and standard deviation of the logit of the share of groups that are never right,
# where their traits are zero
OUTLIER_PRIOR = (-3.9, 1.2)  # the same, of the share of outliers
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
    """Outcomes, and the traits of each stratum's group that make it likelier to be never right."""

    traits: Float[np.ndarray, "stratum term"]  # zero for the curve's terms


@dataclass(frozen=True)
class Model:
    """Priors: normal for the curve's terms, log-normal for σ, normal for the logits of the shares that are never right or outliers.

    The prior standard deviations of the curve's own terms are multiplied by a scale of miscalibration, which is unknown:
    one of a few values, averaged over.
    """

    centre: Float[np.ndarray, " term"]
    spread: Float[np.ndarray, " term"]
    is_curve: Bool[np.ndarray, " term"]  # terms whose prior the scale of miscalibration widens
    has_never_right: bool = True  # can groups be never right?
    outliers: tuple[float, float] = OUTLIER_PRIOR  # prior mean and standard deviation of the logit of their share
    scale: float = SCALE  # prior median of σ
    scale_deviation: float = SCALE_DEVIATION
    miscalibration: tuple[float, ...] = MISCALIBRATION
    miscalibration_weights: tuple[float, ...] = MISCALIBRATION_WEIGHTS
    random_effects: RandomEffects = field(default_factory=RandomEffects)

    @property
    def start(self) -> Params:
        """Starting point of the logistic regression: the prior means."""
        return np.concatenate([self.centre, self._hyper_centre])

    @property
    def hyper_priors(self) -> tuple[object, ...]:
        """Everything in the model's priors but those of the terms."""
        scales = self.scale, self.scale_deviation, self.miscalibration, self.miscalibration_weights
        return *scales, self.random_effects, self.has_never_right, self.outliers

    @cached_property
    def conditionals(self) -> "tuple[Model, ...]":
        """The model given each scale of miscalibration."""
        pairs = zip(self.miscalibration, self.miscalibration_weights, strict=True)
        return tuple(
            replace(self, miscalibration=(factor,), miscalibration_weights=(weight,)) for factor, weight in pairs
        )

    def log_prior(self, at: Params) -> float:
        """Log density of the parameters, up to a constant, averaged over the scale of miscalibration."""
        hyper = -0.5 * float((((at[-N_HYPER:] - self._hyper_centre) / self._hyper_spread) ** 2).sum())
        square = ((at[:-N_HYPER] - self.centre) / self._spreads) ** 2
        densities = -0.5 * square.sum(axis=1) - np.log(self._spreads).sum(axis=1)
        densities += np.log(self.miscalibration_weights)
        highest = densities.max()
        return float(hyper + highest + np.log(np.exp(densities - highest).sum()))

    def gradient(self, at: Params) -> Params:
        """Gradient of the log prior, given the scale of miscalibration."""
        hyper = (self._hyper_centre - at[-N_HYPER:]) / self._hyper_spread**2
        return np.concatenate([(self.centre - at[:-N_HYPER]) / self._only**2, hyper])

    @property
    def hessian(self) -> Float[np.ndarray, "parameter parameter"]:
        """Hessian of the log prior, given the scale of miscalibration: the same everywhere."""
        return np.diag(np.concatenate([-1 / self._only**2, -1 / self._hyper_spread**2]))

    @cached_property
    def _hyper_centre(self) -> Float[np.ndarray, " hyper"]:
        """Prior means of the model's hyper-parameters."""
        return np.array([np.log(self.scale), NEVER_PRIOR[0], self.outliers[0]])

    @cached_property
    def _hyper_spread(self) -> Float[np.ndarray, " hyper"]:
        """Prior standard deviations of the model's hyper-parameters."""
        return np.array([self.scale_deviation, NEVER_PRIOR[1], self.outliers[1]])

    @cached_property
    def _spreads(self) -> Float[np.ndarray, "scale term"]:
        """Prior standard deviations of the terms for each scale of miscalibration."""
        factors = np.array(self.miscalibration)[:, None]
        return self.spread * np.where(self.is_curve, factors, 1.0)

    @property
    def _only(self) -> Float[np.ndarray, " term"]:
        """Prior standard deviations of the terms of a model with one scale of miscalibration."""
        assert len(self._spreads) == 1, "derivatives are given one scale of miscalibration"
        return self._spreads[0]

    def read_spread(self, at: Float[np.ndarray, "*group parameter"], traits: Float[np.ndarray, "group term"]) -> Spread:
        """Return the spread of the random effects of groups with these traits, at parameters (of all, or of each group)."""
        never = expit(np.sum(traits * at[..., :-N_HYPER], axis=1, keepdims=True) + at[..., AT_NEVER : AT_NEVER + 1])
        if at.ndim > 1:
            return Spread(np.exp(at[:, AT_SCALE, None]), never * self.has_never_right, expit(at[:, AT_OUTLIER, None]))
        return Spread(float(np.exp(at[AT_SCALE])), never * self.has_never_right, float(expit(at[AT_OUTLIER:])[0]))
