"""Intervals of draws that take few values, such as counts of a finite pool: equal tails, trimmed while they still cover.

An equal-tailed interval of a discrete quantity covers more than its level (97.8 % instead of 95 % for a dozen items). As for
closed forms (`beta_binomial`), the less probable end is dropped, value by value, as long as the level is still covered.
"""

import numpy as np
from jaxtyping import Float

Array = Float[np.ndarray, "..."]
TINY = 1e-12  # probability that rounding may add
MAX_VALUES = 200  # end values that are dropped at most: more are so small that they do not matter


def trim_interval(samples: Float[np.ndarray, "draw *shape"], level: float) -> tuple[Array, Array]:
    """Return the trimmed interval of draws for each place: equal tails, without ends that the level does not need.

    >>> low, high = trim_interval(np.array([[0.0]] * 4 + [[1.0]] * 90 + [[2.0]] * 6), 0.9)
    >>> low.tolist(), high.tolist()
    ([1.0], [1.0])
    """
    flat = samples.reshape(len(samples), -1)
    tails = [(1 - level) / 2 + TINY, (1 + level) / 2 - TINY]
    low, high = np.quantile(flat, tails, axis=0, method="inverted_cdf")
    spare = ((flat >= low) & (flat <= high)).mean(axis=0) - level + TINY
    places = np.nonzero((spare > 2 / len(flat)) & (low < high))[0]
    for _ in range(MAX_VALUES):
        if not len(places):
            break
        places = places[_drop_ends(flat[:, places], places, low, high, spare)]
    return low.reshape(samples.shape[1:]), high.reshape(samples.shape[1:])


def _drop_ends(
    drawn: Float[np.ndarray, "draw place"], places: np.ndarray, low: Array, high: Array, spare: Array
) -> np.ndarray:
    """Trim the less probable end of each place where the level is still covered; return where one was dropped."""
    first, last = (drawn == low[places]).mean(axis=0), (drawn == high[places]).mean(axis=0)
    price = np.minimum(first, last)
    dropped = (price <= spare[places]) & (low[places] < high[places])
    at, from_low = places[dropped], first[dropped] <= last[dropped]
    inner, border_low, border_high = drawn[:, dropped], low[at], high[at]
    low[at] = np.where(from_low, np.where(inner > border_low, inner, np.inf).min(axis=0, initial=np.inf), border_low)
    high[at] = np.where(
        from_low, border_high, np.where(inner < border_high, inner, -np.inf).max(axis=0, initial=-np.inf)
    )
    spare[at] -= price[dropped]
    return dropped
