"""The choices of an assessment, and the checks that they are valid."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from fewlabels.distributions.budgets import N_DRAWS
from fewlabels.errors import InputError
from fewlabels.metrics.metric import Metric
from fewlabels.models.priors import Prior


@dataclass(frozen=True)
class AssessmentSpec:
    """All choices of an assessment: with the counts, they determine the result."""

    metric: Metric
    prior: Prior
    level: float = 0.95
    finite_pool: bool = False
    m: int = 1
    seed: int = 0
    n_draws: int = N_DRAWS

    def __post_init__(self) -> None:
        if not isinstance(self.finite_pool, bool | np.bool_):
            raise InputError(f"finite_pool is {self.finite_pool!r}; it must be True or False")
        if not isinstance(self.level, Real) or not 0 < self.level < 1:
            raise InputError(f"level is {self.level}; it must lie between 0 and 1, for instance 0.95")
        if not isinstance(self.m, Integral):
            raise InputError(f"m is {self.m!r}; it must be a whole number")
        if self.m < 1:
            raise InputError(f"m is {self.m}; it must be at least 1")
        require_seed(self.seed)
        if self.n_draws < 100:
            raise InputError(f"draws: {self.n_draws} are too few to estimate a quantile; use 1,000 or more")


def require_seed(seed: int) -> None:
    """Raise if the seed in the choices of an assessment is no whole number, or negative."""
    if not isinstance(seed, Integral):
        raise InputError(f"seed is {seed!r}; it must be a whole number")
    if seed < 0:
        raise InputError(f"seed is {seed}; it cannot be negative")
