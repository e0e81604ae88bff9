"""Fits of the curve, kept while they are the latest: several metrics of the same labels share one."""

from dataclasses import dataclass, fields
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from fewlabels.models.logit.laplace import LogitFit, fit
from fewlabels.models.logit.model import Model, Observations

MOST_KEPT = 4  # a fit of a thousand groups takes some megabytes


@dataclass(frozen=True, eq=False)
class Problem:
    """What a fit is made from, compared by content."""

    evidence: Observations
    model: Model
    digest: bytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def fit_once(evidence: Observations, model: Model) -> LogitFit:
    """Return the cached fit of the curve to these labels, made anew only where it is not among the latest."""
    return _fit_uncached(Problem(evidence, model, _digest(evidence, model)))


@lru_cache(maxsize=MOST_KEPT)
def _fit_uncached(problem: Problem) -> LogitFit:
    """Fit the curve anew to a problem that the cache does not hold."""
    return fit(problem.evidence, problem.model)


def _digest(evidence: Observations, model: Model) -> bytes:
    """Return a digest of the labels and the model, by which the cache compares fits."""
    digest = blake2b(repr((model.hyper_priors, evidence.design.shape)).encode())
    for array in (
        *(getattr(evidence, field.name) for field in fields(evidence)),
        model.centre,
        model.spread,
        model.is_curve,
    ):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()
