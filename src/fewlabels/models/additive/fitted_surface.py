"""The fitted surface without the data: enough to predict the accuracy of any combination, seen or unseen."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import NONE, STRATA
from fewlabels.models.additive.arm_posterior import ArmPosterior, PosteriorComponent, predict_arms
from fewlabels.models.additive.design import AdditiveDesign
from fewlabels.models.additive.effect_priors import Scales
from fewlabels.models.additive.effects import Effects
from fewlabels.models.additive.fit import Fit
from fewlabels.models.logit.curve import spline_basis, to_logit


@dataclass(frozen=True)
class FittedSurface:
    """Arms with the values of their attributes, the scores of their items, and the fit."""

    effects: Effects
    level: Int[np.ndarray, "arm axis"]
    arm: Int[np.ndarray, " stratum"]
    n_items: Float[np.ndarray, " stratum"]
    score: Float[np.ndarray, " stratum"]  # nan without scores
    knots: tuple[float, ...] | None
    fit: Fit

    @cached_property
    def posterior(self) -> ArmPosterior:
        """Joint posterior of the arms of the pool."""
        return predict_arms(
            self.fit, self._curve(self.score), self.effects.expand(self.level), self.arm, [self.n_items]
        )[0]

    def draw(
        self, level: Int[np.ndarray, "asked axis"], at: Int[np.ndarray, " asked"], n: int
    ) -> Float[np.ndarray, "draw asked"]:
        """Joint draws of combinations: `at` is their index in the pool, or −1 for those the pool does not have."""
        new = at == NONE
        found = self.posterior.take(at[~new])
        if new.any():
            found = found.join(self.predict_unseen(level[new]))
        order = np.argsort(np.argsort(new, kind="stable"), kind="stable")
        return found.draw(np.random.default_rng(0), n)[:, order]

    def predict_unseen(self, level: Int[np.ndarray, "asked axis"]) -> ArmPosterior:
        """Posterior of combinations without items in the pool; their scores are assumed distributed as in the pool."""
        score, weight = self._merge_scores()
        n = len(score)
        arm = np.repeat(np.arange(len(level)), n)
        curve, effects = np.tile(self._curve(score), (len(level), 1)), self.effects.expand(level)
        (found,) = predict_arms(self.fit.without_arms(), curve, effects, arm, [np.tile(weight, len(level))])
        parts = zip(found.components, self.fit.conditionals, strict=True)
        return replace(
            found,
            components=tuple(
                self._add_unseen_variance(part, np.exp(2 * conditional.scales), level) for part, conditional in parts
            ),
        )

    def _add_unseen_variance(
        self, part: PosteriorComponent, variance: Scales, level: Int[np.ndarray, "asked axis"]
    ) -> PosteriorComponent:
        """Add the prior variance of the effects of unseen attribute values."""
        extra = np.zeros(len(level))
        for i, block in enumerate(self.effects.blocks):
            extra += variance[i] * (level[:, list(block)] == NONE).any(axis=1)
        return replace(part, own=np.sqrt(part.own**2 + extra))

    def _curve(self, score: Float[np.ndarray, " stratum"]) -> Float[np.ndarray, "stratum curve_term"]:
        return np.ones((len(score), 1)) if self.knots is None else spline_basis(to_logit(score), self.knots)

    def _merge_scores(self) -> tuple[Float[np.ndarray, " stratum"], Float[np.ndarray, " stratum"]]:
        """Return the mean scores of the pool's strata, and their numbers of items."""
        if self.knots is None:
            return np.full(1, np.nan), np.ones(1)
        place = np.unique(np.digitize(self.score, STRATA[1:-1]), return_inverse=True)[1].reshape(-1)
        weight = np.bincount(place, weights=self.n_items)
        return np.bincount(place, weights=self.n_items * self.score) / weight, weight


def make_fitted_surface(design: AdditiveDesign, found: Fit) -> FittedSurface:
    """Keep what predictions need of a fit."""
    strata = design.cells.strata_or_cells
    return FittedSurface(
        design.effects, design.level, strata.cell, strata.n_items.astype(np.float64), strata.score, design.knots, found
    )
