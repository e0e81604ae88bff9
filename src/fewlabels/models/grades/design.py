"""The linear predictor of the log probability of every grade in every cell, as a sum of blocks of random effects.

log p(grade k in cell c) = a_k + s_k (slopes · judges + effects of judge's grade, slice, cell and cluster) + departures of
the judge's grades and of slices from this line, up to a constant: adjacent-category logits (Agresti 2010, section 4.1),
where s is the grade on a standardised scale. With two grades it is a logistic regression.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

LEVEL_SCALE, CURVATURE_SCALE = 2.5, 2.5  # prior standard deviations of the common line and curvature over grades
SIZE_SCALE = 0.4  # of the slope over the logarithm of a slice's size
JUDGE_SLOPE = 0.7  # prior mean of the slope of a standardised judge
MIN_SPREAD, FLAT_SPREAD, SPREAD_WEIGHT = (
    0.1,
    0.35,
    2.0,
)  # of grades on [-1/2, 1/2]: least, without grades, and its weight
# Prior medians of the standard deviations of effects, and the standard deviation of their logarithms.
MEDIANS = {
    "slope": 1.5, "spike": 0.7, "bin": 0.4, "bin shape": 0.3, "slice": 0.8, "slice shape": 0.3, "cell": 0.25, "cluster": 0.5, "system": 1.0,
}  # fmt: skip
LOG_SPREAD, LOG_SPREADS = 0.65, {"slope": 0.9, "slice": 0.8, "system": 0.8}


@dataclass(frozen=True)
class CellTraits:
    """What is known of each cell before people grade its items."""

    group: Int[np.ndarray, " cell"]
    bins: Int[np.ndarray, "cell judge"]  # of each judge's grade
    judged: Float[np.ndarray, "cell judge"]  # standardised grade of each judge; 0 where it gave none
    log_size: Float[np.ndarray, " cell"]  # logarithm of the size of its slice, relative to that of an item's slice
    systems: Int[np.ndarray, "cell 2"] | None = None  # the first and the second system, where items compare two

    @property
    def n(self) -> int:
        """The number of cells in the design."""
        return len(self.group)

    def take(self, cells: Int[np.ndarray, " chosen"]) -> "CellTraits":
        """Return the traits of some of the cells in the design."""
        return CellTraits(
            self.group[cells],
            self.bins[cells],
            self.judged[cells],
            self.log_size[cells],
            None if self.systems is None else self.systems[cells],
        )


@dataclass(frozen=True)
class EffectBlock:
    """Effects with a common scale: for every level, coefficients of functions of the grade."""

    name: str
    at: Int[np.ndarray, " cell"]  # the level of each cell
    basis: Float[np.ndarray, "outcome shape"]
    weight: Float[np.ndarray, " cell"] | None = None  # a covariate that multiplies the effect
    mean: float = 0.0
    fixed_scale: float | None = None  # if it is not learned
    n_levels: int = 1
    against: Int[np.ndarray, " cell"] | None = None  # another level of each cell, whose effect is subtracted

    @property
    def n_terms(self) -> int:
        """The number of coefficients of this block of the design."""
        return self.n_levels * self.basis.shape[1]

    def expand(self, cells: Int[np.ndarray, " chosen"]) -> Float[np.ndarray, "chosen outcome term"]:
        """Return the columns of the design matrix for some cells."""
        indicator = np.eye(self.n_levels)[self.at[cells]]
        if self.against is not None:
            indicator = indicator - np.eye(self.n_levels)[self.against[cells]]
        if self.weight is not None:
            indicator = indicator * self.weight[cells, None]
        columns = indicator[:, None, :, None] * self.basis[None, :, None, :]
        return columns.reshape(len(cells), len(self.basis), self.n_terms)

    def predict(self, terms: Float[np.ndarray, "draw term"], n_cells: int) -> Float[np.ndarray, "draw cell outcome"]:
        """Return the contribution of this block of the design to the linear predictor of the first cells."""
        effects = terms.reshape(len(terms), self.n_levels, -1)
        chosen = effects[:, self.at[:n_cells]]
        if self.against is not None:
            chosen = chosen - effects[:, self.against[:n_cells]]
        values = chosen @ self.basis.T
        return values if self.weight is None else values * self.weight[:n_cells, None]


def standardize_grades(
    values: Float[np.ndarray, " outcome"], counts: Float[np.ndarray, " outcome"]
) -> Float[np.ndarray, " outcome"]:
    """Centre and scale grades for the design, so that effects are of about the same size on every scale.

    Two grades become ∓1/2.
    """
    unit = (values - values[0]) / (values[-1] - values[0]) - 0.5
    if len(values) == 2:
        return unit
    n = counts.sum()
    mean = counts @ unit / max(n, 1.0)
    variance = (counts @ (unit - mean) ** 2 + SPREAD_WEIGHT * FLAT_SPREAD**2) / (n + SPREAD_WEIGHT)
    return unit * 0.5 / max(float(np.sqrt(variance)), MIN_SPREAD)


def list_blocks(
    traits: CellTraits, score: Float[np.ndarray, " outcome"], cluster: Int[np.ndarray, " cell"] | None = None
) -> tuple[EffectBlock, ...]:
    """Return the blocks of effects in the design for these cells of grades."""
    return tuple(_list_blocks(traits, score, cluster))


def _list_blocks(
    traits: CellTraits, score: Float[np.ndarray, " outcome"], cluster: Int[np.ndarray, " cell"] | None
) -> Iterator[EffectBlock]:
    """Yield the blocks of the design: level, curvature and spikes over grades, then what is known of the cells."""
    everywhere, line, shapes = np.zeros(traits.n, dtype=np.int64), score[:, None], find_shapes(score, 1)
    yield EffectBlock("level", everywhere, line, fixed_scale=LEVEL_SCALE)
    if len(score) > 2:
        yield EffectBlock("curvature", everywhere, line**2 - (line**2).mean(), fixed_scale=CURVATURE_SCALE)
    if len(score) > 3:
        yield EffectBlock("spike", everywhere, find_shapes(score, 2))
    yield from _list_judge_blocks(traits, line, shapes)
    if traits.systems is not None:  # with the effect of the first position: Davidson (1970), Bradley-Terry with ties
        first, second = traits.systems.T
        yield EffectBlock("system", first, line, n_levels=int(traits.systems.max()) + 1, against=second)
    elif np.ptp(traits.log_size):
        yield EffectBlock("size", everywhere, line, weight=traits.log_size, fixed_scale=SIZE_SCALE)
    yield from _list_level_blocks("slice", traits.group, line, shapes)
    if traits.bins.shape[1] and np.ptp(traits.group):
        yield from _list_level_blocks("cell", _number_rows(traits.group, traits.bins), line)
    if cluster is not None:
        yield from _list_level_blocks("cluster", cluster, line)


def _list_judge_blocks(
    traits: CellTraits, line: Float[np.ndarray, "outcome 1"], shapes: Float[np.ndarray, "outcome shape"]
) -> Iterator[EffectBlock]:
    """Yield the design's slope of every judge, and the effects of its grades."""
    varied = [j for j in range(traits.bins.shape[1]) if np.ptp(traits.bins[:, j])]
    for j in varied:
        everywhere = np.zeros(traits.n, dtype=np.int64)
        yield EffectBlock("slope", everywhere, line, weight=traits.judged[:, j], mean=JUDGE_SLOPE / len(varied))
        yield from _list_level_blocks("bin", traits.bins[:, j], line, shapes)


def _list_level_blocks(
    name: str,
    level: Int[np.ndarray, " cell"],
    line: Float[np.ndarray, "outcome 1"],
    shapes: Float[np.ndarray, "outcome shape"] | None = None,
) -> Iterator[EffectBlock]:
    """Yield, for the design, an effect of each level on the line over grades, and its departures from a line."""
    if not np.ptp(level):
        return
    at = _number_rows(level)
    n = int(at.max()) + 1
    yield EffectBlock(name, at, line, n_levels=n)
    if shapes is not None and shapes.shape[1]:
        yield EffectBlock(f"{name} shape", at, shapes, n_levels=n)


def _number_rows(*columns: Int[np.ndarray, "cell ..."]) -> Int[np.ndarray, " cell"]:
    """Number the distinct rows of levels in the design from 0."""
    _, at = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return at.reshape(-1)


def find_shapes(score: Float[np.ndarray, " outcome"], degree: int) -> Float[np.ndarray, "outcome shape"]:
    """Return columns for the design: orthonormal functions of the grade, orthogonal to its low polynomials."""
    basis, _ = np.linalg.qr(np.vander(score, degree + 1, increasing=True), mode="complete")
    return basis[:, degree + 1 :]


def list_scales(blocks: Sequence[EffectBlock]) -> tuple[str, ...]:
    """Return the names of the scales in the design for grades that are learned; blocks of one name share one."""
    return tuple(dict.fromkeys(block.name for block in blocks if block.fixed_scale is None))


def find_scale_prior(
    names: Sequence[str],
) -> tuple[Float[np.ndarray, " scale"], Float[np.ndarray, " scale"]]:
    """Return the prior (mean, standard deviation) of the log of every scale in the design, before any grade."""
    mean = np.log([MEDIANS[name] for name in names])
    return mean, np.array([LOG_SPREADS.get(name, LOG_SPREAD) for name in names])
