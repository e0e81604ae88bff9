"""Design matrix of the calibrated prior: the curve's terms, group covariates, and the group of each random effect.

The last terms are no columns of the curve: they say which traits make a group likelier to be never right.
"""

from collections.abc import Mapping
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
    to_logit,
)
from fewlabels.models.logit.model import Model, Observations

COVARIATE_PRIOR = (0.0, 0.5)  # prior mean and standard deviation of the coefficients of group covariates
DOUBT_PRIOR = (1.0, 0.5)  # the same, of the logit of one minus the mean score, for groups that are never right
TRAIT_PRIOR = (0.0, 0.5)  # the same, of other traits
MAX_DOUBT = 4.0  # logits


@dataclass(frozen=True)
class CurveDesign:
    """The design matrix of strata, and the model with its priors."""

    design: Float[np.ndarray, "stratum term"]
    group: Int[np.ndarray, " cell"]  # group whose random effect a cell has
    traits: Float[np.ndarray, "cell term"]  # that make the cell's group likelier to be never right
    knots: tuple[float, ...]  # of the spline, in logits
    ends: EndScores | None  # None without scores
    model: Model

    def expand(self, score: Float[np.ndarray, " point"]) -> Float[np.ndarray, "point first_term"]:
        """Return the design's terms of the curve at these scores."""
        return expand_scores(score, self.knots, self.ends)

    def collect_labelled(self, cells: Cells) -> Observations:
        """Collect the labelled strata of the design, sorted by group."""
        strata = cells.strata_or_cells
        (labelled,) = np.nonzero(strata.n_labels > 0)
        labelled = labelled[np.argsort(self.group[strata.cell[labelled]], kind="stable")]
        total = strata.n_labels[labelled].astype(np.float64)
        cell = strata.cell[labelled]
        return Observations(self.design[labelled], self.group[cell], strata.right[labelled], total, self.traits[cell])


def build_design(cells: Cells) -> CurveDesign:
    """Build the calibrated prior's design for these cells.

    The random effects are per group and predicted class, shared by score bins.
    """
    strata = cells.strata_or_cells
    group = np.unique(cells.group * (len(cells.classes) + 1) + cells.predicted, return_inverse=True)[1].reshape(-1)
    ends = None if np.isnan(strata.score).any() else find_end_scores(strata.score)
    x = None if ends is None else ends.to_logits(strata.score)
    knots = () if x is None else place_knots(x, strata.n_items)
    covariates = _group_covariates(cells, x, group[strata.cell])
    traits = _never_right_traits(cells, group, covariates)
    curve = expand_scores(strata.score, knots, ends)
    priors = np.array([*_curve_priors(knots, ends), *(COVARIATE_PRIOR for _ in covariates), *traits.priors])
    is_curve = np.arange(len(priors)) < curve.shape[1]
    design = _pad_columns(np.column_stack([curve, *covariates.values()]), after=len(traits.priors))
    model = Model(priors[:, 0], priors[:, 1], is_curve, has_never_right=traits.has_never_right)
    before = design.shape[1] - len(traits.priors)
    return CurveDesign(design, group, _pad_columns(traits.values, before=before), knots, ends, model)


def _curve_priors(knots: tuple[float, ...], ends: EndScores | None) -> list[tuple[float, float]]:
    """Prior mean and standard deviation of each term of the calibrated design's curve."""
    if ends is None:
        return [LEVEL_PRIOR]
    return [INTERCEPT_PRIOR, SLOPE_PRIOR, *(KNOT_PRIOR for _ in knots), *(END_PRIOR for _ in ends.scores)]


def _pad_columns(
    values: Float[np.ndarray, "row column"], before: int = 0, after: int = 0
) -> Float[np.ndarray, "row padded"]:
    """Add columns of zeros to the calibrated prior's design matrix."""
    return np.pad(values, ((0, 0), (before, after)))


@dataclass(frozen=True)
class _Traits:
    """Traits of each cell's group, with the priors of their coefficients; none where no group can be never right."""

    values: Float[np.ndarray, "cell trait"]
    priors: tuple[tuple[float, float], ...]
    has_never_right: bool


def _never_right_traits(
    cells: Cells, group: Int[np.ndarray, " cell"], covariates: Mapping[str, Float[np.ndarray, " stratum"]]
) -> _Traits:
    """Traits of groups in the design: how unsure scores are, log size, probability ratio; none where groups are mixed."""
    if cells.by != "predicted" and np.any(cells.predicted == NONE):
        return _Traits(np.zeros((cells.n, 0)), (), False)
    first = np.searchsorted(cells.strata_or_cells.cell, np.arange(cells.n))  # stratum of each cell
    values = [covariates[name][first] for name in ("size", "ratio") if name in covariates]
    priors = [TRAIT_PRIOR for _ in values]
    doubt = _mean_doubt(cells, group)
    if doubt is not None:
        values.append(doubt)
        priors.append(DOUBT_PRIOR)
    return _Traits(np.reshape(values, (len(values), cells.n)).T, tuple(priors), True)


def _mean_doubt(cells: Cells, group: Int[np.ndarray, " cell"]) -> Float[np.ndarray, " cell"] | None:
    """Logit of one minus the mean score of each cell's group, a trait in the design; None without scores."""
    n = np.bincount(group, weights=cells.n_items)
    mean = (np.bincount(group, weights=cells.n_items * cells.score) / n)[group]
    return None if np.isnan(mean).any() else np.clip(-to_logit(mean), -MAX_DOUBT, MAX_DOUBT)


def _predicted_class(cells: Cells) -> Int[np.ndarray, " cell"] | None:
    """The predicted class of each cell of the design, where every cell has one among the classes."""
    predicted = cells.predicted
    if cells.by == "predicted":
        place = {name: i for i, name in enumerate(cells.classes)}
        names = cells.axes[0].levels
        predicted = np.array([place.get(names[level], NONE) for level in cells.level[cells.group, 0]])
    return None if np.any(predicted == NONE) else predicted


def expand_scores(
    score: Float[np.ndarray, " point"], knots: tuple[float, ...], ends: EndScores | None
) -> Float[np.ndarray, "point first_term"]:
    """Return the calibrated design's columns of scores: spline basis and indicators of scores of exactly 0 and 1."""
    if ends is None:
        return np.ones((len(score), 1))
    return np.column_stack([spline_basis(ends.to_logits(score), knots), *ends.indicators(score)])


def _group_covariates(
    cells: Cells, x: Float[np.ndarray, " stratum"] | None, group: Int[np.ndarray, " stratum"]
) -> dict[str, Float[np.ndarray, " stratum"]]:
    """Covariates of the design, centred log size and mean logit: rarely predicted classes are often less accurate.

    Groups that are score bins get none, because the score itself separates them.
    """
    n = cells.strata_or_cells.n_items
    if cells.by.startswith("bins"):
        return {}
    size = np.bincount(group, weights=n)
    covariates = {"size": np.log(size)[group]}
    if x is not None:
        covariates["logit"] = (np.bincount(group, weights=n * x) / size)[group]
    ratio = _probability_ratio(cells)
    if ratio is not None:
        covariates["ratio"] = ratio[cells.strata_or_cells.cell]
    return {name: covariate - (covariate * n).sum() / n.sum() for name, covariate in covariates.items()}


def _probability_ratio(cells: Cells) -> Float[np.ndarray, " cell"] | None:
    """A covariate of the design: log of how often a class should occur by its probability, over how often it is predicted."""
    predicted = _predicted_class(cells)
    if predicted is None or cells.probability is None:
        return None
    expected = cells.n_items @ cells.probability
    said = np.bincount(predicted, weights=cells.n_items, minlength=len(expected))
    return np.log((expected + 1) / (said + 1))[predicted]
