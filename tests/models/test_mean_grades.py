"""Grades of agreement are not right and wrong in part: widths against the bootstrap, and coverage."""

import numpy as np
import pandas as pd
import pytest

import fewlabels as fl
from fewlabels.models.grades.mean_grades import bin_grades


def draw_grades(rng: np.random.Generator, n: int) -> np.ndarray:
    """Grades like those of BLEU: few at 0, some at 1, most in between."""
    return np.where(rng.random(n) < 0.1, 1.0, rng.beta(6, 4, n)).round(3)


def test_the_width_is_about_that_of_the_bootstrap() -> None:
    rng = np.random.default_rng(0)
    grade = draw_grades(rng, 200)
    found = fl.assess(
        {"predicted": ["t"] * 2000, "agreement": [*grade, *[None] * 1800]}, by="all", n_draws=4000
    ).overall
    low, high = np.quantile(grade[rng.integers(0, 200, (4000, 200))].mean(axis=1), [0.025, 0.975])
    assert 0.9 < (found.high - found.low) / (high - low) < 1.2
    assert found.mean == pytest.approx(grade.mean(), abs=0.01)


@pytest.mark.parametrize("finite_pool", [False, True])
def test_groups_of_ten_grades_cover(finite_pool: bool) -> None:
    """Ten simulations of six groups: of 60 intervals of 95 %, at most 8 miss."""
    hits = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        level = rng.normal(0, 0.1, 6)
        group = np.repeat(np.arange(6), 50)
        grade = np.clip(draw_grades(rng, 300) + level[group], 0, 1).round(3)
        shown = [g if i % 50 < 10 else None for i, g in enumerate(grade)]
        pool = {"predicted": ["t"] * 300, "agreement": shown, "g": [f"g{g}" for g in group]}
        truth = grade.reshape(6, 50).mean(axis=1)
        rows = fl.assess(pool, by="g", finite_pool=finite_pool, n_draws=1000).groups
        hits += sum(row.low <= t + 1e-9 and t - 1e-9 <= row.high for row, t in zip(rows, truth, strict=True))
    assert hits >= 52


def test_all_graded_the_finite_pool_is_known() -> None:
    grade = draw_grades(np.random.default_rng(1), 80)
    found = fl.assess({"predicted": ["t"] * 80, "agreement": grade}, by="all", finite_pool=True, n_draws=1000).overall
    assert found.mean == pytest.approx(grade.mean(), abs=0.01)
    assert found.high - found.low < 0.02


def test_grades_that_are_right_or_wrong_are_assessed_as_such() -> None:
    right = [1, 0, 1, 1, None, None] * 10
    pool = {"predicted": ["a"] * 60, "agreement": right}
    labels = {"predicted": ["a"] * 60, "label": [None if r is None else "ab"[1 - r] for r in right]}
    assert fl.assess(pool, by="all").overall == fl.assess(labels, by="all").overall


def test_a_session_shows_the_same_digits_as_an_assessment() -> None:
    pool = pd.DataFrame({"id": range(40), "predicted": "t", "agreement": pd.array([None] * 40, dtype="Float64")})
    session = fl.Session.create(None, pool, goal=fl.Estimate(fl.accuracy), by=fl.everything)
    told = {i: 0.5 + (int(i) % 7) / 20 for i in session.ask(15)}
    session.tell(told)
    grades = pd.array([told.get(i, told.get(str(i))) for i in range(40)], dtype="Float64")
    expected = fl.assess(pool.assign(agreement=grades), by=fl.everything)
    assert session.assess().overall.mean == pytest.approx(expected.overall.mean, abs=0.01)
    assert session.assess().overall.low == pytest.approx(expected.overall.low, abs=0.02)


def test_ranges_hold_their_grades() -> None:
    grade = np.sort(draw_grades(np.random.default_rng(2), 100))
    bins, outcome = bin_grades(grade, np.ones(100, dtype=np.int64))
    assert (np.diff(outcome) >= 0).all()
    assert bins.value[outcome].mean() == pytest.approx(grade.mean(), abs=0.02)
