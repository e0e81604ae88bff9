"""What one more grade is worth: the closed form against reweighted draws, and steps against each other."""

import numpy as np
import pytest

from fewlabels.data.grades.columns import find_grades
from fewlabels.data.grades.counting import count_grades
from fewlabels.data.grades.reading import open_graded
from fewlabels.data.groups import Column
from fewlabels.models.grades.allocation import allocate_at_random, allocate_by_gain, measure_precision
from fewlabels.models.grades.posterior import GradePosterior, infer_grades


def make(*, finite_pool: bool = False, n: int = 600) -> GradePosterior:
    rng = np.random.default_rng(3)
    part = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    quality = 3 + rng.normal(size=n) + 0.5 * part
    human = np.where(rng.random(n) < 0.12, np.clip(quality.round(), 1, 5), np.nan)
    judge = np.clip((quality + 0.8 * rng.normal(size=n)).round(), 1, 5)
    items = find_grades(open_graded({"human": human, "judge": judge, "part": part}), "human", ("judge",))
    counts = count_grades(items, Column("part"))
    return infer_grades(np.random.default_rng(0), counts, finite_pool=finite_pool, n_draws=20_000)


def test_the_gain_is_that_of_reweighted_draws() -> None:
    """By one grade of a cell, the variance of the overall mean falls by the variance of its conditional means."""
    posterior = make()
    now = measure_precision(posterior, passes=False)
    value = posterior.value.mean(axis=0)
    overall = (posterior.chance @ value) @ now.member[0]
    exact = []
    for cell in range(len(now.rest)):
        chance = posterior.chance[:, cell]
        p = chance.mean(axis=0)
        conditional = (chance * overall[:, None]).mean(axis=0) / p
        exact.append(p @ (conditional - overall.mean()) ** 2)
    gain = now.gain[0]
    assert np.corrcoef(gain, exact)[0, 1] > 0.97
    best = np.argsort(exact)[-5:]
    assert gain[best] == pytest.approx(np.array(exact)[best], rel=0.25)


@pytest.mark.parametrize("finite_pool", [False, True])
def test_variances_fall_by_the_gain_and_never_rise(finite_pool: bool) -> None:
    now = measure_precision(make(finite_pool=finite_pool), passes=False)
    for cell, n, then in allocate_by_gain(now):
        if n > 1:
            break
        assert now.variance - then.variance == pytest.approx(now.gain[:, cell], rel=1e-6, abs=1e-12)
        assert (then.variance <= now.variance + 1e-12).all()
        now = then


def test_a_finite_pool_whose_items_are_all_graded_is_known() -> None:
    posterior = make(finite_pool=True, n=150)
    *_, (_, _, last) = allocate_at_random(np.random.default_rng(0), measure_precision(posterior, passes=True))
    assert not last.rest.any()
    assert np.allclose(last.variance, 0, atol=1e-9)


def test_many_grades_at_once_are_those_one_by_one() -> None:
    start = measure_precision(make(), passes=False)
    cell = int(np.argmax(start.rest))
    one_by_one = start
    for _ in range(5):
        one_by_one = one_by_one.observe(cell)
    assert start.observe(cell, 5).variance == pytest.approx(one_by_one.variance)


def test_the_best_cells_gain_more_than_random_ones() -> None:
    start = measure_precision(make(), passes=False)
    after = []
    for steps in (allocate_by_gain(start), allocate_at_random(np.random.default_rng(0), start)):
        n, last = 0, start
        while n < 40:
            _, more, last = next(steps)
            n += more
        after.append(last.variance)
    assert after[0][3] < 0.9 * after[1][3], "the smallest slice"
    assert after[0][0] < 1.1 * after[1][0], "overall"
