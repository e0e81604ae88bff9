"""Inter-annotator agreement beyond chance: Cohen's kappa for two annotators, Fleiss' for more, with an interval.

Items with fewer than two votes are ignored. With different numbers of votes per item, every item's share of agreeing
pairs has the same weight; for equal numbers this is Fleiss' formula. The interval is a Bayesian bootstrap over items.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.distributions.budgets import N_DRAWS_AGREEMENT
from fewlabels.models.annotators.vote_matrix import NONE, VoteMatrix


@dataclass(frozen=True)
class Agreement:
    """Kappa is 1 for perfect agreement and 0 for agreement at chance level."""

    method: str  # cohen or fleiss
    kappa: float
    low: float
    high: float
    share: float  # share of agreeing pairs of votes
    n_items: int
    n_people: int


def measure_agreement(vote_matrix: VoteMatrix, level: float = 0.95, seed: int = 0) -> Agreement | None:
    """Return the annotators' agreement (kappa) with its interval; None where no item has two votes.

    >>> votes = np.array([[0, 0], [0, 0], [1, 1], [0, 1]])
    >>> nothing = np.full(4, NONE)
    >>> vote_matrix = VoteMatrix(("a", "b"), ("x", "y"), votes, nothing, np.array([20, 5, 10, 15]), nothing * 0, np.array([0]), np.zeros((1, 2)))
    >>> found = measure_agreement(vote_matrix)
    >>> found.method, round(found.kappa, 3), found.share
    ('cohen', 0.4, 0.7)
    """
    shared = vote_matrix.n_annotators >= 2
    votes, n = vote_matrix.votes[shared], vote_matrix.n[shared]
    if not len(votes):
        return None
    voters = (votes != NONE).any(axis=0)
    is_pair = int(voters.sum()) == 2
    table = _one_hot(votes[:, voters], len(vote_matrix.classes))
    weight = np.random.default_rng(seed).standard_gamma(n.astype(np.float64), size=(N_DRAWS_AGREEMENT, len(n)))
    rate = _compute_cohen_kappa if is_pair else _compute_fleiss_kappa
    draws, (kappa,) = rate(table, weight), rate(table, n[None].astype(np.float64))
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    agreed = float(n @ _share_pairs(table) / n.sum())
    method = "cohen" if is_pair else "fleiss"
    return Agreement(method, float(kappa), float(low), float(high), agreed, int(n.sum()), int(voters.sum()))


def _one_hot(votes: Int[np.ndarray, "item annotator"], k: int) -> Float[np.ndarray, "item annotator class"]:
    """One-hot encode votes, to count annotators who agree."""
    return (votes[:, :, None] == np.arange(k)).astype(np.float64)


def _share_pairs(table: Float[np.ndarray, "item annotator class"]) -> Float[np.ndarray, " item"]:
    """Agreement on each item: the share of pairs of its votes that are the same."""
    each = table.sum(axis=1)
    m = each.sum(axis=1)
    return ((each * (each - 1)).sum(axis=1)) / (m * (m - 1))


def _compute_cohen_kappa(
    table: Float[np.ndarray, "item 2 class"], weight: Float[np.ndarray, "draw item"]
) -> Float[np.ndarray, " draw"]:
    """Cohen's kappa, the agreement of two annotators, for every weighting of the items."""
    share = weight / weight.sum(axis=1, keepdims=True)
    chance = ((share @ table[:, 0]) * (share @ table[:, 1])).sum(axis=1)
    return _kappa(share @ _share_pairs(table), chance)


def _compute_fleiss_kappa(
    table: Float[np.ndarray, "item annotator class"], weight: Float[np.ndarray, "draw item"]
) -> Float[np.ndarray, " draw"]:
    """Fleiss' kappa, the agreement of more annotators, for every weighting of the items."""
    share = weight / weight.sum(axis=1, keepdims=True)
    each = table.sum(axis=1)
    chance = ((share @ (each / each.sum(axis=1, keepdims=True))) ** 2).sum(axis=1)
    return _kappa(share @ _share_pairs(table), chance)


def _kappa(observed: Float[np.ndarray, " draw"], chance: Float[np.ndarray, " draw"]) -> Float[np.ndarray, " draw"]:
    """Agreement beyond chance, (observed − chance) / (1 − chance); 1 where all votes are one class, never more."""
    return np.where(chance > 1 - 1e-12, 1.0, np.minimum((observed - chance) / np.maximum(1 - chance, 1e-12), 1.0))
