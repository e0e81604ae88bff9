"""Draws from the posterior of all effects: normal approximations at many settings of their scales, mixed and reweighted.

The scales are integrated by importance sampling in two rounds: points from their prior, then points from a normal fitted to
the first. Draws of the effects are reweighted by the ratio of the exact to the approximate density (truncated importance
sampling, Ionides 2008), which corrects for the skewness of the posterior where grades are few.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp, ndtri, softmax

from fewlabels.distributions.randomness import Rng
from fewlabels.models.grades.design import EffectBlock, find_scale_prior, list_scales
from fewlabels.models.grades.laplace import GradeLikelihood, NormalFits, fit_normals

N_POINTS = (32, 32)  # settings of the scales in either round
FEW_POINTS, MANY_TERMS = (12, 12), 150  # the same where terms are many
MOST_TERMS = 250  # beyond it, effects that refine others are left out, in this order
OPTIONAL = ("cell", "slice shape", "bin shape")
WIDER, PRIOR_SHARE = (
    1.3,
    0.25,
)  # of the second round's proposal: its factor of spread, and the share drawn from the prior
BUDGET = 40_000_000  # numbers in the information matrices of all settings at once
LogScales = Float[np.ndarray, "setting scale"]


@dataclass(frozen=True)
class EffectDraws:
    """Draws of the effects of every block, and of the learned scales."""

    blocks: tuple[EffectBlock, ...]
    terms: tuple[Float[np.ndarray, "draw _term"], ...]  # per block
    scales: dict[str, Float[np.ndarray, " draw"]]
    ess: float  # effective number of draws after reweighting


@dataclass(frozen=True)
class _ActiveTerms:
    """The terms that a labelled cell has; the others follow their prior."""

    blocks: tuple[EffectBlock, ...]
    design: Float[np.ndarray, "cell outcome term"]
    columns: tuple[Int[np.ndarray, " _active"], ...]  # per block
    names: tuple[str, ...]  # learned scales

    def mean(self) -> Float[np.ndarray, " term"]:
        """Return the prior mean of every active term in the fit of grades."""
        return np.concatenate(
            [np.full(len(at), block.mean) for block, at in zip(self.blocks, self.columns, strict=True)]
        )

    def scale(self, log_scales: LogScales) -> Float[np.ndarray, "setting term"]:
        """Return the prior standard deviation of every active term in the fit of grades."""
        parts = [np.repeat(_scale_of(block, self.names, log_scales)[:, None], len(at), axis=1) for block, at in zip(self.blocks, self.columns, strict=True)]  # fmt: skip
        return np.concatenate(parts, axis=1)


def fit_effects(
    rng: Rng,
    blocks: tuple[EffectBlock, ...],
    cells: Int[np.ndarray, " labelled"],
    counts: Float[np.ndarray, "labelled outcome"],
    n_draws: int,
) -> EffectDraws:
    """Fit people's grades: draw the effects from their posterior, given the counts of grades in labelled cells."""
    active = _find_active(_limit_terms(blocks, cells), cells)
    likelihood = GradeLikelihood(active.design, counts)
    log_scales, fits, weight = _integrate_scales(likelihood, active)
    setting = _resample(rng, weight, n_draws)
    chosen, ess = _draw_terms(rng, likelihood, active, log_scales, fits, setting)
    return _complete_draws(rng, active, log_scales, *chosen, ess)


def _limit_terms(blocks: tuple[EffectBlock, ...], cells: Int[np.ndarray, " labelled"]) -> tuple[EffectBlock, ...]:
    """Leave out effects that refine others, until the fit of grades has few enough terms that labelled cells need."""
    for name in OPTIONAL:
        if sum(len(np.unique(block.at[cells])) * block.basis.shape[1] for block in blocks) <= MOST_TERMS:
            break
        blocks = tuple(block for block in blocks if block.name != name)
    return blocks


def _find_active(blocks: tuple[EffectBlock, ...], cells: Int[np.ndarray, " labelled"]) -> _ActiveTerms:
    """Find the terms to fit to grades: those that a labelled cell has."""
    parts = [block.expand(cells) for block in blocks]
    columns = tuple(np.nonzero(np.abs(part).sum(axis=(0, 1)) > 0)[0] for part in parts)
    design = np.concatenate([part[:, :, at] for part, at in zip(parts, columns, strict=True)], axis=2)
    return _ActiveTerms(blocks, design, columns, list_scales(blocks))


def _integrate_scales(
    likelihood: GradeLikelihood, active: _ActiveTerms
) -> tuple[LogScales, NormalFits, Float[np.ndarray, " setting"]]:
    """Return settings of the scales, the fit at each, and its posterior weight."""
    middle, spread = find_scale_prior(active.names)
    n_points = FEW_POINTS if active.design.shape[2] > MANY_TERMS else N_POINTS
    first = middle + spread * _spread_normals(n_points[0], len(middle))
    fits = _fit_settings(likelihood, active, first, None)
    weight = softmax(fits.evidence)
    centre = weight @ first
    shrink = (weight @ (first - centre) ** 2 + 0.05 * spread**2) ** 0.5 * WIDER
    n_prior = int(PRIOR_SHARE * n_points[1])
    away = _spread_normals(n_points[1], len(middle))
    second = np.concatenate([middle + spread * away[:n_prior], centre + shrink * away[n_prior:]])
    more = _fit_settings(likelihood, active, second, weight @ fits.mode)
    points = np.concatenate([first, second])
    prior = _log_normal(points, middle, spread)
    n_first = n_points[0] + n_prior
    proposal = np.logaddexp(
        prior + np.log(n_first), _log_normal(points, centre, shrink) + np.log(len(points) - n_first)
    )
    both = NormalFits(*(np.concatenate(pair) for pair in zip((fits.mode, fits.root, fits.evidence), (more.mode, more.root, more.evidence), strict=True)))  # fmt: skip
    return points, both, softmax(both.evidence + prior - proposal)


def _fit_settings(
    likelihood: GradeLikelihood, active: _ActiveTerms, log_scales: LogScales, start: Float[np.ndarray, " term"] | None
) -> NormalFits:
    """Fit the grades at all settings of the scales, a few at a time where terms are many."""
    mean, scale = active.mean(), active.scale(log_scales)
    first = np.tile(mean if start is None else start, (len(scale), 1))
    step = max(1, BUDGET // max(1, scale.shape[1] * max(scale.shape[1], likelihood.counts.size)))
    parts = [
        fit_normals(likelihood, mean, scale[i : i + step], first[i : i + step]) for i in range(0, len(scale), step)
    ]
    return NormalFits(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("mode", "root", "evidence"))
    )


def _draw_terms(
    rng: Rng,
    likelihood: GradeLikelihood,
    active: _ActiveTerms,
    log_scales: LogScales,
    fits: NormalFits,
    setting: Int[np.ndarray, " draw"],
) -> tuple[tuple[Float[np.ndarray, "draw term"], Int[np.ndarray, " draw"]], float]:
    """Draw terms of the fit of grades from the normal of each setting, and resample them by importance."""
    normal = rng.standard_normal((len(setting), fits.mode.shape[1]))
    terms = np.empty_like(normal)
    for s in np.unique(setting):
        here = setting == s
        terms[here] = fits.mode[s] + np.linalg.solve(fits.root[s].T, normal[here].T).T
    precision = active.scale(log_scales)[setting] ** -2.0
    exact = likelihood.value(terms) - (precision * (terms - active.mean()) ** 2).sum(axis=1) / 2 + np.log(precision).sum(axis=1) / 2  # fmt: skip
    drawn = np.log(np.diagonal(fits.root, axis1=1, axis2=2)).sum(axis=1)[setting] - (normal**2).sum(axis=1) / 2
    weight, ess = _truncate_weights(exact - drawn - fits.evidence[setting])
    kept = _resample(rng, weight, len(setting))
    return (terms[kept], setting[kept]), ess


def _truncate_weights(log_weight: Float[np.ndarray, " draw"]) -> tuple[Float[np.ndarray, " draw"], float]:
    """Normalise and truncate importance weights in the fit of grades; also return Kish's effective size."""
    n = len(log_weight)
    most = logsumexp(log_weight) - np.log(n) / 2
    weight = softmax(np.minimum(log_weight, most))
    return weight, float(1 / (weight**2).sum())


def _complete_draws(
    rng: Rng,
    active: _ActiveTerms,
    log_scales: LogScales,
    terms: Float[np.ndarray, "draw term"],
    setting: Int[np.ndarray, " draw"],
    ess: float,
) -> EffectDraws:
    """Complete draws of the fit of grades by the terms without labels, drawn from their prior."""
    parts, start = [], 0
    for block, at in zip(active.blocks, active.columns, strict=True):
        scale = _scale_of(block, active.names, log_scales)[setting]
        part = block.mean + scale[:, None] * rng.standard_normal((len(setting), block.n_terms))
        part[:, at] = terms[:, start : start + len(at)]
        start += len(at)
        parts.append(part)
    scales = {name: np.exp(log_scales[setting, i]) for i, name in enumerate(active.names)}
    return EffectDraws(active.blocks, tuple(parts), scales, ess)


def _scale_of(block: EffectBlock, names: Sequence[str], log_scales: LogScales) -> Float[np.ndarray, " setting"]:
    """Return the standard deviation of a block's effects at every setting in the fit of grades."""
    if block.fixed_scale is not None:
        return np.full(len(log_scales), block.fixed_scale)
    return np.exp(log_scales[:, names.index(block.name)])


def _resample(rng: Rng, weight: Float[np.ndarray, " item"], n: int) -> Int[np.ndarray, " draw"]:
    """Resample draws of the fit of grades systematically: `n` indices in proportion to weights, in random order."""
    at = np.searchsorted(np.cumsum(weight), (np.arange(n) + rng.random()) / n)
    return rng.permutation(np.minimum(at, len(weight) - 1))


def _spread_normals(n: int, dimensions: int) -> LogScales:
    """Return evenly spread normal points for the scales in the fit of grades: an additive recurrence (Roberts 2018)."""
    root = 2.0
    for _ in range(30):
        root = (1 + root) ** (1 / (dimensions + 1))
    step = root ** -np.arange(1, dimensions + 1)
    return ndtri((0.5 + np.outer(np.arange(1, n + 1), step)) % 1)


def _log_normal(
    points: LogScales, mean: Float[np.ndarray, " scale"], scale: Float[np.ndarray, " scale"]
) -> Float[np.ndarray, " setting"]:
    """Log prior density of the log scales in the fit of grades, up to a constant."""
    return -((((points - mean) / scale) ** 2) / 2 + np.log(scale)).sum(axis=1)
