"""Votes of annotators on items, as arrays."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

NONE = -1  # no vote, or not decided


@dataclass(frozen=True)
class VoteMatrix:
    """Votes on items; identical items may be counted together.

    Every item belongs to a cell with one predicted class. The model's accuracy in each cell is estimated too.
    """

    annotators: tuple[str, ...]
    classes: tuple[str, ...]
    votes: Int[np.ndarray, "item annotator"]  # class index; NONE without a vote
    truth: Int[np.ndarray, " item"]  # decided class; NONE elsewhere
    n: Int[np.ndarray, " item"]  # number of identical items
    cell: Int[np.ndarray, " item"]
    predicted: Int[np.ndarray, " cell"]
    known: Float[np.ndarray, "cell class"]  # other labels, assumed correct

    @property
    def n_votes(self) -> Int[np.ndarray, " annotator"]:
        """Number of votes of each annotator."""
        return ((self.votes != NONE) * self.n[:, None]).sum(axis=0)

    @property
    def n_annotators(self) -> Int[np.ndarray, " item"]:
        """Number of annotators of each item."""
        return (self.votes != NONE).sum(axis=1)

    @property
    def n_shared(self) -> int:
        """Number of items that inform about annotators: with several votes, or with a vote and a decision."""
        judged = (self.n_annotators >= 2) | ((self.n_annotators >= 1) & (self.truth != NONE))
        return int(self.n[judged].sum())
