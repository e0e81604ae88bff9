"""Items and labels on which two models disagree, per group and overall."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fewlabels.data.counts import CountTable


class PairCount(NamedTuple):
    """Counts of one scope and two models."""

    n_items: int
    n_disagree: int | None  # None of models on different items
    n_labels: int
    n_labels_disagree: int | None

    @property
    def telling(self) -> tuple[int, int]:
        """Labels and items that tell the two models apart: where they disagree; of different items, all."""
        if self.n_disagree is None or self.n_labels_disagree is None:
            return self.n_labels, self.n_items
        return self.n_labels_disagree, self.n_disagree


@dataclass(frozen=True)
class PairCounts:
    """Counts of every scope and every two models."""

    tally: CountTable

    def count(self, a: int, b: int, groups: Sequence[int] | None) -> PairCount:
        """Count the items of some groups, or all, and those on which two models disagree."""
        tally = self.tally
        chosen = np.ones(len(tally.group), dtype=bool) if groups is None else np.isin(tally.group, groups)
        n_items, n_labels = (int(values[chosen].sum()) for values in (tally.n_items, tally.n_labels))
        if tally.models is None:
            return PairCount(n_items, None, n_labels, None)
        predicted = tally.models.predicted
        differ = chosen & (predicted[:, a] != predicted[:, b])
        n_disagree, n_labels_disagree = (int(values[differ].sum()) for values in (tally.n_items, tally.n_labels))
        return PairCount(n_items, n_disagree, n_labels, n_labels_disagree)
