"""Design matrix of the calibrated prior: the curve's terms, group covariates, and the group of each random effect."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import NONE, Cells
from fewlabels.models.logit.curve import (
    END_PRIOR,
    INTERCEPT_PRIOR,
    KNOT_PRIOR,
    LEVEL_PRIOR,
    SLOPE_PRIOR,
    EndScores,
    find_end_scores,
    place_knots,
    spline_basis,
)
from fewlabels.models.logit.model import Model, Observations

UNKNOWN_DOUBT = 0.5  # of groups without scores
COVARIATE_PRIOR = (0.0, 0.5)  # prior mean and standard deviation of the coefficients of group covariates


@dataclass(frozen=True)
class CurveDesign:
    """The design matrix of strata, and the model with its priors."""

    design: Float[np.ndarray, "stratum term"]
    group: Int[np.ndarray, " cell"]  # group whose random effect a cell has
    doubt: Float[np.ndarray, " cell"]  # how unsure the scores of the group are: prior chance to be never right
    knots: tuple[float, ...]  # of the spline, in logits
    ends: EndScores | None  # None without scores
    model: Model

    def expand(self, score: Float[np.ndarray, " point"]) -> Float[np.ndarray, "point first_term"]:
        """Return the curve's terms at these scores."""
        return expand(score, self.knots, self.ends)

    def collect_labelled(self, cells: Cells) -> Observations:
        """Collect the labelled strata, sorted by group."""
        strata = cells.strata_or_cells
        (labelled,) = np.nonzero(strata.n_labels > 0)
        labelled = labelled[np.argsort(self.group[strata.cell[labelled]], kind="stable")]
        total = strata.n_labels[labelled].astype(np.float64)
        cell = strata.cell[labelled]
        return Observations(self.design[labelled], self.group[cell], strata.right[labelled], total, self.doubt[cell])


def build_design(cells: Cells) -> CurveDesign:
    """Build the design for these cells; the random effects are per group and predicted class, shared by score bins."""
    strata = cells.strata_or_cells
    group = np.unique(cells.group * (len(cells.classes) + 1) + cells.predicted, return_inverse=True)[1].reshape(-1)
    ends = None if np.isnan(strata.score).any() else find_end_scores(strata.score)
    x = None if ends is None else ends.to_logits(strata.score)
    knots = () if x is None else place_knots(x, strata.n_items)
    covariates = _group_covariates(cells, x, group[strata.cell])
    priors = (
        [LEVEL_PRIOR]
        if ends is None
        else [INTERCEPT_PRIOR, SLOPE_PRIOR, *(KNOT_PRIOR for _ in knots), *(END_PRIOR for _ in ends.scores)]
    )
    is_curve = np.arange(len(priors) + len(covariates)) < len(priors)
    priors += [COVARIATE_PRIOR for _ in covariates]
    centre, spread = np.array(priors).T
    design = np.column_stack([expand(strata.score, knots, ends), *covariates])
    return CurveDesign(design, group, _doubt(cells, group), knots, ends, Model(centre, spread, is_curve))


def _doubt(cells: Cells, group: Int[np.ndarray, " cell"]) -> Float[np.ndarray, " cell"]:
    """One minus the mean score of each cell's group; zero where groups mix predicted classes, which cannot all be wrong."""
    if cells.by != "predicted" and np.any(cells.predicted == NONE):
        return np.zeros(cells.n)
    n = np.bincount(group, weights=cells.n_items)
    mean = (np.bincount(group, weights=cells.n_items * cells.score) / n)[group]
    return np.where(np.isnan(mean), UNKNOWN_DOUBT, np.clip(1 - mean, 0.0, 1.0))


def _predicted_class(cells: Cells) -> Int[np.ndarray, " cell"] | None:
    """The predicted class of each cell, where every cell has one among the classes."""
    predicted = cells.predicted
    if cells.by == "predicted":
        place = {name: i for i, name in enumerate(cells.classes)}
        names = cells.axes[0].levels
        predicted = np.array([place.get(names[level], NONE) for level in cells.level[cells.group, 0]])
    return None if np.any(predicted == NONE) else predicted


def expand(
    score: Float[np.ndarray, " point"], knots: tuple[float, ...], ends: EndScores | None
) -> Float[np.ndarray, "point first_term"]:
    """Return the spline basis and the indicators of scores of exactly 0 and 1."""
    if ends is None:
        return np.ones((len(score), 1))
    return np.column_stack([spline_basis(ends.to_logits(score), knots), *ends.indicators(score)])


def _group_covariates(
    cells: Cells, x: Float[np.ndarray, " stratum"] | None, group: Int[np.ndarray, " stratum"]
) -> list[Float[np.ndarray, " stratum"]]:
    """Centred log size and mean logit of each stratum's group: rarely predicted classes are often less accurate.

    Groups that are score bins get none, because the score itself separates them.
    """
    n = cells.strata_or_cells.n_items
    if cells.by.startswith("bins"):
        return []
    size = np.bincount(group, weights=n)
    covariates = [np.log(size)[group]]
    if x is not None:
        covariates.append((np.bincount(group, weights=n * x) / size)[group])
    ratio = _probability_ratio(cells)
    if ratio is not None:
        covariates.append(ratio[cells.strata_or_cells.cell])
    return [covariate - (covariate * n).sum() / n.sum() for covariate in covariates]


def _probability_ratio(cells: Cells) -> Float[np.ndarray, " cell"] | None:
    """Log of how often each cell's class should occur by its summed probability, over how often it is predicted."""
    predicted = _predicted_class(cells)
    if predicted is None or cells.probability is None:
        return None
    expected = cells.n_items @ cells.probability
    said = np.bincount(predicted, weights=cells.n_items, minlength=len(expected))
    return np.log((expected + 1) / (said + 1))[predicted]
