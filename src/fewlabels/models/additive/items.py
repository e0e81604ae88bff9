"""What the additive model knows of items beside their arm: score, predicted class, what attribute classifiers say."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

PerStratum = Float[np.ndarray, " stratum"]
ClassifierTerms = Float[np.ndarray, "stratum classifier_term"]


@dataclass(frozen=True)
class Items:
    """What is known of the items of every stratum."""

    score: PerStratum  # nan without scores
    predicted: Int[np.ndarray, " stratum"]  # the predicted class; NONE where it is not looked at
    classifier_terms: ClassifierTerms  # what attribute classifiers say

    def take(self, rows: Int[np.ndarray, " taken"]) -> "Items":
        """Return some of the strata."""
        return Items(self.score[rows], self.predicted[rows], self.classifier_terms[rows])
