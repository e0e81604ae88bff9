"""What labels say: outcomes of strata, items that are alike. A stratum may be of its arm only in part."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.models.logit.model import Evidence


@dataclass(frozen=True)
class Strata(Evidence):
    """Outcomes of strata; the logit of being right is base + design · terms + share × the arm's own effect."""

    share: Float[np.ndarray, " stratum"]
    base: Float[np.ndarray, " stratum"]


def take_whole(
    design: Float[np.ndarray, "stratum term"],
    arm: Int[np.ndarray, " stratum"],
    right: Float[np.ndarray, " stratum"],
    total: Float[np.ndarray, " stratum"],
) -> Strata:
    """Strata that are wholly of their arms."""
    return Strata(design, arm, right, total, np.ones(len(arm)), np.zeros(len(arm)))
