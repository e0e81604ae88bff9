"""Sparse variational Gaussian processes: the posterior of f and g is given by their values at a few inducing points.

These values are whitened: independent standard normals a priori. Adam maximizes the evidence lower bound (Hensman et
al.) over the network, the kernels, the inducing points in the embedding (shared by f and g), and the mean and
covariance of the inducing values. Expectations per arm are Gauss-Hermite sums, so the bound has no noise. Everything
is compiled as one loop in single precision, once per number of arms.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Int
from numpy.polynomial.hermite_e import hermegauss

from fewlabels.distributions.randomness import Rng
from fewlabels.models.deep.kernels import (
    Kernel,
    Network,
    embed,
    kernel_matrix,
    log_prior_kernel,
    log_prior_network,
    start_kernel,
    start_network,
)
from fewlabels.models.deep.likelihoods import log_bernoulli, log_beta_binomial, log_dirichlet

MAX_INDUCING = 64  # twice as many do not change the error on surfaces of 320 and 4,096 arms
START_LOG_SD = np.log(0.3)  # initial log standard deviation of an inducing value
JITTER, MIN_VARIANCE = 1e-3, 1e-6  # relative to the scale, for single precision; smallest residual variance
N_NODES_F, N_NODES_FG = 7, 3  # quadrature nodes for f alone, and for each of f and g
LEARNING_RATE, WARM_UP = 0.03, 20.0  # learning rate of Adam, and steps of linear warm-up
BETA_1, BETA_2, TINY = 0.9, 0.99, 1e-8
Scalar = Float[Array, ""]


class InducingPosterior(NamedTuple):
    """Posterior of the inducing values of each process: mean, and Cholesky factor of the covariance."""

    mean: Float[Array, "process inducing"]
    root: Float[Array, "process inducing inducing"]  # with the diagonal as logarithms


class Parameters(NamedTuple):
    """All parameters. The first process is f; the Beta kinds have a second, g."""

    network: Network
    kernel: Kernel
    inducing_points: Float[Array, "inducing dimension"]
    values: InducingPosterior


class ArmData(NamedTuple):
    """One-hot codes of the arms, and their labels."""

    code: Float[Array, "arm value"]
    n: Float[Array, " arm"]
    right: Float[Array, " arm"]
    log_share: Float[Array, " arm"]  # share of all labels


class Latent(NamedTuple):
    """Posterior of each process at every arm: mean, loadings on the inducing values, residual variance."""

    mean: Float[Array, "process arm"]
    loadings: Float[Array, "process arm inducing"]
    residual_variance: Float[Array, "process arm"]  # variance


class AdamState(NamedTuple):
    """State of Adam: parameters, first and second moments of the gradient, number of steps."""

    at: Parameters
    first_moment: Float[Array, " parameter"]
    second_moment: Float[Array, " parameter"]
    n: Int[Array, ""]


class Round(NamedTuple):
    """Result of some steps: final state, objective per step, embedding and posterior of the arms."""

    end: AdamState
    trace: Float[Array, " step"]
    embedding: Float[Array, "arm dimension"]
    latent: Latent


def init_adam(
    rng: Rng, code: Float[np.ndarray, "arm value"], n: Float[np.ndarray, " arm"], *, n_processes: int
) -> AdamState:
    """Initialize the variational fit: a random network, and inducing points at arms drawn in proportion to labels."""
    network, n_inducing = start_network(rng, code.shape[1]), min(MAX_INDUCING, len(n))
    chosen = rng.choice(len(n), n_inducing, replace=False, p=n / n.sum())
    root = np.tile(START_LOG_SD * np.eye(n_inducing, dtype=np.float32), (n_processes, 1, 1))
    values = InducingPosterior(jnp.zeros((n_processes, n_inducing)), jnp.asarray(root, jnp.float32))
    at = Parameters(network, start_kernel(n_processes), embed(network, jnp.asarray(code[chosen])), values)
    zero = jnp.zeros(sum(part.size for part in jax.tree.leaves(at)))
    return AdamState(at, zero, zero, jnp.zeros((), jnp.int32))


def predict_latent(at: Parameters, code: Float[Array, "arm value"]) -> tuple[Float[Array, "arm dimension"], Latent]:
    """Return the embedding of the arms, and the variational posterior of f and g there."""
    own, eye = embed(at.network, code), jnp.eye(len(at.inducing_points))
    scale = jnp.exp(at.kernel.log_scale)
    low = jnp.linalg.cholesky(
        kernel_matrix(at.kernel, at.inducing_points, at.inducing_points) + JITTER * scale[:, None, None] * eye
    )
    whiten = solve_triangular(low, jnp.broadcast_to(eye, low.shape), lower=True)  # once, not for every arm
    projection = kernel_matrix(at.kernel, own, at.inducing_points) @ whiten.mT
    residual_variance = jnp.maximum(scale[:, None] - (projection**2).sum(axis=2), MIN_VARIANCE)
    return own, Latent(
        (projection @ at.values.mean[:, :, None])[:, :, 0], projection @ _cholesky_factor(at.values), residual_variance
    )


def bound_evidence(at: Parameters, seen: ArmData, *, supervised: bool) -> Scalar:
    """Evidence lower bound (variational): expected log likelihood minus the KL divergence from the prior.

    Where `supervised`, the scales also model the distribution of labels over arms (Eq. 11).
    """
    latent = predict_latent(at, seen.code)[1]
    standard_deviation = jnp.sqrt((latent.loadings**2).sum(axis=2) + latent.residual_variance)
    if len(standard_deviation) == 1:
        f, mass = _quadrature_nodes(latent.mean[0], standard_deviation[0], N_NODES_F)
        return mass @ log_bernoulli(f, seen.n, seen.right).sum(axis=1) - _kl_divergence(at.values)
    f, mass = _quadrature_nodes(latent.mean[0], standard_deviation[0], N_NODES_FG)
    g, _ = _quadrature_nodes(latent.mean[1], standard_deviation[1], N_NODES_FG)
    likely = mass @ log_beta_binomial(f[:, None], g[None], seen.n, seen.right).sum(axis=2) @ mass
    if supervised:
        likely += log_dirichlet(jax.nn.softplus(g), mass, seen.log_share)
    return likely - _kl_divergence(at.values)


def _run_adam(start: AdamState, seen: ArmData, total: Int[Array, ""], *, n_steps: int, supervised: bool) -> Round:
    """Take `n_steps` steps of Adam up the variational bound, of `total` in the learning-rate schedule."""
    at, read = ravel_pytree(start.at)

    def objective(at: Float[Array, " parameter"]) -> Scalar:
        here = read(at)
        prior = log_prior_network(here.network) + log_prior_kernel(here.kernel)
        return bound_evidence(here, seen, supervised=supervised) + prior

    def step(state: tuple[Array, Array, Array], n: Array) -> tuple[tuple[Array, Array, Array], Scalar]:
        """One step of Adam on all parameters as one vector, which compiles much faster than a tree."""
        at, first_moment, second_moment = state
        value, new = jax.value_and_grad(objective)(at)
        first_moment, second_moment = (
            BETA_1 * first_moment + (1 - BETA_1) * new,
            BETA_2 * second_moment + (1 - BETA_2) * new**2,
        )
        rate = LEARNING_RATE * jnp.minimum(
            n / WARM_UP, 0.5 + 0.5 * jnp.cos(jnp.pi * n / total)
        )  # warm-up, then cosine decay
        typical = jnp.sqrt(second_moment / (1 - BETA_2**n)) + TINY
        return (at + rate * first_moment / (1 - BETA_1**n) / typical, first_moment, second_moment), value

    steps = start.n + 1.0 + jnp.arange(n_steps)
    (at, first_moment, second_moment), trace = jax.lax.scan(step, (at, start.first_moment, start.second_moment), steps)
    end = AdamState(read(at), first_moment, second_moment, start.n + n_steps)
    return Round(end, trace, *predict_latent(end.at, seen.code))


run_adam = jax.jit(_run_adam, static_argnames=("n_steps", "supervised"))


def _cholesky_factor(values: InducingPosterior) -> Float[Array, "process inducing inducing"]:
    """Lower triangular Cholesky factor of a variational covariance, with a positive diagonal."""
    eye = jnp.eye(values.mean.shape[1])
    return jnp.tril(values.root, -1) + eye * jnp.exp(jnp.diagonal(values.root, axis1=1, axis2=2))[:, :, None]


def _kl_divergence(values: InducingPosterior) -> Scalar:
    """Kullback-Leibler divergence of the variational posterior of inducing values from independent standard normals."""
    log_diagonal = jnp.diagonal(values.root, axis1=1, axis2=2)
    return 0.5 * ((_cholesky_factor(values) ** 2).sum() + (values.mean**2 - 1).sum()) - log_diagonal.sum()


def _quadrature_nodes(
    mean: Float[Array, " arm"], standard_deviation: Float[Array, " arm"], n: int
) -> tuple[Float[Array, "node arm"], Float[Array, " node"]]:
    """Gauss-Hermite nodes of the variational posterior at every arm, and their weights."""
    nodes, mass = hermegauss(n)
    return mean + standard_deviation * jnp.asarray(nodes, mean.dtype)[:, None], jnp.asarray(
        mass / mass.sum(), mean.dtype
    )
