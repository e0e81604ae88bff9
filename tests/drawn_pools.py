"""Pools drawn from the calibrated prior, to see whether what is shown of them is calibrated."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

import fewlabels as fl
from fewlabels.active.simulation.labelled_pool import LabelledPool, make_labelled_pool
from fewlabels.data.counts import STRATA
from fewlabels.models.calibrated.design import build_design
from fewlabels.models.logit.model import NEVER_PRIOR, OUTLIER_PRIOR
from fewlabels.models.logit.overdispersion import PRIOR_WEIGHTS
from fewlabels.models.logit.overdispersion import STRENGTHS as BIN_STRENGTHS
from fewlabels.models.logit.true_classes import (
    SCALE_PRIOR,
    SCALES,
    STRENGTH_PRIOR,
    STRENGTHS,
    TYPICAL_STRENGTH_WITHOUT_SCORES,
    _base,
)

K, N = 6, 240  # classes, and items of each score in the largest pool
SCORES = np.array([0.35, 0.55, 0.7, 0.8, 0.9, 0.97])


@dataclass(frozen=True)
class Layout:
    """Predictions of six classes, the larger ones six times the smallest; every stratum is one count."""

    pool: LabelledPool
    cells: object
    design: object

    def draw(self, rng, *, departs=False):
        """Return the pool with labels drawn from the prior; with `departs`, cells are overdispersed."""
        design, strata = self.design, self.cells.strata
        model, n = design.model, len(np.unique(design.group))
        factor = rng.choice(model.miscalibration, p=model.miscalibration_weights)
        terms = rng.normal(model.centre, model.spread * np.where(model.is_curve, factor, 1.0))
        sigma = model.scale * np.exp(model.scale_deviation * rng.standard_normal())
        first = np.unique(design.group, return_index=True)[1]
        never = rng.random(n) < expit(design.traits[first] @ terms + rng.normal(*NEVER_PRIOR))
        outlier = rng.random(n) < expit(rng.normal(*OUTLIER_PRIOR))
        effect = np.where(never, -20.0, sigma * rng.standard_t(model.random_effects.degrees_of_freedom, n))
        alone = np.where(outlier & ~never, rng.random(n), np.nan)
        group = design.group[strata.cell]
        chance = np.where(np.isnan(alone[group]), expit(design.design @ terms + effect[group]), alone[group])
        if departs:
            chance = self._depart(rng, chance)
        entry = self.pool.entry
        right = rng.random(len(entry)) < chance[entry]
        said = self.cells.group[strata.cell][entry]  # groups are the predicted classes
        wrong = self._draw_wrong(rng)
        other = (rng.random((len(entry), 1)) > np.cumsum(wrong, axis=1)[said]).sum(axis=1)
        label = np.where(right, said, np.minimum(other, K - 1))
        return replace(self.pool, right=right.astype(np.float64), label=label)

    def _depart(self, rng, chance):
        """Move the accuracy of each cell to one drawn around it; each stratum moves as its cell does."""
        strength = rng.choice(BIN_STRENGTHS, p=PRIOR_WEIGHTS)
        strata = self.cells.strata
        mean = np.bincount(strata.cell, strata.n_items * chance) / np.bincount(strata.cell, strata.n_items)
        mean = np.clip(mean, 1e-6, 1 - 1e-6)
        moved = np.clip(rng.beta(mean * strength, (1 - mean) * strength), 1e-9, 1 - 1e-9)
        shift = np.log(moved / (1 - moved)) - np.log(mean / (1 - mean))
        return expit(np.log(chance / (1 - chance + 1e-12) + 1e-12) + shift[strata.cell])

    def _draw_wrong(self, rng):
        """Shares of the true classes of wrong predictions, by predicted class, from their prior."""
        prior = SCALES / (1 + (SCALES / SCALE_PRIOR) ** 2)
        scale = rng.choice(SCALES, p=prior / prior.sum())
        prior = np.exp(-((np.log(STRENGTHS / TYPICAL_STRENGTH_WITHOUT_SCORES) / STRENGTH_PRIOR) ** 2) / 2)
        strength = rng.choice(STRENGTHS, p=prior / prior.sum())
        base = np.ones((K, K))
        if np.all(self.cells.predicted >= 0):  # else only right or wrong matters
            base[self.cells.predicted] = _base(self.cells)
        base = base * (1 - np.eye(K)) * np.exp(rng.normal(0, scale, K))
        base /= base.sum(axis=1, keepdims=True)
        drawn = rng.standard_gamma(strength * base)
        return drawn / drawn.sum(axis=1, keepdims=True)


def lay_out(metric):
    """Lay out the pool for a metric: calibration errors have score bins."""
    said, score = np.repeat(np.arange(K), N // 21 * np.arange(1, K + 1)), np.tile(SCORES, N)
    table = {"predicted": said.astype(str), "score": score[: len(said)], "label": said.astype(str)}
    bins = fl.bins(5) if "bin" in metric.splits else None
    pool = make_labelled_pool(fl.Predictions.read(table), fl.predicted, bins=bins, strata=STRATA)
    cells = pool.tally.cells(metric.splits)
    assert np.array_equal(cells.strata.n_items, pool.tally.n_items)
    assert np.allclose(cells.strata.score, pool.tally.score / pool.tally.n_items)
    return Layout(pool, cells, build_design(cells))


def judge(rng, truth, draws, ends):
    """Rank of the truth among the draws, from 0 to 1, ties broken at random, and whether the interval holds it."""
    below, equal = (draws < truth - 1e-9).sum(), (np.abs(draws - truth) <= 1e-9).sum()
    low, high = (float(np.ravel(end)[0]) for end in ends)
    return (below + rng.integers(0, equal + 1)) / (len(draws) + 1), low - 1e-9 <= truth <= high + 1e-9
