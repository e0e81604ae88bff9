"""Partial pooling of the prior's level, for the overall metric of many groups with few labels.

A prior worth two labels in each of a hundred groups is worth two hundred labels for the overall figure: it would
dominate it and make it overconfident. For the overall figure the level of the prior is therefore learned: all prior means
shift by the same amount on the logit scale, the prior strength is scaled by a common factor, and both are integrated out
given the labels of all cells. Groups keep their closed forms; only sums over groups use this joint posterior.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.special import betaln, expit, log_expit, logit, softmax

from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.distributions.randomness import Rng

WIDEST, N_SHIFTS, ROUNDS = 9.0, 31, 20
FACTORS = 2.0 ** np.arange(-1, 8)  # grid of multipliers of the prior strength
EDGE = 1e-9


@dataclass(frozen=True)
class PooledCells:
    """Posteriors of the cells for each setting of the prior's level and strength, and the weight of each setting.

    With `known` outcomes it describes the finite pool: the known items and the `rest`.
    """

    alpha: Float[np.ndarray, "setting cell"]
    beta: Float[np.ndarray, "setting cell"]
    weight: Float[np.ndarray, " setting"]
    known: Float[np.ndarray, "cell 2"] | None
    rest: Int[np.ndarray, " cell"]

    def mean(self) -> Float[np.ndarray, " cell"]:
        """Expected accuracy per partially pooled cell, averaged over settings."""
        mean = self.weight @ (self.alpha / (self.alpha + self.beta))
        return mean if self.known is None else (self.known[:, 0] + self.rest * mean) / self._size()

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell"]:
        """Joint draws under partial pooling: first a setting, then every cell."""
        setting = rng.choice(len(self.weight), size=n, p=self.weight)
        theta = rng.beta(self.alpha[setting], self.beta[setting])
        return theta if self.known is None else (self.known[:, 0] + rng.binomial(self.rest, theta)) / self._size()

    def _size(self) -> Float[np.ndarray, " cell"]:
        """Items of the pooled cells."""
        assert self.known is not None
        return self.known.sum(axis=1) + self.rest


def fit_prior_level(
    before: Beta, counts: Float[np.ndarray, "cell 2"], rest: Int[np.ndarray, " cell"], *, finite_pool: bool = False
) -> PooledCells:
    """Weigh the settings of partial pooling, the prior's level and strength, by their marginal likelihood.

    The shift has a standard logistic hyperprior (so a flat prior has a uniform level), the strength factor a log-uniform
    one. The grid of shifts is refined around its posterior.
    """
    low, high = -WIDEST, WIDEST
    for _ in range(ROUNDS):
        shifts = np.linspace(low, high, N_SHIFTS)
        found = _weigh_settings(before, counts, shifts)
        marginal = found.weight.reshape(N_SHIFTS, -1).sum(axis=1)
        centre, step = float(marginal @ shifts), float(shifts[1] - shifts[0])
        spread = float(marginal @ (shifts - centre) ** 2) ** 0.5
        if spread > 2 * step:
            break
        reach = 6 * max(spread, step)
        low, high = max(centre - reach, -WIDEST), min(centre + reach, WIDEST)
    return replace(found, known=counts if finite_pool else None, rest=rest)


def _weigh_settings(
    before: Beta, counts: Float[np.ndarray, "cell 2"], shifts: Float[np.ndarray, " shift"]
) -> PooledCells:
    """Weigh the settings of partial pooling by the marginal likelihood of the cells' counts."""
    shift, factor = (grid.reshape(-1, 1) for grid in np.meshgrid(shifts, FACTORS, indexing="ij"))
    mean = expit(logit(np.clip(before.mean(), EDGE, 1 - EDGE)) + shift)
    strength = before.strength() * factor
    alpha, beta = strength * mean + EDGE, strength * (1 - mean) + EDGE
    after_alpha, after_beta = alpha + counts[:, 0], beta + counts[:, 1]
    evidence = (betaln(after_alpha, after_beta) - betaln(alpha, beta)).sum(axis=1)
    likely = (log_expit(shift) + log_expit(-shift))[:, 0]
    return PooledCells(after_alpha, after_beta, softmax(evidence + likely), None, np.zeros(len(counts), dtype=np.int64))
