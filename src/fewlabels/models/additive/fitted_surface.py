"""The fitted surface without the data: enough to predict the accuracy of any combination, seen or unseen."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import NONE, STRATA
from fewlabels.models.additive.arm_posterior import ArmPosterior, ArmPosteriorComponent, predict_arms
from fewlabels.models.additive.design import AdditiveDesign
from fewlabels.models.additive.effect_priors import Scales
from fewlabels.models.additive.effects import Effects
from fewlabels.models.additive.fit_result import AdditiveFit
from fewlabels.models.additive.item_terms import ItemTerms
from fewlabels.models.additive.items import Items, describe_items


@dataclass(frozen=True)
class FittedSurface:
    """Arms with the values of their attributes, the scores of their items, and the fit."""

    effects: Effects
    level: Int[np.ndarray, "arm axis"]
    arm: Int[np.ndarray, " stratum"]
    n_items: Float[np.ndarray, " stratum"]
    values: Items
    items: ItemTerms
    fit: AdditiveFit
    doubt: Float[np.ndarray, "arm factor"] | None = (
        None  # of the logits, where it is not certain which items an arm has
    )

    @cached_property
    def posterior(self) -> ArmPosterior:
        """Joint posterior of the arms of the pool, by the fitted surface."""
        curve = self.items.expand(self.values, self.effects, self.level[self.arm])
        (found,) = predict_arms(self.fit, curve, self.effects.expand(self.level), self.arm, [self.n_items])
        found = found if self.doubt is None else found.add_factors(self.doubt)
        return found.sample_items(np.bincount(self.arm, weights=self.n_items, minlength=len(self.level)))

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
        values, weight = self._merge_strata()
        n, times = len(weight), len(level)
        arm = np.repeat(np.arange(times), n)
        curve = self.items.expand(values.take(np.tile(np.arange(n), times)), self.effects, level[arm])
        (found,) = predict_arms(
            self.fit.without_arms(), curve, self.effects.expand(level), arm, [np.tile(weight, times)]
        )
        parts = zip(found.components, self.fit.conditionals, strict=True)
        return replace(
            found,
            components=tuple(
                self._add_unseen_variance(part, np.exp(2 * conditional.scales), level) for part, conditional in parts
            ),
        )

    def _add_unseen_variance(
        self, part: ArmPosteriorComponent, variance: Scales, level: Int[np.ndarray, "asked axis"]
    ) -> ArmPosteriorComponent:
        """Add the prior variance of the effects of unseen attribute values."""
        extra, variance = np.zeros(len(level)), variance[len(self.items.kinds) :]
        for i, block in enumerate(self.effects.blocks):
            extra += variance[i] * (level[:, list(block)] == NONE).any(axis=1)
        return replace(part, own=np.sqrt(part.own**2 + extra))

    def _merge_strata(self) -> tuple[Items, Float[np.ndarray, " stratum"]]:
        """Merge the strata of the whole pool that are alike; also return their numbers of items."""
        values = self.values
        edges = np.zeros(len(self.arm)) if self.items.knots is None else np.digitize(values.score, STRATA[1:-1])
        key, place = np.unique(np.stack([edges, values.predicted]), axis=1, return_inverse=True)
        place = place.reshape(-1)
        weight = np.bincount(place, weights=self.n_items)
        columns = np.column_stack([values.score, values.classifier_terms]).T
        score, *terms = (np.bincount(place, weights=self.n_items * column) / weight for column in columns)
        return Items(score, key[1].astype(np.int64), np.reshape(terms, (len(terms), len(weight))).T), weight


def make_fitted_surface(design: AdditiveDesign, found: AdditiveFit) -> FittedSurface:
    """Keep what predictions need of a fit, as a fitted surface."""
    strata = design.strata
    return FittedSurface(
        design.effects, design.level, strata.cell, strata.n_items.astype(np.float64), describe_items(strata), design.items, found
    )  # fmt: skip
