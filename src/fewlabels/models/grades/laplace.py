"""Normal approximations of the effects at several settings of their scales, with Laplace's approximation of the evidence.

All settings are fitted at once by Newton's method; the log posterior is concave.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

MAX_STEPS, MAX_HALVINGS = 40, 12
MIN_GAIN = 1e-6  # expected gain of log density at which Newton's method stops
Terms = Float[np.ndarray, "setting term"]


@dataclass(frozen=True)
class GradeLikelihood:
    """The grades of the labelled cells, and the design matrix of their log probabilities."""

    design: Float[np.ndarray, "cell outcome term"]
    counts: Float[np.ndarray, "cell outcome"]

    def value(self, terms: Terms) -> Float[np.ndarray, " setting"]:
        """Log likelihood of the labelled cells' grades, which Laplace's approximation maximises with the prior."""
        eta = self._predict_grades(terms)
        return np.einsum("sck,ck->s", eta, self.counts) - logsumexp(eta, axis=2) @ self.counts.sum(axis=1)

    def expand(self, terms: Terms) -> tuple[Terms, Float[np.ndarray, "setting term term"]]:
        """Gradient and information (minus the Hessian) of the log likelihood of grades, for Laplace's approximation."""
        eta = self._predict_grades(terms)
        p = np.exp(eta - logsumexp(eta, axis=2, keepdims=True))
        size = self.counts.sum(axis=1)
        flat = self.design.reshape(self.counts.size, self.design.shape[2])
        gradient = (self.counts - size[:, None] * p).reshape(len(terms), self.counts.size) @ flat
        mean = np.einsum("sck,ckt->sct", p, self.design, optimize=True) * np.sqrt(size)[:, None]
        weighted = (size[:, None] * p).reshape(len(terms), self.counts.size, 1) * flat
        return gradient, flat.T @ weighted - np.swapaxes(mean, 1, 2) @ mean

    def _predict_grades(self, terms: Terms) -> Float[np.ndarray, "setting cell outcome"]:
        """Return the linear predictor of every grade in the labelled cells, for Laplace's approximation."""
        c, k, t = self.design.shape
        return (terms @ self.design.reshape(c * k, t).T).reshape(len(terms), c, k)


@dataclass(frozen=True)
class NormalFits:
    """The mode, the Cholesky factor of the precision, and the log evidence at every setting of the scales."""

    mode: Terms
    root: Float[np.ndarray, "setting term term"]
    evidence: Float[np.ndarray, " setting"]


def fit_normals(
    likelihood: GradeLikelihood, mean: Float[np.ndarray, " term"], scale: Terms, start: Terms
) -> NormalFits:
    """Fit Laplace approximations of effects on grades at every setting of their scales (standard deviations)."""
    precision = scale**-2.0
    terms, value = start, _log_density(likelihood, mean, precision, start)
    for _ in range(MAX_STEPS):
        gradient, information = likelihood.expand(terms)
        gradient = gradient - precision * (terms - mean)
        step = np.linalg.solve(_add_diagonal(information, precision), gradient[:, :, None])[:, :, 0]
        if (np.einsum("st,st->s", step, gradient) < MIN_GAIN).all():
            break
        terms, value = _halve_steps(likelihood, mean, precision, terms, value, step)
    _, information = likelihood.expand(terms)
    root = np.linalg.cholesky(_add_diagonal(information, precision))
    log_determinant = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    return NormalFits(terms, root, value + np.log(precision).sum(axis=1) / 2 - log_determinant)


def _halve_steps(
    likelihood: GradeLikelihood, mean: Float[np.ndarray, " term"], precision: Terms, terms: Terms,
    value: Float[np.ndarray, " setting"], step: Terms,
) -> tuple[Terms, Float[np.ndarray, " setting"]]:  # fmt: skip
    """Halve the Newton step to Laplace's mode of the effects on grades until the log density does not fall."""
    length = np.ones((len(terms), 1))
    for _ in range(MAX_HALVINGS):
        ahead = _log_density(likelihood, mean, precision, terms + length * step)
        worse = ahead < value - 1e-9
        if not worse.any():
            break
        length[worse] /= 2
    length[worse] = 0.0
    return terms + length * step, np.where(worse, value, ahead)


def _log_density(
    likelihood: GradeLikelihood, mean: Float[np.ndarray, " term"], precision: Terms, terms: Terms
) -> Float[np.ndarray, " setting"]:
    """Log posterior density of the effects on grades, unnormalised, which Laplace's approximation is of."""
    return likelihood.value(terms) - (precision * (terms - mean) ** 2).sum(axis=1) / 2


def _add_diagonal(
    square: Float[np.ndarray, "setting term term"], diagonal: Terms
) -> Float[np.ndarray, "setting term term"]:
    """Add the prior precision to the information on grades, for Laplace's approximation at every setting."""
    out = square.copy()
    index = np.arange(out.shape[1])
    out[:, index, index] += diagonal
    return out
