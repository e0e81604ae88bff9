"""What we believe about the whole pool when its groups are many and their labels few.

A prior worth two labels in each of a hundred groups is worth two hundred labels about the whole: it would decide the
overall figure, and with false confidence. So for the whole, the level of the prior is learned: all prior means move by
the same amount on the logit scale, how closely cells follow them is open too, and both are integrated out given the
labels of all cells. Groups keep their own closed forms; only sums over all of them are taken over this joint belief.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.special import betaln, expit, log_expit, logit, softmax

from fewlabels.distributions.belief import Beta, Rng

WIDEST, N_SHIFTS, ROUNDS = 9.0, 31, 20
FACTORS = 2.0 ** np.arange(-1, 8)  # how many times stronger than stated the prior may turn out to be
EDGE = 1e-9


@dataclass(frozen=True)
class Levelled:
    """Beliefs about cells under every setting of the prior's level and strength, and the weight of each setting.

    With `known` outcomes it is about exactly these items: the known ones and the `rest`.
    """

    alpha: Float[np.ndarray, "setting cell"]
    beta: Float[np.ndarray, "setting cell"]
    weight: Float[np.ndarray, " setting"]
    known: Float[np.ndarray, "cell 2"] | None
    rest: Int[np.ndarray, " cell"]

    def mean(self) -> Float[np.ndarray, " cell"]:
        """Expected accuracy per cell, settings averaged."""
        mean = self.weight @ (self.alpha / (self.alpha + self.beta))
        return mean if self.known is None else (self.known[:, 0] + self.rest * mean) / self._size()

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell"]:
        """Joint draws: a setting, then every cell."""
        setting = rng.choice(len(self.weight), size=n, p=self.weight)
        theta = rng.beta(self.alpha[setting], self.beta[setting])
        return theta if self.known is None else (self.known[:, 0] + rng.binomial(self.rest, theta)) / self._size()

    def _size(self) -> Float[np.ndarray, " cell"]:
        assert self.known is not None
        return self.known.sum(axis=1) + self.rest


def learn_level(
    before: Beta, counts: Float[np.ndarray, "cell 2"], rest: Int[np.ndarray, " cell"], *, finite: bool = False
) -> Levelled:
    """Weigh every setting of the prior's level and strength by how well it foretells the labels (beta-binomial).

    Beforehand a shift is as likely as under a standard logistic (so a flat prior has a uniform level), and every
    doubling of the strength as likely as another. The grid of shifts closes in on where the labels put it.
    """
    low, high = -WIDEST, WIDEST
    for _ in range(ROUNDS):
        shifts = np.linspace(low, high, N_SHIFTS)
        found = _weigh(before, counts, shifts)
        marginal = found.weight.reshape(N_SHIFTS, -1).sum(axis=1)
        centre, step = float(marginal @ shifts), float(shifts[1] - shifts[0])
        spread = float(marginal @ (shifts - centre) ** 2) ** 0.5
        if spread > 2 * step:
            break
        reach = 6 * max(spread, step)
        low, high = max(centre - reach, -WIDEST), min(centre + reach, WIDEST)
    return replace(found, known=counts if finite else None, rest=rest)


def _weigh(before: Beta, counts: Float[np.ndarray, "cell 2"], shifts: Float[np.ndarray, " shift"]) -> Levelled:
    shift, factor = (grid.reshape(-1, 1) for grid in np.meshgrid(shifts, FACTORS, indexing="ij"))
    mean = expit(logit(np.clip(before.mean(), EDGE, 1 - EDGE)) + shift)
    strength = before.strength() * factor
    alpha, beta = strength * mean + EDGE, strength * (1 - mean) + EDGE
    after_alpha, after_beta = alpha + counts[:, 0], beta + counts[:, 1]
    evidence = (betaln(after_alpha, after_beta) - betaln(alpha, beta)).sum(axis=1)
    likely = (log_expit(shift) + log_expit(-shift))[:, 0]
    return Levelled(after_alpha, after_beta, softmax(evidence + likely), None, np.zeros(len(counts), dtype=np.int64))
