"""Data and priors of the hierarchical logistic regression."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from fewlabels.models.logit.random_effects import RandomEffects


@dataclass(frozen=True)
class Observations:
    """Labelled outcomes of strata (items of one group with nearly the same score), sorted by group."""

    design: Float[np.ndarray, "stratum term"]
    group: Int[np.ndarray, " stratum"]
    right: Float[np.ndarray, " stratum"]
    total: Float[np.ndarray, " stratum"]

    def __post_init__(self) -> None:
        assert np.all(np.diff(self.group) >= 0), "strata must be sorted by group"


@dataclass(frozen=True)
class Model:
    """Normal priors of the curve's terms, and a half-Cauchy prior of the random effects' scale σ."""

    centre: Float[np.ndarray, " term"]
    spread: Float[np.ndarray, " term"]
    scale: float = 0.4  # of the half-Cauchy
    random_effects: RandomEffects = field(default_factory=RandomEffects)

    @property
    def start(self) -> Float[np.ndarray, " parameter"]:
        """Starting point: the prior means of the terms, and log σ at its mode."""
        return np.append(self.centre, np.log(self.scale))

    def log_prior(self, at: Float[np.ndarray, " parameter"]) -> float:
        """Log density of terms and log σ, up to a constant."""
        ratio = np.exp(at[-1]) / self.scale
        return float(-0.5 * (((at[:-1] - self.centre) / self.spread) ** 2).sum() - np.log1p(ratio**2) + at[-1])

    def gradient(self, at: Float[np.ndarray, " parameter"]) -> Float[np.ndarray, " parameter"]:
        """Gradient of the log prior."""
        square = (np.exp(at[-1]) / self.scale) ** 2
        return np.append((self.centre - at[:-1]) / self.spread**2, (1 - square) / (1 + square))

    def hessian(self, at: Float[np.ndarray, " parameter"]) -> Float[np.ndarray, "parameter parameter"]:
        """Hessian of the log prior."""
        square = (np.exp(at[-1]) / self.scale) ** 2
        return np.diag(np.append(-1 / self.spread**2, -4 * square / (1 + square) ** 2))
