"""About how many more labels settle which of several models is better: the one forecast of `compare`, `status` and `plan`.

Labels of items on which the models disagree narrow the posterior of their figures: its covariance falls with the number of
these labels, and its mean moves by as much as the covariance falls (the mean is a martingale). Many such futures are drawn
from a normal distribution, and each is followed, from one batch of labels to the next, until the question is settled.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtr

from fewlabels.text import round_up_count

PRIOR_LABELS = 3.0  # labels that the prior is about worth
MIN_LABELS = 10  # labels where models disagree, before which nothing is settled
BATCH, GROWTH = 5, 10  # the question is looked at after five more labels, or 1/10 more
N_FUTURES = 1000
N_LOOKS = 200  # draws by which a future's P(best) is found

Drawn = Float[np.ndarray, "draw figure"]
Means = Float[np.ndarray, "future figure"]
IsSettled = Callable[[Means, float], Bool[np.ndarray, " future"]]


@dataclass(frozen=True)
class LabelForecast:
    """Labels that settle a question, over simulated futures: the median, and the range of the central 80 %."""

    n_more: int | None  # None: most futures never settle
    low: int | None
    high: int | None
    needed: tuple[int | None, ...]

    @property
    def range(self) -> str:
        """The central 80 % of forecast sample sizes, in words."""
        low, high = (f"{n:,}" if n is not None else "more than there are" for n in (self.low, self.high))
        return f"eight in ten simulated futures: {low} to {high}"


def forecast_difference(
    drawn: Float[np.ndarray, " draw"],
    *,
    rope: float,
    confidence: float,
    n_labels: int,
    n_open: int,
    finite_pool: bool = False,
) -> LabelForecast:
    """Forecast the sample size that settles a difference of two models: how many more labels.

    Parameters
    ----------
    drawn: array
        Draws of the difference.
    rope, confidence: float
        Region of practical equivalence, and the probability that a verdict needs.
    n_labels, n_open: int
        Labelled and unlabelled items on which the two models disagree.
    finite_pool: bool
        Is the difference on exactly these items meant? Then all labels leave nothing uncertain.

    >>> drawn = np.random.default_rng(0).normal(0.03, 0.02, 4000)
    >>> found = forecast_difference(drawn, rope=0.0, confidence=0.95, n_labels=50, n_open=1000)
    >>> found.low < found.n_more < 60
    True
    """
    spread = float(drawn.std())

    def is_settled(mean: Means, factor: float) -> Bool[np.ndarray, " future"]:
        deviation = max(spread * factor, 1e-12)
        below, above = ndtr((-rope - mean[:, 0]) / deviation), ndtr((mean[:, 0] - rope) / deviation)
        return np.asarray(np.maximum(np.maximum(below, above), 1 - below - above) >= confidence)

    return forecast_labels(drawn[:, None], is_settled, n_labels=n_labels, n_open=n_open, finite_pool=finite_pool)


def forecast_best(
    drawn: Drawn, *, rope: float, confidence: float, n_labels: int, n_open: int, finite_pool: bool = False
) -> LabelForecast:
    """Forecast the sample size that finds a model within `rope` of the best; `drawn` are higher for better ones."""
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((N_LOOKS, drawn.shape[1])) @ _find_covariance_root(drawn).T

    def is_settled(mean: Means, factor: float) -> Bool[np.ndarray, " future"]:
        regret = np.stack([_lose(mean_of_future + factor * noise) for mean_of_future in mean])
        chosen = regret.mean(axis=1).argmin(axis=1)
        near = (np.take_along_axis(regret, chosen[:, None, None], axis=2)[:, :, 0] <= rope).mean(axis=1)
        return np.asarray(near >= confidence)

    return forecast_labels(drawn, is_settled, n_labels=n_labels, n_open=n_open, finite_pool=finite_pool)


def forecast_labels(
    drawn: Drawn, is_settled: IsSettled, *, n_labels: int, n_open: int, finite_pool: bool
) -> LabelForecast:
    """Forecast the sample size that settles a question about models' figures, which is not settled now.

    `is_settled` tells it for posterior means, and the factor by which standard deviations have fallen.
    """
    steps = _list_steps(n_open)
    rest = _shrink_variance(steps, n_labels, n_open, finite_pool=finite_pool)  # of the variance
    rng, root = np.random.default_rng(0), _find_covariance_root(drawn)
    mean = np.tile(drawn.mean(axis=0), (N_FUTURES, 1))
    needed = np.full(N_FUTURES, np.inf)
    for i, n in enumerate(steps[1:].tolist(), start=1):
        mean = mean + np.sqrt(max(rest[i - 1] - rest[i], 0.0)) * rng.standard_normal(mean.shape) @ root.T
        (open_,) = np.nonzero(np.isinf(needed))
        if len(open_) and n_labels + n >= min(MIN_LABELS, n_labels + n_open):
            needed[open_[is_settled(mean[open_], float(np.sqrt(rest[i])))]] = n
    return summarize_needed(needed, n_open)


def summarize_needed(needed: Float[np.ndarray, " future"], most: int | None = None) -> LabelForecast:
    """Summarize forecast sample sizes by quantiles, rounded up to two digits; infinite where a future never settles."""
    low, middle, high = (
        (round_up_count(q) if most is None else min(round_up_count(q), max(most, 0))) if np.isfinite(q) else None
        for q in np.quantile(needed, [0.1, 0.5, 0.9], method="inverted_cdf")
    )
    return LabelForecast(middle, low, high, tuple(int(n) if np.isfinite(n) else None for n in needed))


def _list_steps(n_open: int) -> Int[np.ndarray, " step"]:
    """List the sample sizes at which the question about models is looked at."""
    steps = [0]
    while steps[-1] < n_open:
        steps.append(min(n_open, steps[-1] + max(BATCH, steps[-1] // GROWTH)))
    return np.array(steps)


def _shrink_variance(
    n: Int[np.ndarray, " step"], n_labels: int, n_open: int, *, finite_pool: bool
) -> Float[np.ndarray, " step"]:
    """Return the share of the variance that remains after a sample of n more labels; none after all of a finite pool."""
    known = n_labels + PRIOR_LABELS
    rest, after_all = 1 / (known + n), 1 / (known + n_open) if finite_pool else 0.0
    return np.asarray((rest - after_all) / (1 / known - after_all)) if n_open else np.ones(len(n))


def _find_covariance_root(drawn: Drawn) -> Float[np.ndarray, "figure figure"]:
    """Return a square root of the covariance of models' draws, to forecast sample sizes."""
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(drawn.T)))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _lose(values: Drawn) -> Drawn:
    """Return how much worse every model is than the best one in draws, to forecast the sample size."""
    return values.max(axis=1, keepdims=True) - values
