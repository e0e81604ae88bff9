"""Who said what of which items, as numbers."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

NONE = -1  # nobody spoke, or nothing is known


@dataclass(frozen=True)
class Poll:
    """Votes on items; alike ones may be counted together.

    An item lies in a cell, where the model predicts one class: how often it is right there is part of what is learned.
    """

    people: tuple[str, ...]
    classes: tuple[str, ...]
    votes: Int[np.ndarray, "item person"]  # a class each; NONE of those who said nothing
    truth: Int[np.ndarray, " item"]  # where it was decided
    n: Int[np.ndarray, " item"]  # how many items are alike
    cell: Int[np.ndarray, " item"]
    predicted: Int[np.ndarray, " cell"]
    known: Float[np.ndarray, "cell class"]  # other labels, which are taken at their word

    @property
    def n_votes(self) -> Int[np.ndarray, " person"]:
        """How often each person spoke."""
        return ((self.votes != NONE) * self.n[:, None]).sum(axis=0)

    @property
    def heard(self) -> Int[np.ndarray, " item"]:
        """How many spoke about each item."""
        return (self.votes != NONE).sum(axis=1)

    @property
    def n_shared(self) -> int:
        """Items by which people can be judged: others spoke about them too, or they were decided."""
        judged = (self.heard >= 2) | ((self.heard >= 1) & (self.truth != NONE))
        return int(self.n[judged].sum())
