"""Priors of the additive model: normal terms, log-normal scales of effects, and variants with fewer interactions."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import NONE

Kind = Literal["slope", "class", "classifier", "main", "pair"]  # of an effect
FIXED = -1  # the block of terms whose standard deviation is given
P_INTERACTIONS = 2 / 3  # prior probability that attributes interact: two of the three variants have interactions
LOG_SCALE_MEANS: dict[str, float] = {
    "slope": -1.8,
    "class": -0.8,
    "classifier": -1.5,
    "main": -0.5,
    "pair": -1.8,
    "arm": -0.8,
}  # prior mean of log scales
LOG_SCALE_SDS: dict[str, float] = {
    "slope": 0.7,
    "class": 0.7,
    "classifier": 1.0,
    "main": 0.7,
    "pair": 0.8,
    "arm": 1.0,
}  # prior sd of their common mean, per kind
WITHIN_KIND_SDS: dict[Kind, float] = {
    "slope": 0.7,
    "class": 0.7,
    "classifier": 0.7,
    "main": 0.7,
    "pair": 1.2,
}  # sd of log scales around that mean: few pairs have large effects
Terms = Float[np.ndarray, " term"]
Scales = Float[np.ndarray, " scale"]  # logarithms: of every effect, of arms, then the mean of every kind


@dataclass(frozen=True)
class EffectPriors:
    """Priors of terms: FIXED ones have a given standard deviation, terms of an effect share a scale; pairs are last."""

    block: Int[np.ndarray, " term"]  # the effect a term is part of, or FIXED
    centre: Terms  # prior mean
    spread: Terms  # prior standard deviation of FIXED terms
    kinds: tuple[Kind, ...]  # of effects

    @property
    def n(self) -> int:
        """Number of effects with a prior scale; also the index of the arms' scale in `Scales`."""
        return len(self.kinds)

    @cached_property
    def distinct_kinds(self) -> tuple[Kind, ...]:
        """The distinct kinds of effects."""
        return tuple(dict.fromkeys(self.kinds))

    @cached_property
    def start(self) -> Scales:
        """Prior mean of the log scales of effects."""
        return np.array([LOG_SCALE_MEANS[kind] for kind in (*self.kinds, "arm", *self.distinct_kinds)])

    @cached_property
    def precision(self) -> Float[np.ndarray, "scale scale"]:
        """Prior precision matrix of the log scales of effects."""
        out = np.diag(
            [WITHIN_KIND_SDS[kind] ** -2 for kind in self.kinds]
            + [LOG_SCALE_SDS[kind] ** -2 for kind in ("arm", *self.distinct_kinds)]
        )
        for i, kind in enumerate(self.kinds):
            centre = self.n + 1 + self.distinct_kinds.index(kind)
            out[centre, centre] += out[i, i]
            out[i, centre] = out[centre, i] = -out[i, i]
        return out

    def log_prior(self, at: Scales) -> tuple[float, Scales]:
        """Log prior density of the log scales of effects, and its gradient."""
        pull = self.precision @ (at - self.start)
        return float(-0.5 * (at - self.start) @ pull), -pull

    # -- model variants: none, one or many scales of interactions ---------------------------------------------

    def list_variants(self) -> tuple["PriorVariant", ...]:
        """List model variants from simple to rich: no interactions, one scale for all pairs, one scale per pair."""
        mains = tuple(kind for kind in self.kinds if kind != "pair")
        n_pairs = self.n - len(mains)
        if not n_pairs:
            return (self._make_variant(self.kinds, 1.0),)
        alike = self._make_variant((*mains, "pair"), P_INTERACTIONS / 2)
        unlike = self._make_variant(self.kinds, P_INTERACTIONS / 2)
        richer = (alike, unlike) if n_pairs > 1 else (replace(unlike, likely=P_INTERACTIONS),)
        return (self._make_variant(mains, 1 - P_INTERACTIONS), *richer)

    def _make_variant(self, kinds: tuple[Kind, ...], likely: float) -> "PriorVariant":
        """Return the variant with these effects; the last one may stand for all pairs."""
        kept = (self.block < len(kinds)) | ("pair" in kinds)
        block = np.minimum(self.block[kept], len(kinds) - 1)
        priors = EffectPriors(block, self.centre[kept], self.spread[kept], kinds)
        owners = (*kinds, "arm", *priors.distinct_kinds)
        each = [min(i, len(kinds) - 1) if kind in kinds else NONE for i, kind in enumerate(self.kinds)]
        rest = [
            owners.index(name, len(kinds)) if name in owners[len(kinds) :] else NONE
            for name in ("arm", *self.distinct_kinds)
        ]
        return PriorVariant(priors, np.array(each + rest), likely)


@dataclass(frozen=True)
class PriorVariant:
    """A restricted model, and which of its scales stands for each scale of the full model."""

    priors: EffectPriors
    source: Int[np.ndarray, " scale"]  # NONE for effects that it does not have
    likely: float  # prior probability

    def read(self, scales: Scales) -> Float[np.ndarray, " own_scale"]:
        """Convert scales of the full model to those of this variant: the mean, where one stands for several."""
        there = self.source != NONE
        total = np.bincount(self.source[there], weights=scales[there], minlength=len(self.priors.start))
        return total / np.bincount(self.source[there], minlength=len(self.priors.start))

    def to_full_scales(self, scales: Float[np.ndarray, " own_scale"], otherwise: Scales | float = -np.inf) -> Scales:
        """Convert the variant's scales to the full model's; effects it lacks get `otherwise` (default: scale 0)."""
        return np.where(self.source != NONE, scales[self.source], otherwise)
