"""Effects of attributes on the logit of P(right): main effects of every value, and two-way interactions.

Values of an unordered attribute are exchangeable around their mean. Values of an ordered attribute follow a
Matérn-3/2 Gaussian process with a nugget. Interactions are products of main-effect columns, so they hold what main
effects leave unexplained.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import Axis
from fewlabels.data.names import MISSING
from fewlabels.models.additive.effect_priors import Kind

Block = tuple[int, ...]  # indices of the attributes of an effect
LENGTH_SCALE = 0.5  # Matérn length scale, as a share of the range of an ordered attribute
NUGGET = 0.05  # nugget: share of the variance of an ordered value that is independent of its neighbours
MIN_VARIANCE_SHARE = 1e-3  # eigenvectors with less than this share of the largest eigenvalue are dropped
MOST_TERMS = 1000  # in all, for speed
MOST_NUMBERS = 5_000_000  # arms (or items) times terms, for memory
NO_TERMS = 0  # terms of an attribute without an effect


@dataclass(frozen=True)
class Effects:
    """Design columns of every attribute value, and which pairs of attributes interact."""

    axes: tuple[Axis, ...]
    tables: tuple[Float[np.ndarray, "_value _term"], ...]  # the last row, all zero, stands for unseen values
    pairs: tuple[Block, ...]
    left_out: tuple[Block, ...]  # too many terms, or nearly one term per arm

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The attributes of every effect; each effect has its own scale."""
        return (*((i,) for i, table in enumerate(self.tables) if table.shape[1]), *self.pairs)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Whether each effect is a main effect or an interaction."""
        return tuple("main" if len(block) == 1 else "pair" for block in self.blocks)

    @cached_property
    def block(self) -> Int[np.ndarray, " term"]:
        """Index of the effect of every term."""
        return np.repeat(np.arange(len(self.blocks)), [self.count_terms(block) for block in self.blocks])

    def count_terms(self, block: Block) -> int:
        """Number of terms of an effect."""
        return int(np.prod([self.tables[axis].shape[1] for axis in block]))

    def expand(self, level: Int[np.ndarray, "arm axis"]) -> Float[np.ndarray, "arm term"]:
        """Return the design matrix of the effects in arms; level −1 stands for an unseen value."""
        parts = [self._multiply_columns(block, level) for block in self.blocks]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(level), 0))

    def _multiply_columns(self, block: Block, level: Int[np.ndarray, "arm axis"]) -> Float[np.ndarray, "arm term"]:
        """Multiply the columns of the attributes of an interaction effect."""
        first, *others = (self.tables[axis][level[:, axis]] for axis in block)
        for other in others:
            first = (first[:, :, None] * other[:, None, :]).reshape(len(level), -1)
        return first


def choose_effects(axes: tuple[Axis, ...], level: Int[np.ndarray, "arm axis"], n_rows: int = 0) -> Effects:
    """Choose the effects of attributes for these arms within the budget of terms, those with the fewest terms first.

    Pairs with more than half as many terms as arms are left out: the arms' random effects cover them. `n_rows` is the
    number of rows of a fit to single items.
    """
    effects = Effects(axes, tuple(_factor_covariance(axis) for axis in axes), (), ())
    budget = min(MOST_TERMS, MOST_NUMBERS // max(len(level), n_rows, 1))
    left_out: list[Block] = []
    for block in sorted(effects.blocks, key=effects.count_terms):
        budget -= effects.count_terms(block)
        if budget < 0:
            left_out.append(block)
    tables = tuple(table[:, : NO_TERMS if (i,) in left_out else None] for i, table in enumerate(effects.tables))
    effects = replace(effects, tables=tables)
    pairs: list[Block] = []
    candidates = [pair for pair in combinations(range(len(axes)), 2) if effects.count_terms(pair)]
    for pair in sorted(candidates, key=effects.count_terms):
        n = effects.count_terms(pair)
        fits = n <= budget and 2 * n < len(level)
        (pairs if fits else left_out).append(pair)
        budget -= n if fits else 0
    return replace(effects, pairs=tuple(sorted(pairs)), left_out=tuple(left_out))


def _factor_covariance(axis: Axis) -> Float[np.ndarray, "value term"]:
    """Factor the prior covariance of the effects of an attribute's centred values into independent terms."""
    n = len(axis.levels)
    centre = np.eye(n) - 1 / n
    spread = centre @ _correlate(axis) @ centre
    size = np.trace(spread)
    if n == 1 or size <= 0:
        return np.zeros((n + 1, NO_TERMS))
    share, term = np.linalg.eigh(spread * (n - 1) / size)
    kept = share > MIN_VARIANCE_SHARE * share[-1]
    return np.vstack([term[:, kept] * np.sqrt(share[kept]), np.zeros(kept.sum())])


def _correlate(axis: Axis) -> Float[np.ndarray, "value value"]:
    """Prior correlation of the effects of an attribute's values: Matérn-3/2 if ordered, else 0; none if missing."""
    n = len(axis.levels)
    if not axis.ordered:
        return np.eye(n)
    place = np.arange(n) / max(n - 1 - (MISSING in axis.levels), 1)
    distance = np.sqrt(3) * np.abs(place[:, None] - place) / LENGTH_SCALE
    correlation = (1 - NUGGET) * (1 + distance) * np.exp(-distance) + NUGGET * np.eye(n)
    missing = np.array([name == MISSING for name in axis.levels])
    correlation[missing[:, None] != missing] = 0.0
    return correlation
