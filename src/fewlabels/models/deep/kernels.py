"""The kernel between arms: a network embeds every arm, and the kernel decreases with distance (Eq. 7)."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from fewlabels.distributions.randomness import Rng

DIMENSIONS, UNITS = 8, 32  # of the embedding and of its hidden layer; half or twice as many make no difference
# The paper does not say how weights are regularized. Without a prior they overfit single labels: the error is then
# larger than without any kernel. So weights and kernels have priors, wide ones except for the weights.
WEIGHT = 0.25  # standard deviation of a weight
LENGTH, SCALE = np.log(8.0), 1.0  # prior means of log l and log s: only neighbours correlated; f of a few logits
LENGTH_SPREAD, SCALE_SPREAD = 0.5, 1.0


class Network(NamedTuple):
    """Weights of a linear map from attribute values to the embedding, plus one hidden tanh layer."""

    linear_weights: Float[Array, "value dimension"]
    hidden_weights: Float[Array, "value unit"]
    hidden_bias: Float[Array, " unit"]
    output_weights: Float[Array, "unit dimension"]


class Kernel(NamedTuple):
    """Scale s and length l of Eq. 7 for each process, as logarithms."""

    log_scale: Float[Array, " process"]
    log_length: Float[Array, " process"]


def encode_arms(level: Int[np.ndarray, "arm axis"], sizes: tuple[int, ...]) -> Float[np.ndarray, "arm value"]:
    """One-hot encode the attribute values of arms for the deep kernel.

    >>> encode_arms(np.array([[0, 2], [1, 0]]), (2, 3))
    array([[1., 0., 0., 0., 1.],
           [0., 1., 1., 0., 0.]], dtype=float32)
    """
    return np.concatenate([np.eye(size, dtype=np.float32)[at] for at, size in zip(level.T, sizes, strict=True)], axis=1)


def start_network(rng: Rng, n_values: int) -> Network:
    """Draw weights of the deep kernel's network from their prior, with NumPy, as every JAX draw would be compiled."""
    shapes = (n_values, DIMENSIONS), (n_values, UNITS), (UNITS,), (UNITS, DIMENSIONS)
    return Network(*(jnp.asarray(rng.normal(0, WEIGHT, shape), jnp.float32) for shape in shapes))


def start_kernel(n_processes: int) -> Kernel:
    """Start the kernel of every Gaussian process at the prior mean."""
    return Kernel(*(jnp.full(n_processes, centre, jnp.float32) for centre in (SCALE, LENGTH)))


def log_prior_network(network: Network) -> Float[Array, ""]:
    """Log prior of the weights of the deep kernel's network."""
    return -0.5 * sum(((weights**2).sum() for weights in network), jnp.zeros(())) / WEIGHT**2


def log_prior_kernel(kernel: Kernel) -> Float[Array, ""]:
    """Log prior of the scales and lengths of the deep kernel."""
    scale, length = (kernel.log_scale - SCALE) / SCALE_SPREAD, (kernel.log_length - LENGTH) / LENGTH_SPREAD
    return -0.5 * (scale**2 + length**2).sum()


def embed(network: Network, code: Float[Array, "arm value"]) -> Float[Array, "arm dimension"]:
    """V(a), the deep kernel's embedding of arms."""
    return (
        code @ network.linear_weights
        + jnp.tanh(code @ network.hidden_weights + network.hidden_bias) @ network.output_weights
    )


def kernel_matrix(
    kernel: Kernel, left: Float[Array, "left dimension"], right: Float[Array, "right dimension"]
) -> Float[Array, "process left right"]:
    """Deep kernel of arms, for every process: K(a, a') = s exp(-|V(a) - V(a')|² / l)."""
    square = jnp.maximum((left**2).sum(1)[:, None] + (right**2).sum(1) - 2 * left @ right.T, 0)
    return jnp.exp(kernel.log_scale[:, None, None] - square / jnp.exp(kernel.log_length)[:, None, None])
