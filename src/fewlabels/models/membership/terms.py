"""The log-linear terms of the potential: main terms of attribute values, and pairwise terms.

Values are coded by symmetric orthogonal contrasts, so a ridge penalty on terms gives every value the same prior
variance, whatever the number of values.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
from jaxtyping import Float, Int

from fewlabels.models.membership.arms import Arms

MOST_TERMS = 1_000  # of pairs; above that, only the most strongly associated pairs of attributes
Pair = tuple[int, int]


@dataclass(frozen=True)
class Terms:
    """Terms of arms: single attributes first, then pairs."""

    arms: Arms
    pairs: tuple[Pair, ...]

    @cached_property
    def contrasts(self) -> tuple[Float[np.ndarray, "_level _contrast"], ...]:
        """Contrast coding of each attribute's values."""
        return tuple(contrast(size) for size in self.arms.sizes)

    @cached_property
    def single(self) -> tuple[slice, ...]:
        """Columns of each attribute's terms."""
        return _make_slices([size - 1 for size in self.arms.sizes], 0)

    @cached_property
    def paired(self) -> tuple[slice, ...]:
        """Columns of each pair's terms."""
        sizes = self.arms.sizes
        return _make_slices([(sizes[k] - 1) * (sizes[m] - 1) for k, m in self.pairs], self.n_single)

    @property
    def n_single(self) -> int:
        """Number of single-attribute terms."""
        return sum(self.arms.sizes) - len(self.arms.sizes)

    @cached_property
    def design(self) -> Float[np.ndarray, "arm term"]:
        """Design matrix of the arms."""
        single = [code[column] for code, column in zip(self.contrasts, self.arms.table.T, strict=True)]
        paired = [(single[k][:, :, None] * single[m][:, None, :]).reshape(len(self.arms), -1) for k, m in self.pairs]
        return np.concatenate([*single, *paired], axis=1)

    def project_values(
        self, values: tuple[Float[np.ndarray, "*item _level"], ...]
    ) -> Float[np.ndarray, "*item single"]:
        """Project functions of single attributes on their terms, up to a constant."""
        parts = [v @ code * ((len(code) - 1) / len(code)) for v, code in zip(values, self.contrasts, strict=True)]
        return np.concatenate(parts, axis=-1)

    def tabulate(self, weights: Float[np.ndarray, " term"]) -> dict[Pair, Float[np.ndarray, "_level _other"]]:
        """Contribution of each pair of values to the potential."""
        return {
            (k, m): self.contrasts[k] @ weights[where].reshape(self.arms.sizes[k] - 1, -1) @ self.contrasts[m].T
            for (k, m), where in zip(self.pairs, self.paired, strict=True)
        }


def contrast(size: int) -> Float[np.ndarray, "level contrast"]:
    """Contrast coding of an attribute's main terms: orthogonal to the constant and each other, with rows of length 1.

    >>> contrast(2).round(3).tolist()
    [[1.0], [-1.0]]
    """
    column = np.arange(1, size)
    steps = np.triu(np.ones((size, size - 1))) - np.diag(column.astype(np.float64), -1)[:, : size - 1]
    return steps * np.sqrt(size / (column * (column + 1) * max(size - 1, 1)))


def choose_pairs(sizes: tuple[int, ...], guesses: Int[np.ndarray, "item axis"]) -> tuple[Pair, ...]:
    """Choose the pairwise terms: all pairs of attributes, or the most strongly associated ones in predictions."""
    pairs = [(k, m) for k, m in combinations(range(len(sizes)), 2) if sizes[k] > 1 and sizes[m] > 1]
    n_terms = {pair: (sizes[pair[0]] - 1) * (sizes[pair[1]] - 1) for pair in pairs}
    if sum(n_terms.values()) <= MOST_TERMS:
        return tuple(pairs)
    association = {(k, m): _chi_square(guesses[:, k], guesses[:, m]) / n_terms[k, m] for k, m in pairs}
    kept, budget = [], MOST_TERMS
    for pair in sorted(pairs, key=lambda pair: -association[pair]):
        if n_terms[pair] <= budget:
            kept.append(pair)
            budget -= n_terms[pair]
    return tuple(sorted(kept))


def _chi_square(one: Int[np.ndarray, " item"], other: Int[np.ndarray, " item"]) -> float:
    """Pearson's chi-square statistic of independence of two attributes, by which pairwise terms are chosen."""
    table = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(table, (one, other), 1.0)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(one)
    return float(((table - expected) ** 2 / np.maximum(expected, 1.0)).sum())


def _make_slices(lengths: list[int], start: int) -> tuple[slice, ...]:
    """Return the columns of the terms of each attribute or pair."""
    ends = start + np.cumsum([0, *lengths])
    return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))
