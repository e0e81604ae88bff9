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

from fewlabels.distributions.belief import Rng
from fewlabels.models.deep.kernels import (
    Kernel,
    Network,
    compare,
    embed,
    start_kernel,
    start_network,
    weigh_kernel,
    weigh_network,
)
from fewlabels.models.deep.likelihoods import weigh_bernoulli, weigh_beta_binomial, weigh_shares

MOST_PLACES = 64  # twice as many do not change the error on surfaces of 320 and 4,096 arms
START = np.log(0.3)  # initial log standard deviation of an inducing value
JITTER, LEAST = 1e-3, 1e-6  # relative to the scale, for single precision; smallest residual variance
ALONE, CROSSED = 7, 3  # quadrature nodes for f alone, and for each of f and g
RATE, WARM_UP = 0.03, 20.0  # learning rate of Adam, and steps of linear warm-up
MEMORY, SQUARE_MEMORY, TINY = 0.9, 0.99, 1e-8
Scalar = Float[Array, ""]


class Values(NamedTuple):
    """Posterior of the inducing values of each process: mean, and Cholesky factor of the covariance."""

    mean: Float[Array, "process inducing"]
    root: Float[Array, "process inducing inducing"]  # with the diagonal as logarithms


class Parameters(NamedTuple):
    """All parameters. The first process is f; the Beta kinds have a second, g."""

    network: Network
    kernel: Kernel
    places: Float[Array, "inducing dimension"]
    values: Values


class Evidence(NamedTuple):
    """One-hot codes of the arms, and their labels."""

    code: Float[Array, "arm value"]
    n: Float[Array, " arm"]
    right: Float[Array, " arm"]
    log_share: Float[Array, " arm"]  # share of all labels


class Latent(NamedTuple):
    """Posterior of each process at every arm: mean, loadings on the inducing values, residual variance."""

    mean: Float[Array, "process arm"]
    load: Float[Array, "process arm inducing"]
    rest: Float[Array, "process arm"]  # variance


class Climb(NamedTuple):
    """State of Adam: parameters, first and second moments of the gradient, number of steps."""

    at: Parameters
    slope: Float[Array, " parameter"]
    square: Float[Array, " parameter"]
    n: Int[Array, ""]


class Round(NamedTuple):
    """Result of some steps: final state, objective per step, embedding and posterior of the arms."""

    end: Climb
    trace: Float[Array, " step"]
    place: Float[Array, "arm dimension"]
    latent: Latent


def start_climb(
    rng: Rng, code: Float[np.ndarray, "arm value"], n: Float[np.ndarray, " arm"], *, n_processes: int
) -> Climb:
    """Initialize a random network, and inducing points at arms drawn in proportion to their labels."""
    network, n_places = start_network(rng, code.shape[1]), min(MOST_PLACES, len(n))
    chosen = rng.choice(len(n), n_places, replace=False, p=n / n.sum())
    root = np.tile(START * np.eye(n_places, dtype=np.float32), (n_processes, 1, 1))
    values = Values(jnp.zeros((n_processes, n_places)), jnp.asarray(root, jnp.float32))
    at = Parameters(network, start_kernel(n_processes), embed(network, jnp.asarray(code[chosen])), values)
    zero = jnp.zeros(sum(part.size for part in jax.tree.leaves(at)))
    return Climb(at, zero, zero, jnp.zeros((), jnp.int32))


def look(at: Parameters, code: Float[Array, "arm value"]) -> tuple[Float[Array, "arm dimension"], Latent]:
    """Return the embedding of the arms, and the posterior of f and g there."""
    own, eye = embed(at.network, code), jnp.eye(len(at.places))
    scale = jnp.exp(at.kernel.log_scale)
    low = jnp.linalg.cholesky(compare(at.kernel, at.places, at.places) + JITTER * scale[:, None, None] * eye)
    whiten = solve_triangular(low, jnp.broadcast_to(eye, low.shape), lower=True)  # once, not for every arm
    lift = compare(at.kernel, own, at.places) @ whiten.mT
    rest = jnp.maximum(scale[:, None] - (lift**2).sum(axis=2), LEAST)
    return own, Latent((lift @ at.values.mean[:, :, None])[:, :, 0], lift @ _read_root(at.values), rest)


def bound_evidence(at: Parameters, seen: Evidence, *, supervised: bool) -> Scalar:
    """Evidence lower bound: expected log likelihood minus the KL divergence from the prior.

    Where `supervised`, the scales also model the distribution of labels over arms (Eq. 11).
    """
    latent = look(at, seen.code)[1]
    spread = jnp.sqrt((latent.load**2).sum(axis=2) + latent.rest)
    if len(spread) == 1:
        f, mass = _lay_nodes(latent.mean[0], spread[0], ALONE)
        return mass @ weigh_bernoulli(f, seen.n, seen.right).sum(axis=1) - _diverge(at.values)
    f, mass = _lay_nodes(latent.mean[0], spread[0], CROSSED)
    g, _ = _lay_nodes(latent.mean[1], spread[1], CROSSED)
    likely = mass @ weigh_beta_binomial(f[:, None], g[None], seen.n, seen.right).sum(axis=2) @ mass
    if supervised:
        likely += weigh_shares(jax.nn.softplus(g), mass, seen.log_share)
    return likely - _diverge(at.values)


def _climb_on(start: Climb, seen: Evidence, total: Int[Array, ""], *, n_steps: int, supervised: bool) -> Round:
    """Take `n_steps` steps of Adam, of `total` in the learning-rate schedule."""
    at, read = ravel_pytree(start.at)

    def rise(at: Float[Array, " parameter"]) -> Scalar:
        here = read(at)
        prior = weigh_network(here.network) + weigh_kernel(here.kernel)
        return bound_evidence(here, seen, supervised=supervised) + prior

    def step(state: tuple[Array, Array, Array], n: Array) -> tuple[tuple[Array, Array, Array], Scalar]:
        """One step of Adam on all parameters as one vector, which compiles much faster than a tree."""
        at, slope, square = state
        height, new = jax.value_and_grad(rise)(at)
        slope, square = MEMORY * slope + (1 - MEMORY) * new, SQUARE_MEMORY * square + (1 - SQUARE_MEMORY) * new**2
        rate = RATE * jnp.minimum(n / WARM_UP, 0.5 + 0.5 * jnp.cos(jnp.pi * n / total))  # warm-up, then cosine decay
        typical = jnp.sqrt(square / (1 - SQUARE_MEMORY**n)) + TINY
        return (at + rate * slope / (1 - MEMORY**n) / typical, slope, square), height

    steps = start.n + 1.0 + jnp.arange(n_steps)
    (at, slope, square), trace = jax.lax.scan(step, (at, start.slope, start.square), steps)
    end = Climb(read(at), slope, square, start.n + n_steps)
    return Round(end, trace, *look(end.at, seen.code))


climb_on = jax.jit(_climb_on, static_argnames=("n_steps", "supervised"))


def _read_root(values: Values) -> Float[Array, "process inducing inducing"]:
    """Lower triangular Cholesky factor, with a positive diagonal."""
    eye = jnp.eye(values.mean.shape[1])
    return jnp.tril(values.root, -1) + eye * jnp.exp(jnp.diagonal(values.root, axis1=1, axis2=2))[:, :, None]


def _diverge(values: Values) -> Scalar:
    """Kullback-Leibler divergence of the inducing values from independent standard normals."""
    log_diagonal = jnp.diagonal(values.root, axis1=1, axis2=2)
    return 0.5 * ((_read_root(values) ** 2).sum() + (values.mean**2 - 1).sum()) - log_diagonal.sum()


def _lay_nodes(
    mean: Float[Array, " arm"], spread: Float[Array, " arm"], n: int
) -> tuple[Float[Array, "node arm"], Float[Array, " node"]]:
    """Gauss-Hermite nodes of a normal at every arm, and their weights."""
    nodes, mass = hermegauss(n)
    return mean + spread * jnp.asarray(nodes, mean.dtype)[:, None], jnp.asarray(mass / mass.sum(), mean.dtype)
