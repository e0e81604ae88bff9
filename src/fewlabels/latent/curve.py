"""The curve of the score that all groups share: a line in the logit of the score that may bend twice."""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logit

EDGE = 1e-5  # scores are taken to lie at least so far from 0 and 1
HEIGHT, SLOPE, BEND = (0.0, 1.0), (1.0, 0.5), (0.0, 0.5)  # expected of the curve's terms, and how far off
LEVEL = (0.0, 1.8)  # of a curve without scores: nearly, every accuracy is as likely as another


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
