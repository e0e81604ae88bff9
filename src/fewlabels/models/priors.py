"""Priors of cells: flat, or from the model's scores; `earlier` has those from an earlier assessment.

A prior maps cells (names, mean scores, mean probabilities) to a Beta (right or wrong) or a Dirichlet (classes) per cell.
Most do not use labels. A learning prior is fitted to the labels of all cells, and returns for each cell the prior without
its own labels, and the joint distribution of all cells.
"""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from fewlabels.data.counts import NONE, Cells
from fewlabels.distributions.belief import Belief, Conjugate
from fewlabels.distributions.beta_dirichlet import Beta, Dirichlet
from fewlabels.distributions.covariance import CellCovariance
from fewlabels.errors import InputError
from fewlabels.metrics.metric import Reads

STRENGTH: dict[Reads, float] = {"right": 2.0, "label": 1.0}  # the papers' N0 for Beta and for Dirichlet
MAX_STRENGTH = 1e12
EDGE = 1e-6  # a mean score of exactly 1 would exclude errors


@runtime_checkable
class Prior(Protocol):
    """A prior of the cells."""

    @property
    def name(self) -> str:
        """The prior's name on the command line and in results."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Column roles that the prior requires: score, probabilities."""
        ...

    @property
    def guesses_level(self) -> bool:
        """Is the prior's mean a guess common to all cells?

        Then sums over many cells learn the level (partial pooling).
        """
        ...

    def before(self, cells: Cells, reads: Reads) -> Conjugate:
        """Prior of each cell, without its own labels."""
        ...


@dataclass(frozen=True)
class PriorFit:
    """A prior fitted to cells: the prior of each cell and, where cells are correlated, their joint posterior."""

    before: Conjugate
    joint: Belief | None = None
    unlabelled: Conjugate | None = None  # of the unlabelled items, where their scores differ from the labelled ones'
    residual_variance: Float[np.ndarray, " cell"] | None = (
        None  # share of an outcome's variance that remains given its score
    )
    trust: Any = None  # summary of the learned calibration
    covariance: CellCovariance | None = None  # covariance of the cells, for acquisition


@runtime_checkable
class LearningPrior(Prior, Protocol):
    """A prior that is fitted to the labels so far."""

    def learn(self, cells: Cells, reads: Reads, *, finite_pool: bool) -> PriorFit:
        """Fit the prior to the labels of all cells, for the population or for the finite pool."""
        ...


def fit_prior(prior: Prior, cells: Cells, reads: Reads, *, finite_pool: bool) -> PriorFit:
    """Fit a prior to cells; a prior that does not learn is evaluated."""
    if isinstance(prior, LearningPrior):
        return prior.learn(cells, reads, finite_pool=finite_pool)
    return PriorFit(prior.before(cells, reads))


def list_uses(prior: Prior) -> tuple[str, ...]:
    """Return the column roles that a prior uses: required ones, then optional ones."""
    return (*prior.needs, *getattr(prior, "uses", ()))


@dataclass(frozen=True)
class Flat:
    """All outcomes equally likely: Beta(N0/2, N0/2), Dirichlet(N0/K)."""

    strength: float | None = None
    name: str = "flat"
    needs: tuple[str, ...] = ()
    guesses_level: bool = True

    def before(self, cells: Cells, reads: Reads) -> Conjugate:
        """Equal pseudo-counts: the flat prior of each cell."""
        k = 2 if reads == "right" else cells.labels.shape[1]
        return _from_mean(cells, reads, np.full((cells.n, k), 1 / k), self.strength)


@dataclass(frozen=True)
class FromScores:
    """Prior mean from the model's mean score or mean probability vector, worth N0 labels per cell (000, Eq. 2.17)."""

    strength: float | None = None
    name: str = "scores"
    needs: tuple[str, ...] = ("score",)
    uses: tuple[str, ...] = ("probabilities",)
    guesses_level: bool = True

    def before(self, cells: Cells, reads: Reads) -> Conjugate:
        """Prior of each cell: pseudo-counts in proportion to the scores."""
        score = np.clip(cells.score, EDGE, 1 - EDGE)
        if reads == "right":
            centre = np.stack([score, 1 - score], axis=1)
        elif cells.probability is not None and cells.probability.any():
            centre = np.clip(cells.probability, EDGE, None)
            centre = centre / centre.sum(axis=1, keepdims=True)
        else:
            centre = _spread_rest(cells, score)
        return _from_mean(cells, reads, centre, self.strength)


def flat(strength: float | None = None) -> Flat:
    """Use a flat prior; `strength` in labels, 2 for Beta and 1 for Dirichlet unless given."""
    return Flat(_check_strength(strength))


def from_scores(strength: float | None = None) -> FromScores:
    """Use the model's scores as prior means; `strength` in labels, 2 for Beta and 1 for Dirichlet unless given."""
    return FromScores(_check_strength(strength))


def pseudo_counts(belief: Conjugate) -> Float[np.ndarray, "cell outcome"]:
    """Return the pseudo-counts of a prior given as a conjugate belief."""
    if isinstance(belief, Beta):
        return np.stack([belief.alpha, belief.beta], axis=1)
    assert isinstance(belief, Dirichlet)
    return belief.alpha.copy()


def _check_strength(strength: float | None) -> float | None:
    """Refuse the strength of a prior that is no positive number of labels."""
    if strength is not None and not 0 < strength < MAX_STRENGTH:
        raise InputError(
            f"prior: strength is {strength}; it is counted in labels: more than 0, and less than {MAX_STRENGTH:g}"
        )
    return strength


def _from_mean(
    cells: Cells, reads: Reads, centre: Float[np.ndarray, "cell outcome"], strength: float | None
) -> Conjugate:
    """Return the prior with this mean and strength."""
    return to_conjugate(cells.names, reads, centre * (STRENGTH[reads] if strength is None else strength))


def to_conjugate(names: tuple[str, ...], reads: Reads, counts: Float[np.ndarray, "cell outcome"]) -> Conjugate:
    """Return the prior, a conjugate belief, with these pseudo-counts."""
    return Beta(names, counts[:, 0], counts[:, 1]) if reads == "right" else Dirichlet(names, counts)


def _spread_rest(cells: Cells, score: Float[np.ndarray, " cell"]) -> Float[np.ndarray, "cell class"]:
    """Prior mean without per-class probabilities: the score on the predicted class, the rest spread evenly."""
    k = cells.labels.shape[1]
    if np.any(cells.predicted == NONE):
        raise InputError("prior scores: this metric needs the predicted class of every item")
    centre = np.repeat(((1 - score) / max(k - 1, 1))[:, None], k, axis=1)
    centre[np.arange(cells.n), cells.predicted] = score
    return centre / centre.sum(axis=1, keepdims=True)
