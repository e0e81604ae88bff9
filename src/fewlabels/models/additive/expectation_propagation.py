"""Expectation propagation (Minka 2001): a normal that matches the mean and variance of each stratum's posterior.

A normal site approximates the likelihood of each stratum. A site is updated so that the approximation has the same
moments as the tilted distribution (cavity times exact likelihood). Binomial likelihoods are log-concave, so site
precisions are never negative.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fewlabels.models.logit.random_effects import expit

GRID = np.linspace(-1.0, 1.0, 81)
GRID_SDS = 6.0  # half-width of the grid, in standard deviations of the cavity
NEWTON_STEPS, MAX_STEP = 30, 3.0  # for the mode of a single stratum, and the longest step
DAMPING = 0.7  # share of a step that is taken, as all sites are updated in parallel
MIN_CAVITY_SHARE = 1e-4  # share of the precision in the cavity below which a site is not updated
PerStratum = Float[np.ndarray, " stratum"]


@dataclass(frozen=True)
class Sites:
    """Normal factors of the logits of strata: exp(shift x - precision x^2 / 2)."""

    precision: PerStratum
    shift: PerStratum

    def update(self, mean: PerStratum, variance: PerStratum, right: PerStratum, total: PerStratum) -> "Sites":
        """Update all sites by expectation propagation, given the current mean and variance of each logit."""
        cavity_precision = 1 / variance - self.precision
        is_proper = cavity_precision * variance > MIN_CAVITY_SHARE
        cavity_precision = np.where(is_proper, cavity_precision, 1.0)
        cavity_mean = (mean / variance - self.shift) / cavity_precision
        centre, spread = match_site_moments(cavity_mean, 1 / cavity_precision, right, total)
        precision = np.maximum(1 / spread - cavity_precision, 0.0)
        shift = centre * (precision + cavity_precision) - cavity_mean * cavity_precision
        return Sites(_damp(self.precision, precision, is_proper), _damp(self.shift, shift, is_proper))


def match_site_moments(
    mean: PerStratum, variance: PerStratum, right: PerStratum, total: PerStratum
) -> tuple[PerStratum, PerStratum]:
    """Return the mean and variance that expectation propagation matches: of normal times binomial, by quadrature.

    >>> centre, spread = match_site_moments(np.zeros(1), np.full(1, 4.0), np.full(1, 3.0), np.full(1, 3.0))
    >>> round(float(centre[0]), 2), round(float(spread[0]), 2)
    (2.05, 1.78)
    """
    mode, sd = _find_stratum_modes(mean, variance, right, total)
    half_width = np.arcsinh(GRID_SDS * np.sqrt(variance) / sd)
    steps = half_width[:, None] * GRID
    at = mode[:, None] + sd[:, None] * np.sinh(steps)
    log_density = right[:, None] * at - total[:, None] * np.logaddexp(0.0, at)
    log_density -= 0.5 * (at - mean[:, None]) ** 2 / variance[:, None]
    weight = np.exp(log_density - log_density.max(axis=1, keepdims=True)) * np.cosh(steps)
    weight /= weight.sum(axis=1, keepdims=True)
    centre = np.einsum("sg,sg->s", weight, at)
    return centre, np.einsum("sg,sg->s", weight, (at - centre[:, None]) ** 2)


def _find_stratum_modes(
    mean: PerStratum, variance: PerStratum, right: PerStratum, total: PerStratum
) -> tuple[PerStratum, PerStratum]:
    """Find modes of normal times binomial by Newton, and the spread there, around which propagation integrates."""
    at = mean.copy()
    for _ in range(NEWTON_STEPS):
        chance = expit(at)
        gradient = right - total * chance - (at - mean) / variance
        step = np.clip(gradient / (total * chance * (1 - chance) + 1 / variance), -MAX_STEP, MAX_STEP)
        at = at + step
        if np.abs(step).max(initial=0.0) < 1e-3:
            break
    chance = expit(at)
    return at, 1 / np.sqrt(total * chance * (1 - chance) + 1 / variance)


def _damp(before: PerStratum, after: PerStratum, is_proper: np.ndarray) -> PerStratum:
    """Damp an update of expectation propagation; sites that would not be proper stay as they are."""
    return np.where(is_proper, before + DAMPING * (after - before), before)
