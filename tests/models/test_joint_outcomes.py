"""The joint outcome of several models: exact where it must be, honest by simulation, and equal to direct counts."""

from dataclasses import replace

import numpy as np
import pytest

from fewlabels.models.joint_outcomes.design import JointDesign
from fewlabels.models.joint_outcomes.fit import _collect_evidence, _JointProblem, fit_joint
from fewlabels.models.joint_outcomes.outcome_sampler import OutcomeSampler
from fewlabels.models.joint_outcomes.strata import JointStrata

LEVEL = 0.9


def make_strata(
    rng: np.random.Generator,
    n_models: int = 2,
    n_groups: int = 1,
    n_classes: int = 5,
    n_strata: int = 60,
    most: int = 40,
) -> JointStrata:
    """A pool without labels: random predictions and scores."""
    predicted = rng.integers(0, max(2, n_classes // 2), (n_strata, n_models))
    predicted[: n_strata // 2] = predicted[: n_strata // 2, [0]]
    first = np.array([[row.tolist().index(value) for value in row] for row in predicted])
    return JointStrata(
        tuple(f"m{i}" for i in range(n_models)), tuple(f"g{i}" for i in range(n_groups)), n_classes,
        rng.integers(0, n_groups, n_strata), first, predicted, np.full_like(first, -1), np.full_like(first, -1), rng.uniform(0.4, 0.98, first.shape),
        rng.integers(1, most, n_strata), np.zeros((n_strata, n_models + 1)), np.zeros(n_classes),
    )  # fmt: skip


def draw_accuracies(strata: JointStrata, rng: np.random.Generator, n: int, *, finite_pool: bool = True) -> np.ndarray:
    """Draws of the accuracy of every model, from the strata as cells."""
    sampler = OutcomeSampler(
        fit_joint(JointDesign(strata)), np.arange(len(strata.group)), len(strata.group), finite_pool
    )
    at = np.arange(len(strata.group))
    blocks = []
    for shares, sizes in sampler.sample(rng, n):
        right = np.stack([shares[:, at, strata.first[:, j]] for j in range(len(strata.models))], axis=2)
        blocks.append((right * sizes[:, :, None]).sum(axis=1) / sizes.sum(axis=1)[:, None])
    return np.concatenate(blocks)


def label_some(rng: np.random.Generator, outcomes: np.ndarray, n: int) -> np.ndarray:
    """Labels of n items drawn at random: counts of the outcomes of every stratum."""
    chosen = rng.multivariate_hypergeometric(outcomes.reshape(-1).astype(np.int64), n, method="count")
    return chosen.reshape(outcomes.shape).astype(np.float64)


def simulate_outcomes(rng: np.random.Generator, strata: JointStrata) -> np.ndarray:
    """The outcome of every item, from parameters that are drawn from the prior."""
    truth = fit_joint(JointDesign(strata))
    chances = OutcomeSampler(truth, np.arange(len(strata.group)), len(strata.group), False).expect(rng, 1)
    return rng.multinomial(strata.n_items, chances / chances.sum(axis=1, keepdims=True)).astype(np.float64)


@pytest.mark.parametrize(("n_models", "n_groups"), [(2, 1), (2, 6), (4, 1)])
def test_intervals_cover_differences_of_pools_drawn_from_the_prior(n_models: int, n_groups: int) -> None:
    """Simulation-based calibration of the whole path; 3 standard errors of 120 runs around 90 %."""
    rng, inside, ranks = np.random.default_rng(n_models + n_groups), [], []
    for _ in range(120):
        strata = make_strata(rng, n_models, n_groups)
        outcomes = simulate_outcomes(rng, strata)
        right = np.array([outcomes[np.arange(len(outcomes)), strata.first[:, j]].sum() for j in range(n_models)])
        truth = (right[0] - right[1]) / strata.n_items.sum()
        drawn = draw_accuracies(replace(strata, outcomes=label_some(rng, outcomes, 60)), rng, 300)
        difference = drawn[:, 0] - drawn[:, 1]
        low, high = np.quantile(difference, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        inside.append(low - 1e-9 <= truth <= high + 1e-9)
        ranks.append((difference < truth).mean())
    assert abs(np.mean(inside) - LEVEL) < 3 * np.sqrt(LEVEL * (1 - LEVEL) / 120)
    assert abs(np.mean(ranks) - 0.5) < 3 * np.sqrt(1 / 12 / 120)


def test_all_labels_leave_nothing_uncertain_in_a_finite_pool() -> None:
    rng = np.random.default_rng(0)
    strata = make_strata(rng)
    outcomes = simulate_outcomes(rng, strata)
    drawn = draw_accuracies(replace(strata, outcomes=outcomes), rng, 50)
    right = outcomes[np.arange(len(outcomes)), strata.first[:, 0]].sum()
    assert np.allclose(drawn[:, 0], right / strata.n_items.sum())
    assert drawn.std(axis=0).max() < 1e-9


def test_models_that_always_agree_do_not_differ() -> None:
    rng = np.random.default_rng(1)
    strata = make_strata(rng)
    strata = replace(strata, first=np.zeros_like(strata.first), predicted=strata.predicted[:, [0, 0]])
    drawn = draw_accuracies(strata, rng, 200)
    assert np.all(drawn[:, 0] == drawn[:, 1])


def test_two_classes_leave_no_third_outcome() -> None:
    rng = np.random.default_rng(2)
    strata = make_strata(rng, n_classes=2)
    sampler = OutcomeSampler(fit_joint(JointDesign(strata)), np.arange(60), 60, True)
    missed = sampler.expect(rng, 200)[:, -1]
    assert np.all(missed[~strata.is_unanimous] < 1e-12)
    assert np.all(missed[strata.is_unanimous] > 0)


def test_derivatives_agree_with_differences_of_the_log_posterior() -> None:
    """Gradient and Hessian, whose blocks are solved by the Schur complement."""
    rng = np.random.default_rng(3)
    strata = make_strata(rng, 3, 4)
    design = JointDesign(replace(strata, outcomes=label_some(rng, simulate_outcomes(rng, strata), 50)))
    mean, spread = design.prior(1.0)
    problem = _JointProblem(_collect_evidence(design), mean, spread**-2.0, 4.0, True)
    at = rng.normal(0, 0.3, len(mean) + problem.n_groups * design.n_effects)
    view, step = problem.evaluate(at), 1e-5
    shifts = step * np.eye(len(at))
    gradient = [(problem.evaluate(at + s).value - problem.evaluate(at - s).value) / (2 * step) for s in shifts]
    assert np.allclose(view.gradient, gradient, atol=1e-4)
    hessian = np.array([problem.evaluate(at + s).gradient - problem.evaluate(at - s).gradient for s in shifts]) / (
        2 * step
    )
    assert np.allclose(view.step(), np.linalg.solve(-hessian, view.gradient), atol=1e-3)


def test_many_models_and_near_copies_are_inferred() -> None:
    """Twenty models of which ten are copies: their figures are the same, whatever the labels."""
    rng = np.random.default_rng(4)
    strata = make_strata(rng, 20, n_strata=200)
    copies = strata.predicted.copy()
    copies[:, 10:] = copies[:, :10]
    first = np.array([[row.tolist().index(value) for value in row] for row in copies])
    strata = replace(strata, predicted=copies, first=first)
    outcomes = simulate_outcomes(rng, strata)
    drawn = draw_accuracies(replace(strata, outcomes=label_some(rng, outcomes, 100)), rng, 100)
    assert np.allclose(drawn[:, :10], drawn[:, 10:])
    assert drawn.std(axis=0).max() < 0.2
