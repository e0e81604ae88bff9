"""Fit the paper's estimators to labels per arm, and return the posterior of every arm's accuracy."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit

from fewlabels.distributions.randomness import Rng
from fewlabels.errors import InputError
from fewlabels.models.blas import use_one_thread
from fewlabels.models.deep.kernels import encode_arms
from fewlabels.models.deep.pooling import Counts, pool_sparse
from fewlabels.models.deep.variational import AdamState, ArmData, Round, init_adam, run_adam

Kind = Literal["bern-gp", "beta-gp", "beta-gp-sl", "beta-gp-slp"]
WARM_START_LABELS = 0.1  # pseudo-labels of every arm (section 4.4)
ROUNDS = 4  # neighbours are recomputed from the current embedding after each round
STEPS = 500  # four times as many improve the bound by 1 %
NODES, MASSES = hermegauss(32)
MIN_BETA_PARAMETER = 1e-9  # smallest parameter of a Beta; near 0 all its mass is at 0 or 1
PerArm = Float[np.ndarray, " arm"]


@dataclass(frozen=True)
class GPPosterior:
    """Posterior of f or g: jointly normal over arms, mostly through shared inducing values."""

    mean: PerArm
    loadings: Float[np.ndarray, "arm inducing"]  # effect of one standard deviation of each inducing value
    residual_variance: PerArm  # variance not explained by the inducing values

    @cached_property
    def standard_deviation(self) -> PerArm:
        """Standard deviation of the fitted f or g at every arm."""
        return np.sqrt((self.loadings**2).sum(axis=1) + self.residual_variance)

    def expect(self, function: Callable[[Float[np.ndarray, "node arm"]], Float[np.ndarray, "node arm"]]) -> PerArm:
        """Posterior expectation of a function of the fitted f or g, per arm, by Gauss-Hermite quadrature."""
        return MASSES @ function(self.mean + NODES[:, None] * self.standard_deviation) / MASSES.sum()

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw arm"]:
        """Joint draws of the fitted f or g at all arms; the residual part is drawn independently per arm."""
        common = rng.standard_normal((n, self.loadings.shape[1])) @ self.loadings.T
        return (
            self.mean + common + np.sqrt(self.residual_variance) * rng.standard_normal((n, len(self.residual_variance)))
        )


@dataclass(frozen=True)
class DeepFit:
    """Posterior of the accuracy of every arm: a Beta with uncertain mean and scale."""

    f: GPPosterior
    g: GPPosterior | None  # None for bern-gp, which has no scale
    trace: Float[np.ndarray, " step"]  # evidence lower bound plus log prior of network and kernels; flat at convergence

    @cached_property
    def mean(self) -> PerArm:
        """Mean accuracy of every arm in the deep fit (Eq. 10)."""
        return self.f.expect(expit)

    @cached_property
    def variance(self) -> PerArm:
        """Variance of every arm in the deep fit (Eq. 12): of the mean, plus the expected variance of the Beta."""
        of_mean = self.f.expect(lambda f: (expit(f) - self.mean) ** 2)
        if self.g is None:
            return of_mean
        return of_mean + self.f.expect(lambda f: expit(f) * expit(-f)) * self.g.expect(lambda g: 1 / (1 + _softplus(g)))

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw arm"]:
        """Draw f and g, then accuracies from the resulting Betas (Eq. 4-6)."""
        mean = expit(self.f.draw(rng, n))
        if self.g is None:
            return mean
        scale = _softplus(self.g.draw(rng, n))
        return rng.beta(
            np.maximum(mean * scale, MIN_BETA_PARAMETER), np.maximum((1 - mean) * scale, MIN_BETA_PARAMETER)
        )


def fit_deep(
    level: Int[np.ndarray, "arm axis"],
    sizes: tuple[int, ...],
    n: PerArm,
    right: PerArm,
    *,
    kind: Kind,
    seed: int = 0,
    steps: int = STEPS,
) -> DeepFit:
    """Fit one of the paper's deep surfaces to arms with `right` right predictions among `n` labels, maybe fractional.

    An arm is one level of each attribute; `sizes` are the numbers of levels. The first fit of a kind and number of
    arms takes some seconds longer, to compile.
    """
    _require_arms(level, sizes, n, right)
    code, warm = encode_arms(level, sizes), _add_warm_start(n, right)
    start = init_adam(np.random.default_rng(seed), code, warm[0], n_processes=1 if kind == "bern-gp" else 2)
    own = (n, right) if kind == "bern-gp" else warm
    with use_one_thread():  # matrices are small: threads would only add overhead
        return _collect_rounds(list(_train_in_rounds(start, code, own, np.log(warm[0] / warm[0].sum()), kind, steps)))


def _train_in_rounds(
    state: AdamState, code: Float[np.ndarray, "arm value"], own: Counts, log_share: PerArm, kind: Kind, steps: int
) -> Iterator[Round]:
    """Fit the deep surface in rounds; after each, beta-gp-slp pools sparse arms with their neighbours."""
    seen, n_steps = own, max(steps // ROUNDS, 1)
    for _ in range(ROUNDS):
        evidence = ArmData(*(jnp.asarray(part, jnp.float32) for part in (code, *seen, log_share)))
        found = run_adam(
            state, evidence, ROUNDS * n_steps, n_steps=n_steps, supervised=kind in ("beta-gp-sl", "beta-gp-slp")
        )
        yield found
        state = found.end
        if kind == "beta-gp-slp":
            seen = pool_sparse(np.asarray(found.embedding), float(np.exp(state.at.kernel.log_length[0])), own)


def _collect_rounds(rounds: list[Round]) -> DeepFit:
    """Return the fit after the last round of training, with the loss of all rounds as its trace."""
    latent, trace = rounds[-1].latent, np.concatenate([np.asarray(each.trace, np.float64) for each in rounds])
    f, *g = (GPPosterior(*(np.asarray(part[i], np.float64) for part in latent)) for i in range(len(latent.mean)))
    return DeepFit(f, g[0] if g else None, trace)


def _add_warm_start(n: PerArm, right: PerArm) -> Counts:
    """Add pseudo-labels at the overall accuracy to every arm, to start the deep fit."""
    rate = right.sum() / n.sum() if n.any() else 0.5
    return n + WARM_START_LABELS, right + WARM_START_LABELS * rate


def _softplus(g: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """ψ(g) = log(1 + exp g), the scale of the fit's Betas."""
    return np.logaddexp(0, g)


def _require_arms(level: Int[np.ndarray, "arm axis"], sizes: tuple[int, ...], n: PerArm, right: PerArm) -> None:
    """Raise if the levels or counts that the deep fit is given are invalid."""
    if len(level) < 2:
        raise InputError(f"a surface needs at least two arms, got {len(level)}; use assess instead")
    outside = np.flatnonzero(((level < 0) | (level >= np.array(sizes))).any(axis=1))
    if len(outside):
        raise InputError(f"arm {outside[0]} has levels {level[outside[0]].tolist()}, but the attributes have {list(sizes)} levels, counted from 0")  # fmt: skip
    wrong = np.flatnonzero(~((right >= 0) & (right <= n) & np.isfinite(n)))
    if len(wrong):
        raise InputError(f"arm {wrong[0]} has {right[wrong[0]]:g} right predictions among {n[wrong[0]]:g} labels; give between 0 and the number of labels")  # fmt: skip
