"""Strengths of systems from win rates of pairs: Bradley and Terry (1952) with a preference for what stands first.

Fitted to every draw of the win rates, in which a tie counts half, so that its intervals are those of the posterior.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

N_STEPS = 25
RIDGE = 1e-4  # in comparisons: systems that are never compared with each other have the same strength
EDGE = 1e-6


@dataclass(frozen=True)
class BradleyTerryStrengths:
    """Draws of the strength of every system, on the logistic scale, and of the advantage of the first position."""

    system: Float[np.ndarray, "draw system"]
    position: Float[np.ndarray, " draw"]

    @property
    def win_rate(self) -> Float[np.ndarray, "draw system"]:
        """The share of comparisons that a system wins against all others alike, by Bradley and Terry."""
        n = self.system.shape[1]
        beats = expit(self.system[:, :, None] - self.system[:, None, :])
        return (beats.sum(axis=2) - 0.5) / (n - 1)


def fit_strengths(
    win_rate: Float[np.ndarray, "draw pair"],
    pairs: Int[np.ndarray, "pair 2"],
    weight: Float[np.ndarray, " pair"],
    n_systems: int,
) -> BradleyTerryStrengths:
    """Fit Bradley and Terry's strengths to draws of the win rates of the first of each pair, by Newton's method."""
    design = np.zeros((len(pairs), n_systems + 1))
    rows = np.arange(len(pairs))
    design[rows, pairs[:, 0]], design[rows, pairs[:, 1]], design[:, -1] = 1.0, -1.0, 1.0
    weight = weight / weight.mean()
    target = np.clip(win_rate, EDGE, 1 - EDGE)
    terms = np.zeros((len(target), n_systems + 1))
    ridge = RIDGE * np.eye(n_systems + 1)
    for _ in range(N_STEPS):
        p = expit(terms @ design.T)
        gradient = ((target - p) * weight) @ design - RIDGE * terms
        information = np.einsum("dp,pi,pj->dij", p * (1 - p) * weight, design, design, optimize=True) + ridge
        terms = terms + np.clip(np.linalg.solve(information, gradient[:, :, None])[:, :, 0], -1.0, 1.0)
    return BradleyTerryStrengths(terms[:, :-1] - terms[:, :-1].mean(axis=1, keepdims=True), terms[:, -1])
