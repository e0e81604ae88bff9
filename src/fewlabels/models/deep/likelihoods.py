"""Log likelihoods of the labels given f and g, elementwise per arm, for use in any quadrature."""

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

Numbers = Float[Array, "..."]


def log_bernoulli(f: Numbers, n: Numbers, right: Numbers) -> Numbers:
    """Log likelihood of all labels of an arm in the deep model (Eq. 3)."""
    return right * jax.nn.log_sigmoid(f) + (n - right) * jax.nn.log_sigmoid(-f)


def log_beta_binomial(f: Numbers, g: Numbers, n: Numbers, right: Numbers) -> Numbers:
    """Log likelihood (Eq. 9): beta-binomial with mean sigmoid(f) and scale softplus(g); accuracy is integrated out."""
    scale = jax.nn.softplus(g)
    alpha, beta = jax.nn.sigmoid(f) * scale, jax.nn.sigmoid(-f) * scale
    before = jnp.stack(jnp.broadcast_arrays(alpha, beta, scale))
    seen = jnp.stack(jnp.broadcast_arrays(right, n - right, n))
    good_rise, bad_rise, rise = _log_rising_factorial(
        before, jnp.expand_dims(seen, tuple(range(1, before.ndim - seen.ndim + 1)))
    )
    return good_rise + bad_rise - rise


def log_dirichlet(
    scale: Float[Array, "node arm"], weight: Float[Array, " node"], log_share: Float[Array, " arm"]
) -> Float[Array, ""]:
    """Log likelihood (Eq. 11), averaged over nodes of the scales: the Dirichlet density of arms' shares of labels.

    The last term stands outside the sum over arms, as a density requires. By Jensen's inequality its expectation is
    at least its value at the mean scales, so the result remains a lower bound.
    """
    each = (scale - 1) * log_share - gammaln(scale)
    return weight @ each.sum(axis=1) + gammaln((weight @ scale).sum())


def _log_rising_factorial(at: Numbers, by: Numbers) -> Numbers:
    """log Γ(at + by) - log Γ(at) for the deep likelihoods, in one call, as the Gamma function is slow to compile."""
    high, low = gammaln(jnp.stack([at + by, at]))
    return high - low
