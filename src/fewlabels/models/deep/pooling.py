"""Pool the counts of arms with few labels with those of their nearest neighbours (section 3.3)."""

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import KDTree
from scipy.special import softmax

MIN_LABELS, N_NEIGHBOURS = 5.0, 3  # labels from which an arm is not pooled; number of neighbours
PerArm = Float[np.ndarray, " arm"]
Counts = tuple[PerArm, PerArm]  # labels, and right predictions among them


def pool_sparse(embedding: Float[np.ndarray, "arm dimension"], length: float, counts: Counts) -> Counts:
    """Pool arms with few labels: add the kernel-weighted mean count of their neighbours to their counts.

    Neighbours contribute their own counts, before pooling.
    """
    n, right = counts
    other, square = find_neighbours(embedding)
    weight = np.where(n < MIN_LABELS, 1.0, 0.0)[:, None] * softmax(-square / length, axis=1)
    return n + (weight * n[other]).sum(axis=1), right + (weight * right[other]).sum(axis=1)


def find_neighbours(
    embedding: Float[np.ndarray, "arm dimension"],
) -> tuple[Int[np.ndarray, "arm neighbour"], Float[np.ndarray, "arm neighbour"]]:
    """Return the arms to pool each arm with, its nearest others, and their squared distances."""
    n = min(N_NEIGHBOURS, len(embedding) - 1)
    distance, arm = map(np.asarray, KDTree(embedding).query(embedding, k=n + 1))
    own = arm == np.arange(len(embedding))[:, None]
    own[~own.any(axis=1), -1] = True  # with many ties the arm itself may not be among its nearest
    return arm[~own].reshape(-1, n), distance[~own].reshape(-1, n) ** 2
