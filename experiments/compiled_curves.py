"""The posterior of calibration curves, compiled: a twin of the plain one for tens of thousands of small fits.

Compiling takes longer than one fit, so the library itself does without. A test holds the two to the same values.
"""

from functools import cached_property

import numba as nb
import numpy as np

from fewlabels.analyses.fairness.calibration_curves import (
    MAX_CURVED,
    MAX_LOG_FACTOR,
    MAX_LOG_SLOPE,
    MAX_LOGIT,
    CalibrationCurves,
    helmert_expand,
)
from fewlabels.models.hmc import PerChain, Points

FIRST_STRAIGHT = 2  # part of a curve that enters as it is; those before are exponentials


class CompiledCurves(CalibrationCurves):
    """The same curves, and faster where there are few labels and groups."""

    def __call__(self, at: Points) -> tuple[PerChain, Points]:
        """Log posterior, and its slope."""
        if not self.shape.pooled:
            return super().__call__(at)
        value, slope = np.empty(len(at)), np.empty_like(at)
        _evaluate(np.ascontiguousarray(at), *self._layout, value, slope)
        return value, slope

    @cached_property
    def _layout(self) -> tuple[np.ndarray, ...]:
        """What the compiled code reads."""
        labelled = self.strata.n_labels > 0
        n = self.strata.n_labels[labelled].astype(np.float64)
        return (
            self.basis[:, labelled], self.offset, self.strata.group[labelled], n, n - self.strata.n_positive[labelled],
            np.ascontiguousarray(helmert_expand(np.eye(self.n_groups - 1)[None])[0].T), np.ascontiguousarray(self.shape.weights),
            np.array([[*term.level, *term.spread] for term in self.shape.terms]), np.array(self.shape.factors or (0.0, 0.0)),
            self.shape.n_factors,
        )  # fmt: skip


@nb.njit(cache=True, nogil=True)
def _stretch(z: float, scale: float, tail: float) -> tuple[float, float]:
    curved = min(max(z, -MAX_CURVED), MAX_CURVED)
    up = np.exp(tail * curved)
    slope = 0.5 * scale * (up + 1 / up)
    return 0.5 * scale / tail * (up - 1 / up) + slope * (z - curved), slope


@nb.njit(cache=True, nogil=True)
def _evaluate(at, basis, offset, group, n, n_negative, contrasts, weights, sizes, factors, n_factors, value, slope):  # noqa: ANN001, ANN202
    """Chain by chain: curves of groups, the likelihood, and the way back."""
    n_groups, n_parts, n_terms = len(contrasts), len(basis), len(sizes)
    shift, traced = np.empty((n_terms, n_groups)), np.empty((n_terms, 5))
    linked, gradient = np.empty((n_parts, n_groups)), np.empty((n_parts, n_groups))
    log_factors = np.zeros(2)
    for chain in range(len(at)):
        here, back = at[chain], slope[chain]
        for i in range(n_factors):
            log_factors[i] = min(max(factors[i] * here[len(here) - n_factors + i], -MAX_LOG_FACTOR), MAX_LOG_FACTOR)
        _shift(here, contrasts, sizes, np.exp(log_factors), shift, traced)
        _bend(shift, weights, linked)
        value[chain] = _compare(basis, offset, group, n, n_negative, linked, gradient) - 0.5 * (here**2).sum()
        _trace(here, contrasts, traced, weights.T @ gradient, factors, n_factors, back)


@nb.njit(cache=True, nogil=True)
def _shift(here, contrasts, sizes, common, shift, traced):  # noqa: ANN001, ANN202
    """How far each group is shifted in each term, and how that came about."""
    n_groups = len(contrasts)
    for t in range(len(sizes)):
        own = here[t * (1 + n_groups) : (t + 1) * (1 + n_groups)]
        spread, widening = _stretch(own[1], common[1] * sizes[t, 2], sizes[t, 3])
        level, rising = _stretch(own[0], common[0] * sizes[t, 0], sizes[t, 1])
        variance = (common[0] * sizes[t, 0]) ** 2
        wider = np.sqrt(1 + spread**2 / (variance * n_groups))
        traced[t] = np.array([wider * level, wider * rising, spread, widening, variance])
        for g in range(n_groups):
            shift[t, g] = wider * level
            for j in range(n_groups - 1):
                shift[t, g] += spread * contrasts[g, j] * own[2 + j]


@nb.njit(cache=True, nogil=True)
def _bend(shift, weights, linked):  # noqa: ANN001, ANN202
    """Coefficients of every group."""
    for p in range(len(weights)):
        for g in range(shift.shape[1]):
            part = 0.0
            for t in range(len(shift)):
                part += weights[p, t] * shift[t, g]
            linked[p, g] = np.exp(min(part, MAX_LOG_SLOPE)) if p < FIRST_STRAIGHT else part


@nb.njit(cache=True, nogil=True)
def _compare(basis, offset, group, n, n_negative, linked, gradient):  # noqa: ANN001, ANN202
    """The likelihood, and what it pulls at the parts of each group's curve."""
    gradient[:] = 0.0
    total = 0.0
    for s in range(len(n)):
        g, logit = group[s], offset
        for p in range(len(linked)):
            logit += linked[p, g] * basis[p, s]
        logit = min(max(logit, -MAX_LOGIT), MAX_LOGIT)
        against = np.exp(-logit)
        total -= n[s] * np.log1p(against) + n_negative[s] * logit
        miss = n[s] * (against / (1 + against)) - n_negative[s]
        for p in range(len(linked)):
            gradient[p, g] += miss * basis[p, s]
    gradient[:FIRST_STRAIGHT] *= linked[:FIRST_STRAIGHT]
    return total


@nb.njit(cache=True, nogil=True)
def _trace(here, contrasts, traced, gradient, factors, n_factors, back):  # noqa: ANN001, ANN202
    """Follow what pulls at shifts back to the parameters."""
    n_groups = len(contrasts)
    back[:] = -here
    for t in range(len(traced)):
        own = t * (1 + n_groups)
        level, rising, spread, widening, variance = traced[t]
        together = gradient[t].sum()
        back[own] += together * rising
        wider = together * level * spread / (n_groups * variance + spread * spread)
        by_spread = wider
        for j in range(n_groups - 1):
            differing = 0.0
            for g in range(n_groups):
                differing += gradient[t, g] * contrasts[g, j]
            back[own + 2 + j] += spread * differing
            by_spread += differing * here[own + 2 + j]
        back[own + 1] += widening * by_spread
        if n_factors:
            back[len(back) - 2] += factors[0] * (together * level - wider * spread)
            back[len(back) - 1] += factors[1] * by_spread * spread
