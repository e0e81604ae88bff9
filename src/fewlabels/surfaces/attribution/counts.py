"""Fractional counts: an item of which it is not known which arm it is counts a little in each."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.sparse import csr_array

from fewlabels.errors import InputError

TINY = 1e-6  # no outcome is impossible
PerArm = Float[np.ndarray, " arm"]


class Counts(NamedTuple):
    """What is in each arm, in fractions of items."""

    n_items: PerArm
    n_labels: PerArm
    right: PerArm


def count_fractionally(chance: csr_array, outcomes: Float[np.ndarray, " item"]) -> Counts:
    """Count items, labels, and labels that find the prediction right, in every arm.

    Outcomes are 1 where a prediction is right, 0 where it is wrong, and NaN where there is no label.

    >>> chance = csr_array(np.array([[1.0, 0.0], [0.25, 0.75], [0.5, 0.5]]))
    >>> n_items, n_labels, right = count_fractionally(chance, np.array([1.0, 0.0, np.nan]))
    >>> n_items.tolist(), n_labels.tolist(), right.tolist()
    ([1.75, 1.25], [1.25, 0.75], [1.0, 0.0])
    """
    labelled = _check(chance, outcomes)
    weights = np.stack([np.ones(len(outcomes)), labelled, np.where(labelled, outcomes, 0.0)])
    n_items, n_labels, right = np.asarray(chance.T @ weights.T).T
    return Counts(n_items, n_labels, right)


def reassign(chance: csr_array, outcomes: Float[np.ndarray, " item"], accuracy: PerArm) -> csr_array:
    """P(arm | item, outcome): of the arms that an item may be of, one where such an outcome is common is likelier.

    Counting fractionally mixes arms, and makes them look alike. Estimating accuracies, reassigning by them, and so on
    in turn is expectation-maximisation of the likelihood of outcomes. It needs estimates that share strength between
    arms: one arm by itself would talk itself into its outcomes.

    >>> chance = csr_array(np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]))
    >>> reassign(chance, np.array([1.0, 0.0, np.nan]), np.array([0.9, 0.6])).toarray().round(2).tolist()
    [[0.6, 0.4], [0.2, 0.8], [0.5, 0.5]]
    """
    labelled = _check(chance, outcomes)
    item = np.repeat(np.arange(len(outcomes)), np.diff(chance.indptr))
    right = accuracy[chance.indices]
    likely = np.where(labelled[item], np.where(outcomes[item] > 0.5, right, 1 - right), 1.0)
    values = chance.data * np.maximum(likely, TINY)
    values /= np.bincount(item, weights=values, minlength=len(outcomes))[item]
    return csr_array((values, chance.indices, chance.indptr), shape=chance.shape)


def _check(chance: csr_array, outcomes: Float[np.ndarray, " item"]) -> Bool[np.ndarray, " item"]:
    """Tell which items have an outcome."""
    if len(outcomes) != chance.shape[0]:
        raise InputError(
            f"there are {len(outcomes):,} outcomes for {chance.shape[0]:,} items; give NaN without a label"
        )
    labelled = ~np.isnan(outcomes)
    strange = labelled & (outcomes != 0) & (outcomes != 1)
    if strange.any():
        row = int(np.argmax(strange))
        raise InputError(
            f"outcome {row + 1:,} is {outcomes[row]:g}; give 1 for right, 0 for wrong, NaN without a label"
        )
    return labelled
