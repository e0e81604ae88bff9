"""A belief before any label: flat, from the model's own scores, or from an earlier assessment.

A prior sees cells (their names, mean scores, mean probabilities) and gives each cell a Beta (right or wrong) or a
Dirichlet (which class) to start from. Most never look at labels. One that learns sees those of all cells, and says what
they teach about each: where it would start without its own labels, and how the cells hang together.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from fewlabels.data.counts import NONE, Cells
from fewlabels.distributions.belief import Belief, Beta, Conjugate, Dirichlet
from fewlabels.distributions.covariance import Ties
from fewlabels.errors import InputError, did_you_mean, listing
from fewlabels.metrics.metric import Reads

if TYPE_CHECKING:
    from fewlabels.models.earlier import EarlierAssessment

STRENGTH: dict[Reads, float] = {"right": 2.0, "label": 1.0}  # the papers' N0 for Beta and for Dirichlet
STRONGEST = 1e12
KNOWN = ("calibrated", "smooth", "scores", "flat")  # by name, on the command line
READ_EARLIER = "fewlabels.models.earlier:read_earlier"  # its parser takes a while to import, and few ask for it
EDGE = 1e-6  # a mean score of exactly 1 would leave no room for a mistake


@runtime_checkable
class Prior(Protocol):
    """Where belief starts."""

    @property
    def name(self) -> str:
        """What it is called on the command line and in results."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Roles a pool must have for it: score, probabilities."""
        ...

    @property
    def guesses_level(self) -> bool:
        """Is its level a guess, the same everywhere, that sums over many cells should not take at its word?"""
        ...

    def before(self, cells: Cells, reads: Reads) -> Conjugate:
        """Belief about each cell before any label."""
        ...


@dataclass(frozen=True)
class Lesson:
    """What a prior says about cells: each by itself, and, where they hang together, all of them with their labels."""

    before: Conjugate
    joint: Belief | None = None
    unlabelled: Conjugate | None = None  # about the items without a label, where their scores set them apart
    luck: Float[np.ndarray, " cell"] | None = None  # how much of their outcomes' variance their scores leave open
    trust: Any = None  # how far the scores were trusted, for those who ask
    ties: Ties | None = None  # what a label in one cell tells of others, as a reason to look


@runtime_checkable
class Learner(Prior, Protocol):
    """A prior that learns from the labels so far."""

    def learn(self, cells: Cells, reads: Reads, *, finite: bool) -> Lesson:
        """Say what the labels of all cells teach, about the population or about exactly these items."""
        ...


def consult(prior: Prior, cells: Cells, reads: Reads, *, finite: bool) -> Lesson:
    """Ask a prior about cells, whether it learns or not."""
    if isinstance(prior, Learner):
        return prior.learn(cells, reads, finite=finite)
    return Lesson(prior.before(cells, reads))


def list_uses(prior: Prior) -> tuple[str, ...]:
    """Return what a prior makes use of where it is there; at least what it needs."""
    return (*prior.needs, *getattr(prior, "uses", ()))


@dataclass(frozen=True)
class Flat:
    """No outcome is likelier than another: Beta(N0/2, N0/2), Dirichlet(N0/K)."""

    strength: float | None = None
    name: str = "flat"
    needs: tuple[str, ...] = ()
    guesses_level: bool = True

    def before(self, cells: Cells, reads: Reads) -> Conjugate:
        """Even pseudo-counts."""
        k = 2 if reads == "right" else cells.labels.shape[1]
        return _centred(cells, reads, np.full((cells.n, k), 1 / k), self.strength)


@dataclass(frozen=True)
class FromScores:
    """The model's word, worth N0 labels a cell: its mean score, or mean probability vector (000, Eq. 2.17)."""

    strength: float | None = None
    name: str = "scores"
    needs: tuple[str, ...] = ("score",)
    uses: tuple[str, ...] = ("probabilities",)
    guesses_level: bool = True

    def before(self, cells: Cells, reads: Reads) -> Conjugate:
        """Pseudo-counts in the proportions of the scores."""
        score = np.clip(cells.score, EDGE, 1 - EDGE)
        if reads == "right":
            centre = np.stack([score, 1 - score], axis=1)
        elif cells.probability is not None and cells.probability.any():
            centre = np.clip(cells.probability, EDGE, None)
            centre = centre / centre.sum(axis=1, keepdims=True)
        else:
            centre = _spread_rest(cells, score)
        return _centred(cells, reads, centre, self.strength)


@dataclass(frozen=True)
class FromEarlier:
    """What an earlier assessment of the same groups ended with, discounted by `weight`.

    Its labels count once more here, so the two must not share labels.
    """

    belief: Mapping[str, tuple[float, ...]]
    by: str
    reads: Reads
    outcomes: tuple[str, ...]
    weight: float = 1.0
    name: str = "earlier"
    needs: tuple[str, ...] = ()
    guesses_level: bool = False

    def before(self, cells: Cells, reads: Reads) -> Conjugate:
        """Its pseudo-counts where it knew the cell; a flat prior where it did not."""
        if reads != self.reads or cells.by != self.by or not set(cells.names) & set(self.belief):
            raise InputError(
                "prior: the earlier assessment is about other groups or another kind of metric, and cannot start this one"
            )
        outcomes = ("right", "wrong") if reads == "right" else cells.classes
        strange = sorted(set(self.outcomes) - set(outcomes))
        if strange:
            raise InputError(
                f"prior: the earlier assessment knows classes that these predictions lack: {listing(strange)}"
            )
        place = [outcomes.index(name) for name in self.outcomes]
        rows = pseudo_counts(Flat().before(cells, reads))
        for i, name in enumerate(cells.names):
            if name in self.belief:
                rows[i, place] = np.maximum(self.weight * np.array(self.belief[name]), EDGE)
        return _as_belief(cells.names, reads, rows)


def flat(strength: float | None = None) -> Flat:
    """Start without an opinion; `strength` in labels, 2 for Beta and 1 for Dirichlet unless given."""
    return Flat(_positive(strength))


def from_scores(strength: float | None = None) -> FromScores:
    """Start from the model's own scores; `strength` in labels, 2 for Beta and 1 for Dirichlet unless given."""
    return FromScores(_positive(strength))


def from_earlier(earlier: Any, weight: float = 1.0) -> FromEarlier:
    """Start from an earlier assessment: the object, its dict, or the path of its JSON file."""
    if not 0 < weight <= 1:
        raise InputError(f"prior: weight is {weight}; an earlier assessment counts for more than 0 and at most 1")
    found = _read_earlier(earlier)
    belief = found.belief
    counts = dict(zip(belief.cells, belief.counts, strict=True))
    return FromEarlier(counts, found.by, belief.reads, belief.outcomes, weight)


def pseudo_counts(belief: Conjugate) -> Float[np.ndarray, "cell outcome"]:
    """Return what a conjugate belief amounts to in outcomes."""
    if isinstance(belief, Beta):
        return np.stack([belief.alpha, belief.beta], axis=1)
    assert isinstance(belief, Dirichlet)
    return belief.alpha.copy()


def _read_earlier(earlier: Any) -> "EarlierAssessment":
    read: Callable[[Any, str], EarlierAssessment] = resolve_name(READ_EARLIER)
    if isinstance(earlier, Mapping) or hasattr(earlier, "to_dict"):
        return read(dict(earlier if isinstance(earlier, Mapping) else earlier.to_dict()), "prior")
    if not Path(earlier).is_file():
        raise InputError(
            f"prior: {str(earlier)!r} is neither a file nor a known prior; {did_you_mean(str(earlier), KNOWN)}"
        )
    return read(Path(earlier), f"prior: {earlier}")


def _positive(strength: float | None) -> float | None:
    if strength is not None and not 0 < strength < STRONGEST:
        raise InputError(
            f"prior: strength is {strength}; it is counted in labels: more than 0, and less than {STRONGEST:g}"
        )
    return strength


def _centred(
    cells: Cells, reads: Reads, centre: Float[np.ndarray, "cell outcome"], strength: float | None
) -> Conjugate:
    return _as_belief(cells.names, reads, centre * (STRENGTH[reads] if strength is None else strength))


def _as_belief(names: tuple[str, ...], reads: Reads, counts: Float[np.ndarray, "cell outcome"]) -> Conjugate:
    return Beta(names, counts[:, 0], counts[:, 1]) if reads == "right" else Dirichlet(names, counts)


def _spread_rest(cells: Cells, score: Float[np.ndarray, " cell"]) -> Float[np.ndarray, "cell class"]:
    """Without per-class probabilities: the score on the predicted class, the rest spread evenly."""
    k = cells.labels.shape[1]
    if np.any(cells.predicted == NONE):
        raise InputError("prior scores: this metric needs the predicted class of every item")
    centre = np.repeat(((1 - score) / max(k - 1, 1))[:, None], k, axis=1)
    centre[np.arange(cells.n), cells.predicted] = score
    return centre / centre.sum(axis=1, keepdims=True)
