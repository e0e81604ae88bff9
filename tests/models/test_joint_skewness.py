"""The centre of the joint outcome's posterior: its mean, not its mode, so that rare outcomes are not overstated."""

from dataclasses import replace

import numpy as np
from test_joint_outcomes import draw_accuracies

from fewlabels.models.joint_outcomes.design import JointDesign
from fewlabels.models.joint_outcomes.fit import TERM_SCALES, _collect_evidence, fit_joint
from fewlabels.models.joint_outcomes.skewness import MAX_SHIFT, differentiate_variance, limit_skewness_shift
from fewlabels.models.joint_outcomes.strata import JointStrata


def make_lopsided(outcomes, n_items=100_000, scores=((0.8, 0.8),)):
    """Items on which two models always disagree, and labels that one of them nearly always gets right."""
    n = len(outcomes)
    first = np.tile([0, 1], (n, 1))
    return JointStrata(
        ("a", "b"), ("all",), 10, np.zeros(n, dtype=np.int64), first, first, np.full_like(first, -1), np.full_like(first, -1),
        np.array(scores * n if len(scores) == 1 else scores), np.full(n, n_items), np.array(outcomes, dtype=np.float64), np.zeros(10),
    )  # fmt: skip


def sample_exactly(strata, rng, n=400_000):
    """Mean accuracies under the exact posterior, by importance sampling from a wider normal, averaged over the scales."""
    design = JointDesign(strata)
    evidence, found, weights = _collect_evidence(design), [], []
    fitted = fit_joint(design)
    for scale in TERM_SCALES:
        mean, spread = design.prior(scale)
        drawn = np.concatenate([one.draw(rng, n // len(fitted.components))[0] for one in fitted.components])
        center = drawn.mean(axis=0)
        root = 1.5 * np.linalg.cholesky(np.cov(drawn.T))
        noise = rng.standard_normal((n // 4, len(center)))
        terms = center + noise @ root.T
        height = np.einsum("rct,nt->nrc", evidence.features, terms)
        height = np.concatenate([height, np.zeros((*height.shape[:2], 1))], axis=2)
        chance = np.exp(height - height.max(axis=2, keepdims=True))
        chance /= chance.sum(axis=2, keepdims=True)
        log = (evidence.outcomes * np.log(chance)).sum(axis=(1, 2)) - (((terms - mean) / spread) ** 2).sum(axis=1) / 2
        log += (noise**2).sum(axis=1) / 2 - np.log(spread).sum() + np.log(np.diag(root)).sum()
        weights.append(log)
        found.append(chance.mean(axis=1)[:, :2])
    weight = np.exp(np.concatenate(weights) - np.concatenate(weights).max())
    return weight @ np.concatenate(found) / weight.sum()


def test_a_rare_outcome_is_not_overstated():
    """With 2 of 47 labels, the mode's normal approximation is half a label off, more than a quarter of the rare share."""
    strata, rng = make_lopsided([[43, 2, 2]]), np.random.default_rng(0)
    exact = sample_exactly(strata, rng)
    drawn = draw_accuracies(strata, rng, 20_000, finite_pool=False).mean(axis=0)
    np.testing.assert_allclose(drawn, exact, atol=0.006)
    assert abs(drawn[1] - 2 / 47) < 0.012


def test_gradient_of_the_variance_agrees_with_differences():
    rng = np.random.default_rng(1)
    height, n = rng.normal(size=(3, 4)), np.array([1.0, 5.0, 2.0])
    root = rng.normal(size=(3, 4, 4))
    variance = root @ root.transpose(0, 2, 1)

    def weigh(at):
        chance = np.exp(at) / (1 + np.exp(at).sum(axis=1, keepdims=True))  # none has height 0
        own = np.einsum("rcc->rc", variance)
        return chance, n * ((chance * own).sum(axis=1) - np.einsum("rc,rcd,rd->r", chance, variance, chance))

    found = differentiate_variance(weigh(height)[0], variance, n)
    for c in range(4):
        step = np.zeros_like(height)
        step[:, c] = 1e-5
        numeric = (weigh(height + step)[1] - weigh(height - step)[1]) / 2e-5
        np.testing.assert_allclose(found[:, c], numeric, rtol=1e-5, atol=1e-7)


def test_shifts_are_limited():
    precision = np.diag([4.0, 1.0])
    assert np.allclose(limit_skewness_shift(np.array([0.1, 0.1]), precision), [0.1, 0.1])
    limited = limit_skewness_shift(np.array([30.0, 0.0]), precision)
    assert np.isclose(np.sqrt(limited @ precision @ limited), MAX_SHIFT)


def test_groups_are_centred_at_their_means_too():
    """Three groups in which one model is right on 1 of 24 labels: the mode's approximation says 0.058."""
    n = 3
    strata = make_lopsided([[23, 1, 0]] * n)
    grouped = replace(strata, groups=tuple(map(str, range(n))), n_classes=2, group=np.arange(n))
    drawn = draw_accuracies(grouped, np.random.default_rng(2), 6000, finite_pool=False).mean(axis=0)
    assert abs(drawn[1] - 1 / 24) < 0.011
