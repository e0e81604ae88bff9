"""How strata enter the model: the curve's terms, and whose departure they share."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import Cells
from fewlabels.models.logit.curve import BEND, END, HEIGHT, LEVEL, SLOPE, Ends, bend, find_ends, place_knots
from fewlabels.models.logit.model import Evidence, Model

TRAIT = (0.0, 0.5)  # expected of a group's traits, and how far off


@dataclass(frozen=True)
class Layout:
    """How strata enter the model."""

    design: Float[np.ndarray, "stratum term"]
    group: Int[np.ndarray, " cell"]  # whose departure a cell shares
    knots: tuple[float, ...]  # where the curve may bend, in logits
    ends: Ends | None  # None without scores
    model: Model

    def expand(self, score: Float[np.ndarray, " place"]) -> Float[np.ndarray, "place first_term"]:
        """Return the terms of the curve at these scores."""
        return expand(score, self.knots, self.ends)

    def gather(self, cells: Cells) -> Evidence:
        """Take the labelled strata, group by group."""
        strata = cells.layers
        (labelled,) = np.nonzero(strata.n_labels > 0)
        labelled = labelled[np.argsort(self.group[strata.cell[labelled]], kind="stable")]
        total = strata.n_labels[labelled].astype(np.float64)
        return Evidence(self.design[labelled], self.group[strata.cell[labelled]], strata.right[labelled], total)


def lay_out(cells: Cells) -> Layout:
    """Set up the curve's terms for these cells: a cell departs with its group and predicted class, whatever its bin."""
    strata = cells.layers
    group = np.unique(cells.group * (len(cells.classes) + 1) + cells.predicted, return_inverse=True)[1].reshape(-1)
    ends = None if np.isnan(strata.score).any() else find_ends(strata.score)
    x = None if ends is None else ends.place(strata.score)
    knots = () if x is None else place_knots(x, strata.n_items)
    traits = _list_traits(cells, x, group[strata.cell])
    priors = [LEVEL] if ends is None else [HEIGHT, SLOPE, *(BEND for _ in knots), *(END for _ in ends.scores)]
    priors += [TRAIT for _ in traits]
    centre, spread = np.array(priors).T
    design = np.column_stack([expand(strata.score, knots, ends), *traits])
    return Layout(design, group, knots, ends, Model(centre, spread))


def expand(
    score: Float[np.ndarray, " place"], knots: tuple[float, ...], ends: Ends | None
) -> Float[np.ndarray, "place first_term"]:
    """Return the terms of the curve, and of scores of exactly 0 and 1."""
    if ends is None:
        return np.ones((len(score), 1))
    return np.column_stack([bend(ends.place(score), knots), *ends.mark(score)])


def _list_traits(
    cells: Cells, x: Float[np.ndarray, " stratum"] | None, group: Int[np.ndarray, " stratum"]
) -> list[Float[np.ndarray, " stratum"]]:
    """Size and mean logit of a stratum's group, compared with the pool's: rarely predicted classes are often wrong.

    Where groups are ranges of the score, the score itself is what sets them apart.
    """
    n = cells.layers.n_items
    if cells.by.startswith("bins"):
        return []
    size = np.bincount(group, weights=n)
    traits = [np.log(size)[group]]
    if x is not None:
        traits.append((np.bincount(group, weights=n * x) / size)[group])
    return [trait - (trait * n).sum() / n.sum() for trait in traits]
