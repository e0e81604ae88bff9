"""Convergence diagnostics of Markov chains: rank-normalised split R-hat, and bulk and tail effective sample size.

Definitions of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021): chains are split in half and values replaced by
the normal scores of their ranks; for the tails, by indicators of lying below the 5 % and 95 % quantiles.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

MAX_RHAT, MIN_ESS = 1.01, 400.0  # upper bound of R-hat, lower bound of the effective sample size
MAX_DIVERGENT_SHARE = 0.005  # largest acceptable share of divergent transitions
TAILS = 0.05, 0.95
NOISE = 1e-12  # range up to which a quantity counts as constant
Quantities = Float[np.ndarray, "draw chain quantity"]
PerQuantity = Float[np.ndarray, " quantity"]


@dataclass(frozen=True)
class ChainDiagnostics:
    """The worst R-hat and ESS over all reported quantities, and the number of divergences."""

    rhat: float
    ess: float
    divergences: int
    n_draws: int
    n_transitions: int  # of all chains, of which the draws may be a part
    is_exact: bool = False  # every quantity is constant: nothing depends on the chains

    @property
    def is_good(self) -> bool:
        """Did the chains converge?"""
        return not self.list_problems()

    def list_problems(self) -> list[str]:
        """Return the problems of the chains; none where no figure depends on them."""
        faults = {
            f"the chains disagree (R-hat {self.rhat:.3f})": self.rhat >= MAX_RHAT,
            f"the effective sample size is only {self.ess:,.0f}": self.ess <= MIN_ESS,
            f"{self.divergences:,} of {self.n_transitions:,} transitions diverged": self.divergences
            > MAX_DIVERGENT_SHARE * self.n_transitions,
        }
        return [] if self.is_exact else [fault for fault, is_there in faults.items() if is_there]

    def to_dict(self) -> dict[str, float | int]:
        """Return the diagnostics as plain data."""
        return {"rhat": self.rhat, "ess": self.ess, "divergences": self.divergences}


def diagnose(values: Quantities, divergences: int = 0, n_transitions: int | None = None) -> ChainDiagnostics:
    """Return the worst convergence diagnostics of chains over all quantities; constant ones are left out."""
    n = values.shape[0] * values.shape[1]
    n_transitions = n_transitions or n
    varying = np.ptp(values.reshape(-1, values.shape[2]), axis=0) > NOISE
    if not varying.any():
        return replace(exact_diagnostics(n), divergences=divergences, n_transitions=n_transitions)
    rhat, ess = measure_rhat(values[:, :, varying]), measure_ess(values[:, :, varying])
    return ChainDiagnostics(float(rhat.max()), float(ess.min()), divergences, n, n_transitions)


def exact_diagnostics(n_draws: int) -> ChainDiagnostics:
    """Return the diagnostics of independent draws, which need no chains."""
    return ChainDiagnostics(1.0, float(n_draws), 0, n_draws, n_draws, is_exact=True)


def measure_rhat(values: Quantities) -> PerQuantity:
    """Convergence diagnostic R-hat: the larger of bulk R-hat and folded R-hat (of distances from the median)."""
    halves = _split_chains(values)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(
        _potential_scale_reduction(_normal_scores(halves)), _potential_scale_reduction(_normal_scores(folded))
    )


def measure_ess(values: Quantities) -> PerQuantity:
    """Convergence diagnostic: the smallest of the effective sample sizes of the bulk and of both tails."""
    halves = _split_chains(values)
    low, high = np.quantile(values, TAILS, axis=(0, 1))
    kinds = (_normal_scores(halves), (halves <= low).astype(np.float64), (halves <= high).astype(np.float64))
    return np.min([_effective_sample_size(kind) for kind in kinds], axis=0)


def _split_chains(values: Quantities) -> Float[np.ndarray, "half piece quantity"]:
    """Split each chain into two halves, for split R-hat."""
    half = len(values) // 2
    return np.concatenate([values[:half], values[-half:]], axis=1)


def _normal_scores(values: Quantities) -> Quantities:
    """Normal scores of the ranks of chains' draws, for rank-normalised R-hat; ties share their mean rank."""
    flat = values.reshape(-1, values.shape[2])
    ranks = np.empty_like(flat)
    for column, out in zip(flat.T, ranks.T, strict=True):
        _, place, count = np.unique(column, return_inverse=True, return_counts=True)
        out[:] = (np.cumsum(count) - (count - 1) / 2)[place]
    return ndtri((ranks - 0.375) / (len(flat) + 0.25)).reshape(values.shape)


def _potential_scale_reduction(values: Quantities) -> PerQuantity:
    """R-hat: the root of total over within-chain variance (potential scale reduction)."""
    within, total = _variances(values)
    return np.sqrt(np.divide(total, within, out=np.ones_like(total), where=within > 0))


def _variances(values: Quantities) -> tuple[PerQuantity, PerQuantity]:
    """Return the within-chain variance and the pooled one, which R-hat compares."""
    n = len(values)
    within = values.var(axis=0, ddof=1).mean(axis=0)
    return within, (n - 1) / n * within + values.mean(axis=0).var(axis=0, ddof=1)


def _effective_sample_size(values: Quantities) -> PerQuantity:
    """Effective sample size of chains by Geyer's initial monotone sequence: sums of pairs of autocorrelations."""
    n, m, _ = values.shape
    within, total = _variances(values)
    centred = values - values.mean(axis=0)
    size = next_fast_len(2 * n)
    waves = rfft(centred, size, axis=0)
    covariance = irfft(waves * np.conj(waves), size, axis=0)[:n].mean(axis=1) / n
    same = total <= 0  # constant
    rho = 1 - (within - covariance) / np.where(same, 1.0, total)
    rho[0] = 1.0
    even, odd = (rho[start : 2 * ((n - 1) // 2) : 2] for start in (0, 1))
    lasting = np.logical_and.accumulate(even + odd > 0, axis=0)
    lasting[-1] = False
    falling = np.minimum.accumulate(np.where(lasting, even + odd, 0.0), axis=0)
    last = np.take_along_axis(even, lasting.sum(axis=0)[None], axis=0)[0]  # of the first pair that is not positive
    length = np.maximum(2 * falling.sum(axis=0) - 1 + np.maximum(last, 0.0), 1 / np.log10(n * m))
    return np.where(same, float(n * m), n * m / length)
