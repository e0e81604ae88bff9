"""Design matrix of the calibrated prior: the curve's terms, group covariates, and the group of each random effect."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import Cells
from fewlabels.models.logit.curve import BEND, END, HEIGHT, LEVEL, SLOPE, Ends, bend, find_ends, place_knots
from fewlabels.models.logit.model import Evidence, Model

TRAIT = (0.0, 0.5)  # prior mean and standard deviation of the coefficients of group covariates


@dataclass(frozen=True)
class Layout:
    """The design matrix of strata, and the model with its priors."""

    design: Float[np.ndarray, "stratum term"]
    group: Int[np.ndarray, " cell"]  # group whose random effect a cell has
    knots: tuple[float, ...]  # of the spline, in logits
    ends: Ends | None  # None without scores
    model: Model

    def expand(self, score: Float[np.ndarray, " point"]) -> Float[np.ndarray, "point first_term"]:
        """Return the curve's terms at these scores."""
        return expand(score, self.knots, self.ends)

    def gather(self, cells: Cells) -> Evidence:
        """Collect the labelled strata, sorted by group."""
        strata = cells.layers
        (labelled,) = np.nonzero(strata.n_labels > 0)
        labelled = labelled[np.argsort(self.group[strata.cell[labelled]], kind="stable")]
        total = strata.n_labels[labelled].astype(np.float64)
        return Evidence(self.design[labelled], self.group[strata.cell[labelled]], strata.right[labelled], total)


def lay_out(cells: Cells) -> Layout:
    """Build the design for these cells; the random effects are per group and predicted class, shared by score bins."""
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
    score: Float[np.ndarray, " point"], knots: tuple[float, ...], ends: Ends | None
) -> Float[np.ndarray, "point first_term"]:
    """Return the spline basis and the indicators of scores of exactly 0 and 1."""
    if ends is None:
        return np.ones((len(score), 1))
    return np.column_stack([bend(ends.place(score), knots), *ends.mark(score)])


def _list_traits(
    cells: Cells, x: Float[np.ndarray, " stratum"] | None, group: Int[np.ndarray, " stratum"]
) -> list[Float[np.ndarray, " stratum"]]:
    """Centred log size and mean logit of each stratum's group: rarely predicted classes are often less accurate.

    Groups that are score bins get none, because the score itself separates them.
    """
    n = cells.layers.n_items
    if cells.by.startswith("bins"):
        return []
    size = np.bincount(group, weights=n)
    traits = [np.log(size)[group]]
    if x is not None:
        traits.append((np.bincount(group, weights=n * x) / size)[group])
    return [trait - (trait * n).sum() / n.sum() for trait in traits]
