"""Fractional counts: an item counts in each arm with its probability of belonging to it."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from fewlabels.errors import InputError

PerArm = Float[np.ndarray, " arm"]


class Counts(NamedTuple):
    """Expected counts of items, labels and right labels in each arm."""

    n_items: PerArm
    n_labels: PerArm
    right: PerArm


def count_fractionally(chance: csr_array, outcomes: Float[np.ndarray, " item"]) -> Counts:
    """Count items, labels and right predictions in every arm fractionally, weighted by P(arm | item).

    Outcomes are 1 for a right prediction, 0 for a wrong one, a grade between, or NaN without a label.

    >>> chance = csr_array(np.array([[1.0, 0.0], [0.25, 0.75], [0.5, 0.5]]))
    >>> n_items, n_labels, right = count_fractionally(chance, np.array([1.0, 0.0, np.nan]))
    >>> n_items.tolist(), n_labels.tolist(), right.tolist()
    ([1.75, 1.25], [1.25, 0.75], [1.0, 0.0])
    """
    labelled = _validate_outcomes(chance, outcomes)
    weights = np.stack([np.ones(len(outcomes)), labelled, np.where(labelled, outcomes, 0.0)])
    n_items, n_labels, right = np.asarray(chance.T @ weights.T).T
    return Counts(n_items, n_labels, right)


def round_together(counts: PerArm) -> Int[np.ndarray, " arm"]:
    """Round fractional counts so that their sum is kept: those with the largest remainders are rounded up.

    >>> round_together(np.array([1.4, 1.4, 0.2])).tolist()
    [2, 1, 0]
    """
    out = np.floor(counts).astype(np.int64)
    more = round(float(counts.sum())) - int(out.sum())
    out[np.argsort(out - counts, kind="stable")[:more]] += 1
    return out


def _validate_outcomes(chance: csr_array, outcomes: Float[np.ndarray, " item"]) -> Bool[np.ndarray, " item"]:
    """Validate outcomes before they are counted fractionally, and return which items have one."""
    if len(outcomes) != chance.shape[0]:
        raise InputError(
            f"there are {len(outcomes):,} outcomes for {chance.shape[0]:,} items; give NaN without a label"
        )
    labelled = ~np.isnan(outcomes)
    invalid = labelled & ~((outcomes >= 0) & (outcomes <= 1))
    if invalid.any():
        row = int(np.argmax(invalid))
        raise InputError(
            f"outcome {row + 1:,} is {outcomes[row]:g}; give 1 for right, 0 for wrong, something between for a grade, NaN without a label"
        )
    return labelled
