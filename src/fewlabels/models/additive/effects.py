"""What attributes do to the logit of being right: an effect of every value, and of every two values together.

Values of an unordered attribute are alike before any label: each may differ from the mean of all. Values of an ordered
one resemble their neighbours. The effect of two attributes together is what is left once each has had its own.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import Axis
from fewlabels.data.names import MISSING

Kind = Literal["main", "pair"]
Block = tuple[int, ...]  # the attributes that have an effect together
REACH = 0.5  # over how much of its range values of an ordered attribute resemble each other
JUMP = 0.05  # share of an ordered value's variance that is its own
SLIGHT = 1e-3  # parts of an effect that vary by less than this share of the largest are left out
MOST_TERMS = 1000  # in all: what a fit has time for
MOST_NUMBERS = 5_000_000  # arms, or items, times terms: what it has memory for
NOTHING = 0  # terms of an attribute without an effect


@dataclass(frozen=True)
class Effects:
    """What every value adds to every term, and which attributes act together."""

    axes: tuple[Axis, ...]
    tables: tuple[Float[np.ndarray, "_value _term"], ...]  # the last row, all zero, is of values not seen before
    pairs: tuple[Block, ...]
    left_out: tuple[Block, ...]  # what would be too many terms, or is a name for the arms themselves

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The attributes of every effect; each has a scale of its own."""
        return (*((i,) for i, table in enumerate(self.tables) if table.shape[1]), *self.pairs)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Whether an effect is of one attribute or of two."""
        return tuple("main" if len(block) == 1 else "pair" for block in self.blocks)

    @cached_property
    def block(self) -> Int[np.ndarray, " term"]:
        """The effect that every term is part of."""
        return np.repeat(np.arange(len(self.blocks)), [self.count_terms(block) for block in self.blocks])

    def count_terms(self, block: Block) -> int:
        """How many terms an effect has."""
        return int(np.prod([self.tables[axis].shape[1] for axis in block]))

    def expand(self, level: Int[np.ndarray, "arm axis"]) -> Float[np.ndarray, "arm term"]:
        """Return what goes into the logit of every arm; a value of −1 was not seen before."""
        parts = [self._multiply(block, level) for block in self.blocks]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(level), 0))

    def _multiply(self, block: Block, level: Int[np.ndarray, "arm axis"]) -> Float[np.ndarray, "arm term"]:
        first, *others = (self.tables[axis][level[:, axis]] for axis in block)
        for other in others:
            first = (first[:, :, None] * other[:, None, :]).reshape(len(level), -1)
        return first


def find_effects(axes: tuple[Axis, ...], level: Int[np.ndarray, "arm axis"], n_rows: int = 0) -> Effects:
    """Choose the effects that these arms can have, the smallest first, as long as there is room.

    A pair with nearly as many terms as there are arms says nothing that an arm's own effect does not. Where a fit looks
    at items one by one, `n_rows` says at how many.
    """
    effects = Effects(axes, tuple(_tabulate(axis) for axis in axes), (), ())
    room = min(MOST_TERMS, MOST_NUMBERS // max(len(level), n_rows, 1))
    left_out: list[Block] = []
    for block in sorted(effects.blocks, key=effects.count_terms):
        room -= effects.count_terms(block)
        if room < 0:
            left_out.append(block)
    tables = tuple(table[:, : NOTHING if (i,) in left_out else None] for i, table in enumerate(effects.tables))
    effects = replace(effects, tables=tables)
    pairs: list[Block] = []
    candidates = [pair for pair in combinations(range(len(axes)), 2) if effects.count_terms(pair)]
    for pair in sorted(candidates, key=effects.count_terms):
        n = effects.count_terms(pair)
        fits = n <= room and 2 * n < len(level)
        (pairs if fits else left_out).append(pair)
        room -= n if fits else 0
    return replace(effects, pairs=tuple(sorted(pairs)), left_out=tuple(left_out))


def _tabulate(axis: Axis) -> Float[np.ndarray, "value term"]:
    """Return independent terms whose sum varies as the values of an attribute do about their mean."""
    n = len(axis.levels)
    centre = np.eye(n) - 1 / n
    spread = centre @ _relate(axis) @ centre
    size = np.trace(spread)
    if n == 1 or size <= 0:
        return np.zeros((n + 1, NOTHING))
    share, term = np.linalg.eigh(spread * (n - 1) / size)
    kept = share > SLIGHT * share[-1]
    return np.vstack([term[:, kept] * np.sqrt(share[kept]), np.zeros(kept.sum())])


def _relate(axis: Axis) -> Float[np.ndarray, "value value"]:
    """Return how alike values are: neighbours of an ordered attribute more than others; a missing value is like none."""
    n = len(axis.levels)
    if not axis.ordered:
        return np.eye(n)
    place = np.arange(n) / max(n - 1 - (MISSING in axis.levels), 1)
    far = np.sqrt(3) * np.abs(place[:, None] - place) / REACH
    alike = (1 - JUMP) * (1 + far) * np.exp(-far) + JUMP * np.eye(n)
    missing = np.array([name == MISSING for name in axis.levels])
    alike[missing[:, None] != missing] = 0.0
    return alike
