"""What is assumed before any label: which terms there are, and how far effects of each kind may go."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.surfaces.effects import Kind

FIXED = -1  # the block of terms whose spread is given
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

    # -- without effects of two attributes together ---------------------------------------------------------

    def leave_pairs(self) -> "Plan":
        """Return the plan in which attributes do nothing together."""
        kinds = tuple(kind for kind in self.kinds if kind != "pair")
        kept = self.block < len(kinds)
        return Plan(self.block[kept], self.centre[kept], self.spread[kept], kinds)

    @cached_property
    def single(self) -> Int[np.ndarray, " kept"]:
        """The scales that are left where attributes do nothing together."""
        owners = (*self.kinds, "arm", *self.named)
        return np.array([i for i, kind in enumerate(owners) if kind != "pair"])
