"""Which answers to grade next, and how many more grades the intervals take."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import Typed

import fewlabels as fl

Type = Callable[..., Typed]
N = 2000


def make(seed: int = 0, noise: float = 0.8) -> pd.DataFrame:
    """Answers in four slices of unequal size, graded 1 to 5 by people (all known here) and by a judge."""
    rng = np.random.default_rng(seed)
    part = rng.choice(4, N, p=[0.55, 0.25, 0.15, 0.05])
    quality = 3.2 + rng.normal(size=N) + np.array([0.5, 0.0, -0.5, -1.0])[part]
    return pd.DataFrame({
        "id": np.arange(N), "slice": np.array(list("abcd"))[part], "truth": np.clip(quality.round(), 1, 5),
        "judge": np.clip((quality + 0.4 + noise * rng.normal(size=N)).round(), 1, 5),
    })  # fmt: skip


def rate(frame: pd.DataFrame, graded: np.ndarray, **choices: object) -> fl.Rating:
    human = np.where(graded, frame["truth"], np.nan)
    wanted = {"grade": "human", "judge": "judge", "by": "slice", "n_draws": 2000, **choices}
    return fl.rate(frame.drop(columns="truth").assign(human=human), **wanted)  # type: ignore[arg-type]


@pytest.mark.parametrize(("finite_pool", "width"), [(False, 0.55), (True, 0.4)])
def test_the_number_of_grades_foreseen_brings_the_intervals_to_the_width(finite_pool: bool, width: float) -> None:
    """Grading at random as many answers as foreseen gives intervals of about the target width.

    About the population, a slice of 100 answers whose grades have a standard deviation of 0.96 has an interval of 0.38 even
    when all are graded.
    """
    frame, order = make(), np.random.default_rng(1).permutation(N)
    rank = np.argsort(order)
    plan = rate(frame, rank < 60, target_width=width, finite_pool=finite_pool).plan
    assert plan is not None
    assert plan.n_more_at_random is not None
    assert plan.n_more is not None
    assert not plan.settled
    assert plan.n_more < plan.n_more_at_random, "the small slice is asked about on purpose"
    assert plan.n_more_overall is not None
    assert plan.n_more_overall < plan.n_more
    then = rate(frame, rank < 60 + plan.n_more_at_random, finite_pool=finite_pool)
    widest = max(row.high - row.low for row in then.groups)
    assert 0.75 * width < widest < 1.25 * width


def test_grading_the_answers_that_are_proposed_reaches_the_width_and_covers() -> None:
    frame = make(seed=3)
    graded = np.random.default_rng(2).random(N) < 0.02
    first = rate(frame, graded, target_width=0.45)
    assert first.plan is not None
    assert first.plan.n_more is not None
    for _ in range(12):
        found = rate(frame, graded, target_width=0.45, next=40)
        assert found.plan is not None
        if found.plan.settled:
            break
        chosen = [one.id for one in found.next]
        assert not graded[chosen].any(), "answers are proposed that people graded already"
        graded[chosen] = True
    assert found.plan.settled
    assert found.plan.sentence == "every interval is at most 0.45 wide: no more grades are needed"
    assert found.n_grades < first.n_grades + 1.5 * first.plan.n_more + 40
    truth = frame.groupby("slice")["truth"].mean()
    assert sum(row.low <= truth[row.group] <= row.high for row in found.groups) >= 3
    assert found.overall.low <= frame["truth"].mean() <= found.overall.high


def test_proposed_answers_are_random_within_their_group_and_grade_of_the_judge() -> None:
    """Their mean grade within a group and a judge's grade is that of the pool's, over seeds."""
    frame, graded = make(), np.arange(N) % 40 == 0
    ids = np.concatenate([[one.id for one in rate(frame, graded, next=100, seed=seed, n_draws=500).next] for seed in range(5)])  # fmt: skip
    cell = frame.groupby(["slice", "judge"])["truth"].transform("mean")
    away = (frame["truth"] - cell).to_numpy()[ids]
    assert abs(away.mean()) < 3 * away.std() / np.sqrt(len(away))
    assert all(one.judged[0] == frame["judge"][one.id] for one in rate(frame, graded, next=10).next)


def test_a_group_that_nobody_graded_is_not_known_whatever_the_judge_says() -> None:
    frame = make(noise=0.05)
    graded = (np.arange(N) % 5 == 0) & (frame["slice"] != "d").to_numpy()
    found = rate(frame, graded, target_width=3.0, next=3)
    assert found.plan is not None
    assert not found.plan.settled
    assert {one.group for one in found.next} == {"d"}


def test_a_width_out_of_reach_is_said_and_choices_that_make_no_sense_are_refused() -> None:
    frame, graded = make(), np.arange(N) % 40 == 0
    plan = rate(frame, graded, target_width=0.001).plan
    assert plan is not None
    assert plan.n_more is None
    assert plan.sentence.startswith("not even grades of all answers")
    assert rate(frame, np.ones(N, dtype=bool), next=5, finite_pool=True).next == (), "nothing is left to grade"
    with pytest.raises(fl.InputError, match="target_width=: a width of 0 cannot be reached"):
        rate(frame, graded, target_width=0.0)
    with pytest.raises(fl.InputError, match="does not name every item alone"):
        rate(frame.assign(id=7), graded, next=2)
    with pytest.raises(fl.InputError, match="next=: -1 answers cannot be chosen"):
        rate(frame, graded, next=-1)


def test_a_table_without_judges_groups_or_grades_can_be_planned() -> None:
    frame, graded = make(), np.arange(N) % 40 == 0
    alone = rate(frame, graded, judge=(), by="all", target_width=0.2, next=4)
    assert alone.plan is not None
    assert alone.plan.n_more == alone.plan.n_more_overall
    assert [one.judged for one in alone.next] == [()] * 4
    blank = fl.rate(frame.drop(columns="truth"), judge="judge", by="slice", target_width=0.5, next=4)
    assert blank.plan is not None
    assert blank.plan.n_more
    assert len({one.id for one in blank.next}) == 4


def test_the_command_line_prints_the_plan_and_the_answers(type_in: Type, tmp_path: Path) -> None:
    frame = make()
    frame["human"] = np.where(np.arange(N) % 40 == 0, frame["truth"], np.nan)
    path = tmp_path / "graded.csv"
    frame.drop(columns="truth").to_csv(path, index=False)
    said = type_in("rate", str(path), "--by", "slice", "--target-width", "0.4", "--next", "3")
    assert "more human grades of the answers proposed here would bring every interval to at most 0.4" in said.out
    assert "to grade next" in said.out
