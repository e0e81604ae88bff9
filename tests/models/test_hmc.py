"""Chains draw from what they are told to draw from, and health is what ArviZ says it is."""

import arviz as az
import numpy as np
import pytest

from fewlabels.models.diagnostics import ChainDiagnostics, diagnose, measure_ess, measure_rhat
from fewlabels.models.hmc import ChainSettings, Reflections, run_chains


def rng(seed=0):
    return np.random.default_rng(seed)


def normal(mean, covariance):
    precision = np.linalg.inv(covariance)

    def density(x):
        off = x - mean
        return -0.5 * np.einsum("cp,pq,cq->c", off, precision, off), -off @ precision

    return density


def test_a_stretched_normal_is_found_in_its_place_and_shape():
    mean, covariance = np.array([3.0, -2.0, 100.0]), np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 400.0]])
    found = run_chains(normal(mean, covariance), rng().normal(size=(16, 3)), rng(1), ChainSettings(n_draws=1000))
    draws = found.draws.reshape(-1, 3)
    error = np.sqrt(np.diag(covariance) / measure_ess(found.draws))
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 4 * error)
    assert np.cov(draws.T) == pytest.approx(covariance, rel=0.1, abs=2.0)
    assert diagnose(found.draws, found.divergences).is_good
    assert found.acceptance == pytest.approx(0.95, abs=0.04)


def test_a_skewed_density_has_its_quantiles():
    """The logarithm of a Gamma variate."""

    def density(x):
        return (3 * x - np.exp(x)).sum(axis=1), 3 - np.exp(x)

    found = run_chains(density, rng().normal(size=(16, 1)), rng(2), ChainSettings(n_draws=1000))
    expected = np.quantile(np.log(rng(3).gamma(3.0, size=400_000)), [0.025, 0.25, 0.5, 0.75, 0.975])
    assert np.quantile(found.draws, [0.025, 0.25, 0.5, 0.75, 0.975]) == pytest.approx(expected, abs=0.06)


def test_one_of_two_mirror_images_is_drawn_as_if_there_were_no_other():
    """Two parameters of one sign or the other, correlated within each image, and a third that depends on their product."""
    mean, precision = np.array([2.0, -1.0]), np.linalg.inv([[0.5, 0.3], [0.3, 0.4]])

    def density(x):
        pair, third = x[:, :2], x[:, 2] - x[:, 0] * x[:, 1]
        apart = [pair - mean, pair + mean]
        logs = np.stack([-0.5 * np.einsum("cp,pq,cq->c", off, precision, off) for off in apart])
        share = np.exp(logs - np.logaddexp(*logs))
        slope = -(share[0][:, None] * apart[0] + share[1][:, None] * apart[1]) @ precision
        slope += third[:, None] * x[:, [1, 0]]
        return np.logaddexp(*logs) - 0.5 * third**2, np.column_stack([slope, -third])

    reflections = Reflections(np.array([1, 1, 0]))
    start = rng().normal(size=(16, 3))
    found = run_chains(density, start, rng(1), ChainSettings(n_draws=2000), reflections=reflections).draws
    pair = rng(2).multivariate_normal(mean, np.linalg.inv(precision), size=400_000)
    pair *= np.where(pair[:, :1] < 0, -1, 1)
    expected = np.column_stack([pair, pair.prod(axis=1) + rng(3).normal(size=len(pair))])
    assert np.all(found[:, :, 0] >= 0)
    for chains, exact in zip(found.reshape(-1, 3).T, expected.T, strict=True):
        assert np.quantile(chains, [0.025, 0.25, 0.5, 0.75, 0.975]) == pytest.approx(
            np.quantile(exact, [0.025, 0.25, 0.5, 0.75, 0.975]), abs=0.08 * exact.std()
        )


def test_a_cliff_is_told_as_lost_paths():
    def density(x):
        inside = np.abs(x[:, 0]) < 1
        return np.where(inside, 0.0, -np.inf), np.where(inside[:, None], 0.0, 1e6)

    assert run_chains(density, np.zeros((8, 1)), rng(), ChainSettings(n_draws=50)).divergences > 0


KINDS = {
    "alike": lambda r: r.normal(size=(200, 4, 3)),
    "sticky": lambda r: np.cumsum(r.normal(size=(200, 4, 3)), axis=0) * 0.1 + r.normal(size=(200, 4, 3)),
    "swinging": lambda r: r.normal(size=(200, 4, 3)) * np.array([1, -1])[np.arange(200) % 2][:, None, None] + np.array([1, -1])[np.arange(200) % 2][:, None, None],
    "apart": lambda r: r.normal(size=(200, 4, 3)) + np.arange(4)[None, :, None],
    "of other widths": lambda r: r.normal(size=(200, 4, 3)) * (1 + np.arange(4))[None, :, None],
    "tied": lambda r: r.integers(0, 3, size=(200, 4, 3)).astype(float),
    "odd": lambda r: r.standard_cauchy(size=(201, 4, 3)),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_health_is_what_arviz_says(kind):
    values = KINDS[kind](rng(5))
    data = az.convert_to_dataset({"x": values.transpose(1, 0, 2)})
    bulk, tail = (az.ess(data, method=method)["x"].to_numpy() for method in ("bulk", "tail"))
    assert measure_rhat(values) == pytest.approx(az.rhat(data)["x"].to_numpy(), rel=1e-6)
    assert measure_ess(values) == pytest.approx(np.minimum(bulk, tail), rel=1e-6)


def test_what_never_varies_is_not_ill():
    values = np.concatenate([np.ones((100, 4, 1)), rng().normal(size=(100, 4, 1))], axis=2)
    assert diagnose(values).rhat < 1.05
    assert diagnose(np.ones((100, 4, 2))) == ChainDiagnostics(1.0, 400.0, 0, 400, 400, is_exact=True)
    assert diagnose(np.ones((100, 4, 2)) + 1e-15 * rng().normal(size=(100, 4, 2)), divergences=90).is_good


def test_chains_that_disagree_are_ill():
    assert not diagnose(KINDS["apart"](rng())).is_good
    lost = diagnose(rng().normal(size=(500, 8, 1)), divergences=100)
    assert not lost.is_good
    assert lost.list_problems() == ["100 of 4,000 transitions diverged"]
