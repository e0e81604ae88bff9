"""Binomial data of the additive model: outcomes of strata of similar items, which may belong to an arm only in part."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.models.logit.model import Outcomes


@dataclass(frozen=True)
class Strata(Outcomes):
    """Outcomes of strata; logit P(right) = base + design · terms + share × random effect of the arm."""

    share: Float[np.ndarray, " stratum"]
    base: Float[np.ndarray, " stratum"]


def make_strata(
    design: Float[np.ndarray, "stratum term"],
    arm: Int[np.ndarray, " stratum"],
    right: Float[np.ndarray, " stratum"],
    total: Float[np.ndarray, " stratum"],
) -> Strata:
    """Make strata of the additive model that belong wholly to their arms (share 1, base 0)."""
    return Strata(design, arm, right, total, np.ones(len(arm)), np.zeros(len(arm)))
