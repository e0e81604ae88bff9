"""From a joint model of all cells to a prior fit: a moment-matched Beta or Dirichlet per cell, and the joint belief."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import Cells
from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.distributions.finite_pool import ResidualVariance
from fewlabels.metrics.metric import Reads
from fewlabels.models.logit.confusion import ClassShares
from fewlabels.models.logit.joint import CellAccuracies, JointAccuracies
from fewlabels.models.logit.joint_shares import JointShares, UnlabelledShares
from fewlabels.models.priors import PriorFit

MIN_STRENGTH = 0.1  # least strength of a matched Beta, in labels,
MIN_RARE_STRENGTH = 0.04  # and its least pseudo-count of the rarer outcome: below it, intervals get narrower again
LEVEL, WIDTH_IN_SD = 0.95, 3.92  # level of the matched intervals, and their width in standard deviations
ROUNDS, EDGE = 2, 1e-9
MIN_WIDTH = 1e-6  # least width of a matched interval
LEAST = 0.05  # least residual variance, as a share of an outcome's variance


def build_prior_fit(
    cells: Cells,
    reads: Reads,
    everything: CellAccuracies,
    rest: CellAccuracies | None,
    observed: Cells | None = None,
) -> PriorFit:
    """Build the prior fit from the joint logit model's posterior of all items and, if finite, the unlabelled ones.

    `observed` are the cells with all labels that the posterior was fitted to, if they are more than the cells' own.
    """
    after = _match_beta(cells, everything, sampled=True)
    shares = ClassShares(observed or cells) if reads == "label" else None
    before = _remove_labels(after, cells) if shares is None else shares.start(after, cells.labels)
    if rest is None:
        return PriorFit(before, _build_joint(cells, everything, shares))
    unlabelled, residual_variance = _match_beta(cells, rest, sampled=False), _residual_variance(rest)
    joint = _build_joint(cells, rest, shares, cells.n_items - cells.n_labels, residual_variance)
    return PriorFit(before, joint, unlabelled if shares is None else shares.to_dirichlet(unlabelled), residual_variance)


def _residual_variance(accuracies: CellAccuracies) -> Float[np.ndarray, " cell"]:
    """Share of an outcome's variance, for the prior, that remains given the item's own probability."""
    whole = np.maximum(accuracies.mean * (1 - accuracies.mean), EDGE)
    return np.clip(1 - accuracies.within_variance / whole, LEAST, 1.0)


def _match_beta(cells: Cells, accuracies: CellAccuracies, *, sampled: bool) -> Beta:
    """Match a Beta prior to each cell's mean and interval width.

    For a population the items are a sample, so the variance of their mean probability is added.
    """
    low, high = accuracies.interval(LEVEL)
    extra = WIDTH_IN_SD**2 * accuracies.within_variance / cells.n_items if sampled else 0.0
    return convert_width_to_prior(cells.names, accuracies.mean, np.sqrt((high - low) ** 2 + extra))


def convert_width_to_prior(
    names: tuple[str, ...], mean: Float[np.ndarray, " cell"], width: Float[np.ndarray, " cell"]
) -> Beta:
    """Convert a cell's mean and interval width in the logit model to a prior: the Beta with both (95 %, central).

    >>> low, high = convert_width_to_prior(("a",), np.array([0.8]), np.array([0.3])).interval()
    >>> round(float(high[0] - low[0]), 2)
    0.3
    """
    mean, width = np.clip(mean, EDGE, 1 - EDGE), np.maximum(width, MIN_WIDTH)
    least = np.maximum(MIN_STRENGTH, MIN_RARE_STRENGTH / np.minimum(mean, 1 - mean) - 1)
    strength = np.maximum(mean * (1 - mean) * (WIDTH_IN_SD / width) ** 2 - 1, least)
    for _ in range(ROUNDS):  # the variance is proportional to 1 / (strength + 1)
        low, high = Beta(names, strength * mean, strength * (1 - mean)).interval(LEVEL)
        strength = np.maximum((strength + 1) * ((high - low) / width) ** 2 - 1, least)
    return Beta(names, strength * mean, strength * (1 - mean))


def _remove_labels(after: Beta, cells: Cells) -> Beta:
    """Subtract a cell's own labels from its posterior, to make the prior without them."""
    return replace(after, alpha=after.alpha - cells.right, beta=after.beta - (cells.n_labels - cells.right))


def _build_joint(
    cells: Cells,
    accuracies: CellAccuracies,
    shares: ClassShares | None,
    rest: Int[np.ndarray, " cell"] | None = None,
    residual_variance: ResidualVariance = None,
) -> JointAccuracies | JointShares:
    """Build the joint belief of all cells that goes with their prior."""
    if shares is None:
        return JointAccuracies(cells.names, accuracies, cells.outcomes, rest, residual_variance)
    unlabelled = None if rest is None else UnlabelledShares(cells.labels, rest, residual_variance)
    return JointShares(cells.names, accuracies, shares.classes, cells.predicted, cells.n_items, unlabelled)
