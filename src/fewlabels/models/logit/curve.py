"""The calibration curve that all groups share: a linear spline with two knots in the logit of the score."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit, logit, ndtri

EDGE = 1e-5  # scores are clipped to this distance from 0 and 1
INTERCEPT_PRIOR, SLOPE_PRIOR, KNOT_PRIOR = (
    (0.0, 1.0),
    (1.0, 0.5),
    (0.0, 0.5),
)  # prior mean and sd of intercept, slope and slope changes
END_PRIOR = (0.0, 2.0)  # prior mean and sd of the terms of scores of exactly 0 and 1
SCORE_GRID = np.array(
    [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999]
)  # scores
LEVEL_PRIOR = (0.0, 1.8)  # prior mean and sd of the intercept without scores: accuracy is nearly uniform


@dataclass(frozen=True)
class Point:
    """A point of the curve: the accuracy at a score, in an average group."""

    score: float
    mean: float
    low: float
    high: float


def place_knots(x: Float[np.ndarray, " stratum"], n: Int[np.ndarray, " stratum"]) -> tuple[float, ...]:
    """Place the calibration curve's knots at the terciles of the items; none where all scores are equal."""
    order = np.argsort(x)
    below = np.cumsum(n[order]) / n.sum()
    found = {float(x[order][np.searchsorted(below, share)]) for share in (1 / 3, 2 / 3)}
    return tuple(sorted(knot for knot in found if x.min() < knot < x.max()))


def spline_basis(x: Float[np.ndarray, " point"], knots: tuple[float, ...]) -> Float[np.ndarray, "point term"]:
    """Return the calibration curve's spline basis at these logits: intercept, slope, and a hinge at each knot."""
    return np.stack([np.ones(len(x)), x, *(np.maximum(x - knot, 0.0) for knot in knots)], axis=1)


def to_logit(score: Float[np.ndarray, " point"]) -> Float[np.ndarray, " point"]:
    """Return the logits of scores for the calibration curve, clipped away from 0 and 1."""
    found: Float[np.ndarray, " point"] = logit(np.clip(score, EDGE, 1 - EDGE))
    return found


@dataclass(frozen=True)
class EndScores:
    """Scores of exactly 0 or 1, whose logit is infinite.

    They are placed half-way between 0 or 1 and the nearest other score, and have an indicator term each: their accuracy is
    learned from their own labels and not extrapolated from the curve.
    """

    low: float  # logit at which scores of 0 are placed
    high: float
    scores: tuple[int, ...]  # which of 0 and 1 occur

    def to_logits(self, score: Float[np.ndarray, " point"]) -> Float[np.ndarray, " point"]:
        """Return the logits of scores on the calibration curve, those of 0 and 1 included."""
        return np.clip(to_logit(score), self.low, self.high)

    def indicators(self, score: Float[np.ndarray, " point"]) -> list[Float[np.ndarray, " point"]]:
        """Return an indicator, beside the curve, for each score of 0 and 1 that occurs."""
        return [(np.abs(score - end) <= EDGE).astype(np.float64) for end in self.scores]


def find_end_scores(score: Float[np.ndarray, " stratum"]) -> EndScores:
    """Find scores of exactly 0 and 1, and the logits at which to place them on the calibration curve.

    >>> find_end_scores(np.array([0.6, 0.9, 1.0])).to_logits(np.array([0.6, 1.0])).round(2).tolist()
    [0.41, 2.94]
    """
    inside = score[(score > EDGE) & (score < 1 - EDGE)]
    beyond = np.array([inside.min(initial=0.5) / 2, (1 + inside.max(initial=0.5)) / 2])
    low, high = to_logit(beyond).tolist()
    return EndScores(low, high, tuple(end for end in (0, 1) if np.any(np.abs(score - end) <= EDGE)))


def score_grid(low: float, high: float) -> Float[np.ndarray, " score"]:
    """Return scores at which to show a calibration curve, within the range of the scores."""
    return np.unique([low, *SCORE_GRID[(low < SCORE_GRID) & (high > SCORE_GRID)], high])


def evaluate_curve(
    scores: Float[np.ndarray, " score"],
    design: Float[np.ndarray, "score first_term"],
    terms: Float[np.ndarray, " term"],
    covariance: Float[np.ndarray, "term term"],
    level: float,
) -> tuple[Point, ...]:
    """Return the calibration curve at these scores, with intervals; the design holds the first of the fitted terms."""
    k = design.shape[1]
    middle = design @ terms[:k]
    reach = ndtri((1 + level) / 2) * np.sqrt(np.einsum("st,tu,su->s", design, covariance[:k, :k], design))
    values = (scores, expit(middle), expit(middle - reach), expit(middle + reach))
    return tuple(Point(*map(float, row)) for row in zip(*values, strict=True))
