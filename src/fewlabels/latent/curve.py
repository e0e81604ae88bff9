"""The curve of the score that all groups share: a line in the logit of the score that may bend twice."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit, logit, ndtri

EDGE = 1e-5  # scores are taken to lie at least so far from 0 and 1
HEIGHT, SLOPE, BEND = (0.0, 1.0), (1.0, 0.5), (0.0, 0.5)  # expected of the curve's terms, and how far off
SHOWN = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999])  # scores
LEVEL = (0.0, 1.8)  # of a curve without scores: nearly, every accuracy is as likely as another


@dataclass(frozen=True)
class Point:
    """How often a score is right, in a group like the pool."""

    score: float
    mean: float
    low: float
    high: float


def place_knots(x: Float[np.ndarray, " stratum"], n: Int[np.ndarray, " stratum"]) -> tuple[float, ...]:
    """Let the curve bend where a third and two thirds of the items lie below; nowhere, where all are alike."""
    order = np.argsort(x)
    below = np.cumsum(n[order]) / n.sum()
    found = {float(x[order][np.searchsorted(below, share)]) for share in (1 / 3, 2 / 3)}
    return tuple(sorted(knot for knot in found if x.min() < knot < x.max()))


def bend(x: Float[np.ndarray, " place"], knots: tuple[float, ...]) -> Float[np.ndarray, "place term"]:
    """Return the curve's terms at these logits: level, slope, and what is added at each knot."""
    return np.stack([np.ones(len(x)), x, *(np.maximum(x - knot, 0.0) for knot in knots)], axis=1)


def to_logit(score: Float[np.ndarray, " place"]) -> Float[np.ndarray, " place"]:
    """Scores as logits; no score is taken for certainty."""
    found: Float[np.ndarray, " place"] = logit(np.clip(score, EDGE, 1 - EDGE))
    return found


def spread_scores(low: float, high: float) -> Float[np.ndarray, " score"]:
    """Return scores to show a curve at, over the range that scores have."""
    return np.unique([low, *SHOWN[(low < SHOWN) & (high > SHOWN)], high])


def trace(
    scores: Float[np.ndarray, " score"],
    knots: tuple[float, ...],
    terms: Float[np.ndarray, " term"],
    covariance: Float[np.ndarray, "term term"],
    level: float,
) -> tuple[Point, ...]:
    """Return how often scores are right; the curve's terms are the first of those that were fitted."""
    design = bend(to_logit(scores), knots)
    k = design.shape[1]
    middle = design @ terms[:k]
    reach = ndtri((1 + level) / 2) * np.sqrt(np.einsum("st,tu,su->s", design, covariance[:k, :k], design))
    values = (scores, expit(middle), expit(middle - reach), expit(middle + reach))
    return tuple(Point(*map(float, row)) for row in zip(*values, strict=True))
