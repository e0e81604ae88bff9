"""What the additive model knows of items beside their arm: score, predicted class, what attribute classifiers say."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import NONE
from fewlabels.data.counts import Strata as CellStrata

PerStratum = Float[np.ndarray, " stratum"]
ClassifierTerms = Float[np.ndarray, "stratum classifier_term"]


@dataclass(frozen=True)
class Items:
    """What is known of the items of every stratum."""

    score: PerStratum  # nan without scores
    predicted: Int[np.ndarray, " stratum"]  # the predicted class; NONE where it is not looked at
    classifier_terms: ClassifierTerms  # what attribute classifiers say

    def take(self, rows: Int[np.ndarray, " taken"]) -> "Items":
        """Return the items of some of the strata."""
        return Items(self.score[rows], self.predicted[rows], self.classifier_terms[rows])


def describe_items(strata: CellStrata) -> Items:
    """Return what the additive model knows of the items of every stratum; classes are numbered without gaps."""
    n = len(strata.cell)
    predicted = np.full(n, NONE)
    if strata.predicted is not None:
        predicted = np.unique(strata.predicted, return_inverse=True)[1].reshape(-1)
    return Items(strata.score, predicted, np.zeros((n, 0)))
