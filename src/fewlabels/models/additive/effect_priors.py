"""What is assumed before any label: which terms there are, and how far effects of each kind may go."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import NONE
from fewlabels.models.additive.effects import Kind

FIXED = -1  # the block of terms whose spread is given
PAIRS = 2 / 3  # chance that attributes do anything together, before any label: two of the three variants say so
CENTRES: dict[str, float] = {"main": -0.5, "pair": -1.8, "arm": -0.8}  # log scale that is expected of effects,
SPREADS: dict[str, float] = {"main": 0.7, "pair": 0.8, "arm": 1.0}  # how far off that may be for all of a kind,
APART: dict[Kind, float] = {"main": 0.7, "pair": 1.2}  # and how far effects of a kind differ: few pairs do much
Terms = Float[np.ndarray, " term"]
Scales = Float[np.ndarray, " scale"]  # logs: of every effect, of arms, then the centre of every kind


@dataclass(frozen=True)
class Plan:
    """Terms of given spread, and effects of several terms whose scale is learned; those of pairs come last."""

    block: Int[np.ndarray, " term"]  # the effect a term is part of, or FIXED
    centre: Terms  # of terms
    spread: Terms  # of terms that are FIXED
    kinds: tuple[Kind, ...]  # of effects

    @property
    def n(self) -> int:
        """How many effects; in `Scales`, this is the place of the arms'."""
        return len(self.kinds)

    @cached_property
    def named(self) -> tuple[Kind, ...]:
        """The kinds there are."""
        return tuple(dict.fromkeys(self.kinds))

    @cached_property
    def start(self) -> Scales:
        """Scales as expected."""
        return np.array([CENTRES[kind] for kind in (*self.kinds, "arm", *self.named)])

    @cached_property
    def precision(self) -> Float[np.ndarray, "scale scale"]:
        """Of the scales' prior, which is normal."""
        out = np.diag(
            [APART[kind] ** -2 for kind in self.kinds] + [SPREADS[kind] ** -2 for kind in ("arm", *self.named)]
        )
        for i, kind in enumerate(self.kinds):
            centre = self.n + 1 + self.named.index(kind)
            out[centre, centre] += out[i, i]
            out[i, centre] = out[centre, i] = -out[i, i]
        return out

    def log_prior(self, at: Scales) -> tuple[float, Scales]:
        """Log density of scales, and its slope."""
        pull = self.precision @ (at - self.start)
        return float(-0.5 * (at - self.start) @ pull), -pull

    # -- what else may be assumed of effects of two attributes together ---------------------------------------

    def list_variants(self) -> tuple["Variant", ...]:
        """Return what may be: pairs do nothing, they do all about as much, or few do much. Each the richer, the later."""
        mains = tuple(kind for kind in self.kinds if kind != "pair")
        n_pairs = self.n - len(mains)
        if not n_pairs:
            return (self._vary(self.kinds, 1.0),)
        alike = self._vary((*mains, "pair"), PAIRS / 2)
        unlike = self._vary(self.kinds, PAIRS / 2)
        richer = (alike, unlike) if n_pairs > 1 else (replace(unlike, likely=PAIRS),)
        return (self._vary(mains, 1 - PAIRS), *richer)

    def _vary(self, kinds: tuple[Kind, ...], likely: float) -> "Variant":
        """Return the variant with these effects, the last of which may be of all pairs."""
        kept = (self.block < len(kinds)) | ("pair" in kinds)
        block = np.minimum(self.block[kept], len(kinds) - 1)
        plan = Plan(block, self.centre[kept], self.spread[kept], kinds)
        owners = (*kinds, "arm", *plan.named)
        each = [min(i, len(kinds) - 1) if kind in kinds else NONE for i, kind in enumerate(self.kinds)]
        rest = [
            owners.index(name, len(kinds)) if name in owners[len(kinds) :] else NONE for name in ("arm", *self.named)
        ]
        return Variant(plan, np.array(each + rest), likely)


@dataclass(frozen=True)
class Variant:
    """A plan that assumes as much or less than another, and which of its scales stands for each of the other's."""

    plan: Plan
    source: Int[np.ndarray, " scale"]  # NONE where it has no such effect
    likely: float  # before any label

    def read(self, scales: Scales) -> Float[np.ndarray, " own_scale"]:
        """Take its scales from the other's: a mean, where one stands for several."""
        there = self.source != NONE
        total = np.bincount(self.source[there], weights=scales[there], minlength=len(self.plan.start))
        return total / np.bincount(self.source[there], minlength=len(self.plan.start))

    def spell_out(self, scales: Float[np.ndarray, " own_scale"], otherwise: Scales | float = -np.inf) -> Scales:
        """Put its scales as the other's; what it has not got does nothing, or is as it was."""
        return np.where(self.source != NONE, scales[self.source], otherwise)
