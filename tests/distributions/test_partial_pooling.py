"""The overall figure is not decided by a prior, however many groups there are."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

import fewlabels as fl
from fewlabels.analyses.assessment import assess_counts
from fewlabels.analyses.assessment_spec import AssessmentSpec
from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.distributions.partial_pooling import FACTORS, fit_prior_level


def flat(n: int, strength: float = 2.0) -> Beta:
    return Beta(tuple(map(str, range(n))), np.full(n, strength / 2), np.full(n, strength / 2))


def test_it_equals_a_fine_grid() -> None:
    counts = np.array([[9.0, 1.0], [4.0, 4.0], [0.0, 0.0], [20.0, 2.0]])
    rest = np.array([5, 5, 5, 5])
    shift, factor = np.meshgrid(np.linspace(-9, 9, 4001), FACTORS, indexing="ij")
    alpha, beta = 2 * factor * expit(shift), 2 * factor * expit(-shift)
    log_p = stats.logistic.logpdf(shift)
    for right, wrong in counts:
        log_p = log_p + stats.betabinom.logpmf(right, right + wrong, alpha, beta)
    weight = np.exp(log_p - log_p.max())
    expected = [(weight * (alpha + r) / (alpha + beta + r + w)).sum() / weight.sum() for r, w in counts]
    assert fit_prior_level(flat(4), counts, rest).mean() == pytest.approx(expected, abs=2e-4)


def test_draws_have_its_mean() -> None:
    belief = fit_prior_level(
        flat(3), np.array([[9.0, 1.0], [4.0, 4.0], [0.0, 0.0]]), np.array([5, 50, 5]), finite_pool=True
    )
    draws = belief.draw(np.random.default_rng(0), 40_000)
    assert draws.mean(axis=0) == pytest.approx(belief.mean(), abs=5 * 0.5 / 200)


def test_a_hundred_groups_with_a_label_each_do_not_say_two_thirds() -> None:
    classes = [str(i) for i in range(100)]
    a = fl.assess({"id": range(1000), "predicted": classes * 10, "label": classes + [None] * 900}, prior=fl.flat())
    assert a.row("0").mean == pytest.approx(2 / 3)
    assert a.overall.mean > 0.95
    assert a.overall.high > 0.99


def test_a_vanishing_prior_leaves_the_frequencies_weighed_by_share() -> None:
    pool = {"predicted": ["a"] * 8 + ["b"] * 2, "label": ["a", "a", "a", "b", None, None, None, None, "b", "a"]}
    assert fl.assess(pool, prior=fl.flat(1e-9), finite_pool=True).overall.mean == pytest.approx(
        0.8 * 0.75 + 0.2 * 0.5, abs=1e-6
    )


def test_it_stays_right_however_unevenly_groups_were_labelled() -> None:
    rng = np.random.default_rng(0)
    predicted = np.repeat(["easy", "hard"], [9000, 1000])
    right = rng.random(10_000) < np.where(predicted == "easy", 0.95, 0.55)
    label = np.where(right, predicted, "other").astype(object)
    label[100:9000] = None  # a hundred easy ones labelled, and every hard one
    a = fl.assess({"id": np.arange(10_000), "predicted": predicted, "label": label}, prior=fl.flat())
    assert a.overall.low < right.mean() < a.overall.high
    assert right[np.r_[0:100, 9000:10_000]].mean() < a.overall.low  # what plain counting would have said


def test_an_earlier_assessment_is_taken_at_its_word() -> None:
    pool = {"predicted": ["a", "b"] * 20, "label": ["a", "b", "a", "a"] * 10}
    earlier = fl.assess(pool, prior=fl.flat())
    a = fl.assess(pool, prior=fl.from_earlier(earlier))
    assert a.overall.mean == pytest.approx(sum(row.share * row.mean for row in a.groups))


@pytest.mark.parametrize(("level", "spread"), [(0.75, 8.0), (0.9, 20.0), (0.5, 2.0)])
def test_the_overall_interval_covers(level: float, spread: float) -> None:
    """95 % intervals over 40 groups with 5 labels each; 200 pools, so at least 90.4 % in 3 standard errors."""
    rng = np.random.default_rng(7)
    groups = [f"g{i}" for i in range(40)]
    template = fl.assess({"predicted": groups, "label": groups}).tally
    hits = []
    for seed in range(200):
        theta = rng.beta(level * spread, (1 - level) * spread, 40)
        right = rng.binomial(5, theta).astype(float)
        counts = type(template)(**{
            **vars(template), "n_items": np.full(40, 10_000), "n_labels": np.full(40, 5), "right": right,
            "label": np.full(40, -1),
        })  # fmt: skip
        overall = assess_counts(counts, AssessmentSpec(fl.accuracy, fl.flat(), n_draws=800, seed=seed)).overall
        hits.append(overall.low <= theta.mean() <= overall.high)
    assert np.mean(hits) >= 0.904
