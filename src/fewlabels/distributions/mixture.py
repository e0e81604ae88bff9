"""Equal-weight mixtures of beliefs (over imputed labels), and the conjugate belief that matches their moments."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fewlabels.distributions.belief import Belief, Conjugate
from fewlabels.distributions.beta_dirichlet import Beta, Dirichlet
from fewlabels.distributions.budgets import MIN_DRAWS
from fewlabels.distributions.quantiles import TINY, Array
from fewlabels.distributions.randomness import Rng


@dataclass(frozen=True)
class Mixture:
    """An equal-weight mixture of beliefs about the same groups.

    >>> sure = [Beta(("a",), np.array([a]), np.array([10 - a])) for a in (2.0, 8.0)]
    >>> Mixture(tuple(sure)).mean()
    array([0.5])
    """

    parts: tuple[Belief, ...]

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the mixture's groups, along the group axis."""
        return self.parts[0].groups

    def mean(self) -> Array:
        """Mean of the mixture: the average over its parts."""
        return np.mean([part.mean() for part in self.parts], axis=0)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Quantiles of draws from the mixture."""
        draws = self.draw(np.random.default_rng(0), MIN_DRAWS)
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    def draw(self, rng: Rng, n: int) -> Array:
        """Draw a part, then all groups jointly from that part."""
        sizes = rng.multinomial(n, np.full(len(self.parts), 1 / len(self.parts)))
        draws = [part.draw(rng, size) for part, size in zip(self.parts, sizes.tolist(), strict=True) if size]
        return rng.permutation(np.concatenate(draws))


def match_moments(parts: Sequence[Conjugate]) -> Conjugate:
    """Return the conjugate belief with a mixture's mean and variance; a Dirichlet matches the summed variance.

    >>> one = match_moments([Beta(("a",), np.array([a]), np.array([10 - a])) for a in (2.0, 8.0)])
    >>> one.mean(), bool(one.strength()[0] < 10)
    (array([0.5]), True)
    """
    means = np.array([part.mean() for part in parts])
    mean = means.mean(axis=0)
    variance = np.array([part.variance() for part in parts]).mean(axis=0) + means.var(axis=0)
    first = parts[0]
    if isinstance(first, Beta):
        strength = _matching_strength(mean * (1 - mean), variance)
        return Beta(first.groups, mean * strength, (1 - mean) * strength)
    assert isinstance(first, Dirichlet)
    return Dirichlet(
        first.groups, mean * _matching_strength((mean * (1 - mean)).sum(axis=1), variance.sum(axis=1))[:, None]
    )


def _matching_strength(
    spread: Float[np.ndarray, " group"], variance: Float[np.ndarray, " group"]
) -> Float[np.ndarray, " group"]:
    """Return the total pseudo-count at which a mean with this single-outcome variance has the mixture's variance."""
    return np.maximum(spread / np.maximum(variance, TINY) - 1, TINY)
