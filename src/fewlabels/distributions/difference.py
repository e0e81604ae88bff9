"""The difference between two groups: exact for two Betas, from draws otherwise.

For two Betas the distribution of a − b is one integral over the quantiles of a, computed by Gauss-Legendre quadrature;
the papers draw 10,000 samples instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from scipy.special import betainc, betaincinv

from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.errors import InputError
from fewlabels.text import format_probability

PANELS, NODES, HALVINGS = 256, 16, 32
ROUNDING = 1e-9  # tolerance, so that 0.7 − 0.8 is within 0.1 despite floating point

NOT_SETTLED = "not settled"  # verdict where no region of a difference is probable enough


def require_rope(rope: float, *, is_share: bool, where: str = "") -> None:
    """Raise unless a difference can be beyond this half-width on either side; shares differ by less than 1."""
    if not rope >= 0:
        raise InputError(f"{where}rope is {rope}; it is a half-width and cannot be negative")
    if is_share and rope >= 1:
        points = f"; if {rope:g} points are meant, give {rope / 100:g}"
        raise InputError(f"{where}rope is {rope:g}, and no difference is that large{points if rope > 1 else ''}")


@runtime_checkable
class Difference(Protocol):
    """A distribution of a − b."""

    def mean(self) -> float:
        """Expected difference."""
        ...

    def below(self, x: float) -> float:
        """P(a − b < x)."""
        ...

    def above(self, x: float) -> float:
        """P(a − b > x)."""
        ...

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Equal-tailed credible interval."""
        ...


@dataclass(frozen=True)
class BetaDifference:
    """a − b for independent Betas, by quadrature: 002's human against trees, with a rope of 0.05.

    >>> human, trees = Beta(("human",), np.array([280.0]), np.array([203.0])), Beta(("trees",), np.array([351.0]), np.array([162.0]))
    >>> round(BetaDifference(human, trees).below(-0.05), 2)
    0.96
    """

    a: Beta
    b: Beta
    panels: int = PANELS

    def mean(self) -> float:
        """Expected difference: E a − E b."""
        return float(self.a.mean()[0] - self.b.mean()[0])

    def below(self, x: float) -> float:
        """P(a − b < x): the mean of one distribution function over the quantiles of the other.

        The quantiles are those of the narrower Beta, because the wider one's distribution function is smooth over them.
        """
        at, weight = self._quantiles
        if self._narrow is self.a:
            return float(weight @ (1 - betainc(self.b.alpha[0], self.b.beta[0], np.clip(at - x, 0, 1))))
        return float(weight @ betainc(self.a.alpha[0], self.a.beta[0], np.clip(at + x, 0, 1)))

    def above(self, x: float) -> float:
        """P(a − b > x); the difference is continuous, so P(a − b = x) is 0."""
        return 1 - self.below(x)

    @cached_property
    def _narrow(self) -> Beta:
        """The narrower of the two Betas, over whose quantiles the difference is integrated."""
        return self.a if self.a.variance()[0] < self.b.variance()[0] else self.b

    @cached_property
    def _quantiles(self) -> tuple[Float[np.ndarray, " node"], Float[np.ndarray, " node"]]:
        """Quantiles of the narrower Beta at the nodes of the difference's quadrature."""
        u, weight = _nodes(self.panels)
        return betaincinv(self._narrow.alpha[0], self._narrow.beta[0], u), weight

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Quantiles of the difference, by inverting `below`; widened to contain the mean."""
        return min(self._solve((1 - level) / 2), self.mean()), max(self._solve((1 + level) / 2), self.mean())

    def _solve(self, target: float) -> float:
        """Find a quantile of the difference: bisect [-1, 1] to nine digits."""
        low, high = -1.0, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.below(middle) < target else (low, middle)
        return (low + high) / 2


@dataclass(frozen=True)
class DrawnDifference:
    """a − b from joint draws of both."""

    samples: Float[np.ndarray, " draw"]

    def mean(self) -> float:
        """Average difference."""
        return float(self.samples.mean())

    def below(self, x: float) -> float:
        """Share of draws below x."""
        return float((self.samples < x - ROUNDING).mean())

    def above(self, x: float) -> float:
        """Share of draws above x."""
        return float((self.samples > x + ROUNDING).mean())

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Quantiles of the drawn difference, widened to contain the mean."""
        low, high = np.quantile(self.samples, [(1 - level) / 2, (1 + level) / 2])
        return min(float(low), self.mean()), max(float(high), self.mean())


def describe_verdict(a: str, b: str, rope: float, verdict: str, chances: Mapping[str, float], *, that: str = "") -> str:
    """Say which verdict on a difference is settled (below, equivalent, above), or the probabilities of all three.

    `that` is what `b` is called in a comparison with `a`, where it differs: "recall of x is lower than that of y".

    >>> describe_verdict("a", "b", 0.05, "above", {"below": 0.0, "equivalent": 0.03, "above": 0.97})
    'a is higher than b by more than 0.05, with probability 0.97'
    """
    than = that or b
    if verdict == NOT_SETTLED:
        below, within, above = (format_probability(chances[name]) for name in ("below", "equivalent", "above"))
        return (
            f"not settled: {a} is lower than {than} by more than {rope:g} with probability {below}, higher with {above}, "
            f"and they differ by at most {rope:g} with {within}"
        )
    words = {
        "below": f"{a} is lower than {than} by more than {rope:g}",
        "above": f"{a} is higher than {than} by more than {rope:g}",
        "equivalent": f"{a} and {b} differ by at most {rope:g}",
    }
    return f"{words[verdict]}, with probability {format_probability(chances[verdict])}"


@cache
def _nodes(panels: int) -> tuple[Float[np.ndarray, " node"], Float[np.ndarray, " node"]]:
    """Gauss-Legendre nodes for a difference, on panels of (0, 1) that narrow where quantile functions are steep."""
    x, weight = np.polynomial.legendre.leggauss(NODES)
    t = ((np.arange(panels)[:, None] + (x + 1) / 2) / panels).reshape(-1)
    return t**3 * (10 - 15 * t + 6 * t**2), np.tile(weight / 2, panels) / panels * 30 * t**2 * (1 - t) ** 2
