"""Strata of arms whose members are uncertain: items with similar values of the fitted curve count together."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

N_STRATA = 24  # of the pool: quantiles of the fitted curve


@dataclass(frozen=True)
class MergedItems:
    """Arms split by the fitted curve: the arm and expected number of items of each stratum."""

    chance: csr_array  # (item, arm)
    place: Int[np.ndarray, " item"]  # of the curve
    arm: Int[np.ndarray, " stratum"]
    at: Int[np.ndarray, " stratum"]
    n_items: Float[np.ndarray, " stratum"]
    predicted: Int[np.ndarray, " stratum"]  # class of its items

    def average(self, values: Float[np.ndarray, "item column"]) -> Float[np.ndarray, "stratum column"]:
        """Average columns over the items of every stratum of uncertain arms."""
        out = np.empty((len(self.arm), values.shape[1]))
        for i, column in enumerate(values.T):
            inside = _spread_over_places(self.place, column)
            total = csr_array(self.chance.T @ inside).toarray()
            out[:, i] = total[self.arm, self.at] / self.n_items
        return out


def merge_into_strata(
    chance: csr_array, curve: Float[np.ndarray, " item"], predicted: Int[np.ndarray, " item"]
) -> MergedItems:
    """Merge items of uncertain arms into strata by predicted class and quantiles of the fitted curve.

    >>> chance = csr_array(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]))
    >>> merge_into_strata(chance, np.zeros(3), np.zeros(3, dtype=np.int64)).n_items.tolist()
    [1.5, 1.5]
    """
    edges = np.unique(np.quantile(curve, np.linspace(0, 1, N_STRATA + 1)[1:-1]))
    key = np.stack([predicted, np.digitize(curve, edges)])
    found, place = np.unique(key, axis=1, return_inverse=True)
    place = place.reshape(-1)
    n_items = csr_array(chance.T @ _spread_over_places(place, np.ones(len(curve))))
    arm = np.repeat(np.arange(chance.shape[1]), np.diff(n_items.indptr))
    order = np.lexsort((n_items.indices, arm))
    at = n_items.indices[order]
    return MergedItems(chance, place, arm[order], at, n_items.data[order].astype(np.float64), found[0, at])


def _spread_over_places(place: Int[np.ndarray, " item"], values: Float[np.ndarray, " item"]) -> csr_array:
    """Return values of items as a sparse matrix (item, place), to sum them by stratum."""
    return csr_array((values, (np.arange(len(place)), place)), shape=(len(place), int(place.max()) + 1))
