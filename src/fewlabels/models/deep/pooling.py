"""Arms with few labels borrow from those that are most alike (section 3.3)."""

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import KDTree
from scipy.special import softmax

FEW, NEIGHBOURS = 5.0, 3  # labels that are enough to stand alone; arms to borrow from
PerArm = Float[np.ndarray, " arm"]
Counts = tuple[PerArm, PerArm]  # labels, and right ones among them


def pool_sparse(place: Float[np.ndarray, "arm dimension"], length: float, counts: Counts) -> Counts:
    """Add to the counts of each arm with few labels the mean of its neighbours', weighted by the kernel of this length.

    Neighbours lend what they saw themselves, not what they borrow.
    """
    n, right = counts
    other, square = find_neighbours(place)
    weight = np.where(n < FEW, 1.0, 0.0)[:, None] * softmax(-square / length, axis=1)
    return n + (weight * n[other]).sum(axis=1), right + (weight * right[other]).sum(axis=1)


def find_neighbours(
    place: Float[np.ndarray, "arm dimension"],
) -> tuple[Int[np.ndarray, "arm neighbour"], Float[np.ndarray, "arm neighbour"]]:
    """Find the nearest other arms of each, and how far they are, squared; the kernel only falls with distance."""
    n = min(NEIGHBOURS, len(place) - 1)
    distance, arm = map(np.asarray, KDTree(place).query(place, k=n + 1))
    own = arm == np.arange(len(place))[:, None]
    own[~own.any(axis=1), -1] = True  # so many at the same place that the arm itself was not among them
    return arm[~own].reshape(-1, n), distance[~own].reshape(-1, n) ** 2
