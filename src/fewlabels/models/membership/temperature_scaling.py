"""Temperature scaling of each attribute classifier, with biases per value, on items with known attributes."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import log_softmax, softmax

from fewlabels.models.membership.scores import LogScores
from fewlabels.models.membership.terms import contrast
from fewlabels.models.optimize import maximize_newton

COMMON_TEMPERATURE_PRIOR = 1.0, 0.5  # prior mean and sd of the common temperature
TEMPERATURE_SD = 0.25  # sd of the classifiers' temperatures around it
BIAS_SD = 1.0  # prior sd of a bias, in logits
ROUNDS = 6  # of coordinate ascent between single and common temperatures
MOST_STEPS, MAX_HALVINGS, TOLERANCE = 40, 20, 1e-6
Logs = Float[np.ndarray, "item level"]


@dataclass(frozen=True)
class TemperatureScaling:
    """Temperature scaling with biases: softmax(temperature · log probabilities + bias)."""

    temperature: float
    bias: Float[np.ndarray, " level"]

    def apply(self, logs: Logs) -> Logs:
        """Recalibrate probabilities by temperature scaling."""
        return np.asarray(softmax(self.temperature * logs + self.bias, axis=1))


class _TemperaturePoint(NamedTuple):
    """The log posterior at a point, its gradient, and its negative Hessian."""

    value: float
    gradient: Float[np.ndarray, " term"]
    hessian: Float[np.ndarray, "term term"]


def calibrate(
    evidence: LogScores, gold: Int[np.ndarray, "item axis"], *, biased: bool
) -> tuple[tuple[TemperatureScaling, ...], float]:
    """Calibrate attribute classifiers: the mode of temperatures (and biases, if `biased`), and the common one.

    Temperatures are partially pooled: classifiers trained alike tend to be overconfident alike.
    """
    common = COMMON_TEMPERATURE_PRIOR[0]
    for _ in range(ROUNDS):
        scales = tuple(_find_temperature(log, gold[:, k], common, biased=biased) for k, log in enumerate(evidence))
        total = (
            sum(scale.temperature for scale in scales) / TEMPERATURE_SD**2
            + COMMON_TEMPERATURE_PRIOR[0] / COMMON_TEMPERATURE_PRIOR[1] ** 2
        )
        common = total / (len(scales) / TEMPERATURE_SD**2 + COMMON_TEMPERATURE_PRIOR[1] ** -2)
    return scales, common


def _find_temperature(
    logs: Logs, known: Int[np.ndarray, " item"], common: float, *, biased: bool
) -> TemperatureScaling:
    """Find the mode of the temperatures by Newton's method; the log posterior is concave."""
    code = contrast(logs.shape[1]) if biased else np.zeros((logs.shape[1], 0))
    centre, spread = (
        np.array([first, *(rest for _ in code.T)]) for first, rest in ((common, 0.0), (TEMPERATURE_SD, BIAS_SD))
    )
    design = np.concatenate([logs[:, :, None], np.broadcast_to(code, (*logs.shape, code.shape[1]))], axis=2)
    at, _ = maximize_newton(
        lambda at: _log_posterior(design, known, at, centre, spread), centre,
        lambda view: np.linalg.solve(view.hessian, view.gradient),
        max_steps=MOST_STEPS, max_halvings=MAX_HALVINGS, min_expected_gain=TOLERANCE,
    )  # fmt: skip
    return TemperatureScaling(float(at[0]), code @ at[1:])


def _log_posterior(
    design: Float[np.ndarray, "item level term"],
    known: Int[np.ndarray, " item"],
    at: Float[np.ndarray, " term"],
    centre: Float[np.ndarray, " term"],
    spread: Float[np.ndarray, " term"],
) -> _TemperaturePoint:
    """Log posterior of temperatures and biases, its gradient, and its negative Hessian."""
    logits = design @ at
    log_chance = log_softmax(logits, axis=1)
    chance = np.exp(log_chance)
    mean = np.einsum("il,ilt->it", chance, design)
    item, off = np.arange(len(known)), (at - centre) / spread
    value = float(log_chance[item, known].sum() - off @ off / 2)
    gradient = (design[item, known] - mean).sum(axis=0) - off / spread
    hessian = np.einsum("il,ilt,ilu->tu", chance, design, design) - mean.T @ mean + np.diag(spread**-2)
    return _TemperaturePoint(value, gradient, hessian)
