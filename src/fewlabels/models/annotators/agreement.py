"""Inter-annotator agreement beyond chance: Cohen's kappa for two annotators, Fleiss' for more, with an interval.

Items with fewer than two votes are ignored. With different numbers of votes per item, every item's share of agreeing
pairs has the same weight; for equal numbers this is Fleiss' formula. The interval is a Bayesian bootstrap over items, with one
item of prior: half an item on which annotators agree, of the classes seen, and half an item on which they disagree, of any
classes (Jeffreys' prior of the share of agreement). Without, a few items that all agree would make an interval of [1, 1].
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
    agrees, chosen = _share_pairs(table), _choose_shares(table, is_pair=is_pair)
    (kappa,) = _compute_kappa(agrees, chosen, n[None].astype(np.float64))
    counts = np.append(n, [0.5, 0.5])
    weight = np.random.default_rng(seed).standard_gamma(counts, size=(N_DRAWS_AGREEMENT, len(counts)))
    draws = _compute_kappa(np.append(agrees, [1.0, 0.0]), _add_prior_items(chosen, n), weight)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    agreed = float(n @ agrees / n.sum())
    method = "cohen" if is_pair else "fleiss"
    ends = min(float(low), float(kappa)), max(float(high), float(kappa))
    return Agreement(method, float(kappa), *ends, agreed, int(n.sum()), int(voters.sum()))


def _one_hot(votes: Int[np.ndarray, "item annotator"], k: int) -> Float[np.ndarray, "item annotator class"]:
    """One-hot encode votes, to measure agreement."""
    return (votes[:, :, None] == np.arange(k)).astype(np.float64)


def _share_pairs(table: Float[np.ndarray, "item annotator class"]) -> Float[np.ndarray, " item"]:
    """Agreement on each item: the share of pairs of its votes that are the same."""
    each = table.sum(axis=1)
    m = each.sum(axis=1)
    return ((each * (each - 1)).sum(axis=1)) / (m * (m - 1))


def _choose_shares(
    table: Float[np.ndarray, "item annotator class"], *, is_pair: bool
) -> Float[np.ndarray, "item chooser class"]:
    """Return the choices that agree by chance: of each of two annotators (Cohen), or of all on average (Fleiss)."""
    if is_pair:
        return table
    each = table.sum(axis=1)
    return (each / each.sum(axis=1, keepdims=True))[:, None]


def _add_prior_items(
    chosen: Float[np.ndarray, "item chooser class"], n: Int[np.ndarray, " item"]
) -> Float[np.ndarray, "more chooser class"]:
    """Add the two items of the prior of agreement: of the classes seen, and of any class."""
    seen = np.tensordot(n / n.sum(), chosen, axes=1)
    return np.concatenate([chosen, seen[None], np.full_like(seen, 1 / seen.shape[1])[None]])


def _compute_kappa(
    agrees: Float[np.ndarray, " item"],
    chosen: Float[np.ndarray, "item chooser class"],
    weight: Float[np.ndarray, "draw item"],
) -> Float[np.ndarray, " draw"]:
    """Compare agreement with that of annotators who choose as often, and by chance."""
    share = weight / weight.sum(axis=1, keepdims=True)
    chance = ((share @ chosen[:, 0]) * (share @ chosen[:, -1])).sum(axis=1)
    return _kappa(share @ agrees, chance)


def _kappa(observed: Float[np.ndarray, " draw"], chance: Float[np.ndarray, " draw"]) -> Float[np.ndarray, " draw"]:
    """Agreement beyond chance, (observed − chance) / (1 − chance); 1 where all votes are one class, never more."""
    return np.where(chance > 1 - 1e-12, 1.0, np.minimum((observed - chance) / np.maximum(1 - chance, 1e-12), 1.0))
