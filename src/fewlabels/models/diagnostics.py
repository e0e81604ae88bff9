"""Did the chains find the same thing, and how much do they know? R-hat and effective sample size, by ranks.

As Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021) define them: chains are split in half, values replaced by
normal scores of their ranks, and for the tails by whether they lie beyond the 5 % and 95 % quantiles.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

HIGHEST, FEWEST = 1.01, 400.0  # what is asked of R-hat, and of effective draws
MOST_LOST = 0.005  # of all paths
TAILS = 0.05, 0.95
NOISE = 1e-12  # range of a quantity that varies by rounding alone
Quantities = Float[np.ndarray, "draw chain quantity"]
PerQuantity = Float[np.ndarray, " quantity"]


@dataclass(frozen=True)
class Health:
    """The worst over all quantities that are shown, and paths that were lost."""

    rhat: float
    ess: float
    divergences: int
    n_draws: int
    is_exact: bool = False  # no quantity varies: nothing rests on the chains

    @property
    def is_good(self) -> bool:
        """Can the figures be relied on?"""
        return not self.list_faults()

    def list_faults(self) -> list[str]:
        """Return what is wrong with the chains; nothing, where no figure depends on them."""
        faults = {
            f"the chains disagree (R-hat {self.rhat:.3f})": self.rhat >= HIGHEST,
            f"they hold only {self.ess:,.0f} effective draws": self.ess <= FEWEST,
            f"{self.divergences:,} of {self.n_draws:,} paths diverged": self.divergences > MOST_LOST * self.n_draws,
        }
        return [] if self.is_exact else [fault for fault, is_there in faults.items() if is_there]

    def to_dict(self) -> dict[str, float | int]:
        """Return it as plain data."""
        return {"rhat": self.rhat, "ess": self.ess, "divergences": self.divergences}


def diagnose(values: Quantities, divergences: int = 0) -> Health:
    """Look at all quantities, and tell the worst; those that never vary are left out."""
    n = values.shape[0] * values.shape[1]
    varying = np.ptp(values.reshape(-1, values.shape[2]), axis=0) > NOISE
    if not varying.any():
        return Health(1.0, float(n), divergences, n, is_exact=True)
    rhat, ess = measure_rhat(values[:, :, varying]), measure_ess(values[:, :, varying])
    return Health(float(rhat.max()), float(ess.min()), divergences, n)


def measure_rhat(values: Quantities) -> PerQuantity:
    """R-hat, of places and of distances from the median: the greater."""
    halves = _split(values)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(_compare(_score(halves)), _compare(_score(folded)))


def measure_ess(values: Quantities) -> PerQuantity:
    """Effective draws, in the bulk and in either tail: the least."""
    halves = _split(values)
    low, high = np.quantile(values, TAILS, axis=(0, 1))
    kinds = (_score(halves), (halves <= low).astype(np.float64), (halves <= high).astype(np.float64))
    return np.min([_count(kind) for kind in kinds], axis=0)


def _split(values: Quantities) -> Float[np.ndarray, "half piece quantity"]:
    """Take the halves of chains for chains."""
    half = len(values) // 2
    return np.concatenate([values[:half], values[-half:]], axis=1)


def _score(values: Quantities) -> Quantities:
    """Normal scores of ranks; what is tied shares a rank."""
    flat = values.reshape(-1, values.shape[2])
    ranks = np.empty_like(flat)
    for column, out in zip(flat.T, ranks.T, strict=True):
        _, place, count = np.unique(column, return_inverse=True, return_counts=True)
        out[:] = (np.cumsum(count) - (count - 1) / 2)[place]
    return ndtri((ranks - 0.375) / (len(flat) + 0.25)).reshape(values.shape)


def _compare(values: Quantities) -> PerQuantity:
    """Variance of all against that within chains."""
    within, total = _spread(values)
    return np.sqrt(np.divide(total, within, out=np.ones_like(total), where=within > 0))


def _spread(values: Quantities) -> tuple[PerQuantity, PerQuantity]:
    n = len(values)
    within = values.var(axis=0, ddof=1).mean(axis=0)
    return within, (n - 1) / n * within + values.mean(axis=0).var(axis=0, ddof=1)


def _count(values: Quantities) -> PerQuantity:
    """Draws that know as much if they were independent: Geyer's sum of pairs of autocorrelations, as long as they fall."""
    n, m, _ = values.shape
    within, total = _spread(values)
    centred = values - values.mean(axis=0)
    size = next_fast_len(2 * n)
    waves = rfft(centred, size, axis=0)
    covariance = irfft(waves * np.conj(waves), size, axis=0)[:n].mean(axis=1) / n
    same = total <= 0  # never varies
    rho = 1 - (within - covariance) / np.where(same, 1.0, total)
    rho[0] = 1.0
    even, odd = (rho[start : 2 * ((n - 1) // 2) : 2] for start in (0, 1))
    lasting = np.logical_and.accumulate(even + odd > 0, axis=0)
    lasting[-1] = False
    falling = np.minimum.accumulate(np.where(lasting, even + odd, 0.0), axis=0)
    last = np.take_along_axis(even, lasting.sum(axis=0)[None], axis=0)[0]  # of the pair that is no longer positive
    length = np.maximum(2 * falling.sum(axis=0) - 1 + np.maximum(last, 0.0), 1 / np.log10(n * m))
    return np.where(same, float(n * m), n * m / length)
