"""Partial pooling of groups that were estimated separately, so that their range is not one of noise.

The largest and smallest of many uncertain estimates are far apart even where all groups are alike. With draws of mean m_g
and variance v_g as the likelihood of each group, and groups that are normal around a common mean with standard deviation τ,
integrated over a grid, the draws of a group move towards the common mean by v_g / (v_g + τ²). Shares are pooled as the arcsine of their root: otherwise
the group with the highest share would also seem to be the surest.
"""

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.fairness.group_metrics import Values
from fewlabels.distributions.randomness import Rng

GRID_SIZE = 80
LARGEST_SPREAD = 2.0  # end of the grid of τ, as a multiple of the largest deviation or standard deviation
LEAST_VARIANCE = 1e-12  # as a share of the squared end of the grid
FEWEST = 3  # groups, from which their spread can be learned
PerGroup = Float[np.ndarray, " group"]


def pool_partially(rng: Rng, values: Values) -> Values:
    """Partially pool draws of groups of people: shrink them, unless known exactly or undefined, to their mean."""
    out, some = values.copy(), ~np.isnan(values).all(axis=0)
    draws = values[:, some]
    if some.sum() < FEWEST or not np.nanvar(draws, axis=0).any():
        return out
    is_share = np.nanmin(draws) >= 0 and np.nanmax(draws) <= 1
    out[:, some] = np.sin(_shrink(rng, np.arcsin(np.sqrt(draws)))) ** 2 if is_share else _shrink(rng, draws)
    return out


def _shrink(rng: Rng, draws: Values) -> Values:
    """Shrink every draw by what its group's variance explains (partial pooling)."""
    mean, kept, common = _learn_spread(rng, draws)
    shrunk = common + kept * (mean - common) + np.sqrt(kept) * (draws - mean)
    return np.clip(shrunk, np.nanmin(draws), np.nanmax(draws))


def _learn_spread(rng: Rng, draws: Values) -> tuple[PerGroup, Values, Float[np.ndarray, "draw 1"]]:
    """Return, for partial pooling, the groups' means, and draws of each one's kept share and of the common mean."""
    mean, variance = np.nanmean(draws, axis=0), np.nanvar(draws, axis=0)
    end = LARGEST_SPREAD * max(np.abs(mean - mean.mean()).max(), np.sqrt(variance.max()))
    spread = end * np.linspace(0, 1, GRID_SIZE) ** 2
    precision = 1 / (np.maximum(variance, LEAST_VARIANCE * end**2) + spread[:, None] ** 2)
    total = precision.sum(axis=1)
    centre = (precision * mean).sum(axis=1) / total
    misfit = (precision * (mean - centre[:, None]) ** 2).sum(axis=1)
    evidence = 0.5 * (np.log(precision).sum(axis=1) - np.log(total) - misfit)
    weight = np.exp(evidence - evidence.max()) * np.gradient(spread)  # τ is uniform
    which = rng.choice(GRID_SIZE, size=len(draws), p=weight / weight.sum())
    common = centre[which] + rng.standard_normal(len(draws)) / np.sqrt(total[which])
    return mean, spread[which, None] ** 2 * precision[which], common[:, None]
